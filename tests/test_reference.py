"""Random games played on the engine and on the slow references side by side, compared at every move.

The references (`tests/reference/`) were written from the rules alone. The quick tests let Hypothesis choose options and
seeds; `pytest -m slow -s tests/test_reference.py` plays 100,000 games spread over all combinations of the options.
"""

import multiprocessing
import random
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import cycle, product
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from cardtable.game import Game, States
from piles_env import PilesGame, PilesRules
from piles_env import engine as piles_engine
from piles_env.rules import REWARDS as PILES_REWARDS
from tests.helpers import (
    PILE_NAMES,
    SEVEN_LEVELS,
    SIX_LEVELS,
    SUITS,
    WALL_POLICIES,
    Weights,
    choose,
    deck_of_52,
    piles_weights,
    triangle,
    wall_deck,
    wall_weights,
    whole_row,
)
from tests.reference.piles import PilesReference, team_of
from tests.reference.wall import Card, Wall, WallReference, is_joker
from wall_env import WallGame, WallRules
from wall_env.rules import REWARDS as WALL_REWARDS
from wall_env.state import JOKER as JOKER_BIT
from wall_env.state import SUIT_SHIFT

CARD_IDS = {card: number for number, card in enumerate(deck_of_52())}
FIRST_JOKER = 104
PASS_WEIGHTS = {"uniform": 1.0, "placing": 0.02, "passing": 60.0, "mostly passing": 2000.0}
GAMES_OF_EACH = 50_000
PROCESSES = 2


class _Remembered:
    """A reference that works out the legal moves of a position only once; each may be asked for many times."""

    _moves: set[str] | None = None

    def legal_moves(self) -> set[str]:
        if self._moves is None:
            self._moves = super().legal_moves()  # type: ignore[misc]
        return self._moves

    def play(self, *move: Any) -> None:
        super().play(*move)  # type: ignore[misc]
        self._moves = None


class _Piles(_Remembered, PilesReference):
    """P1-P16, PD1-PD5."""


class _Wall(_Remembered, WallReference):
    """W1-W13, WD1-WD4."""


# --- one game on both sides -------------------------------------------------------------------------------------------


class Pair(ABC):
    """One game on both sides."""

    reference: Any  # each game's own

    def __init__(self, game: Game, state: np.void, action_ids: dict[str, int]) -> None:
        """Set up the reference with the engine's deal; `action_ids` remembers the ids of texts for all pairs."""
        self.game = game
        self.seed = int(state["seed"])
        self.moves: list[str] = []
        self.returns = np.zeros(game.num_players)
        self._action_ids = action_ids

    def same(self, what: str, engine: object, reference: object) -> None:
        """Fail, with all that is needed to play the game again, unless both sides agree."""
        if engine != reference:
            raise AssertionError(
                f"{what}: the engine has {engine!r}, the reference {reference!r}; {self.game!r}, seed {self.seed}, "
                f"after the moves {self.moves}"
            )

    def compare(self, state: np.void, legal: list[int]) -> None:
        """Compare everything before a move, or after the last one."""
        to_move = self.reference.to_move
        self.same("seat to move", int(state["to_move"]), -1 if to_move is None else to_move)
        moves = self.reference.legal_moves()
        self.same("legal actions", legal, sorted({self._action_id(state, move) for move in moves}))
        self.compare_position(state)

    def _action_id(self, state: np.void, move: str) -> int:
        if move not in self._action_ids:
            self._action_ids[move] = self.game.text_to_action(state, move)
        return self._action_ids[move]

    @abstractmethod
    def compare_position(self, state: np.void) -> None:
        """Compare cards, scores and counts."""

    @abstractmethod
    def follow(self, move: str, state: np.void) -> None:
        """Make the move on the reference that led the engine to `state`."""

    @abstractmethod
    def expected_returns(self) -> list[float]:
        """What the rules' `reward` brings each seat in the whole game, by the reference's scores."""

    def compare_end(self) -> None:
        """Compare the result of a finished game."""
        returns = [round(float(total), 6) for total in self.returns]
        self.same("returns", returns, [round(total, 6) for total in self.expected_returns()])


def _card_set(cards: Iterable[str]) -> int:
    """Cards in record notation as the bits of an integer."""
    return sum(1 << CARD_IDS[card] for card in cards)


class PilesPair(Pair):
    """One game of Piles on both sides."""

    def __init__(self, game: PilesGame, state: np.void, action_ids: dict[str, int]) -> None:
        super().__init__(game, state, action_ids)
        deal = game.deal_to_json(state)
        rules = game.rules
        self.reference = _Piles(num_players=rules.num_players, opener_may_pass=rules.opener_may_pass, **deal)

    def compare_position(self, state: np.void) -> None:
        reference, players = self.reference, self.game.num_players
        self.same("hands", state["hand"].tolist()[:players], [_card_set(hand) for hand in reference.hands])
        piles = reference.piles
        self.same("top cards", state["top"].tolist(), [CARD_IDS[pile[-1]] for pile in piles])
        self.same("cards beneath", state["under"].tolist(), [_card_set(pile[:-1]) for pile in piles])
        top = state["top"]
        reds = piles_engine.red_piles(top)
        totals = [piles_engine.total_value(top, reds, pile) for pile in range(len(PILE_NAMES))]
        self.same("total values", totals, reference.totals())
        taken = state["taken"].tolist()
        self.same("taken cards", [taken[0] | taken[2], taken[1] | taken[3]], list(map(_card_set, reference.taken)))
        red_team = reference.team_colours.index("red") if "red" in reference.team_colours else -1
        self.same("red team", int(state["red_team"]), red_team)
        self.same("turns", int(state["turn"]), reference.turns_played)

    def follow(self, move: str, state: np.void) -> None:
        taken = None
        if move == "pass":
            taken = next(
                card for card, number in CARD_IDS.items() if number == state["history_card"][state["turn"] - 1]
            )
        self.moves.append(move if taken is None else f"{move}:{taken}")
        self.reference.play(move, taken)

    def expected_returns(self) -> list[float]:
        points = self.reference.scores()
        margin = points[0] - points[1]
        if self.game.rules.reward == "win":
            margin = {0: 1, 1: -1, None: 0}[self.reference.outcome()]
        return [float(margin if team_of(seat) == 0 else -margin) for seat in range(self.game.num_players)]


class WallPair(Pair):
    """One game of Wall on both sides."""

    def __init__(self, game: WallGame, state: np.void, action_ids: dict[str, int]) -> None:
        super().__init__(game, state, action_ids)
        rules = game.rules
        self._cards = {CARD_IDS[text] + 52 * deck: (text, deck) for text in CARD_IDS for deck in range(rules.num_decks)}
        for joker in range(rules.num_decks * rules.jokers_per_deck):
            self._cards[FIRST_JOKER + joker] = ("XX", joker // rules.jokers_per_deck)
        self._cells = np.zeros_like(state["wall"])
        self.reference = _Wall(
            num_players=rules.num_players,
            starting_player=int(state["starting_player"]),
            deck=self._as_cards(state["deck"][: state["deck_length"]]),
            num_decks=rules.num_decks,
            jokers_per_deck=rules.jokers_per_deck,
            max_width=rules.max_width,
            ends=rules.ends,
        )

    def _as_cards(self, ids: NDArray[np.int8]) -> list[Card]:
        return [self._cards[number] for number in ids.tolist()]

    def compare_position(self, state: np.void) -> None:
        reference, players = self.reference, self.game.num_players
        if not np.array_equal(state["wall"], self._cells):
            seat, level, position = (int(index) for index in np.argwhere(state["wall"] != self._cells)[0])
            where = f"wall of seat {seat} at {level}.{position}"
            self.same(where, int(state["wall"][seat, level, position]), int(self._cells[seat, level, position]))
        self.same("widths", state["width"].tolist()[:players], [_width(wall) for wall in reference.walls])
        self.same("heights", state["height"].tolist()[:players], [len(wall) for wall in reference.walls])
        deck = self._as_cards(state["deck"][state["deck_top"] : state["deck_length"]])
        self.same("deck", deck, reference.deck)
        discard = self._as_cards(state["discard"][: state["discard_size"]])
        self.same("discard pile", discard[::-1], reference.discard)
        in_hand = int(state["in_hand"])
        self.same("card in hand", None if in_hand < 0 else self._cards[in_hand], reference.in_hand)
        self.same("idle turns", int(state["idle"]), reference.idle_turns)
        self.same("scores", state["score"].tolist()[:players], reference.scores())

    def follow(self, move: str, state: np.void) -> None:
        seat = self.reference.to_move
        self.moves.append(move)
        # The reference names a start card by its rank; which copy it is shows in the wall and in the deck.
        self.reference.play(move[: len("start 7")] if move.startswith("start") else move)
        if move.startswith(("start", "left", "right", "build")):
            self._write_cells(seat)

    def _write_cells(self, seat: int) -> None:
        """Bring `self._cells` up to date: of each card its value under others, and its suit or the joker's mark."""
        cells = self._cells[seat]
        for level, cards in enumerate(self.reference.walls[seat]):
            cells[level] = 0
            for position, card in cards.items():
                mark = JOKER_BIT if is_joker(card) else SUITS.index(card[0][1]) << SUIT_SHIFT
                cells[level, position] = self.reference.support_value(seat, level, position) | mark

    def expected_returns(self) -> list[float]:
        points, players = self.reference.scores(), self.game.num_players
        if self.game.rules.reward == "score":
            return [float(own) for own in points]
        if self.game.rules.reward == "win":
            winners = self.reference.winners()
            if len(winners) == players:
                return [0.0] * players
            return [1 / len(winners) if seat in winners else -1 / (players - len(winners)) for seat in range(players)]
        return [own - (sum(points) - own) / max(1, players - 1) for own in points]


def _width(wall: Wall) -> int:
    return len(wall[0]) if wall else 0


# --- many games on both sides -----------------------------------------------------------------------------------------


def play_side_by_side(game: Game, states: States, pairs: Sequence[Pair], weights: Weights, seed: int) -> Counter[str]:
    """Play games on both sides to their ends, by `choose`; return counts of what was met."""
    rng = np.random.default_rng(seed)
    met: Counter[str] = Counter(games=len(pairs))
    while True:
        masks = game.action_mask(states)
        points = game.scores(states).tolist()
        over = game.terminated(states)
        for lane, pair in enumerate(pairs):
            pair.compare(states[lane], np.flatnonzero(masks[lane]).tolist())
            pair.same("scores", points[lane], pair.reference.scores())
            pair.same("end", bool(over[lane]), pair.reference.finished)
            if over[lane]:
                pair.compare_end()
                met[f"{len(pair.moves) // 20 * 20:4d}+ moves"] += 1
        met["positions"] += len(pairs)
        if over.any():
            count_extremes(states[over], met)
            states, masks = states[~over], masks[~over]
            pairs = [pair for lane, pair in enumerate(pairs) if not over[lane]]
        if not pairs:
            return met
        actions = choose(masks, weights(states), rng)
        texts = [game.action_to_text(state, action) for state, action in zip(states, actions.tolist(), strict=True)]
        game.step(states, actions)
        rewards = game.rewards(states)
        for lane, pair in enumerate(pairs):
            pair.follow(texts[lane], states[lane])
            pair.returns += rewards[lane]


def count_extremes(ended: States, met: Counter[str]) -> None:
    """Count what finished games reached, to show that the policies come to all parts of the game."""
    for state in ended:
        if "wall" in (ended.dtype.names or ()):
            met[f"height {int(state['height'].max())}"] += 1
            met["deck ran out"] += int(state["deck_top"] == state["deck_length"])
            met["base of 20 or more"] += int(state["width"].max() >= 20)
            met["a joker in a wall"] += int(((state["wall"] & JOKER_BIT) > 0).any())
        else:
            met["no team has a colour"] += int(state["red_team"] < 0)
            met["cards taken from passers"] += sum(int(cards).bit_count() for cards in state["taken"])


@dataclass(frozen=True)
class Batch:
    """Games to be played with the same rules by one policy.

    Attributes:
        rules: the options.
        policy: how the players choose.
        opener: the opener in Piles; None in Wall, where chance decides.
        games: their number.
        seed: of the first game; the others follow.
    """

    rules: PilesRules | WallRules
    policy: str
    opener: int | None
    games: int
    seed: int

    def play(self) -> Counter[str]:
        """Play all games side by side."""
        action_ids: dict[str, int] = {}
        seeds = np.arange(self.seed, self.seed + self.games, dtype=np.uint64)
        if isinstance(self.rules, PilesRules):
            piles = PilesGame(self.rules)
            states = self._piles_states(piles, seeds)
            pairs: list[Pair] = [PilesPair(piles, state, action_ids) for state in states]
            weights = piles_weights(piles, passing=PASS_WEIGHTS[self.policy])
            return play_side_by_side(piles, states, pairs, weights, self.seed)
        wall = WallGame(self.rules)
        states = wall.new_states(seeds)
        pairs = [WallPair(wall, state, action_ids) for state in states]
        return play_side_by_side(wall, states, pairs, wall_weights(wall, self.policy), self.seed)

    def _piles_states(self, game: PilesGame, seeds: NDArray[np.uint64]) -> States:
        if not self.opener:
            return game.new_states(seeds)
        return np.concatenate([game.reset_state(int(seed), {"opener": self.opener}) for seed in seeds])


# --- quick ------------------------------------------------------------------------------------------------------------

# Failures are not shrunk: the message of `Pair.same` holds all that is needed to play the game again.
_quick = settings(max_examples=120, deadline=None, derandomize=True, phases=(Phase.explicit, Phase.generate))
_seeds = st.integers(0, 2**63)
_piles_rules = st.builds(
    PilesRules,
    num_players=st.sampled_from((4, 2)),
    opener_may_pass=st.booleans(),
    passed_cards=st.sampled_from(("shown", "hidden")),
    reward=st.sampled_from(PILES_REWARDS),
)
_wall_rules = st.builds(
    WallRules,
    num_players=st.integers(1, 6),
    num_decks=st.integers(1, 2),
    jokers_per_deck=st.integers(0, 4),
    max_width=st.none() | st.integers(1, 60),
    ends=st.sampled_from(("idle", "deck")),
    reward=st.sampled_from(WALL_REWARDS),
)


@_quick
@given(rules=_piles_rules, policy=st.sampled_from(list(PASS_WEIGHTS)), opener=st.integers(0, 3), seed=_seeds)
def test_piles_agrees_with_the_reference_at_every_move(rules: PilesRules, policy: str, opener: int, seed: int) -> None:
    Batch(rules, policy, opener % rules.num_players, games=3, seed=seed).play()


@_quick
@given(rules=_wall_rules, policy=st.sampled_from(list(WALL_POLICIES)), seed=_seeds)
def test_wall_agrees_with_the_reference_at_every_move(rules: WallRules, policy: str, seed: int) -> None:
    Batch(rules, policy, None, games=2, seed=seed).play()


@pytest.mark.parametrize(
    ("script", "decks"),
    [(triangle(SIX_LEVELS, 1), 1), (triangle(SEVEN_LEVELS, 2), 2), (whole_row(1), 1), (whole_row(2), 2)],
    ids=["six levels", "seven levels", "all cards in a base", "all cards of two decks in a base"],
)
def test_the_highest_and_widest_walls_agree_with_the_reference(script: tuple[str, str], decks: int) -> None:
    first, steps = script
    cards, places = zip(*(step.split(" ", 1) for step in steps.split(", ")), strict=True)
    game = WallGame(WallRules(num_players=1, num_decks=decks, jokers_per_deck=4))
    deck = wall_deck(" ".join((first, *cards)), decks, jokers_per_deck=4)
    states = game.deal_state({"starting_player": 0, "deck": deck}, 0)
    moves = [f"start {first}", *(move for place in places for move in ("draw", place))]
    ids = [game.text_to_action(states[0], move) for move in moves]
    afterwards = wall_weights(game, "builder")

    def weights(states: States) -> NDArray[np.float64]:
        """The script first, then a builder's play."""
        played = int(states["num_decisions"][0])
        if played >= len(ids):
            return afterwards(states)
        certain = np.ones(game.num_actions)
        certain[ids[played]] = 1e12
        return certain

    pair = WallPair(game, states[0], {})
    play_side_by_side(game, states, [pair], weights, 0)
    assert pair.moves[: len(moves)] == moves


def test_the_policies_come_to_all_parts_of_the_games() -> None:
    piles: Counter[str] = Counter()
    for policy in PASS_WEIGHTS:
        piles += Batch(PilesRules(opener_may_pass=True), policy, 0, 6, 1).play()
    assert piles["no team has a colour"]
    assert piles["cards taken from passers"]
    wall: Counter[str] = Counter()
    for policy in WALL_POLICIES:
        wall += Batch(WallRules(num_players=1, num_decks=2, jokers_per_deck=4), policy, None, 15, 1).play()
    assert wall["deck ran out"]
    assert wall["base of 20 or more"]
    assert wall["a joker in a wall"]
    assert wall["height 5"]


# --- slow -------------------------------------------------------------------------------------------------------------


def all_batches() -> list[Batch]:
    """Batches of both games over all combinations of the options, policies and openers."""
    piles: list[tuple[PilesRules | WallRules, str, int | None]] = [
        (PilesRules(players, may_pass, passed, reward), policy, opener)
        for players, may_pass, passed, reward in product((4, 2), (False, True), ("shown", "hidden"), PILES_REWARDS)
        for policy, opener in product(PASS_WEIGHTS, range(players))
    ]
    options = product(("idle", "deck"), range(1, 7), (1, 2), range(5), (None, 1, 2, 6, 15))
    rewards = cycle(WALL_REWARDS)  # they change no rule, so they take turns
    wall: list[tuple[PilesRules | WallRules, str, int | None]] = [
        (WallRules(players, decks, jokers, width, ends, next(rewards)), policy, None)
        for policy, (ends, players, decks, jokers, width) in product(WALL_POLICIES, options)
    ]
    batches = []
    for plan in (piles, wall):
        games = -(-GAMES_OF_EACH // len(plan))
        batches += [Batch(*chosen, games, 1_000_003 * number) for number, chosen in enumerate(plan)]
    return batches


def _play_batch(batch: Batch) -> tuple[str, Counter[str]]:
    return type(batch.rules).__name__, batch.play()


@pytest.mark.slow
def test_100_000_games_agree_with_the_references() -> None:
    batches = all_batches()
    random.Random(0).shuffle(batches)
    began = time.perf_counter()
    met: dict[str, Counter[str]] = {"PilesRules": Counter(), "WallRules": Counter()}
    with multiprocessing.get_context("spawn").Pool(PROCESSES) as pool:
        for done, (name, counts) in enumerate(pool.imap_unordered(_play_batch, batches), start=1):
            met[name] += counts
            if done % 100 == 0 or done == len(batches):
                games = {name: counts["games"] for name, counts in met.items()}
                print(f"{time.perf_counter() - began:7.0f} s, {done}/{len(batches)} batches, games {games}", flush=True)
    for name, counts in met.items():
        print(name, dict(sorted(counts.items())), flush=True)
        assert counts["games"] >= GAMES_OF_EACH
