"""A position of Piles from a block of text, with a game that leads to it."""

import random
from collections.abc import Iterator

import numpy as np

from cardtable.cards import DECK_SIZE, card_text, parse_card
from cardtable.game import Game
from cardtable.records import GameRecord
from experiments.blocks import Block
from piles_env import PilesGame, PilesRules, engine
from piles_env.actions import PILE_NAMES
from piles_env.state import HAND_SIZE, NUM_PILES, NUM_TURNS, STOCK_SIZE

NEEDED = ("castle", "hand", "colour")
ALLOWED = ("players", "we took", "they took", "hidden")
_PACK = [card_text(card) for card in range(DECK_SIZE)]
_ATTEMPTS = 2000


def piles_position(block: Block) -> tuple[Game, GameRecord]:
    """The game and the record of a block's position, in which player_0 is to move.

    How the cards came to their places is not told, so a game is found by trying, and hidden cards lie at random; both
    are the same each time.

    Raises:
        ValueError: if the position is malformed or none of the games; the message names file and line.
    """
    num_players = block.number("players", 4, (4, 2))
    piles = _piles(block)
    colour = block.text("colour")
    groups = {"castle": [card for pile in piles for card in pile]}
    groups |= {key: block.cards(key) for key in ("hand", "we took", "they took", "hidden")}
    block.fill(groups, _PACK, "hidden")
    turn = len(groups["castle"]) - NUM_PILES + len(groups["we took"]) + len(groups["they took"])
    _check_counts(block, groups, turn, num_players)
    if colour not in (("red", "black") if turn else ("none",)):
        block.fail(
            f"must be red or black, or none before the first turn; after {turn} turns it is {colour!r}", "colour"
        )
    rng = random.Random(0)
    opener = -turn % num_players
    for _ in range(_ATTEMPTS):
        moves = _attempt(piles, groups, opener, num_players, colour, rng)
        if moves is not None:
            break
    else:
        block.fail("no game was found that leads here; can all cards have been placed as they lie?", "castle")
    rng.shuffle(groups["hidden"])
    game = PilesGame(PilesRules(num_players=num_players))
    return game, GameRecord(
        game=game.name,
        rules=vars(game.rules),
        seed=0,
        players=[f"player_{seat}" for seat in range(num_players)],
        deal=_deal(piles, groups, moves, opener, num_players),
        moves=moves,
        scores=None,
    )


def _piles(block: Block) -> list[list[str]]:
    """The cards of each pile, the top first."""
    rows = block.rows("castle")
    if [len(row) for row in rows] != [4, 4, 4]:
        block.fail("the Castle is 3 lines of 4 piles, each with its cards from the top, as in 'Kh/3c/Ad'", "castle")
    piles = [[(cell, number) for cell in pile.split("/")] for number, row in enumerate(rows) for pile in row]
    for pile in piles:
        for card, number in pile:
            block.check_card(card, "castle", number)
    return [[card for card, _ in pile] for pile in piles]


def _check_counts(block: Block, groups: dict[str, list[str]], turn: int, num_players: int) -> None:
    """P12: a turn uses up a card, so the cards that are used say how many there are in each hand."""
    if turn >= NUM_TURNS:
        block.fail(f"{turn} cards are placed or taken, so the game is over: it has {NUM_TURNS} turns", "castle")
    used = turn % (HAND_SIZE * num_players) // num_players
    if len(groups["hand"]) != HAND_SIZE - used:
        block.fail(f"{turn} cards are placed or taken, so there are {HAND_SIZE - used} in the hand of the player to "
                   f"move, not {len(groups['hand'])}", "hand")  # fmt: skip


def _attempt(
    piles: list[list[str]],
    groups: dict[str, list[str]],
    opener: int,
    num_players: int,
    colour: str,
    rng: random.Random,
) -> list[str] | None:
    """Moves that lead to a position, or None where random choices have led nowhere."""
    waiting = [pile[:-1] for pile in piles]  # what is still to be placed on each pile, the last card first
    top = np.array([parse_card(pile[-1]) for pile in piles], np.int8)
    # Cards lost by the passers of each side: those that the other side took.
    lost = [list(groups["they took"]), list(groups["we took"])]
    moves: list[str] = []
    while left := sum(map(len, (*waiting, *lost))):
        side = (opener + len(moves)) % num_players % 2
        options = list(_placements(waiting, top))
        if not moves:  # PD1, P5: the opener places a card, in the colour that his side then has
            red = (colour == "red") == (side == 0)
            options = [pile for pile in options if engine.is_red(parse_card(waiting[pile][-1])) == red]
        elif len(lost[side]) >= (left + 1) // 2:  # the sides take turns, so that all of this one's are passes
            options = [NUM_PILES]
        elif lost[side]:
            options.append(NUM_PILES)
        if not options:
            return None
        pile = rng.choice(options)
        if pile == NUM_PILES:
            moves.append(f"pass:{lost[side].pop()}")
        else:
            card = waiting[pile].pop()
            moves.append(f"{card}@{PILE_NAMES[pile]}")
            top[pile] = parse_card(card)
    return moves


def _placements(waiting: list[list[str]], top: np.ndarray) -> Iterator[int]:
    """The piles whose next card may be placed now (P9, P10)."""
    reds = engine.red_piles(top)
    for pile, cards in enumerate(waiting):
        if cards:
            card = parse_card(cards[-1])
            same = engine.is_red(card) == engine.is_red(int(top[pile]))
            if same or card % 13 + 1 > engine.total_value(top, reds, pile):
                yield pile


def _deal(
    piles: list[list[str]], groups: dict[str, list[str]], moves: list[str], opener: int, num_players: int
) -> dict[str, object]:
    """The deal from which these moves can be made."""
    used: list[list[str]] = [[] for _ in range(num_players)]
    for number, move in enumerate(moves):
        used[(opener + number) % num_players].append(move.removeprefix("pass:")[:2])
    second = len(moves) >= HAND_SIZE * num_players  # two players: the second hands
    hidden = list(groups["hidden"])
    for seat in range(num_players):
        left = HAND_SIZE * (2 if second else 1) - len(used[seat])
        used[seat] += groups["hand"] if seat == 0 else [hidden.pop() for _ in range(left)]
    stock = hidden
    if second:
        stock = [used[(opener + k) % 2][HAND_SIZE + k // 2] for k in range(STOCK_SIZE)]
    return {
        "opener": opener,
        "hands": [cards[:HAND_SIZE] for cards in used],
        "castle": [pile[-1] for pile in piles],
        "stock": stock,
    }
