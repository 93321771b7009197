"""The one-step player of Wall."""

import numpy as np
from numpy.typing import NDArray

from agents.agent import GameAgent
from cardtable.chance import TIE, below
from cardtable.game import Ints, Views
from cardtable.kernel import Record, kernel
from wall_env.encoding import NUM_RANKS, rank_index
from wall_env.engine import (
    DISCARD,
    DRAW,
    FIRST_BUILD,
    PASS,
    TAKE,
    build_level,
    legal_actions,
    places_on,
    wanted_rank,
)
from wall_env.state import NUM_IDENTITIES, PLACE, TURN


@kernel
def best_gains(v: Record, gains: NDArray[np.int64]) -> None:
    """For each rank (ace to king, joker): the most points that a card of it brings the viewer at once."""
    gains[:] = 0
    for level in range(1, v.height[v.seat] + 1):
        for position in range(places_on(v, v.seat, level)):
            rank = wanted_rank(v, v.seat, level, position)
            if rank > 0:
                gains[rank - 1] = 1 << (level - 1)
                gains[NUM_RANKS - 1] = 1 << (level - 1)


@kernel
def _value(v: Record, gains: NDArray[np.int64], action: int) -> int:
    """Points that an action brings at once, or before the end of the turn that it begins; times the deck's size."""
    if v.phase == PLACE:
        return 0 if action < FIRST_BUILD else 1 << (build_level(v.width_limit, action) - 1)
    if action == DRAW:
        expected = 0
        for card in range(NUM_IDENTITIES):
            rank = NUM_RANKS - 1 if card == NUM_IDENTITIES - 1 else card % 13
            expected += v.unseen[card] * gains[rank]
        return expected
    if action == TAKE:
        return gains[rank_index(v.discard[v.discard_size - 1])] * max(1, v.deck_size)
    return 0


@kernel
def _is_idle(v: Record, action: int) -> bool:
    if v.phase == TURN:
        return action == PASS
    return v.phase == PLACE and action == DISCARD


@kernel
def greedy_action(v: Record, buffer: NDArray[np.int16], seed: np.uint64) -> int:
    """The action that brings most points this turn; ties at random, but an idle one only for want of others."""
    count = legal_actions(v, v.deck_size, buffer)
    gains = np.empty(NUM_RANKS, np.int64)
    best_gains(v, gains)
    best, kept = -1, 0
    for k in range(count):
        # Twice the value, and one more for what is not idle: that settles ties and nothing else.
        value = 2 * _value(v, gains, buffer[k]) + (0 if _is_idle(v, buffer[k]) else 1)
        if value > best:
            best, kept = value, 0
        if value == best:
            buffer[kept] = buffer[k]
            kept += 1
    return buffer[below(seed, TIE, 0, kept)]


@kernel
def _greedy_actions(views: Views, seeds: NDArray[np.uint64], num_actions: int, out: Ints) -> None:
    buffer = np.empty(num_actions, np.int16)
    for lane in range(len(views)):
        out[lane] = greedy_action(views[lane], buffer, seeds[lane])


class WallGreedyAgent(GameAgent):
    """Takes what brings most points this turn, a draw counting with the mean over the unseen cards; ties at random.

    Passing, and discarding a card that could widen the base, count as worse than anything that brings as much.
    """

    def _act(self, views: Views, seeds: NDArray[np.uint64]) -> Ints:
        actions = np.empty(len(views), np.int64)
        _greedy_actions(views, seeds, self.game.num_actions, actions)
        return actions
