"""What "builder" makes of observations, as numbers for a network to start from.

An observation tells all that "builder" looks at, so this adds no knowledge. It spares a network to learn what can be
reckoned: which card each place above the base will want, how likely it comes, and what it may lead to.
"""

from functools import cache

import numpy as np
from numpy.typing import NDArray

from cardtable.bits import widen
from cardtable.cards import NO_CARD, rank_of
from cardtable.game import Ints
from cardtable.kernel import Record, inner, kernel
from wall_env.actions import num_actions
from wall_env.builder import WORK, builder_action, gain_by_drawing, look_along, survey_wall, worth
from wall_env.encoding import NUM_RANKS, layout, rank_index, read_observation
from wall_env.engine import (
    DISCARD,
    DRAW,
    FIRST_BUILD,
    LEFT,
    RIGHT,
    build_action,
    is_joker,
    may_build,
    may_widen,
    places_on,
    shift_right,
    wanted_rank,
)
from wall_env.policies import count_unseen
from wall_env.rules import WallRules
from wall_env.state import CHOOSE, TURN, VALUE, VIEW

Floats = NDArray[np.float32]
_KNOWN = 3  # cards that may be placed or taken now: in hand, the top discard, the one below
# What a card of each rank brings oneself, the next player and each end; prospects; known cards; actions not at a place;
# how a card at either end would change the prospects.
_RANKS, _CARDS, _ACTIONS, _ENDS = 4 * NUM_RANKS + 2, 3 * _KNOWN, FIRST_BUILD - DRAW, 8
NUM_GENERAL = _RANKS + _CARDS + _ACTIONS + _ENDS
# For each level: wanted rank, chance, promise, worth; what the slanting rows beside it would be; how a card there would
# change the prospects; and how one in the base at its left or right would, which is given on level 1.
_SLANT, _HERE, _BESIDE = 4, 10, 14
NUM_AT_PLACE = 22


def advise(rules: WallRules, observations: NDArray[np.int8]) -> tuple[Floats, Floats, Floats]:
    """What "builder" makes of observations int8 [B, D].

    Returns:
        float32 [B, A], the worth of each action in points; of those that are not legal it says nothing;
        float32 [B, G], the gains by each rank, the prospects and what a draw brings, for oneself and the next player;
            the gains by the cards in hand and on the discard pile; the worth of the actions that are no building; and
            how the card in hand, or the top discard, at either end would change what the own wall promises, what a
            draw brings and what the next two discards would;
        float32 [B, W', L * 22], for each position, up to the last that is not empty in all rows, and each level the
            rank wanted there (in 13ths), the chance that it comes, the points expected of what stands on it, and what
            building there is worth; at the first position also what would stand along the left edge if the card in
            hand, or the top discard, were added there: the rank wanted, the chance that it comes, and that all below
            it does, too; at the last position the same for the right edge; and the changes by that card in each place
            where it may go.
        Points are given as log(1 + x) but in the first array. All is 0 where the viewer is not to move.
    """
    count, levels = len(observations), rules.num_levels
    values = np.zeros((count, num_actions(rules)), np.float32)
    general = np.zeros((count, NUM_GENERAL), np.float32)
    widest = _widest(rules, observations)
    places = np.zeros((count, widest, levels, NUM_AT_PLACE), np.float32)
    view = np.zeros(1, VIEW)
    for name in ("num_players", "num_decks", "jokers_per_deck", "width_limit", "num_levels"):
        view[name] = getattr(rules, name)
    _advise(np.ascontiguousarray(observations), view, values, general, places)
    return values, general, places.reshape(count, widest, levels * NUM_AT_PLACE)


def _widest(rules: WallRules, observations: NDArray[np.int8]) -> int:
    """The number of positions of the own wall that are not empty in all rows, at least 1."""
    pieces = layout(rules).slices
    own = observations[:, pieces["wall"].start :][:, : rules.num_cells].any(axis=0)
    return int(max(1 + _positions(rules)[own].max(initial=0), observations[:, pieces["width"].start].max(initial=1)))


@cache
def _positions(rules: WallRules) -> Ints:
    """The position of each place of a wall, level by level, int64 [num_cells]."""
    return np.concatenate([np.arange(rules.width_limit - level) for level in range(rules.num_levels + 1)])


@kernel
def _advise(
    observations: NDArray[np.int8], views: NDArray[np.void], values: Floats, general: Floats, places: Floats
) -> None:
    scratch = np.zeros(1, WORK)
    unseen = np.empty(NUM_RANKS, np.int64)
    for row in range(len(observations)):
        v, w = views[0], scratch[0]
        read_observation(observations[row], v)
        if v.to_move != 0:
            continue
        count_unseen(v, unseen)
        chosen = builder_action(v, unseen, w)
        if v.phase == CHOOSE:
            values[row, chosen] = 1
            continue
        _write_values(v, w, values[row])
        by_drawing = gain_by_drawing(unseen, widen(unseen.sum()), w)
        _write_general(w, by_drawing, general[row])
        _write_known(v, w, values[row], general[row, _RANKS:])
        _write_places(v, w, places[row])
        card = v.in_hand
        if card == NO_CARD and v.discard_size > 0:
            card = v.discard[v.discard_size - 1]
            v.discard_size -= 1
        if card != NO_CARD:
            _write_slants(v, w, card, places[row])
            _look_ahead(v, w, card, unseen, by_drawing, general[row, _RANKS + _CARDS + _ACTIONS :], places[row])


@inner
def _write_values(v: Record, w: Record, values: Floats) -> None:
    if v.phase == TURN:
        for k in range(3):
            values[DRAW + k] = w.turn[k]
        return
    k = rank_index(v.in_hand)
    values[DISCARD] = -w.denied[k]
    left = w.turn[2]  # the next player keeps what he had in the discard pile
    if not is_joker(v.in_hand):
        for end in (LEFT, RIGHT):
            values[end] = w.beside[end - LEFT, k] + left
    for level in range(1, w.top + 1):
        for position in range(v.width[0] - level):
            if w.value[level, position] != 0 and wanted_rank(v, 0, level, position) > 0:
                gain = worth(w.promise[level, position], w.chance[level, position])
                values[build_action(widen(v.width_limit), level, position)] = gain + left


@inner
def _scaled(points: float) -> float:
    return float(np.log1p(points) if points > 0 else -np.log1p(-points))


@inner
def _write_general(w: Record, by_drawing: float, general: Floats) -> None:
    for k in range(NUM_RANKS):
        general[k] = _scaled(w.gain[k])
        general[NUM_RANKS + k] = _scaled(w.next_gain[k])
    for end in range(2):
        for k in range(NUM_RANKS - 1):
            general[(2 + end) * NUM_RANKS + k] = _scaled(w.beside[end, k])
    general[3 * NUM_RANKS - 1] = _scaled(w.prospects)
    general[4 * NUM_RANKS - 1] = _scaled(w.next_prospects)
    general[4 * NUM_RANKS] = _scaled(by_drawing)
    general[4 * NUM_RANKS + 1] = _scaled(w.next_by_drawing)


@inner
def _write_known(v: Record, w: Record, values: Floats, known: Floats) -> None:
    for k in range(_KNOWN):
        if k == 0:
            card = v.in_hand
        else:
            card = v.discard[v.discard_size - k] if v.discard_size >= k else NO_CARD
        if card != NO_CARD:
            rank = rank_index(card)
            known[3 * k] = _scaled(w.gain[rank])
            known[3 * k + 1] = _scaled(w.next_gain[rank])
            known[3 * k + 2] = _scaled(w.denied[rank])
    for k in range(FIRST_BUILD - DRAW):
        known[3 * _KNOWN + k] = _scaled(values[DRAW + k])


@inner
def _write_places(v: Record, w: Record, places: Floats) -> None:
    for level in range(1, w.top + 1):
        for position in range(v.width[0] - level):
            if w.value[level, position] == 0 or v.wall[0, level, position] & VALUE != 0:
                continue
            place = places[position, level - 1]
            place[0] = w.value[level, position] / 13
            place[1] = w.chance[level, position]
            place[2] = _scaled(w.promise[level, position])
            if wanted_rank(v, 0, level, position) > 0:
                place[3] = _scaled(worth(w.promise[level, position], w.chance[level, position]))


@inner
def _write_slants(v: Record, w: Record, card: int, places: Floats) -> None:
    """Along both edges, for the card that is to be placed or may be taken."""
    width = widen(v.width[0])
    for end in (LEFT, RIGHT):
        if not may_widen(v, 0, card, end == LEFT):
            continue
        position = 0 if end == LEFT else width - 1
        w.slant[:] = 0
        look_along(v, width, end, rank_of(card), 0.0, True, w)
        for level in range(1, min(len(w.slant), places.shape[1] + 1)):
            first = _SLANT + 3 * (end - LEFT)
            places[position, level - 1, first] = w.slant[level, 0] / 13
            places[position, level - 1, first + 1] = w.slant[level, 1]
            places[position, level - 1, first + 2] = w.slant[level, 2]


@inner
def _look_ahead(v: Record, w: Record, card: int, unseen: Ints, by_drawing: float, ends: Floats, places: Floats) -> None:
    """What the own wall would promise with the card in each place where it may go; the view is not to be used again."""
    before, cards_left = w.prospects, widen(unseen.sum())
    for level in range(1, v.height[0] + 1):
        for position in range(places_on(v, 0, level)):
            if not may_build(v, 0, card, level, position):
                continue
            height = v.height[0]
            v.wall[0, level, position] = wanted_rank(v, 0, level, position)
            v.height[0] = max(height, level + 1)
            survey_wall(v, 0, cards_left, w)
            gain = (1 << (level - 1)) + w.prospects - before
            _write_change(
                v, w, gain, gain_by_drawing(unseen, cards_left, w) - by_drawing, places[position, level - 1, _HERE:]
            )
            v.wall[0, level, position] = 0
            v.height[0] = height
    width = widen(v.width[0])
    for end in (RIGHT, LEFT):
        if not may_widen(v, 0, card, end == LEFT):
            continue
        position = 0 if end == LEFT else width - 1
        if end == LEFT:
            shift_right(v, 0)
        v.wall[0, 0, 0 if end == LEFT else width] = rank_of(card)
        v.width[0] = width + 1
        survey_wall(v, 0, cards_left, w)
        change = ends[4 * (end - LEFT) :][:4]
        _write_change(v, w, w.prospects - before, gain_by_drawing(unseen, cards_left, w) - by_drawing, change)
        places[position, 0, _BESIDE + 4 * (end - LEFT) :][:4] = change
        v.width[0] = width
        v.wall[0, 0, width] = 0


@inner
def _write_change(v: Record, w: Record, gain: float, by_drawing: float, out: Floats) -> None:
    """What changes, and what the two upper cards of the discard pile would then bring."""
    out[0] = _scaled(gain)
    out[1] = _scaled(by_drawing)
    for k in range(min(2, widen(v.discard_size))):
        out[2 + k] = _scaled(w.gain[rank_index(v.discard[v.discard_size - 1 - k])])
