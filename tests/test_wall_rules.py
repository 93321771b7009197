"""The clauses of Wall one by one (W1-W13, WD1-WD4), each test written from the clause's text."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from itertools import product
from typing import Any

import numpy as np
import pytest

from cardtable.game import States
from tests.helpers import (
    JOKER,
    RANKS,
    SUITS,
    deck_of_52,
    finished_games,
    game_seeds,
    play,
    scores,
    wall_deck,
    wall_weights,
)
from wall_env.game import WallGame, make
from wall_env.rules import WallRules
from wall_env.state import VALUE

STARTS = {f"start {rank}h" for rank in "234567"}
WORKED_EXAMPLE = (
    "7c right, 6h right, 2h right, Qh right, "
    "Ah build 1.0, Kh build 1.1, 8h build 1.2, Ac build 1.3, Ad build 2.0, 9h build 2.2"
)
# Each neighbouring pair makes 14 or less: high cards stand between low ones.
ROW_OF_A_DECK = "KAKAKAKA" + "Q2Q2Q2Q2" + "J3J3J3J3" + "T4T4T4T4" + "95959595" + "86868686" + "7777"
SIX_LEVELS = ("3A2A4T3", "4335AK", "7686A", "KAA7", "A28", "3T", "K")
SEVEN_LEVELS = ("42AAJ3T4", "632QAKA", "95AKAA", "A6AA2", "7723", "A95", "TA", "J")

ALL_RULES = [
    WallRules(players, decks, jokers, width, ends)
    for players, decks, jokers, width, ends in product(range(1, 7), (1, 2), range(5), (None, 4), ("idle", "deck"))
]


def value(rank: str) -> int:
    """W8: the value of a rank in the base and under other cards, where an ace counts 1."""
    return RANKS.index(rank) + 1


def start(game: WallGame, top: str = "", *, starting_player: int = 0, starts: str = "", seed: int = 0) -> States:
    """A new game with these cards on top of the deck, in which these start cards ("7", "6") have been chosen."""
    deck = wall_deck(top, game.rules.num_decks, game.rules.jokers_per_deck)
    states = game.deal_state({"starting_player": starting_player, "deck": deck}, seed)
    play(game, states, *(f"start {rank}" for rank in starts.split()))
    return states


def solo(first: str, steps: str = "", *, hold: str = "", **rules: Any) -> tuple[WallGame, States]:
    """A game of one player who chooses a start card, then draws cards and puts each where it says.

    Args:
        first: rank of the start card.
        steps: "7c right, Ah build 1.0, Kd discard".
        hold: a card that he draws at last and has still in hand.
        rules: options.
    """
    game = make(num_players=1, **rules)
    placed = [step.split(" ", 1) for step in steps.split(", ") if step]
    states = start(game, " ".join([*(card for card, _ in placed), hold]), starts=first)
    for _, where in placed:
        play(game, states, "draw", where)
    if hold:
        play(game, states, "draw")
    return game, states


def row_steps(ranks: str, num_decks: int = 1) -> tuple[str, str]:
    """A start card and the steps that make a base of these ranks, from its right end, which is the start card."""
    copies = {rank: iter([rank + suit for _ in range(num_decks) for suit in SUITS]) for rank in RANKS}
    first, *others = [next(copies[rank]) for rank in reversed(ranks)]
    return first[0], ", ".join(f"{card} left" for card in others)


def triangle_steps(rows: Sequence[str], num_decks: int) -> tuple[str, str]:
    """A start card and the steps that build a full triangle; jokers stand in for copies that there are not."""
    copies = {rank: iter([rank + suit for _ in range(num_decks) for suit in SUITS]) for rank in RANKS}
    base = [next(copies[rank]) for rank in rows[0]]
    steps = [f"{card} right" for card in base[1:]]
    for level, row in enumerate(rows[1:], start=1):
        steps += [f"{next(copies[rank], JOKER)} build {level}.{position}" for position, rank in enumerate(row)]
    return base[0][0], ", ".join(steps)


def width(states: States, seat: int = 0) -> int:
    """The number of cards in a seat's base."""
    return int(states[0]["width"][seat])


def wall_values(states: States, level: int, seat: int = 0) -> list[int]:
    """What the cards of a level count under others, 0 for empty places, over the present base."""
    row = states[0]["wall"][seat][level][: width(states, seat) - level]
    return [int(cell) & VALUE for cell in row]


def discard_pile(states: States) -> list[str]:
    """The discard pile, bottom first."""
    return [card_text(int(card)) for card in states[0]["discard"][: states[0]["discard_size"]]]


def card_text(card: int) -> str:
    """A card id in record notation: suits in the order h c d s, the second deck from 52, jokers from 104."""
    return JOKER if card >= 104 else RANKS[card % 13] + SUITS[card % 52 // 13]


def deck_size(states: States) -> int:
    """Cards left in the deck."""
    return int(states[0]["deck_length"] - states[0]["deck_top"])


def num_turns(state: np.void) -> int:
    """Turns that have ended since the start cards: by a pass, a discard or a placed card."""
    moves = np.asarray(state["history"][: state["num_decisions"]])
    return int((moves >= 8).sum())  # 8 pass, 9 discard, 10 left, 11 right, then the places above the base


def all_walls(game: WallGame, policy: str, count: int, seed: int) -> States:
    """The ends of games played by one of the policies."""
    return finished_games(game, game.new_states(game_seeds(count, first=seed)), wall_weights(game, policy), seed)


# --- cards, points, start ---------------------------------------------------------------------------------------------


def test_W1_defaults_are_two_players_and_one_deck_with_2_jokers() -> None:
    options = asdict(make().rules)
    assert {name: options[name] for name in ("num_players", "num_decks", "jokers_per_deck")} == {
        "num_players": 2,
        "num_decks": 1,
        "jokers_per_deck": 2,
    }


@pytest.mark.parametrize(("decks", "jokers"), list(product((1, 2), range(5))))
@pytest.mark.parametrize("players", range(1, 7))
def test_W1_one_or_two_decks_with_their_jokers_for_1_to_6_players(decks: int, jokers: int, players: int) -> None:
    game = make(num_decks=decks, jokers_per_deck=jokers, num_players=players)
    deal = game.deal_to_json(game.new_states(game_seeds(1))[0])
    assert Counter(deal["deck"]) == Counter((deck_of_52() + [JOKER] * jokers) * decks)
    assert game.num_players == players


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("num_decks", 0),
        ("num_decks", 3),
        ("jokers_per_deck", -1),
        ("jokers_per_deck", 5),
        ("num_players", 0),
        ("num_players", 7),
    ],
)
def test_W1_other_numbers_are_refused(option: str, value: int) -> None:
    with pytest.raises(ValueError, match=option):
        make(**{option: value})


@pytest.mark.parametrize(("rows", "decks"), [(SIX_LEVELS, 1), (SEVEN_LEVELS, 2)])
def test_W2_a_card_on_level_k_scores_2_to_the_k_minus_1(rows: Sequence[str], decks: int) -> None:
    first, steps = triangle_steps(rows, decks)
    game, states = solo(first, num_decks=decks)
    first, *_ = rows
    game, states = _follow(game, rows, decks)
    assert int(states[0]["height"][0]) == len(rows)
    assert scores(game, states) == [sum(len(row) * 2 ** (level - 1) for level, row in enumerate(rows) if level)]
