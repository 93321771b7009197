"""Simple players of Piles as compiled code, for agents and for playouts.

`r` is a seat's view, or in a playout the game's record itself; the player to move holds `hand`.
"""

import numpy as np

from cardtable.bits import lowest, nth, popcount, singleton
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
def greedy_action(r: Record, hand: int, seed: np.uint64, purpose: int, k: int) -> int:
    """The action after which the mover's side leads most if the game ended then; ties at random.

    A card on a top card of its own colour changes nothing. A card on one of the other colour moves all points of that
    pile to the placed card's colour. A pass loses the mean of the cards that may be taken. Values are times the hand's
    size, to stay integers.
    """
    kinds, size = kinds_in(hand), popcount(hand)
    reds = red_piles(r.top)
    # By the placed card's colour: the lead, but for the pile it goes to, and what a point moved to it is worth.
    lead_red = lead_black = sign_red = sign_black = pass_value = 0
    if r.red_team >= 0:
        red = r.red_team == r.to_move % 2
        sign_red, sign_black = (1, -1) if red else (-1, 1)
        pass_value = -points(hand & (RED_CARDS if red else BLACK_CARDS))
    elif r.to_move == r.opener:  # the card will settle the colours
        sign_red = sign_black = 1
        margin = _red_margin(r)
        lead_red = margin + _taken_lead(r, r.to_move % 2, True)
        lead_black = -margin + _taken_lead(r, r.to_move % 2, False)

    best, count, chosen = -(1 << 40), 0, 0  # `chosen`: pile + 12 * (placed card is black), as a set
    if not must_place(r, hand):
        best, count = pass_value, 1
    for pile in range(NUM_PILES):
        placeable = placeable_kinds(r.top, reds, pile) & kinds
        on_red = reds >> pile & 1 == 1
        red_cards, black_cards = placeable & _RED_KINDS, placeable & ~_RED_KINDS
        if red_cards != 0:
            value = lead_red
            if not on_red:
                value += sign_red * points(r.under[pile] | singleton(r.top[pile]))
            if value * size > best:
                best, count, chosen = value * size, 0, 0
            if value * size == best:
                count += popcount(red_cards)
                chosen |= singleton(pile)
        if black_cards != 0:
            value = lead_black
            if on_red:
                value += sign_black * points(r.under[pile] | singleton(r.top[pile]))
            if value * size > best:
                best, count, chosen = value * size, 0, 0
            if value * size == best:
                count += popcount(black_cards)
                chosen |= singleton(pile + NUM_PILES)

    choice = below(seed, purpose, k, count)
    while chosen != 0:
        place = lowest(chosen)
        chosen &= chosen - 1
        pile = place % NUM_PILES
        colour = _RED_KINDS if place < NUM_PILES else ~_RED_KINDS
        cards = placeable_kinds(r.top, reds, pile) & kinds & colour
        if choice < popcount(cards):
            return pile * NUM_KINDS + nth(cards, choice)
        choice -= popcount(cards)
    return PASS


@inner
def _red_margin(r: Record) -> int:
    """Points of the red side minus the black side's in the Castle, whichever teams they are."""
    margin = 0
    for pile in range(NUM_PILES):
        under = r.under[pile]
        margin += points(under & BLACK_CARDS) if is_red(r.top[pile]) else -points(under & RED_CARDS)
    return margin


@inner
def _taken_lead(r: Record, my_team: int, red: bool) -> int:
    """What the cards taken from passers add to the lead of the mover's side if it is red, or black."""
    mine, theirs = (RED_CARDS, BLACK_CARDS) if red else (BLACK_CARDS, RED_CARDS)
    lead = points((r.taken[my_team] | r.taken[my_team + 2]) & theirs)
    return lead - points((r.taken[1 - my_team] | r.taken[3 - my_team]) & mine)
