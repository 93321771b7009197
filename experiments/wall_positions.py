"""A position of Wall from a block of text, with a game that leads to it."""

import random
from itertools import product

from cardtable.cards import DECK_SIZE, JOKER_TEXT, RANKS, SUITS, card_text
from cardtable.game import Game
from cardtable.records import GameRecord
from experiments.blocks import Block
from wall_env import WallGame, WallRules
from wall_env.engine import HIGHEST_START, LOWEST_START

NEEDED = ("player_0",)
ALLOWED = ("players", *(f"player_{seat}" for seat in range(1, 6)), "discard", "deck", "drawn", "taken", "passes")
_ATTEMPTS = 2000
_START_RANKS = RANKS[LOWEST_START - 1 : HIGHEST_START]
_EMPTY = "."

Rows = list[list[str]]  # of a wall, the base first
Placements = list[tuple[str, str]]  # cards, and moves that place them


def wall_position(block: Block) -> tuple[Game, GameRecord]:
    """The game and the record of a block's position, in which player_0 is to move.

    In the game that leads to it, walls are built and cards discarded in a random order, and the deck lies at random;
    both are the same each time.

    Raises:
        ValueError: if the position is malformed or breaks the rules; the message names file and line.
    """
    num_players = block.number("players", 2, range(1, 7))
    rules = WallRules(num_players=num_players)
    walls = [_rows(block, f"player_{seat}") for seat in range(num_players)]
    groups = {
        f"player_{seat}": [card for row in wall for card in row if card != _EMPTY] for seat, wall in enumerate(walls)
    }
    groups |= {key: block.cards(key) for key in ("drawn", "taken", "discard", "deck")}
    pack = [card_text(card) for card in range(DECK_SIZE)] + [JOKER_TEXT] * rules.jokers_per_deck
    block.fill(groups, pack, "deck")
    in_hand = groups["drawn"] + groups["taken"]
    if len(in_hand) > 1:
        block.fail("one card may be in the hand, drawn or taken", "drawn" if groups["drawn"] else "taken")
    passes = block.number("passes", 0, range(num_players))
    rng = random.Random(0)
    discards = (groups["taken"] + groups["discard"])[::-1]
    possible = {seat: starts for seat in range(num_players) if (starts := _starts(walls, seat)) is not None}
    if not possible:
        block.fail("each base needs a card of rank 2 to 7 as its start; those of one rank are hearts, clubs, diamonds, "
                   "spades in the order of choosing (WD4)", "player_0")  # fmt: skip
    for _ in range(_ATTEMPTS):
        starting_player, starts = rng.choice(list(possible.items()))
        waiting = [_placements(wall, start) for wall, start in zip(walls, starts, strict=True)]
        played = _attempt(waiting, list(discards), starting_player, passes, rng)
        if played is not None:
            break
    else:
        block.fail(f"no game was found that leads here, with player_0 to move after {passes} passes", "player_0")
    drawn, moves = played
    rng.shuffle(groups["deck"])
    first = [(starting_player + k) % num_players for k in range(num_players)]
    game = WallGame(rules)
    return game, GameRecord(
        game=game.name,
        rules=vars(rules),
        seed=0,
        players=[f"player_{seat}" for seat in range(num_players)],
        deal={"starting_player": starting_player, "deck": drawn + groups["drawn"] + groups["deck"]},
        moves=[f"start {walls[seat][0][starts[seat]]}" for seat in first]
        + moves
        + ["draw"] * len(groups["drawn"])
        + ["take"] * len(groups["taken"]),
        scores=None,
    )


def _rows(block: Block, key: str) -> Rows:
    """A wall's levels from the base on, as they are written from the top down to the base."""
    if key not in block.fields:
        block.fail(f"{key!r} is missing; each player has a wall")
    rows = block.rows(key)[::-1]
    for level, row in enumerate(rows):
        number = len(rows) - 1 - level
        if len(row) != len(rows[0]) - level:
            block.fail(f"level {level} has {len(rows[0]) - level} places ('{_EMPTY}' for an empty one), not {len(row)}",
                       key, number)  # fmt: skip
        for word in row:
            if word != _EMPTY or level == 0:
                block.check_card(word, key, number)
    if not rows:
        block.fail("a wall has a base", key)
    return rows


def _starts(walls: list[Rows], starting_player: int) -> list[int] | None:
    """For each seat, where in its base the start card lies; None if there is no way (WD4)."""
    seats = [(starting_player + k) % len(walls) for k in range(len(walls))]
    candidates = [[k for k, card in enumerate(walls[seat][0]) if card[0] in _START_RANKS] for seat in seats]
    for chosen in product(*candidates):
        cards = [walls[seat][0][place] for seat, place in zip(seats, chosen, strict=True)]
        ranks = [card[0] for card in cards]
        if all(SUITS.index(card[1]) == ranks[:k].count(card[0]) for k, card in enumerate(cards)):
            return [place for _, place in sorted(zip(seats, chosen, strict=True))]
    return None


def _placements(wall: Rows, start: int) -> Placements:
    """What builds a wall around its start card: the base, then level by level."""
    base = wall[0]
    steps = [(card, "right") for card in base[start + 1 :]] + [(card, "left") for card in base[:start][::-1]]
    for level, row in enumerate(wall[1:], start=1):
        steps += [(card, f"build {level}.{place}") for place, card in enumerate(row) if card != _EMPTY]
    return steps


def _attempt(
    waiting: list[Placements], discards: list[str], starting_player: int, passes: int, rng: random.Random
) -> tuple[list[str], list[str]] | None:
    """The cards drawn and the moves made by random turns, or None if they do not end with player_0 to move."""
    num_players = len(waiting)
    drawn: list[str] = []
    moves: list[str] = []
    seat, idle = starting_player, 0
    waiting = [steps[::-1] for steps in waiting]
    discards = discards[::-1]
    while any(waiting) or discards:
        load = [len(steps) + len(discards) for steps in waiting]
        if idle + 1 < num_players and rng.random() * max(load) >= 0.8 * load[seat]:  # so that all end about together
            moves.append("pass")
            idle += 1
        elif load[seat] == 0:
            return None
        else:
            builds = rng.randrange(load[seat]) < len(waiting[seat])
            card, move = waiting[seat].pop() if builds else (discards.pop(), "discard")
            drawn.append(card)
            moves += ["draw", move]
            idle = 0
        seat = (seat + 1) % num_players
    moves += ["pass"] * passes
    return (drawn, moves) if (seat + passes) % num_players == 0 else None
