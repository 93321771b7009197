"""A rule-based player of Wall as compiled code, for agents and for playouts: it looks at what a wall may become.

The base alone says what every place above it wants: the sum of the two below, whether they are built yet or not (W10).
So a wall's prospects can be counted: the points of each place times the chance that it and all that carries it will
be built. An action is worth what it adds to them.

`r` is a seat's view, or in a playout the game's record itself, whose player to move has to decide.
"""

import numpy as np
from numpy.typing import NDArray

from cardtable.bits import widen
from cardtable.kernel import Record, inner, tiny
from wall_env.encoding import NUM_RANKS, rank_index
from wall_env.engine import (
    DISCARD,
    DRAW,
    HIGHEST_START,
    HIGHEST_SUM,
    LEFT,
    LOWEST_START,
    PASS,
    RIGHT,
    TAKE,
    build_action,
    copies_of_rank_left,
    is_joker,
    places_on,
    rank_for_sum,
    wanted_rank,
)
from wall_env.state import CHOOSE, MAX_LEVELS, MAX_WIDTH, PLACE, VALUE

# Tuned by the cross-entropy method in games of two and of four players against "greedy" and against itself.
_START = 3  # the start card that is best: it lets much lie beside it, and small sums leave room for high levels
_SHARE, _SHARE_ALONE = 0.12, 0.12  # chance that a card not yet built lands on one place that wants it: a + b / players
_LEAST_CHANCE = 0.05  # that something does: a joker, if no such card is left
_PATIENCE = 1.6  # a place that cannot be built yet has more time than its chance says
_RIVALRY = 0.8  # places that want the same rank share its cards
_END, _FULL_STAGE = 0.8, 9  # worth of a base's end, all players' together, and for how many cards to come it is whole
_DENIAL = 0.35  # what the next player may gain by a discard counts less than one's own gain, as he may do without
_RATHER_DRAW = 0.85  # part of his expected gain by drawing, which he forgoes if he takes
_WAIT = 0.4  # a discard that is left may still be there next time: part of a draw's gain to set against taking it

# What the builder works on, one record for a call.
#   value, chance, reach, promise [level, position]: the value of each place's card, present or to come (0 if none can
#       be there); the chance that a card comes for it; that it and all below it will be built; the points expected of
#       what stands on it, itself included.
#   comes [13]: the chance that a card of each rank comes for a place. wanting [13]: open places by wanted rank.
#   gain, action [14]: what a card of each rank, joker last, is worth to the player looked at, and where it goes.
#   denied [14]: what leaving such a card to the next player costs. luck [14]: what drawing it brings beyond the
#       expectation, when the last decision was to draw.
#   beside [end, 13]: what each rank adds at an end of the base. slant [level, 3]: the cards that the slanting row wants
#       that was looked along last to be kept, their chance and their reach.
#   top, prospects: the highest level that can hold a card, and points that the wall may still bring.
#   next_gain [14], next_by_drawing, next_prospects: the same for the next player as for the player looked at.
#   turn [3]: what drawing, taking and passing are worth; in the second half of a turn the last of them, three times.
_PLACES = (MAX_LEVELS, MAX_WIDTH)
WORK = np.dtype(
    [
        ("value", np.int64, _PLACES),
        ("chance", np.float64, _PLACES),
        ("reach", np.float64, _PLACES),
        ("promise", np.float64, _PLACES),
        ("comes", np.float64, (NUM_RANKS - 1,)),
        ("wanting", np.int64, (NUM_RANKS - 1,)),
        ("gain", np.float64, (NUM_RANKS,)),
        ("action", np.int64, (NUM_RANKS,)),
        ("denied", np.float64, (NUM_RANKS,)),
        ("luck", np.float64, (NUM_RANKS,)),
        ("beside", np.float64, (2, NUM_RANKS - 1)),
        ("slant", np.float64, (MAX_LEVELS, 3)),
        ("top", np.int64),
        ("prospects", np.float64),
        ("next_gain", np.float64, (NUM_RANKS,)),
        ("next_by_drawing", np.float64),
        ("next_prospects", np.float64),
        ("turn", np.float64, (3,)),
    ]
)


@inner
def survey_cards(r: Record, unseen: NDArray[np.int64], w: Record) -> None:
    """How likely a card of each rank comes for a place: cards of the discard pile come back as those of the deck do."""
    missed = 1 - _SHARE - _SHARE_ALONE / r.num_players
    for rank in range(NUM_RANKS - 1):
        w.comes[rank] = missed ** unseen[rank]
    for k in range(r.discard_size):
        if not is_joker(r.discard[k]):
            w.comes[rank_index(r.discard[k])] *= missed
    for rank in range(NUM_RANKS - 1):
        w.comes[rank] = max(_LEAST_CHANCE, 1 - w.comes[rank])


@tiny
def _chance(w: Record, rank: int, rivals: int, patience: float) -> float:
    return float(min(1.0, patience * w.comes[rank - 1] / (1 + _RIVALRY * rivals)))


@tiny
def worth(promise: float, chance: float) -> float:
    """What building an open place adds: its card, and with it all that stands on it, is no chance any more."""
    return promise * (1 / chance - 1)


@tiny
def _end_value(value: int) -> float:
    """Of an end card: the part of the ranks that may lie beside it (W9)."""
    return (HIGHEST_SUM - value) / 13


@inner
def survey_wall(r: Record, seat: int, cards_left: int, w: Record) -> None:
    """Write a seat's prospects, and for each rank the best place for such a card and what it adds to them."""
    width = widen(r.width[seat])
    w.gain[:] = 0.0
    w.action[:] = DISCARD
    w.beside[:] = 0.0
    top = _look_up(r, seat, width, w)
    w.top = top
    _look_down(r, seat, width, top, w)
    stage = _END / r.num_players * min(1.0, (cards_left + r.discard_size / 2) / _FULL_STAGE)
    w.prospects += stage * (_end_value(w.value[0, 0]) + _end_value(w.value[0, width - 1]))
    if width < r.width_limit:
        for end in (LEFT, RIGHT):
            _look_beside(r, width, end, stage, w)


@inner
def _look_up(r: Record, seat: int, width: int, w: Record) -> int:
    """Value, chance and reach of each place, from the base up; returns the highest level that can hold a card."""
    w.wanting[:] = 0
    for level in range(1, r.height[seat] + 1):
        for position in range(places_on(r, seat, level)):
            rank = wanted_rank(r, seat, level, position)
            if rank > 0:
                w.wanting[rank - 1] += 1
    for position in range(width):
        w.value[0, position] = r.wall[seat, 0, position] & VALUE
        w.reach[0, position] = 1.0
    for level in range(1, min(width, r.num_levels + 1)):
        dead = True
        for position in range(width - level):
            built = r.wall[seat, level, position] & VALUE
            left, right = w.value[level - 1, position], w.value[level - 1, position + 1]
            rank = 0 if left == 0 or right == 0 else rank_for_sum(left + right)
            w.value[level, position] = rank
            if rank == 0:
                continue
            dead = False
            if built != 0:
                w.reach[level, position] = 1.0
                continue
            # Both supports with all below them; what carries both must not count twice.
            reach = w.reach[level - 1, position] * w.reach[level - 1, position + 1]
            if level > 1:
                reach /= w.reach[level - 2, position + 1]
            if reach == 1.0:
                chance = _chance(w, rank, w.wanting[rank - 1] - 1, 1.0)
            else:
                chance = _chance(w, rank, w.wanting[rank - 1], _PATIENCE)
            w.chance[level, position] = chance
            w.reach[level, position] = reach * chance
        if dead:
            return level - 1
    return min(width - 1, widen(r.num_levels))


@inner
def _look_down(r: Record, seat: int, width: int, top: int, w: Record) -> None:
    """The promise of each place, from the top down, the sum of all, and what building each open place adds.

    A card in an open place makes certain what was a chance, for the place and all that stands on it.
    """
    w.prospects = 0.0
    for level in range(top, 0, -1):
        last = width - level - 1
        for position in range(last + 1):
            w.promise[level, position] = 0.0
            rank = w.value[level, position]
            if rank == 0:
                continue
            promise = 0.0
            if r.wall[seat, level, position] == 0:
                promise = w.reach[level, position] * (1 << (level - 1))
                w.prospects += promise
            if level < top:
                if position > 0:
                    promise += w.promise[level + 1, position - 1]
                if position < last:
                    promise += w.promise[level + 1, position]
                if level + 1 < top and 0 < position < last:
                    promise -= w.promise[level + 2, position - 1]
            w.promise[level, position] = promise
            if wanted_rank(r, seat, level, position) > 0:
                action = build_action(widen(r.width_limit), level, position)
                gain = worth(promise, w.chance[level, position])
                _offer(w, rank - 1, gain, action)
                _offer(w, NUM_RANKS - 1, gain, action)


@inner
def _look_beside(r: Record, width: int, end: int, stage: float, w: Record) -> None:
    """What each rank adds as the new end of the base: the slanting row of places above, and a better or worse end."""
    neighbour = w.value[0, 0 if end == LEFT else width - 1]
    for rank in range(1, HIGHEST_SUM - neighbour + 1):
        gain = look_along(r, width, end, rank, stage * (_end_value(rank) - _end_value(neighbour)), False, w)
        w.beside[end - LEFT, rank - 1] = gain
        _offer(w, rank - 1, gain, end)


@tiny
def look_along(r: Record, width: int, end: int, rank: int, gain: float, keep: bool, w: Record) -> float:
    """Add to `gain` the points expected of the slanting row above a new end of the base; `w.slant` keeps it if asked.

    Compiled into its callers: builder's playouts take most of their time here.
    """
    value, reach = rank, 1.0
    for level in range(1, min(widen(w.top) + 1, width, widen(r.num_levels)) + 1):
        position = 0 if end == LEFT else width - level  # of the edge of the level below
        below = w.value[level - 1, position]
        value = 0 if below == 0 else rank_for_sum(below + value)
        if value == 0:
            break
        reach *= w.reach[level - 1, position]
        if level > 1:
            reach /= w.reach[level - 2, position if end == LEFT else position + 1]
        chance = _chance(w, value, w.wanting[value - 1], 1.0 if level == 1 else _PATIENCE)
        reach *= chance
        gain += reach * (1 << (level - 1))
        if keep:
            w.slant[level, 0], w.slant[level, 1], w.slant[level, 2] = value, chance, reach
    return gain


@inner
def _offer(w: Record, index: int, gain: float, action: int) -> None:
    if w.action[index] == DISCARD or gain > w.gain[index]:
        w.gain[index] = gain
        w.action[index] = action


@inner
def gain_by_drawing(unseen: NDArray[np.int64], cards_left: int, w: Record) -> float:
    """What a draw adds on average to the prospects of the seat surveyed last."""
    gain = 0.0
    for k in range(NUM_RANKS):
        gain += unseen[k] * max(0.0, w.gain[k])
    return gain / max(1, cards_left)


@inner
def _survey_next(r: Record, unseen: NDArray[np.int64], cards_left: int, w: Record) -> None:
    """What each card costs that is left to the next player: what he gains beyond what a draw would bring him."""
    w.denied[:] = 0.0
    if r.num_players == 1:
        return
    survey_wall(r, (widen(r.to_move) + 1) % widen(r.num_players), cards_left, w)
    by_drawing = gain_by_drawing(unseen, cards_left, w)
    w.next_gain[:] = w.gain
    w.next_by_drawing, w.next_prospects = by_drawing, w.prospects
    for k in range(NUM_RANKS):
        w.denied[k] = _DENIAL / (r.num_players - 1) * max(0.0, w.gain[k] - _RATHER_DRAW * by_drawing)


@inner
def _denied(r: Record, depth: int, w: Record) -> float:
    """What it costs to leave the next player the discard pile from this depth on."""
    return w.denied[rank_index(r.discard[r.discard_size - 1 - depth])] if r.discard_size > depth else 0.0


@inner
def _choose_start(r: Record) -> int:
    best = -1
    for action in range(HIGHEST_START - LOWEST_START + 1):
        distance = abs(LOWEST_START + action - _START)
        if copies_of_rank_left(r, LOWEST_START + action) > 0 and (
            best < 0 or distance < abs(LOWEST_START + best - _START)
        ):
            best = action
    return best


@inner
def builder_action(r: Record, unseen: NDArray[np.int64], w: Record) -> int:
    """The action that adds most to the prospects of the own wall, less what it leaves to the next player.

    `unseen` holds how many cards of each rank (ace to king, joker) the player has not seen; when he is to draw they are
    the deck. `w` is a record of WORK; after a draw its `luck` says how much better than expected each rank would be.
    """
    if r.phase == CHOOSE:
        return _choose_start(r)
    cards_left = widen(unseen.sum())
    survey_cards(r, unseen, w)
    _survey_next(r, unseen, cards_left, w)
    survey_wall(r, widen(r.to_move), cards_left, w)
    top_left = _denied(r, 0, w)
    w.turn[:] = -top_left
    if r.phase == PLACE:
        k = rank_index(r.in_hand)
        return w.action[k] if w.gain[k] - top_left >= -w.denied[k] else DISCARD
    best, choice = -top_left, PASS
    if cards_left > 0:
        expected = 0.0
        for k in range(NUM_RANKS):
            w.luck[k] = -w.denied[k]
            if w.action[k] != DISCARD:
                w.luck[k] = max(w.luck[k], w.gain[k] - top_left)
            expected += unseen[k] * w.luck[k] / cards_left
        for k in range(NUM_RANKS):
            w.luck[k] -= expected
        w.turn[0] = expected
        if expected >= best:
            best, choice = expected, DRAW
    if r.discard_size > 0:
        k = rank_index(r.discard[r.discard_size - 1])
        if w.action[k] != DISCARD:
            value = w.gain[k] - _denied(r, 1, w) - _WAIT * gain_by_drawing(unseen, cards_left, w)
            w.turn[TAKE - DRAW] = value
            if value > best or (choice == PASS and value == best):
                return TAKE
    return choice
