"""The one-step player of Piles."""

import numpy as np
from numpy.typing import NDArray

from agents.agent import GameAgent
from cardtable.bits import nth, popcount, singleton
from cardtable.chance import TIE, below
from cardtable.game import Ints, Views
from cardtable.kernel import Record, kernel
from piles_env.engine import (
    BLACK_CARDS,
    NUM_KINDS,
    PASS,
    RED_CARDS,
    is_red,
    kinds_in,
    must_place,
    placeable_kinds,
    points,
    red_piles,
)
from piles_env.state import NUM_PILES

_RED_KINDS = (1 << 13) - 1


@kernel
def _red_margin(v: Record) -> int:
    """Points of the red side minus the black side's in the Castle, whichever teams they are."""
    margin = 0
    for pile in range(NUM_PILES):
        margin += _pile_margin(v.under[pile], is_red(v.top[pile]))
    return margin


@kernel
def _pile_margin(under: int, red_on_top: bool) -> int:
    return points(under & BLACK_CARDS) if red_on_top else -points(under & RED_CARDS)


@kernel
def greedy_action(v: Record, seed: np.uint64) -> int:
    """The action after which the mover's side leads most if the game ended then; ties at random.

    A pass counts with the mean over the cards that may be taken. Values are times the hand's size, to stay integers.
    """
    kinds, size = kinds_in(v.hand), popcount(v.hand)
    reds = red_piles(v.top)
    my_team = v.seat % 2
    margin = _red_margin(v)
    # What a lead of red by one point is worth to the mover, after he has placed a red (0) or a black card (1).
    sign = np.zeros(2, np.int64)
    taken = 0
    if v.red_team >= 0:
        red = v.red_team == my_team
        sign[:] = 1 if red else -1
        taken = _taken_lead(v, my_team, red)
        pass_value = (sign[0] * margin + taken) * size - points(v.hand & (RED_CARDS if red else BLACK_CARDS))
    else:
        pass_value = 0
        if v.seat == v.opener:  # his card will settle the colours
            sign[0], sign[1] = 1, -1
    best, count = np.int64(-(1 << 40)), 0
    if not must_place(v, v.hand):
        best, count = pass_value, 1
    values = np.empty(2 * NUM_PILES, np.int64)
    legal = np.empty(2 * NUM_PILES, np.int64)
    for pile in range(NUM_PILES):
        placeable = placeable_kinds(v.top, reds, pile) & kinds
        beneath = v.under[pile] | singleton(v.top[pile])
        without = margin - _pile_margin(v.under[pile], is_red(v.top[pile]))
        for colour in range(2):
            k = 2 * pile + colour
            legal[k] = placeable & (_RED_KINDS << 13 * colour)
            extra = taken
            if v.red_team < 0 and sign[colour] != 0:
                extra = _taken_lead(v, my_team, colour == 0)
            values[k] = (sign[colour] * (without + _pile_margin(beneath, colour == 0)) + extra) * size
            if legal[k] == 0:
                continue
            if values[k] > best:
                best, count = values[k], 0
            if values[k] == best:
                count += popcount(legal[k])
    choice = below(seed, TIE, 0, count)
    for k in range(2 * NUM_PILES):
        if legal[k] != 0 and values[k] == best:
            if choice < popcount(legal[k]):
                return k // 2 * NUM_KINDS + nth(legal[k], choice)
            choice -= popcount(legal[k])
    return PASS


@kernel
def _taken_lead(v: Record, my_team: int, red: bool) -> int:
    """What the cards taken from passers add to the lead of the mover's side if it is red, or black."""
    mine, theirs = (RED_CARDS, BLACK_CARDS) if red else (BLACK_CARDS, RED_CARDS)
    lead = points((v.taken[my_team] | v.taken[my_team + 2]) & theirs)
    return lead - points((v.taken[1 - my_team] | v.taken[3 - my_team]) & mine)


@kernel
def _greedy_actions(views: Views, seeds: NDArray[np.uint64], out: Ints) -> None:
    for lane in range(len(views)):
        out[lane] = greedy_action(views[lane], seeds[lane])


class PilesGreedyAgent(GameAgent):
    """Takes the action after which its side would lead most if the game ended then; ties at random."""

    def _act(self, views: Views, seeds: NDArray[np.uint64]) -> Ints:
        actions = np.empty(len(views), np.int64)
        _greedy_actions(views, seeds, actions)
        return actions
