"""What the tests share: ways to set up positions, to ask what is legal, and to play many games at once."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cardtable.game import Game, Ints, States, Views
from piles_env import PilesGame, PilesRules
from wall_env import WallGame, WallRules

RANKS = "A23456789TJQK"  # ace = 1 to king = 13
SUITS = "hcds"
RED_SUITS = "hd"
PILE_NAMES = [column + row for row in "123" for column in "abcd"]
JOKER = "XX"


def deck_of_52() -> list[str]:
    """The cards of a poker deck without jokers."""
    return [rank + suit for suit in SUITS for rank in RANKS]


def is_red(card: str) -> bool:
    """Whether a card in record notation is hearts or diamonds."""
    return card[1] in RED_SUITS


def piles_game(**options: Any) -> PilesGame:
    """Piles with these options."""
    return PilesGame(PilesRules(**options))


def wall_game(**options: Any) -> WallGame:
    """Wall with these options."""
    return WallGame(WallRules(**options))


def game_seeds(count: int, first: int = 0) -> NDArray[np.uint64]:
    """Seeds of `count` games."""
    return np.arange(first, first + count, dtype=np.uint64)


# --- playing by text --------------------------------------------------------------------------------------------------


def play(game: Game, states: States, *moves: str) -> None:
    """Carry out moves in record notation in a batch of one."""
    for move in moves:
        game.replay_move(states, move)


def may_play(game: Game, states: States, text: str) -> bool:
    """Whether the mask of a batch of one allows a move in record notation."""
    return bool(game.action_mask(states)[0, game.text_to_action(states[0], text)])


def legal_actions(game: Game, states: States) -> list[int]:
    """The legal action ids of a batch of one."""
    return [int(action) for action in np.flatnonzero(game.action_mask(states)[0])]


def legal_texts(game: Game, states: States) -> set[str]:
    """The legal moves of a batch of one in record notation."""
    return {game.action_to_text(states[0], action) for action in legal_actions(game, states)}


def mover(game: Game, states: States) -> int:
    """The seat to move in a batch of one, -1 when the game is over."""
    return int(game.current_player(states)[0])


def scores(game: Game, states: States) -> list[int]:
    """The points of a batch of one if the game ended now."""
    return [int(points) for points in game.scores(states)[0]]


def views_of_all(game: Game, states: States) -> Views:
    """What each seat may know of a batch of one, by seat."""
    seats = range(game.num_players)
    return game.view(np.repeat(states, game.num_players), np.array(seats))


def same_view(one: np.void, other: np.void) -> bool:
    """Whether two views show the same."""
    return all(np.array_equal(one[name], other[name]) for name in one.dtype.names or ())


# --- deals ------------------------------------------------------------------------------------------------------------


def piles_deal(
    castle: Mapping[str, str] | str = "",
    hands: Mapping[int, str] | None = None,
    *,
    num_players: int = 4,
    opener: int = 0,
    stock: str = "",
) -> dict[str, Any]:
    """A deal of Piles with these cards in these places; the cards that are not named fill the other places.

    Args:
        castle: a card by pile name, or all twelve cards by pile index, parted by blanks.
        hands: cards by seat, parted by blanks.
        num_players: 4 or 2.
        opener: the opening seat.
        stock: the first cards of the stock, parted by blanks.
    """
    if isinstance(castle, str):
        castle = dict(zip(PILE_NAMES, castle.split(), strict=False))
    given = {seat: cards.split() for seat, cards in (hands or {}).items()}
    first_stock = stock.split()
    named = {*castle.values(), *first_stock, *(card for cards in given.values() for card in cards)}
    others = iter([card for card in deck_of_52() if card not in named])

    def fill(cards: list[str], size: int) -> list[str]:
        return cards + [next(others) for _ in range(size - len(cards))]

    full_castle = [castle[name] if name in castle else next(others) for name in PILE_NAMES]
    full_hands = [fill(given.get(seat, []), 10) for seat in range(num_players)]
    full_stock = fill(first_stock, 20 if num_players == 2 else 0)
    return {"opener": opener, "hands": full_hands, "castle": full_castle, "stock": full_stock}


def wall_deck(top: str, num_decks: int = 1, jokers_per_deck: int = 2) -> list[str]:
    """A full deck of Wall with these cards on top, parted by blanks, and the others below them."""
    first = top.split()
    rest = (deck_of_52() + [JOKER] * jokers_per_deck) * num_decks
    for card in first:
        rest.remove(card)
    return first + rest


# --- walls ------------------------------------------------------------------------------------------------------------

# Each two neighbours make 14 or less: the high cards stand between low ones.
_PAIRS_OF_A_ROW = ("KA", "Q2", "J3", "T4", "95", "86")
# Full triangles, the base first; every other card is the sum of the two below it.
SIX_LEVELS = ("3A2A4T3", "4335AK", "7686A", "KAA7", "A28", "3T", "K")
SEVEN_LEVELS = ("42AAJ3T4", "632QAKA", "95AKAA", "A6AA2", "7723", "A95", "TA", "J")


def _copies_of_ranks(num_decks: int) -> dict[str, list[str]]:
    """The cards of each rank."""
    return {rank: [rank + suit for suit in SUITS] * num_decks for rank in RANKS}


def whole_row(num_decks: int) -> tuple[str, str]:
    """A start card and the steps that put all cards but the jokers into one base, from its right end on."""
    copies = _copies_of_ranks(num_decks)
    ranks = "".join(pair * 4 * num_decks for pair in _PAIRS_OF_A_ROW) + "7" * 4 * num_decks
    first, *others = [copies[rank].pop(0) for rank in reversed(ranks)]
    return first, ", ".join(f"{card} left" for card in others)


def triangle(rows: Sequence[str], num_decks: int) -> tuple[str, str]:
    """A start card and the steps that build a full triangle; jokers stand in for copies that there are not."""
    copies = _copies_of_ranks(num_decks)
    first, *others = [copies[rank].pop(0) for rank in rows[0]]
    steps = [f"{card} right" for card in others]
    for level, row in enumerate(rows[1:], start=1):
        for position, rank in enumerate(row):
            steps.append(f"{copies[rank].pop(0) if copies[rank] else JOKER} build {level}.{position}")
    return first, ", ".join(steps)


# --- statistics -------------------------------------------------------------------------------------------------------


def assert_uniform(counts: Sequence[int]) -> None:
    """Chi-square test that all outcomes are equally likely, at five standard deviations."""
    observed = np.asarray(counts, float)
    expected = observed.sum() / len(observed)
    assert expected >= 20, "too few draws to tell"
    statistic = float(((observed - expected) ** 2 / expected).sum())
    freedom = len(observed) - 1
    assert abs(statistic - freedom) < 5 * (2 * freedom) ** 0.5, f"chi-square {statistic} with {freedom} degrees"


# --- many games at once -----------------------------------------------------------------------------------------------

Weights = Callable[[States], NDArray[np.float64]]  # for games [B]: how likely each action is, [A] or [B, A]


def choose(masks: NDArray[np.int8], weights: NDArray[np.float64], rng: np.random.Generator) -> Ints:
    """A random legal action for each row of `masks` [B, A], with probabilities in proportion to `weights`."""
    rows, actions = np.nonzero(masks)
    waiting = np.full(masks.shape, np.inf)
    waiting[rows, actions] = rng.standard_exponential(len(rows)) / np.broadcast_to(weights, masks.shape)[rows, actions]
    return np.asarray(waiting.argmin(axis=1), np.int64)


def play_out(game: Game, states: States, weights: Weights, seed: int) -> Iterator[States]:
    """Play games to their ends by `choose`; yield the unfinished ones before each step, and finally all, in order."""
    rng = np.random.default_rng(seed)
    ended = states.copy()
    lanes = np.flatnonzero(~game.terminated(states))
    running = states[lanes]
    while len(lanes):
        yield running
        game.step(running, choose(game.action_mask(running), weights(running), rng))
        over = game.terminated(running)
        ended[lanes[over]] = running[over]
        lanes, running = lanes[~over], running[~over]
    yield ended


def finished_games(game: Game, states: States, weights: Weights, seed: int) -> States:
    """The ends of games played by `choose`."""
    *_, ended = play_out(game, states, weights, seed)
    return ended


def piles_weights(game: Game, *, passing: float = 1.0) -> Weights:
    """Random play of Piles in which a pass is `passing` times as likely as a placement."""
    weights = np.ones(game.num_actions)
    weights[-1] = passing
    return lambda states: weights


# Ways to play Wall: how likely the actions are, by name; "build" is multiplied by "higher" for each level. The mason
# widens his base by cards up to 4 alone, so that many levels fit on it.
WALL_POLICIES: dict[str, dict[str, float]] = {
    "uniform": {},
    "restless": {"pass": 0.02},
    "builder": {
        "start 7": 10,
        "draw": 30,
        "take": 0.3,
        "pass": 0.003,
        "left": 3,
        "right": 3,
        "build": 100,
        "higher": 8,
    },
    "mason": {
        "start 2": 9,
        "draw": 300,
        "take": 0.3,
        "pass": 0.003,
        "left": 30,
        "right": 30,
        "build": 100,
        "higher": 8,
    },
    "widener": {"draw": 30, "take": 1, "pass": 0.01, "left": 30, "right": 30},
    "hoarder": {"draw": 300, "take": 1, "pass": 0.01, "discard": 8, "build": 4},
}
_WIDENING = slice(10, 12)
_HIGHEST_OF_A_MASON = 4


def wall_weights(game: Game, policy: str) -> Weights:
    """Random play of Wall in one of the ways of `WALL_POLICIES`."""
    liking = WALL_POLICIES[policy]
    weights = np.ones(game.num_actions)
    for action in range(game.num_actions):
        name = game.action_name(action)
        if name.startswith("build "):
            level = int(name.removeprefix("build ").split(".")[0])
            weights[action] = liking.get("build", 1.0) * liking.get("higher", 1.0) ** (level - 1)
        else:
            weights[action] = liking.get(name, 1.0)
    if policy != "mason":
        return lambda states: weights

    def of_a_mason(states: States) -> NDArray[np.float64]:
        by_game = np.tile(weights, (len(states), 1))
        high = states["in_hand"] % 13 + 1 > _HIGHEST_OF_A_MASON
        by_game[high, _WIDENING] = 0.001
        return by_game

    return of_a_mason
