"""Simple players of Wall as compiled code, for agents and for playouts.

`r` is a seat's view, or in a playout the game's record itself, whose player to move has to decide.
"""

import numpy as np
from numpy.typing import NDArray

from cardtable.chance import below
from cardtable.kernel import Record, inner
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


@inner
def count_unseen(v: Record, unseen: NDArray[np.int64]) -> None:
    """How many cards of each rank (ace to king, joker) a view's seat has not seen."""
    unseen[:] = 0
    for card in range(NUM_IDENTITIES):
        unseen[NUM_RANKS - 1 if card == NUM_IDENTITIES - 1 else card % 13] += v.unseen[card]


@inner
def count_deck(s: Record, unseen: NDArray[np.int64]) -> None:
    """How many cards of each rank the deck of a game holds."""
    unseen[:] = 0
    for k in range(s.deck_top, s.deck_length):
        unseen[rank_index(s.deck[k])] += 1


@inner
def best_gains(r: Record, gains: NDArray[np.int64]) -> None:
    """For each rank (ace to king, joker): the most points that a card of it brings the player to move at once."""
    gains[:] = 0
    for level in range(1, r.height[r.to_move] + 1):
        for position in range(places_on(r, r.to_move, level)):
            rank = wanted_rank(r, r.to_move, level, position)
            if rank > 0:
                gains[rank - 1] = 1 << (level - 1)
                gains[NUM_RANKS - 1] = 1 << (level - 1)


@inner
def _value(r: Record, unseen: NDArray[np.int64], gains: NDArray[np.int64], action: int) -> int:
    """Points that an action brings at once, or before the end of the turn that it begins; times the deck's size."""
    if r.phase == PLACE:
        return 0 if action < FIRST_BUILD else 1 << (build_level(r.width_limit, action) - 1)
    if action == DRAW:
        expected = 0
        for rank in range(NUM_RANKS):
            expected += unseen[rank] * gains[rank]
        return expected
    if action == TAKE:
        return gains[rank_index(r.discard[r.discard_size - 1])] * max(1, unseen.sum())
    return 0


@inner
def _is_idle(r: Record, action: int) -> bool:
    if r.phase == TURN:
        return action == PASS
    return r.phase == PLACE and action == DISCARD


@inner
def greedy_action(
    r: Record, unseen: NDArray[np.int64], buffer: NDArray[np.int64], seed: np.uint64, purpose: int, k: int
) -> int:
    """The action that brings most points this turn; ties at random, but an idle one only for want of others.

    `unseen` holds how many cards of each rank (ace to king, joker) the player has not seen; when he is to draw they are
    the deck. `buffer` has room for all action ids; the choice between ties is draw k of `purpose` under `seed`.
    """
    count = legal_actions(r, unseen.sum(), buffer)
    gains = np.empty(NUM_RANKS, np.int64)
    best_gains(r, gains)
    best, kept = -1, 0
    for place in range(count):
        # Twice the value, and one more for what is not idle: that settles ties and nothing else.
        value = 2 * _value(r, unseen, gains, buffer[place]) + (0 if _is_idle(r, buffer[place]) else 1)
        if value > best:
            best, kept = value, 0
        if value == best:
            buffer[kept] = buffer[place]
            kept += 1
    return buffer[below(seed, purpose, k, kept)]
