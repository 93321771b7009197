"""The rule-based player "careful" of Piles: how safely each pile is held, and what each card in hand is good for.

`r` is a seat's view, or in a playout the game's record itself; the player to move holds `hand`. What careful knows of
hidden cards is only which cards have not been played.
"""

import numpy as np

from cardtable.bits import lowest, popcount, singleton, widen
from cardtable.kernel import Record, inner, tiny
from piles_env.engine import (
    BLACK_CARDS,
    NEIGHBOURS,
    NUM_KINDS,
    NUM_NEIGHBOURS,
    PASS,
    RED_CARDS,
    is_red,
    kinds_in,
    placeable_kinds,
    points,
    ranks_above,
    red_piles,
    total_value,
)
from piles_env.policies import greedy_action
from piles_env.state import MAX_PLAYERS, NUM_PILES, NUM_TURNS

# The chance that a pile keeps its colour to the end, as log odds. It falls with the cards still to be played that could
# take it, less so near the end, and rich piles are fought over. The indices are turns left, then threats or points.
# All figures here were fitted by regression to 1,500 games between players that search, and then improved by playing
# changed ones against them, on deals that are reported nowhere.
_LEFT = np.log1p(np.arange(NUM_TURNS))[:, None]
_BY_THREATS = 7.9 - 1.53 * _LEFT + np.sqrt(np.arange(NUM_KINDS + 1)) * (0.57 * _LEFT - 2.06)
_BY_THREATS[0] = 99.0  # after the last card
_BY_POINTS = np.log1p(np.arange(109)) * (0.59 * np.arange(NUM_TURNS)[:, None] / NUM_TURNS - 1.05)
# The logistic function by sixteenths of log odds from -16 to 16.
_CHANCE = 1.0 / (1.0 + np.exp(-np.arange(-256, 257) / 16))

# What a card in hand is good for, in points, ace to king: of the own colour, high cards take piles and an ace is only
# something to lose; cards of the other colour are points to put into own piles.
_OWN_CARD = np.array([-10.4, -5.7, -4.0, -3.0, -1.0, 0.4, 1.4, 3.1, 3.8, 5.2, 6.5, 8.0, 10.2])
_THEIR_CARD = np.array([3.3, 0.4, 0.4, 0.1, 0.0, 0.0, -0.6, -0.7, -0.5, -0.8, -0.8, -1.0, 0.0])

_POINTS = np.array([9, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 3, 4])  # P14


@tiny
def _card_value(card: int, red: bool) -> float:
    """What a card in hand is good for, for the red or the black side."""
    return _OWN_CARD[card % 13] if is_red(card) == red else _THEIR_CARD[card % 13]


@inner
def _threats(total: int, on_red: bool, unplayed: int) -> int:
    """How many of the cards that may still be played could take a pile."""
    takers = ranks_above(total)
    if on_red:
        takers <<= 13
    return popcount(unplayed & (takers | takers << NUM_KINDS))


@inner
def _pile_value(threats: int, on_red: bool, reds: int, blacks: int, left: int, red: bool) -> float:
    """The points that a pile will bring the red or the black side, minus those it will bring the other, as expected.

    Args:
        threats: how many cards could take it.
        on_red: whether its top card is red.
        reds, blacks: points of the red and of the black cards in it.
        left: turns left.
        red: whose points count as positive.
    """
    odds = _BY_THREATS[left, threats] + _BY_POINTS[left, reds + blacks]
    kept = _CHANCE[int(min(max(odds, -16.0), 16.0) * 16.0 + 256.5)]
    value = kept * blacks - (1.0 - kept) * reds if on_red else (1.0 - kept) * blacks - kept * reds
    return value if red else -value


@inner
def _best_placement(r: Record, hand: int, cards: int, unplayed: int, red: bool) -> tuple[float, int, float]:
    """The placement of one of `cards` after which piles and hand promise the red or the black side most.

    Returns:
        What it promises, its action id (PASS if there is none), and what the piles promise as they are. What the hand
        is good for before the placement is left out.
    """
    reds, kinds = red_piles(r.top), kinds_in(cards)
    left = widen(NUM_TURNS - 1 - r.turn)
    values = np.empty(NUM_PILES)
    points_in = np.empty((NUM_PILES, 2), np.int64)  # of red and of black cards
    now = 0.0
    used = np.zeros(NUM_KINDS)  # what the piles change by when a card is not left to take them
    change = np.zeros(NUM_PILES)
    for pile in range(NUM_PILES):
        inside = r.under[pile] | singleton(r.top[pile])
        points_in[pile, 0] = points(inside & RED_CARDS)
        points_in[pile, 1] = points(inside & BLACK_CARDS)
        on_red = reds >> pile & 1 == 1
        total = total_value(r.top, reds, pile)
        threats = _threats(total, on_red, unplayed)
        values[pile] = _pile_value(threats, on_red, points_in[pile, 0], points_in[pile, 1], left, red)
        now += values[pile]
        if threats > 0:
            change[pile] = -values[pile]
            change[pile] += _pile_value(threats - 1, on_red, points_in[pile, 0], points_in[pile, 1], left, red)
            for rank in range(max(total, 0), 13):
                used[rank + (13 if on_red else 0)] += change[pile]
    best, action = -1e9, PASS
    for pile in range(NUM_PILES):
        placeable = placeable_kinds(r.top, reds, pile) & kinds
        if placeable == 0:
            continue
        on_red = reds >> pile & 1 == 1
        friends = 2 * popcount((reds if on_red else ~reds) & NEIGHBOURS[pile]) - NUM_NEIGHBOURS[pile]
        turned = 0.0  # what the neighbours gain when this pile changes its colour
        if placeable & (((1 << 13) - 1) << (13 if on_red else 0)):
            beside = NEIGHBOURS[pile]
            while beside != 0:
                other = lowest(beside)
                beside &= beside - 1
                other_red = reds >> other & 1 == 1
                total = total_value(r.top, reds, other) + (-2 if other_red == on_red else 2)
                turned -= values[other]
                turned += _pile_value(
                    _threats(total, other_red, unplayed), other_red, points_in[other, 0], points_in[other, 1], left, red
                )
        while placeable != 0:
            kind = lowest(placeable)
            placeable &= placeable - 1
            card_red = kind < 13
            rank = kind % 13 + 1
            added = _POINTS[rank - 1]
            value = now - values[pile] + used[kind] - _card_value(kind, red)
            total = rank + (friends if card_red == on_red else -friends)
            value += _pile_value(
                _threats(total, card_red, unplayed),
                card_red,
                points_in[pile, 0] + (added if card_red else 0),
                points_in[pile, 1] + (0 if card_red else added),
                left,
                red,
            )
            if card_red != on_red:
                value += turned - change[pile]
            if value > best:
                best, action = value, pile * NUM_KINDS + kind
    return best, action, now


@inner
def careful_action(r: Record, hand: int, seed: np.uint64, purpose: int, k: int) -> int:
    """The action after which piles and hand promise most.

    The opener's first card settles the colours, so he compares both sides. Others play as `greedy_action` till then.
    """
    seen, for_red, for_black = 0, 0.0, 0.0  # the last two: what the hand is good for
    for pile in range(NUM_PILES):
        seen |= r.under[pile] | singleton(r.top[pile])
    for seat in range(MAX_PLAYERS):
        seen |= r.taken[seat]
    unplayed = ((1 << 52) - 1) & ~seen
    cards = hand
    while cards != 0:
        for_red += _card_value(lowest(cards), True)
        for_black += _card_value(lowest(cards), False)
        cards &= cards - 1

    if r.red_team < 0:
        if r.to_move != r.opener:
            return greedy_action(r, hand, seed, purpose, k)
        as_red, red_action, _ = _best_placement(r, hand, hand & RED_CARDS, unplayed, True)
        as_black, black_action, _ = _best_placement(r, hand, hand & BLACK_CARDS, unplayed, False)
        return red_action if as_red + for_red >= as_black + for_black else black_action

    red = r.red_team == r.to_move % 2
    promise, action, now = _best_placement(r, hand, hand, unplayed, red)
    lost = for_red + points(hand & RED_CARDS) if red else for_black + points(hand & BLACK_CARDS)
    return PASS if now - lost / popcount(hand) >= promise else action
