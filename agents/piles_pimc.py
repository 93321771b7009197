"""Perfect-information Monte Carlo for Piles: what an action is worth is tried out in games that fit the view."""

import numpy as np
from numpy.typing import NDArray

from agents.network import Floats
from agents.network_agent import NetworkAgent
from agents.piles_playout import play_out
from agents.search import SearchAgent
from cardtable import chance
from cardtable.game import Game, Ints, States, Views
from cardtable.kernel import Record, inner, kernel
from piles_env import engine
from piles_env.view import determinize

_CANDIDATES = 8  # actions that are tried when a policy proposes them
_PRIOR = np.float32(2.0)  # points for each unit of its values
_CAREFUL_TURNS = 8  # that follow the decision: 4, 8 or all led careful by 9, 12 and 13 points a deal (60 deals)


@inner
def _copy(worlds: States) -> None:
    worlds[1] = worlds[0]


@inner
def _try_all(v: Record, actions: Ints, world_seed: np.uint64, worlds: States, sums: Ints) -> None:
    """Try each action in one game that fits the view; add the final margins of the viewer's side to `sums`."""
    sign = 1 if v.seat % 2 == 0 else -1
    determinize(v, world_seed, worlds[0])
    for k in range(len(actions)):
        _copy(worlds)
        trial = worlds[1]
        engine.play(trial, actions[k])
        sums[k] += sign * play_out(trial, v.turn + 1 + _CAREFUL_TURNS, world_seed)


@inner
def _search(
    v: Record, playouts: int, seed: np.uint64, worlds: States, mask: NDArray[np.int8], prior: Floats, candidates: int
) -> int:
    """Sequential halving (Karnin, Koren and Somekh, ICML 2013) over the legal actions.

    In each round all actions that are left get the same number of playouts, and the better half of them goes on. World
    number w and its chance are the same for all actions, so that they differ by what the action does and not by luck.
    Only the actions with the best priors take part, and a prior counts as so many points more, whatever the playouts.
    """
    engine.write_mask(v, v.hand, mask)
    actions = np.flatnonzero(mask)
    actions = actions[np.argsort(-prior[actions], kind="mergesort")][:candidates]
    left = len(actions)
    if left == 1:
        return actions[0]
    rounds = 0
    while 1 << rounds < left:
        rounds += 1
    sums = np.zeros(left, np.int64)
    number = 0
    for _ in range(rounds):
        for _ in range(max(1, playouts // (left * rounds))):
            world_seed = chance.draw(seed, chance.WORLD, number)
            number += 1
            _try_all(v, actions, world_seed, worlds, sums)
        order = np.argsort(-(sums / number + prior[actions]), kind="mergesort")  # all left were tried in the same games
        left = (left + 1) // 2
        actions, sums = actions[order][:left], sums[order][:left]
    return actions[0]


@kernel
def _act(
    views: Views, playouts: int, seeds: NDArray[np.uint64], worlds: States, mask: NDArray[np.int8],
    priors: Floats, candidates: int, out: Ints,
) -> None:  # fmt: skip
    for lane in range(len(views)):
        out[lane] = _search(views[lane], playouts, seeds[lane], worlds, mask, priors[lane], candidates)


@kernel
def _weigh(
    views: Views, playouts: int, seeds: NDArray[np.uint64], worlds: States, mask: NDArray[np.int8],
    values: NDArray[np.float32],
) -> None:  # fmt: skip
    for lane in range(len(views)):
        v = views[lane]
        engine.write_mask(v, v.hand, mask)
        actions = np.flatnonzero(mask)
        sums = np.zeros(len(actions), np.int64)
        count = max(1, playouts // len(actions))
        for number in range(count):
            world_seed = chance.draw(seeds[lane], chance.WORLD, number)
            _try_all(v, actions, world_seed, worlds, sums)
        values[lane] = np.nan
        for k in range(len(actions)):
            values[lane, actions[k]] = sums[k] / count


def action_values(game: Game, views: Views, playouts: int, seeds: NDArray[np.uint64]) -> NDArray[np.float32]:
    """The mean final margin of the viewer's side, in points, after each action, by flat Monte Carlo.

    Args:
        game: Piles.
        views: views [B] of seats that are to move.
        playouts: games to play for each view, shared equally among its legal actions (at least one each).
        seeds: uint64 [B].

    Returns:
        float32 [B, A], NaN where an action is not legal.
    """
    values = np.empty((len(views), game.num_actions), np.float32)
    _weigh(views, playouts, seeds, game.empty_states(2), np.empty(game.num_actions, np.int8), values)
    return values


class PilesPimcAgent(SearchAgent):
    """Tries each action in games that fit what it sees, all players going on by rules of thumb.

    It takes the action that is best on average. In each round each action that is left gets at least one playout.

    Args:
        game, playouts, ms: as in `SearchAgent`.
        policy: a network that chooses the actions to try, and whose preferences count beside the playouts.
    """

    def __init__(
        self, game: Game, playouts: int = 1000, ms: int | None = None, policy: NetworkAgent | None = None
    ) -> None:
        super().__init__(game, playouts, ms)
        self._policy = policy

    def _search(self, views: Views, seeds: NDArray[np.uint64], playouts: int, actions: Ints) -> None:
        if self._policy is None:
            priors, candidates = np.zeros((len(views), self.game.num_actions), np.float32), self.game.num_actions
        else:
            priors, candidates = _PRIOR * self._policy.values(views), _CANDIDATES
        mask = np.empty(self.game.num_actions, np.int8)
        _act(views, playouts, seeds, self.game.empty_states(2), mask, priors, candidates, actions)
