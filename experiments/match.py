"""Matches on duplicate deals, and what they say about two agents.

The deal is the sample: both agents play each deal from every side, and the mean margin of those games is one number.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from agents.agent import Agent
from agents.lockstep import advance
from cardtable.chance import agent_seeds, lane_seeds
from cardtable.game import Game, Ints
from experiments.statistics import half_width

_LANES = 1024  # games in lock-step


@dataclass(frozen=True)
class Result:
    """What the first of two agents achieved against the second.

    Attributes:
        margins: mean margin of each deal's games in points, float64 [deals].
        wins, draws, losses: numbers of games.
    """

    margins: NDArray[np.float64]
    wins: int
    draws: int
    losses: int

    @property
    def mean(self) -> float:
        """Mean margin per deal, in points."""
        return float(self.margins.mean())

    @property
    def half_width(self) -> float:
        """Half the width of the mean's 95 % confidence interval, by Student's t over deals; infinite for one deal."""
        return half_width(self.margins)


def seatings(game: Game) -> Ints:
    """Who sits where in the games of one deal, int64 [games, P] of 0 (first agent) and 1.

    The first agent plays each side once, the second all other sides.
    """
    sides = np.array([game.team_of(seat) for seat in range(game.num_players)])
    return np.array([np.where(sides == team, 0, 1) for team in range(len(game.teams))])


def play_match(
    game: Game, agents: Sequence[Agent], deals: int, seed: int, report: Callable[[int], None] = lambda games: None
) -> Result:
    """Play two agents against each other on duplicate deals.

    Args:
        game: the game.
        agents: the two agents; each is reset with a seed of its own.
        deals: number of deals.
        seed: seed of the deals; the result depends on it and on nothing else.
        report: called with the number of games that have ended since the last call.
    """
    if deals < 1:
        raise ValueError(f"at least one deal is needed, not {deals}")
    deal_seeds = lane_seeds(seed, deals)
    for agent, agent_seed in zip(agents, agent_seeds(deal_seeds[0], 2), strict=True):
        agent.reset(agent_seed)
    tables = seatings(game)
    game_seeds = np.repeat(deal_seeds, len(tables))
    seating = np.tile(tables, (deals, 1))
    margins = np.empty(len(game_seeds))
    for first in range(0, len(game_seeds), _LANES):
        part = slice(first, first + _LANES)
        margins[part] = _play(game, agents, game_seeds[part], seating[part], report)
    return Result(
        margins.reshape(deals, -1).mean(axis=1),
        int((margins > 0).sum()),
        int((margins == 0).sum()),
        int((margins < 0).sum()),
    )


def _play(
    game: Game,
    agents: Sequence[Agent],
    seeds: NDArray[np.uint64],
    seating: Ints,
    report: Callable[[int], None],
) -> NDArray[np.float64]:
    """The first agent's margin in each game."""
    states = game.new_states(seeds)
    playing = np.arange(len(states))
    while len(playing):
        advance(game, states, playing, seating, agents)
        over = game.terminated(states[playing])
        if over.any():
            report(int(over.sum()))
            playing = playing[~over]
    scores = game.scores(states).astype(np.float64)
    mine = np.array([game.team_of(int(seat)) for seat in (seating == 0).argmax(axis=1)])
    own = scores[np.arange(len(states)), mine]
    others = max(1, scores.shape[1] - 1)
    return np.asarray(own - (scores.sum(axis=1) - own) / others)
