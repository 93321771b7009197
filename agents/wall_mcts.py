"""Monte Carlo search for Wall: what an action is worth is tried out in games that fit the view.

Only the order of the deck is hidden, so the games differ by luck and by nothing else. The luck of the draws hides what
an action is worth (a final margin varies by 5 points, good actions differ by some tenths), so it is taken out twice:
a game is played a few turns only and its walls are valued as they stand, and what each draw on the way brought beyond
its expectation is subtracted. The order of the deck is uniform and "builder" does not know it, so that subtraction
changes no mean (as in Burch et al., "AIVAT", AAAI 2018).
"""

import numpy as np
from numpy.typing import NDArray

from agents.search import SearchAgent
from cardtable import chance
from cardtable.bits import widen
from cardtable.game import Game, Ints, States, Views
from cardtable.kernel import Record, inner, kernel
from wall_env import engine
from wall_env.builder import WORK, builder_action, gain_by_drawing, survey_cards, survey_wall
from wall_env.encoding import NUM_RANKS, rank_index
from wall_env.policies import count_deck, count_unseen
from wall_env.state import CHOOSE, PLACE
from wall_env.view import determinize

_ROUNDS = 2  # a game is valued after so many turns of each player,
_LAST_CARDS = 8  # but played to its end when the deck is smaller than this

# What a wall brings from then on, by linear regression on games of "builder" with two and four players: its prospects
# times this, and for each draw to come a part of what a draw adds, up to the whole of them.
_BY_PROSPECTS = 1.15
_BY_DRAW, _BY_ALL_DRAWS = 0.6, 9.0  # all players' together


@inner
def share(s: Record, seat: int, player: int) -> float:
    """The weight of a player's points in a seat's margin: his own less the mean of the others'."""
    return 1.0 if player == seat else -1.0 / (s.num_players - 1)


@inner
def play_on(s: Record, action: int, seat: int, turns: int, unseen: Ints, w: Record) -> float:
    """The margin that a seat may expect when `action` is taken in `s`, `turns` turns of a trial are over and all go on
    by "builder"."""
    luck = play_any(s, action, seat, unseen, w)
    count_deck(s, unseen)
    while s.to_move >= 0:
        if s.phase != PLACE:
            turns += 1
            if turns > _ROUNDS * s.num_players and unseen.sum() >= _LAST_CARDS:
                break
        luck += play(s, builder_action(s, unseen, w), seat, w)
        count_deck(s, unseen)
    return expected_margin(s, seat, unseen, w) - luck


@inner
def play_any(s: Record, action: int, seat: int, unseen: Ints, w: Record) -> float:
    """`play` for an action that is not the choice of "builder"."""
    if action == engine.DRAW:
        count_deck(s, unseen)
        builder_action(s, unseen, w)  # for `luck`
    return play(s, action, seat, w)


@inner
def play(s: Record, action: int, seat: int, w: Record) -> float:
    """Carry out an action; what the luck of a draw, which "builder" has just reckoned, adds to a seat's margin."""
    player = widen(s.to_move)
    engine.play(s, action)
    return share(s, seat, player) * w.luck[rank_index(s.in_hand)] if action == engine.DRAW else 0.0


@inner
def expected_margin(s: Record, seat: int, unseen: Ints, w: Record) -> float:
    """The margin that a seat has at the end of a game, or may expect at the end of a turn; `unseen` is the deck."""
    margin = 0.0
    survey_cards(s, unseen, w)
    for player in range(s.num_players):
        margin += share(s, seat, player) * expected_points(s, player, unseen, w)
    return margin


@inner
def expected_points(s: Record, player: int, unseen: Ints, w: Record) -> float:
    """What a player's wall will have scored, as for `expected_margin`; after `survey_cards`."""
    points = s.score[player] * 1.0
    if s.to_move >= 0:
        cards_left = widen(unseen.sum())
        survey_wall(s, player, cards_left, w)
        draws = min(_BY_ALL_DRAWS, _BY_DRAW * cards_left) / s.num_players
        points += _BY_PROSPECTS * w.prospects + draws * gain_by_drawing(unseen, cards_left, w)
    return points


@inner
def _copy(worlds: States) -> None:
    worlds[1] = worlds[0]


@inner
def _try_all(
    v: Record, actions: Ints, seed: np.uint64, worlds: States, sums: NDArray[np.float64], unseen: Ints, w: Record
) -> None:
    """Try each action in one game that fits the view; add the margins that the viewer may expect to `sums`."""
    determinize(v, seed, worlds[0])
    for k in range(len(actions)):
        _copy(worlds)
        sums[k] += play_on(worlds[1], actions[k], v.seat, 0, unseen, w)


@inner
def _search(v: Record, playouts: int, seed: np.uint64, worlds: States, buffer: Ints, unseen: Ints, w: Record) -> int:
    """Sequential halving (Karnin, Koren and Somekh, ICML 2013) over the legal actions.

    In each round all actions that are left get the same number of playouts, and the better half of them goes on. World
    number k is the same for all actions, so that they differ by what the action does and not by luck. Start cards are
    chosen as "builder" does: a few turns say nothing about them. Its choice also stands first, so it wins ties.
    """
    count_unseen(v, unseen)
    first = builder_action(v, unseen, w)
    if v.phase == CHOOSE:
        return first
    left = engine.legal_actions(v, widen(v.deck_size), buffer)
    actions = buffer[:left].copy()
    for k in range(left):
        if actions[k] == first:
            actions[0], actions[k] = first, actions[0]
    rounds = 0
    while 1 << rounds < left:
        rounds += 1
    sums = np.zeros(left)
    number = 0
    for _ in range(rounds):
        for _ in range(max(1, playouts // (left * rounds))):
            _try_all(v, actions, chance.draw(seed, chance.WORLD, number), worlds, sums, unseen, w)
            number += 1
        order = np.argsort(-sums, kind="mergesort")
        left = (left + 1) // 2
        actions, sums = actions[order][:left], sums[order][:left]
    return int(actions[0])


@kernel
def _act(views: Views, playouts: int, seeds: NDArray[np.uint64], worlds: States, num_actions: int, out: Ints) -> None:
    scratch = np.zeros(1, WORK)
    buffer = np.empty(num_actions, np.int64)
    unseen = np.empty(NUM_RANKS, np.int64)
    for lane in range(len(views)):
        out[lane] = _search(views[lane], playouts, seeds[lane], worlds, buffer, unseen, scratch[0])


@kernel
def _weigh(
    views: Views, playouts: int, seeds: NDArray[np.uint64], worlds: States, num_actions: int,
    values: NDArray[np.float32],
) -> None:  # fmt: skip
    scratch = np.zeros(1, WORK)
    w = scratch[0]
    buffer, unseen = np.empty(num_actions, np.int64), np.empty(NUM_RANKS, np.int64)
    for lane in range(len(views)):
        v = views[lane]
        actions = buffer[: engine.legal_actions(v, widen(v.deck_size), buffer)].copy()
        values[lane] = np.nan
        if v.phase == CHOOSE:
            count_unseen(v, unseen)
            values[lane][actions] = np.float32(0)
            values[lane, builder_action(v, unseen, w)] = np.float32(1)
            continue
        sums = np.zeros(len(actions))
        count = max(1, playouts // len(actions))
        for number in range(count):
            _try_all(v, actions, chance.draw(seeds[lane], chance.WORLD, number), worlds, sums, unseen, w)
        for k in range(len(actions)):
            values[lane, actions[k]] = sums[k] / count


def action_values(game: Game, views: Views, playouts: int, seeds: NDArray[np.uint64]) -> NDArray[np.float32]:
    """The margin that the viewer may expect after each action, in points, as the search estimates it without halving.

    Start cards are not searched: that of "builder" gets 1 and the others 0.

    Args:
        game: Wall.
        views: views [B] of seats that are to move.
        playouts: trials for each view, shared equally among its legal actions (at least one each).
        seeds: uint64 [B].

    Returns:
        float32 [B, A], NaN where an action is not legal.
    """
    values = np.empty((len(views), game.num_actions), np.float32)
    _weigh(views, playouts, seeds, game.empty_states(2), game.num_actions, values)
    return values


class WallMctsAgent(SearchAgent):
    """Tries each action in games that fit what it sees, all players going on by "builder"; takes the best on average.

    In each round each action that is left gets at least one playout.
    """

    def _search(self, views: Views, seeds: NDArray[np.uint64], playouts: int, actions: Ints) -> None:
        _act(views, playouts, seeds, self.game.empty_states(2), self.game.num_actions, actions)
