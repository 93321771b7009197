"""Simple players of Piles as compiled code, for agents and for playouts.

`r` is a seat's view, or in a playout the game's record itself; the player to move holds `hand`.
"""

import numpy as np

from cardtable.bits import nth, popcount, singleton
from cardtable.chance import below
from cardtable.kernel import Record, inner
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


@inner
def _red_margin(r: Record) -> int:
    """Points of the red side minus the black side's in the Castle, whichever teams they are."""
    margin = 0
    for pile in range(NUM_PILES):
        margin += _pile_margin(r.under[pile], is_red(r.top[pile]))
    return margin


@inner
def _pile_margin(under: int, red_on_top: bool) -> int:
    return points(under & BLACK_CARDS) if red_on_top else -points(under & RED_CARDS)


@inner
def greedy_action(r: Record, hand: int, seed: np.uint64, purpose: int, k: int) -> int:
    """The action after which the mover's side leads most if the game ended then; ties at random.

    A pass counts with the mean over the cards that may be taken. Values are times the hand's size, to stay integers.
    """
    kinds, size = kinds_in(hand), popcount(hand)
    reds = red_piles(r.top)
    seat = r.to_move
    my_team = seat % 2
    margin = _red_margin(r)
    # What a lead of red by one point is worth to the mover, after he has placed a red (0) or a black card (1).
    sign = np.zeros(2, np.int64)
    taken = 0
    if r.red_team >= 0:
        red = r.red_team == my_team
        sign[:] = 1 if red else -1
        taken = _taken_lead(r, my_team, red)
        pass_value = (sign[0] * margin + taken) * size - points(hand & (RED_CARDS if red else BLACK_CARDS))
    else:
        pass_value = 0
        if seat == r.opener:  # his card will settle the colours
            sign[0], sign[1] = 1, -1
    best, count = np.int64(-(1 << 40)), 0
    if not must_place(r, hand):
        best, count = pass_value, 1
    values = np.empty(2 * NUM_PILES, np.int64)
    legal = np.empty(2 * NUM_PILES, np.int64)
    for pile in range(NUM_PILES):
        placeable = placeable_kinds(r.top, reds, pile) & kinds
        beneath = r.under[pile] | singleton(r.top[pile])
        without = margin - _pile_margin(r.under[pile], is_red(r.top[pile]))
        for colour in range(2):
            place = 2 * pile + colour
            legal[place] = placeable & (_RED_KINDS << 13 * colour)
            extra = taken
            if r.red_team < 0 and sign[colour] != 0:
                extra = _taken_lead(r, my_team, colour == 0)
            values[place] = (sign[colour] * (without + _pile_margin(beneath, colour == 0)) + extra) * size
            if legal[place] == 0:
                continue
            if values[place] > best:
                best, count = values[place], 0
            if values[place] == best:
                count += popcount(legal[place])
    choice = below(seed, purpose, k, count)
    for place in range(2 * NUM_PILES):
        if legal[place] != 0 and values[place] == best:
            if choice < popcount(legal[place]):
                return place // 2 * NUM_KINDS + nth(legal[place], choice)
            choice -= popcount(legal[place])
    return PASS


@inner
def _taken_lead(r: Record, my_team: int, red: bool) -> int:
    """What the cards taken from passers add to the lead of the mover's side if it is red, or black."""
    mine, theirs = (RED_CARDS, BLACK_CARDS) if red else (BLACK_CARDS, RED_CARDS)
    lead = points((r.taken[my_team] | r.taken[my_team + 2]) & theirs)
    return lead - points((r.taken[1 - my_team] | r.taken[3 - my_team]) & mine)
