"""The clauses of Wall one by one (W1-W13, WD1-WD4), each test written from the clause's text."""

from collections import Counter
from collections.abc import Sequence
from functools import cache
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest

from cardtable.game import IllegalAction, States
from tests.helpers import (
    JOKER,
    RANKS,
    SEVEN_LEVELS,
    SIX_LEVELS,
    SUITS,
    WALL_POLICIES,
    assert_uniform,
    deck_of_52,
    finished_games,
    game_seeds,
    legal_texts,
    may_play,
    mover,
    play,
    play_out,
    same_view,
    scores,
    triangle,
    views_of_all,
    wall_deck,
    wall_game,
    wall_weights,
    whole_row,
)
from wall_env import WallGame, WallRules
from wall_env.state import STATE, VALUE

PLAYERS = range(1, 7)
ENDS_A_TURN = 8  # action ids from here on: pass 8, discard 9, left 10, right 11, and the places above the base
START_CARDS = ["7h", "6h", "5h", "4h", "3h", "2h"]
WORKED_EXAMPLE_BASE = "7c right, 6h right, 2h right, Qh right"
WORKED_EXAMPLE = (
    f"{WORKED_EXAMPLE_BASE}, Ah build 1.0, Kh build 1.1, 8h build 1.2, Ac build 1.3, Ad build 2.0, 9h build 2.2"
)
ALL_RULES = [
    WallRules(players, decks, jokers, width, ends)
    for players, decks, jokers, width, ends in product(PLAYERS, (1, 2), range(5), (None, 4), ("idle", "deck"))
]


def value(rank: str) -> int:
    """W8: the value of a rank in the base and under other cards, where an ace counts 1."""
    return RANKS.index(rank) + 1


def start(game: WallGame, starts: str = "", top: str = "", *, starting_player: int = 0, seed: int = 0) -> States:
    """A game in which these start cards have been chosen, with these cards on top of the deck ("7h 6h", "Kc Kd")."""
    chosen = starts.split()
    deck = wall_deck(f"{starts} {top}", game.rules.num_decks, game.rules.jokers_per_deck)[len(chosen) :]
    moves = [f"start {card}" for card in chosen]
    states = game.deal_state({"starting_player": starting_player, "deck": deck}, seed, moves)
    play(game, states, *moves)
    return states


def first_starts(players: int) -> str:
    """Start cards for that many players."""
    return " ".join(START_CARDS[:players])


def solo_start(first: str, steps: str, hold: str = "", **rules: Any) -> tuple[WallGame, States, list[str]]:
    """A game of one player with that start card, and the places of the cards that he is going to draw.

    Args:
        first: the start card.
        steps: cards and places, "7c right, Ah build 1.0, Kd discard".
        hold: a card that comes next.
        rules: options.
    """
    game = wall_game(num_players=1, **rules)
    placed = [step.split(" ", 1) for step in steps.split(", ") if step]
    states = start(game, first, " ".join([*(card for card, _ in placed), hold]))
    return game, states, [place for _, place in placed]


def solo(first: str, steps: str = "", hold: str = "", **rules: Any) -> tuple[WallGame, States]:
    """`solo_start`, played; the card to hold, if there is one, is in his hand."""
    game, states, places = solo_start(first, steps, hold, **rules)
    for place in places:
        play(game, states, "draw", place)
    if hold:
        play(game, states, "draw")
    return game, states


def values_on(states: States, level: int) -> list[int]:
    """What the cards on a level of seat 0's wall count under others, from the left; 0 for an empty place."""
    places = int(states[0]["width"][0]) - level
    return [int(cell) & VALUE for cell in states[0]["wall"][0][level][:places]]


def card_text(card: int) -> str:
    """A card id in record notation: suits in the order h c d s, the second deck from 52, jokers from 104."""
    return JOKER if card >= 104 else RANKS[card % 13] + SUITS[card % 52 // 13]


def discard_pile(record: np.void) -> list[str]:
    """The discard pile of a state or a view, bottom first."""
    return [card_text(int(card)) for card in record["discard"][: record["discard_size"]]]


def deck_size(states: States) -> int:
    """Cards left in the deck."""
    return int(states[0]["deck_length"] - states[0]["deck_top"])


def builds(game: WallGame, states: States) -> set[str]:
    """The legal ways to build up."""
    return {text for text in legal_texts(game, states) if text.startswith("build")}


# --- cards, points, start ---------------------------------------------------------------------------------------------


def test_W1_defaults_are_two_players_and_one_deck_with_2_jokers() -> None:
    rules = wall_game().rules
    assert (rules.num_players, rules.num_decks, rules.jokers_per_deck) == (2, 1, 2)


@pytest.mark.parametrize(("decks", "jokers"), list(product((1, 2), range(5))))
@pytest.mark.parametrize("players", PLAYERS)
def test_W1_one_or_two_decks_with_their_jokers_for_1_to_6_players(decks: int, jokers: int, players: int) -> None:
    game = wall_game(num_decks=decks, jokers_per_deck=jokers, num_players=players)
    deal = game.deal_to_json(game.new_states(game_seeds(1))[0])
    assert Counter(deal["deck"]) == Counter((deck_of_52() + [JOKER] * jokers) * decks)
    assert game.num_players == players


@pytest.mark.parametrize(("option", "numbers"), [("num_decks", "03"), ("jokers_per_deck", "59"), ("num_players", "07")])
def test_W1_other_numbers_are_refused(option: str, numbers: str) -> None:
    for number in (-1, *map(int, numbers)):
        with pytest.raises(ValueError, match=option):
            wall_game(**{option: number})


@pytest.mark.parametrize(("rows", "decks"), [(SIX_LEVELS, 1), (SIX_LEVELS, 2), (SEVEN_LEVELS, 2)])
def test_W2_a_card_on_level_k_scores_2_to_the_k_minus_1_and_the_base_nothing(rows: Sequence[str], decks: int) -> None:
    game, states, places = solo_start(*triangle(rows, decks), num_decks=decks, jokers_per_deck=4)
    points = 0
    for place in places:
        play(game, states, "draw", place)
        if place.startswith("build"):
            level = int(place.removeprefix("build ").split(".")[0])
            points += 2 ** (level - 1)
        assert scores(game, states) == [points]
    assert points == sum(len(row) * 2 ** (level - 1) for level, row in enumerate(rows) if level >= 1)
    assert [values_on(states, level) for level in range(len(rows))] == [[value(rank) for rank in row] for row in rows]


@pytest.mark.parametrize("players", [2, 3, 6])
def test_W3_the_starting_player_is_chosen_at_random(players: int) -> None:
    game = wall_game(num_players=players)
    first = game.current_player(game.new_states(game_seeds(3000)))
    assert_uniform([int((first == seat).sum()) for seat in range(players)])


def test_W3_the_deck_is_shuffled() -> None:
    decks = wall_game().new_states(game_seeds(6000))["deck"][:, :54]
    for place in (0, 53):
        assert_uniform([int((decks[:, place] == card).sum()) for card in [*range(52), 104, 105]])


@pytest.mark.parametrize("starting_player", range(4))
def test_W4_each_player_chooses_a_start_card_in_turn_order_from_the_starting_player(starting_player: int) -> None:
    game = wall_game(num_players=4)
    states = start(game, starting_player=starting_player)
    for number, rank in enumerate("7245"):
        seat = (starting_player + number) % 4
        assert mover(game, states) == seat
        play(game, states, f"start {rank}")
        assert [int(states[0]["width"][seat]), int(states[0]["wall"][seat][0][0]) & VALUE] == [1, value(rank)]
    assert mover(game, states) == starting_player
    assert legal_texts(game, states) == {"draw", "pass"}


def test_W4_a_start_card_is_of_rank_2_to_7() -> None:
    game = wall_game()
    states = start(game)
    assert legal_texts(game, states) == {f"start {card}" for card in START_CARDS}
    for move in ("start 8h", "start Ah", "start XX", "draw", "pass"):
        with pytest.raises(ValueError, match=r"W[45]"):
            game.replay_move(states, move)


def test_W4_a_start_card_comes_out_of_the_deck() -> None:
    game = wall_game(num_players=6)
    states = start(game)
    for _ in range(4):
        play(game, states, "start 7")
    assert deck_size(states) == 50
    assert not {"7h", "7c", "7d", "7s"} & {card_text(int(card)) for card in states[0]["deck"][:50]}
    assert legal_texts(game, states) == {f"start {card}" for card in START_CARDS} - {"start 7h"}


def test_W4_with_two_decks_there_are_eight_cards_of_each_rank() -> None:
    game = wall_game(num_players=6, num_decks=2)
    states = start(game)
    for _ in range(6):
        play(game, states, "start 5")
    assert deck_size(states) == 108 - 6


@pytest.mark.parametrize("starts", ["", "7h 6h"])
def test_W4_nobody_knows_the_order_of_the_deck(starts: str) -> None:
    game = wall_game()
    one, other = (start(game, starts, top) for top in ("Kh 2c Qs XX", "XX Qs Kh 2c"))
    for seat, (view, other_view) in enumerate(zip(views_of_all(game, one), views_of_all(game, other), strict=True)):
        assert same_view(view, other_view), f"seat {seat} can tell the decks apart"


# --- a turn -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("players", PLAYERS)
def test_W5_play_goes_clockwise_from_the_starting_player(players: int) -> None:
    game = wall_game(num_players=players)
    first = players // 2
    states = start(game, first_starts(players), starting_player=first)
    for turn in range(3 * players):
        assert mover(game, states) == (first + turn) % players
        play(game, states, "draw")
        assert mover(game, states) == (first + turn) % players
        play(game, states, "discard")


def test_W5_a_player_draws_takes_the_top_discard_or_passes() -> None:
    game = wall_game()
    states = start(game, "7h 6h", "Kc Qd")
    play(game, states, "draw", "discard")
    assert legal_texts(game, states) == {"draw", "take", "pass"}
    drawn, taken = states.copy(), states.copy()
    play(game, drawn, "draw")
    assert card_text(int(drawn[0]["in_hand"])) == "Qd"
    assert discard_pile(drawn[0]) == ["Kc"]
    play(game, taken, "take")
    assert card_text(int(taken[0]["in_hand"])) == "Kc"
    assert deck_size(taken) == deck_size(states)
    assert discard_pile(taken[0]) == []
    play(game, states, "pass")
    assert mover(game, states) == 0


def test_W5_cards_come_from_the_top_of_the_deck_in_its_order() -> None:
    game = wall_game()
    states = game.new_states(game_seeds(1))
    play(game, states, "start 7", "start 6")
    expected = [card_text(int(card)) for card in states[0]["deck"][: deck_size(states)]]
    for card in expected:
        play(game, states, "draw")
        assert card_text(int(states[0]["in_hand"])) == card
        play(game, states, "discard")
    assert deck_size(states) == 0


def test_W6_a_taken_card_must_be_built_or_discarded() -> None:
    for card, places in (("6c", {"left", "right", "discard"}), ("Kc", {"discard"})):
        game, states = solo("7h", hold=card)
        assert legal_texts(game, states) == places
        for action in ("pass", "draw", "take"):
            with pytest.raises(IllegalAction, match="W6"):
                game.step(states, [game.text_to_action(states[0], action)])


def test_W6_a_discarded_card_lies_on_top_of_the_pile() -> None:
    game = wall_game()
    states = start(game, "7h 6h", "Kc Qd Js")
    play(game, states, "draw", "discard", "draw", "discard")
    assert discard_pile(states[0]) == ["Kc", "Qd"]
    play(game, states, "take")
    assert card_text(int(states[0]["in_hand"])) == "Qd"


def test_W6_a_card_taken_from_the_discard_pile_may_be_put_back_or_built() -> None:
    game = wall_game()
    states = start(game, "7h 6h", "7c")
    play(game, states, "draw", "discard", "take")
    assert legal_texts(game, states) == {"left", "right", "discard"}
    play(game, states, "discard")
    assert discard_pile(states[0]) == ["7c"]
    assert mover(game, states) == 0
    play(game, states, "take", "right")
    assert discard_pile(states[0]) == []
    assert values_on(states, 0) == [7, 7]


def test_W6_a_card_is_built_on_the_own_wall() -> None:
    game = wall_game()
    states = start(game, "7h 6h", "2c 3c")
    play(game, states, "draw", "right", "draw", "left")
    assert values_on(states, 0) == [7, 2]
    assert [int(cell) & VALUE for cell in states[0]["wall"][1][0][:3]] == [3, 6, 0]


def test_W7_the_discard_pile_and_its_order_are_public() -> None:
    game = wall_game(num_players=3)
    states = start(game, "7h 6h 5h", "Kc 9d Js XX")
    for size in range(1, 5):
        play(game, states, "draw", "discard")
        for view in views_of_all(game, states):
            assert discard_pile(view) == ["Kc", "9d", "Js", "XX"][:size]


def test_W7_nobody_may_change_the_order_of_the_discard_pile() -> None:
    game = wall_game(num_players=3, num_decks=2)
    before: list[list[str]] = []
    for states in play_out(game, game.new_states(game_seeds(20)), wall_weights(game, "hoarder"), 7):
        if len(before) == len(states):
            for old, state in zip(before, states, strict=True):
                new = discard_pile(state)
                assert new in (old, old[:-1]) or new[:-1] == old  # only the top card goes away, or one is put on top
        before = [discard_pile(state) for state in states]


def test_W7_the_discard_pile_is_never_reshuffled_into_the_deck() -> None:
    game, states = solo("7h", ", ".join(f"{card} discard" for card in wall_deck("7h")[1:]))
    assert deck_size(states) == 0
    assert len(discard_pile(states[0])) == 53
    assert not may_play(game, states, "draw")
    assert legal_texts(game, states) == {"take", "pass"}


# --- values and places ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("end", RANKS)
@pytest.mark.parametrize("card", RANKS)
def test_W8_and_W9_a_card_widens_the_base_if_the_sum_with_the_end_card_is_14_or_less(end: str, card: str) -> None:
    # The ace counts 1: with 14 no sum were small enough.
    game, states = solo("2h", f"Ac right, {end}d right", hold=f"{card}s")
    assert may_play(game, states, "right") == (value(end) + value(card) <= 14)
    game, states = solo("2h", f"Ac left, {end}d left", hold=f"{card}s")
    assert may_play(game, states, "left") == (value(end) + value(card) <= 14)


@pytest.mark.parametrize(
    ("left", "right"), [pair for pair in product(RANKS, RANKS) if value(pair[0]) + value(pair[1]) <= 14]
)
def test_W8_and_W10_a_card_is_built_up_if_it_equals_the_sum_of_the_two_below(left: str, right: str) -> None:
    total = value(left) + value(right)
    fitting = "A" if total == 14 else RANKS[total - 1]  # an ace is 14 when it is built up
    for rank in RANKS:
        spare = rank + ("c" if rank == "2" else "h")
        game, states = solo("2h", f"Ac right, {left}d right, {right}s right", hold=spare)
        assert may_play(game, states, "build 1.2") == (rank == fitting)


def test_W8_an_ace_is_14_when_built_up_and_counts_1_under_another_card() -> None:
    base = "7c right, 7d right, Ah build 1.0, Ac build 1.1"
    game, two = solo("7h", base, hold="2c")
    assert builds(game, two) == {"build 2.0"}
    for card in ("Ad", "Kc", "Qc"):
        game, states = solo("7h", base, hold=card)
        assert builds(game, states) == set()


def test_W8_an_ace_counts_1_in_the_base() -> None:
    game, states = solo("7h", "Ah left, 6c right", hold="8c")
    assert builds(game, states) == {"build 1.0"}
    game, states = solo("7h", "Ah left, Kc left", hold="Ac")
    assert builds(game, states) == {"build 1.0"}  # 13 + 1


def test_W9_a_joker_may_not_widen_the_base() -> None:
    game, states = solo("2h", "Ac left", hold=JOKER)
    assert not may_play(game, states, "left")
    assert not may_play(game, states, "right")


def test_W9_either_end_has_its_own_limit() -> None:
    game, states = solo("7h", "2c left", hold="Qc")
    assert may_play(game, states, "left")
    assert not may_play(game, states, "right")
    play(game, states, "left")
    assert values_on(states, 0) == [12, 2, 7]


def test_W9_only_the_base_is_widened_and_only_its_end_card_counts() -> None:
    # The level above the base has an ace at its left end, beside which a king would be 14.
    game, states = solo("7h", "7c right, Ah build 1.0", hold="Kc")
    assert not may_play(game, states, "left")
    assert not may_play(game, states, "right")


def test_W10_the_place_must_be_empty() -> None:
    game, states = solo("7h", "2c right, 9c build 1.0", hold="9d")
    assert not may_play(game, states, "build 1.0")


def test_W10_two_adjacent_cards_of_the_level_below_are_needed() -> None:
    # 9 = 7 + 2 and 5 = 2 + 3: level 2 wants both of them.
    game, one_below = solo("7h", "2c right, 3c right, 9c build 1.0", hold="Ac")
    assert builds(game, one_below) == set()
    game, both_below = solo("7h", "2c right, 3c right, 9c build 1.0, 5c build 1.1", hold="Ac")
    assert builds(game, both_below) == {"build 2.0"}
    game, apart = solo("2h", "2c right, 2d right, 2s right, 4h build 1.0, 4c build 1.2", hold="8c")
    assert builds(game, apart) == set()


def test_W10_a_card_on_level_1_needs_two_cards_in_the_base() -> None:
    game, states = solo("7h", hold="7c")
    assert builds(game, states) == set()


def test_W10_a_card_may_go_to_any_of_several_places() -> None:
    game, states = solo("2h", "3c right, 2c right, 4c right, 2d left", hold="5c")
    assert builds(game, states) == {"build 1.1", "build 1.2"}


def test_W10_widening_at_the_left_moves_the_places_with_the_cards() -> None:
    game, states = solo("2h", "3c right, 4c right, 5h build 1.0, 7c build 1.1", hold="Qc")
    assert builds(game, states) == {"build 2.0"}
    game, states = solo("2h", "3c right, 4c right, 5h build 1.0, 7c build 1.1, 2d left", hold="Qc")
    assert builds(game, states) == {"build 2.1"}
    assert values_on(states, 0) == [2, 2, 3, 4]
    assert values_on(states, 1) == [0, 5, 7]


def test_W10_widening_at_the_left_moves_all_levels() -> None:
    game, states = solo(*triangle(SEVEN_LEVELS, 2), hold="5c", num_decks=2)
    play(game, states, "left")
    assert values_on(states, 0) == [5, *map(value, SEVEN_LEVELS[0])]
    for level, row in enumerate(SEVEN_LEVELS[1:], start=1):
        assert values_on(states, level) == [0, *map(value, row)]


@pytest.mark.parametrize(
    ("left", "right"), [pair for pair in product(RANKS, RANKS) if value(pair[0]) + value(pair[1]) <= 14]
)
def test_W11_a_joker_may_be_built_up_and_its_value_is_the_sum_below(left: str, right: str) -> None:
    game, states = solo("2h", f"Ac right, {left}d right, {right}s right", hold=JOKER)
    assert may_play(game, states, "build 1.2")
    play(game, states, "build 1.2")
    total = value(left) + value(right)
    assert values_on(states, 1)[2] == (1 if total == 14 else total)


def test_W11_a_jokers_value_counts_under_further_cards() -> None:
    base = "3c right, 4c right, XX build 1.0, XX build 1.1"  # 5 and 7
    for card, places in (("Qc", {"build 2.0"}), ("Jc", set()), ("Kc", set()), ("2c", set())):
        game, states = solo("2h", base, hold=card)
        assert builds(game, states) == places


def test_W11_a_joker_over_14_is_an_ace_and_counts_1() -> None:
    base = "7c right, 6c right, XX build 1.0, Kc build 1.1"  # 14 and 13
    game, states = solo("7h", base, hold="Ac")
    assert builds(game, states) == {"build 2.0"}  # 1 + 13
    game, states = solo("7h", "7c right, 7d right, XX build 1.0, XX build 1.1", hold="2c")
    assert builds(game, states) == {"build 2.0"}  # 1 + 1


def test_W11_a_joker_may_stand_on_jokers() -> None:
    base = "3c right, 4c right, XX build 1.0, XX build 1.1, XX build 2.0"
    _, states = solo("2h", base, jokers_per_deck=4)
    assert values_on(states, 2) == [12]


def test_W11_a_joker_may_not_stand_over_more_than_14() -> None:
    base = "6c right, 2c right, Kh build 1.0, 8c build 1.1"  # 13 + 8
    game, states = solo("7h", base, hold=JOKER)
    assert builds(game, states) == set()


def test_W12_worked_example_base_7_7_6_2_Q_has_six_upper_cards_and_scores_8() -> None:
    game, states = solo("7h", WORKED_EXAMPLE)
    assert values_on(states, 0) == [7, 7, 6, 2, 12]
    assert values_on(states, 1) == [1, 13, 8, 1]
    assert values_on(states, 2) == [1, 0, 9]
    assert int(np.count_nonzero(states[0]["wall"][0][1:])) == 6
    assert scores(game, states) == [8]


@cache
def _fits_in_the_worked_example(steps: str) -> set[tuple[str, str]]:
    """Which ranks can be built where."""
    found = set()
    for rank in (*RANKS, JOKER):
        copy = rank if rank == JOKER else rank + "s"
        game, states = solo("7h", steps, hold=copy)
        found |= {(rank, place.removeprefix("build ")) for place in builds(game, states)}
    return found


def test_W12_worked_example_offers_these_cards_and_no_others() -> None:
    steps = WORKED_EXAMPLE.split(", ")
    base, level_1, everything = ", ".join(steps[:4]), ", ".join(steps[:8]), ", ".join(steps)
    wanted = {("A", "1.0"), ("K", "1.1"), ("8", "1.2"), ("A", "1.3")}
    assert _fits_in_the_worked_example(base) == wanted | {(JOKER, place) for _, place in wanted}
    wanted = {("A", "2.0"), ("9", "2.2")}  # nothing over 13 + 8
    assert _fits_in_the_worked_example(level_1) == wanted | {(JOKER, place) for _, place in wanted}
    assert _fits_in_the_worked_example(everything) == set()  # no level 3


# --- the end ----------------------------------------------------------------------------------------------------------


def three_walls(third: Sequence[str], reward: str = "win") -> tuple[WallGame, States]:
    """A finished game in which the first two players have one card on level 1; the third does `third` in his turns."""
    game = wall_game(num_players=3, reward=reward)
    states = start(game, "7h 6h 5h", "2c 3c 4c 9c 9d 9h")
    play(game, states, "draw", "right", "draw", "right", "draw", third[0])
    play(game, states, "draw", "build 1.0", "draw", "build 1.0", "draw", third[1])
    play(game, states, "pass", "pass", "pass")
    assert game.terminated(states)[0]
    return game, states


def test_W13_equal_scores_share_the_win() -> None:
    game, states = three_walls(["discard", "discard"])
    assert scores(game, states) == [1, 1, 0]
    assert game.rewards(states)[0].tolist() == [0.5, 0.5, -1.0]


def test_W13_all_equal_is_no_win_for_anybody() -> None:
    game, states = three_walls(["right", "build 1.0"])
    assert scores(game, states) == [1, 1, 1]
    assert game.rewards(states)[0].tolist() == [0.0, 0.0, 0.0]


def test_W13_the_highest_score_wins() -> None:
    game = wall_game(num_players=4, num_decks=2, reward="win")
    states = finished_games(game, game.new_states(game_seeds(60)), wall_weights(game, "builder"), 13)
    points, rewards = game.scores(states), game.rewards(states)
    winners = points == points.max(axis=1, keepdims=True)
    assert winners.sum(axis=1).min() == 1
    assert ((rewards > 0) == winners).all()


@pytest.mark.parametrize("players", PLAYERS)
def test_WD1_a_round_of_passes_ends_the_game(players: int) -> None:
    game = wall_game(num_players=players)
    states = start(game, first_starts(players))
    for _ in range(players):
        assert not game.terminated(states)[0]
        play(game, states, "pass")
    assert game.terminated(states)[0]
    assert mover(game, states) == -1
    with pytest.raises(ValueError, match="over"):
        game.replay_move(states, "pass")


@pytest.mark.parametrize("players", PLAYERS)
@pytest.mark.parametrize("mixed", [False, True])
def test_WD1_a_round_of_cards_put_straight_back_ends_the_game(players: int, mixed: bool) -> None:
    game = wall_game(num_players=players)
    states = start(game, first_starts(players), "Kc")
    play(game, states, "draw", "discard")
    for turn in range(players):
        assert not game.terminated(states)[0]
        play(game, states, *(["pass"] if mixed and turn % 2 else ["take", "discard"]))
    assert game.terminated(states)[0]


@pytest.mark.parametrize("players", PLAYERS)
@pytest.mark.parametrize("turn", ["draw discard", "draw right", "take right"])
def test_WD1_a_draw_or_a_built_card_starts_the_count_again(players: int, turn: str) -> None:
    game = wall_game(num_players=players)
    states = start(game, first_starts(players), "2c 2d")
    if turn.startswith("take"):
        play(game, states, "draw", "discard")
    play(game, states, *["pass"] * (players - 1), *turn.split())
    for _ in range(players):
        assert not game.terminated(states)[0]
        play(game, states, "pass")
    assert game.terminated(states)[0]


def emptied_deck(game: WallGame) -> States:
    """Two players have drawn and discarded the whole deck; a two lies on top of the discard pile."""
    others = [card for card in wall_deck("7h 6h")[2:] if card != "2c"]
    states = start(game, "7h 6h", " ".join([*others, "2c"]))
    while deck_size(states) > 1:
        play(game, states, "draw", "discard")
    play(game, states, "draw")
    assert deck_size(states) == 0
    assert not game.terminated(states)[0]  # the turn that emptied the deck is not over yet
    play(game, states, "discard")
    return states


def test_WD1_the_game_goes_on_without_a_deck_until_a_round_is_idle() -> None:
    game = wall_game()
    states = emptied_deck(game)
    play(game, states, "pass", "take", "right", "pass")
    assert not game.terminated(states)[0]
    play(game, states, "take", "discard")
    assert game.terminated(states)[0]


def test_WD1_option_ends_deck_ends_the_game_with_the_turn_that_emptied_the_deck() -> None:
    game = wall_game(ends="deck")
    assert game.terminated(emptied_deck(game))[0]


def test_WD1_option_ends_deck_ends_the_game_also_if_the_last_card_is_built() -> None:
    game, states = solo("7h", ", ".join(f"{card} discard" for card in wall_deck("7h 2c")[2:]), hold="2c", ends="deck")
    play(game, states, "left")
    assert game.terminated(states)[0]


def test_WD1_option_ends_deck_keeps_the_idle_rule() -> None:
    game = wall_game(ends="deck")
    states = start(game, "7h 6h")
    play(game, states, "pass", "pass")
    assert game.terminated(states)[0]


@pytest.mark.parametrize("rules", ALL_RULES, ids=lambda rules: f"{rules.num_players}-{rules.num_decks}")
def test_WD1_and_WD2_no_game_passes_the_stated_bounds(rules: WallRules) -> None:
    game = WallGame(rules)
    at_random = game.new_states(game_seeds(30))
    game.playout(at_random, game_seeds(30, first=99))
    assert_within_bounds(game, at_random)
    number = ALL_RULES.index(rules)
    policy = list(WALL_POLICIES)[number % len(WALL_POLICIES)]
    by_policy = finished_games(game, game.new_states(game_seeds(3, first=number)), wall_weights(game, policy), number)
    assert_within_bounds(game, by_policy)


def assert_within_bounds(game: WallGame, states: States) -> None:
    """Finished games keep to the bounds that the rules state, and no card has got lost."""
    rules = game.rules
    assert game.terminated(states).all()
    decisions, history = states["num_decisions"], states["history"]
    assert decisions.max() <= rules.max_decisions
    assert ((history >= 0) == (np.arange(history.shape[1]) < decisions[:, None])).all()
    assert ((history >= ENDS_A_TURN).sum(axis=1) <= rules.max_turns).all()
    for name, lowest, highest in (
        ("height", 1, rules.num_levels + 1),
        ("width", 1, rules.width_limit),
        ("score", 0, rules.max_score),
    ):
        field = states[name][:, : game.num_players]
        assert lowest <= field.min() <= field.max() <= highest
    cells = np.count_nonzero(states["wall"], axis=(2, 3))
    assert cells.max() <= rules.num_cells
    cards = cells.sum(axis=1) + states["discard_size"] + states["deck_length"] - states["deck_top"]
    assert (cards == rules.num_cards).all()


@pytest.mark.parametrize("policy", list(WALL_POLICIES))
def test_WD1_thousands_of_games_keep_to_the_bounds(policy: str) -> None:
    for options in ({}, {"num_players": 1, "num_decks": 2, "jokers_per_deck": 4}, {"num_players": 6, "num_decks": 2}):
        game = wall_game(**options)
        assert_within_bounds(
            game, finished_games(game, game.new_states(game_seeds(100)), wall_weights(game, policy), 100)
        )
        at_random = game.new_states(game_seeds(500))
        game.playout(at_random, game_seeds(500))
        assert_within_bounds(game, at_random)


@pytest.mark.parametrize("players", PLAYERS)
@pytest.mark.parametrize(("decks", "jokers"), [(1, 2), (2, 4)])
def test_WD1_the_bound_holds_for_the_slowest_play(players: int, decks: int, jokers: int) -> None:
    # All put the top discard back, but for the last one before the game would end: he draws, or builds if he can.
    game = wall_game(num_players=players, num_decks=decks, jokers_per_deck=jokers)
    states = start(game, first_starts(players))
    while not game.terminated(states)[0]:
        last_before_the_end = int(states[0]["idle"]) == players - 1
        if last_before_the_end and may_play(game, states, "draw"):
            play(game, states, "draw", "discard")
        elif may_play(game, states, "take"):
            play(game, states, "take")
            places = sorted(legal_texts(game, states) - {"discard"})
            play(game, states, places[0] if last_before_the_end and places else "discard")
        else:
            play(game, states, "pass")
    drawn = game.rules.num_cards - players
    turns = int((states[0]["history"] >= ENDS_A_TURN).sum())
    assert players * drawn < turns <= game.rules.max_turns
    assert_within_bounds(game, states)


@pytest.mark.parametrize("rules", ALL_RULES, ids=lambda rules: f"{rules.num_players}-{rules.num_decks}")
def test_WD2_width_and_levels_follow_from_the_cards(rules: WallRules) -> None:
    widest = 52 * rules.num_decks - (rules.num_players - 1)
    assert rules.width_limit == (widest if rules.max_width is None else rules.max_width)
    cards = (52 + rules.jokers_per_deck) * rules.num_decks
    levels = max(k for k in range(rules.width_limit) if (k + 1) * (k + 2) // 2 <= cards)
    assert rules.num_levels == levels
    assert rules.num_cells == sum(rules.width_limit - level for level in range(levels + 1))


def test_WD2_eight_levels_with_one_deck_of_54_and_thirteen_with_two() -> None:
    assert WallRules().num_levels == 8
    assert WallRules(num_decks=2).num_levels == 13
    assert wall_game().num_actions == 384  # two players and one deck


@pytest.mark.parametrize("rules", ALL_RULES, ids=lambda rules: f"{rules.num_players}-{rules.num_decks}")
def test_WD2_a_record_has_room_for_every_game(rules: WallRules) -> None:
    blank = np.zeros(1, STATE)[0]
    assert rules.max_decisions <= len(blank["history"])
    assert rules.max_decisions <= np.iinfo(blank["num_decisions"].dtype).max
    assert WallGame(rules).num_actions <= np.iinfo(blank["history"].dtype).max
    assert rules.num_cards <= min(len(blank["deck"]), len(blank["discard"]), np.iinfo(np.int8).max)
    assert rules.num_levels + 1 <= blank["wall"].shape[1]
    assert rules.width_limit <= blank["wall"].shape[2]
    assert rules.max_score <= np.iinfo(blank["score"].dtype).max


@pytest.mark.parametrize("jokers", range(5))
def test_WD2_no_wall_of_a_decks_cards_scores_more_than_the_bound(jokers: int) -> None:
    @cache
    def best(level: int, below: int, cards: int) -> int:
        """The most points of the levels from `level` up over a level of `below` cards: each has fewer (W10, W2)."""
        return max(
            (
                count * 2 ** (level - 1) + best(level + 1, count, cards - count)
                for count in range(1, min(below - 1, cards) + 1)
            ),
            default=0,
        )

    rules = WallRules(num_players=1, jokers_per_deck=jokers)
    assert rules.max_score >= max(best(1, base, rules.num_cards - base) for base in range(1, 53))


@pytest.mark.parametrize("decks", [1, 2])
def test_WD2_all_cards_but_the_jokers_fit_in_one_base(decks: int) -> None:
    first, steps = whole_row(decks)
    game, states = solo(first, steps, num_decks=decks)
    assert int(states[0]["width"][0]) == 52 * decks == game.rules.width_limit
    row = values_on(states, 0)
    assert Counter(row) == dict.fromkeys(range(1, 14), 4 * decks)
    assert max(left + right for left, right in pairwise(row)) <= 14
    assert scores(game, states) == [0]


def test_WD2_a_wall_of_all_112_cards_overflows_nothing() -> None:
    first, steps = whole_row(2)
    over_the_sevens = ", ".join(f"{JOKER} build 1.{103 - 1 - number}" for number in range(7))
    game, states = solo(first, f"{steps}, {over_the_sevens}", hold=JOKER, num_decks=2, jokers_per_deck=4)
    assert deck_size(states) == 0
    play(game, states, "build 2.101")
    assert int(np.count_nonzero(states[0]["wall"])) == 112
    assert values_on(states, 1)[-7:] == [1] * 7
    assert values_on(states, 2)[-1] == 2
    assert scores(game, states) == [7 + 2]
    play(game, states, "pass")
    assert_within_bounds(game, states)


@pytest.mark.parametrize("players", [1, 6])
def test_WD2_all_cards_of_two_decks_on_the_discard_pile_overflow_nothing(players: int) -> None:
    game = wall_game(num_players=players, num_decks=2, jokers_per_deck=4)
    starts = first_starts(players)
    states = start(game, starts)
    expected = [card_text(int(card)) for card in states[0]["deck"][: deck_size(states)]]
    assert len(expected) == 112 - players
    while deck_size(states):
        play(game, states, "draw", "discard")
    for view in views_of_all(game, states):
        assert discard_pile(view) == expected
    for card in reversed(expected):
        play(game, states, "take")
        assert card_text(int(states[0]["in_hand"])) == card
        places = sorted(legal_texts(game, states) - {"discard"})
        play(game, states, places[0] if places else "discard")
        if not places:
            break


@pytest.mark.parametrize("limit", [1, 2, 5])
def test_WD2_option_max_width_forbids_to_widen_past_it(limit: int) -> None:
    steps = [f"{card} right" for card in ("2c", "3c", "2d", "3d")[: limit - 1]]
    game, states = solo("2h", ", ".join(steps), hold="4c", max_width=limit)
    assert int(states[0]["width"][0]) == limit
    assert not {"left", "right"} & legal_texts(game, states)
    game, states = solo("2h", ", ".join(steps[:-1]), hold="4c", max_width=limit)
    assert {"left", "right"} <= legal_texts(game, states) or limit == 1


def test_WD2_option_max_width_leaves_building_up_as_it_is() -> None:
    game, states = solo("7h", "7c right, 6h right, Ac build 1.0", hold="Kc", max_width=3)
    assert builds(game, states) == {"build 1.1"}
    play(game, states, "build 1.1", "draw")
    assert int(states[0]["height"][0]) == 2


@pytest.mark.parametrize("width", [0, -1, 1.5, "3", True])
def test_WD2_option_max_width_is_a_positive_integer(width: Any) -> None:
    with pytest.raises(ValueError, match="max_width"):
        wall_game(max_width=width)


def test_WD3_taking_from_an_empty_discard_pile_is_not_legal() -> None:
    game = wall_game()
    states = start(game, "7h 6h", "Kc")
    assert legal_texts(game, states) == {"draw", "pass"}
    with pytest.raises(ValueError, match="WD3"):
        game.replay_move(states, "take")
    play(game, states, "draw", "discard", "take")
    play(game, states, "discard")
    assert may_play(game, states, "take")


def test_WD3_drawing_from_an_empty_deck_is_not_legal() -> None:
    game = wall_game()
    states = emptied_deck(game)
    assert legal_texts(game, states) == {"take", "pass"}
    with pytest.raises(ValueError, match="WD3"):
        game.replay_move(states, "draw")
    with pytest.raises(IllegalAction, match="WD3"):
        game.step(states, [game.text_to_action(states[0], "draw")])


def test_WD3_with_deck_and_discard_pile_empty_a_pass_is_left() -> None:
    first, steps = whole_row(1)
    game, states = solo(first, steps, jokers_per_deck=0)
    assert legal_texts(game, states) == {"pass"}


@pytest.mark.parametrize("decks", [1, 2])
def test_WD4_the_start_card_is_the_copy_with_the_lowest_id_and_the_order_of_the_others_stays(decks: int) -> None:
    game = wall_game(num_players=6, num_decks=decks)
    for states in (game.new_states(game_seeds(1, first=seed)) for seed in range(20)):
        expected = [int(card) for card in states[0]["deck"][: deck_size(states)]]
        for rank in "773777"[: 6 if decks == 2 else 5]:
            copies = [card for card in expected if card < 104 and card % 13 == value(rank) - 1]
            expected.remove(min(copies))
            play(game, states, f"start {rank}")
            assert [int(card) for card in states[0]["deck"][: deck_size(states)]] == expected


def test_WD4_the_order_of_the_deck_stays_uniform() -> None:
    game = wall_game(num_players=1)
    states = game.new_states(game_seeds(8000))
    game.step(states, np.full(8000, 5))
    deck = states["deck"][:, :53]
    remaining = [card for card in [*range(52), 104, 105] if card != value("7") - 1]  # the seven of hearts is gone
    for place in (0, 26, 52):
        assert_uniform([int((deck[:, place] == card).sum()) for card in remaining])
    _, places_of_another_seven = np.nonzero(deck == value("7") - 1 + 13)
    assert_uniform([int((places_of_another_seven == place).sum()) for place in range(53)])
