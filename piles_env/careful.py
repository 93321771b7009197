"""The rule-based player "careful" of Piles: how safely each pile is held, and what each card in hand is good for.

`r` is a seat's view, or in a playout the game's record itself; the player to move holds `hand`. What careful knows of
hidden cards is only which cards have not been played.
"""

import numpy as np

from cardtable.bits import lowest, popcount, singleton, widen
from cardtable.kernel import Record, inner, tiny
from piles_env.engine import (
    BLACK_CARDS,
    NUM_KINDS,
    PASS,
    RED_CARDS,
    card_of_kind,
    is_red,
    kinds_in,
    must_place,
    placeable_kinds,
    points,
    red_piles,
    total_value,
)
from piles_env.policies import greedy_action
from piles_env.state import NUM_PILES, NUM_TURNS

# The chance that a pile keeps its colour to the end, as log odds. It falls with the cards still to be played that could
# take it, less so near the end, and rich piles are fought over. Fitted by logistic regression to the piles of 1,500
# games between players that search (`pimc` with 150 playouts).
_LEFT = np.log1p(np.arange(NUM_TURNS))
_THREAT = 7.52 - 1.58 * _LEFT + np.sqrt(np.arange(NUM_KINDS + 1))[:, None] * (0.49 * _LEFT - 2.06)
_RICHES = np.log1p(np.arange(109))[:, None] * (0.49 * np.arange(NUM_TURNS) / NUM_TURNS - 0.82)

# What a card in hand is good for, in points, ace to king: of the own colour, high cards take piles and an ace is only
# something to lose; cards of the other colour are points to put into own piles.
_OWN_CARD = np.array([-3.5, 0.5, 1.0, 1.0, 1.0, 1.2, 1.5, 2.2, 3.0, 3.5, 4.0, 4.5, 6.0])
_THEIR_CARD = np.array([1.5, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.5, 1.5, 1.5, 1.5, 1.5])

_KINDS_ABOVE = np.array([((1 << 13) - 1) & ~((1 << max(0, min(13, total))) - 1) for total in range(-4, 19)])


@inner
def _pile_value(top: np.ndarray, reds: int, pile: int, cards: int, unplayed: int, left: int, red: bool) -> float:
    """The points that a pile will bring the red or the black side, minus those it will bring the other, as expected.

    `cards` lie in the pile, `unplayed` (kinds, by each of their two cards) may still be played in `left` turns.
    """
    on_red = reds >> pile & 1 == 1
    higher = _KINDS_ABOVE[total_value(top, reds, pile) + 4]
    takers = higher << 13 if on_red else higher
    threats = popcount(unplayed & (takers | takers << NUM_KINDS))
    kept = 1.0 / (1.0 + np.exp(-_THREAT[threats, left] - _RICHES[points(cards), left]))
    mine = kept if on_red == red else 1.0 - kept
    ours, theirs = (RED_CARDS, BLACK_CARDS) if red else (BLACK_CARDS, RED_CARDS)
    return mine * points(cards & theirs) - (1.0 - mine) * points(cards & ours)


@inner
def _castle_value(r: Record, top: np.ndarray, placed: int, pile: int, unplayed: int, left: int, red: bool) -> float:
    """The value of all piles when `placed` (a card, or -1) lies on a pile."""
    held = top[pile]
    if placed >= 0:
        top[pile] = placed
    reds = red_piles(top)
    value = 0.0
    for each in range(NUM_PILES):
        cards = r.under[each] | singleton(top[each])
        if each == pile:
            cards |= singleton(held)
        value += _pile_value(top, reds, each, cards, unplayed, left, red)
    top[pile] = held
    return value


@tiny
def _card_value(card: int, red: bool) -> float:
    """What a card in hand is good for, for the red or the black side."""
    return _OWN_CARD[card % 13] if is_red(card) == red else _THEIR_CARD[card % 13]


@inner
def careful_action(r: Record, hand: int, seed: np.uint64, purpose: int, k: int) -> int:
    """The action after which the piles and the own hand promise most.

    While the colours are open the opener compares both: his card settles them. The others wait as `greedy_action`.
    """
    if r.red_team < 0 and r.to_move != r.opener:
        return greedy_action(r, hand, seed, purpose, k)
    top = np.empty(NUM_PILES, np.int8)
    seen = 0
    for pile in range(NUM_PILES):
        top[pile] = r.top[pile]
        seen |= r.under[pile] | singleton(r.top[pile])
    for seat in range(4):
        seen |= r.taken[seat]
    unplayed = ((1 << 52) - 1) & ~seen
    left = widen(NUM_TURNS - 1 - r.turn)
    kinds = kinds_in(hand)
    reds = red_piles(r.top)
    best, action = -1e9, PASS
    if not must_place(r, hand) and r.red_team >= 0:
        red = r.red_team == r.to_move % 2
        lost = float(points(hand & (RED_CARDS if red else BLACK_CARDS)))
        cards = hand
        while cards != 0:
            lost += _card_value(lowest(cards), red)
            cards &= cards - 1
        best = _castle_value(r, top, -1, 0, unplayed, left, red) - lost / popcount(hand)
    for pile in range(NUM_PILES):
        placeable = placeable_kinds(r.top, reds, pile) & kinds
        while placeable != 0:
            kind = lowest(placeable)
            placeable &= placeable - 1
            card = card_of_kind(hand, kind)
            red = is_red(card) if r.red_team < 0 else r.red_team == r.to_move % 2
            value = _castle_value(r, top, card, pile, unplayed & ~singleton(card), left, red) - _card_value(card, red)
            if value > best:
                best, action = value, pile * NUM_KINDS + kind
    return action
