"""Many games at once: each agent answers all games in which it is to move, in one call."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from agents.agent import Agent
from cardtable.game import Game, Ints, States

Step = Callable[[States, Ints], NDArray[np.float64]]  # as `Game.step`


def choose(game: Game, states: States, seating: Ints, agents: Sequence[Agent]) -> Ints:
    """The action of the agent that is to move in each unfinished game.

    Args:
        game: the game.
        states: records [B], none of them over.
        seating: int64 [B, P]: which of `agents` sits on each seat.
        agents: the players.

    Returns:
        Action ids, int64 [B].
    """
    movers = game.current_player(states).astype(np.int64)
    views = game.view(states, movers)
    acting = seating[np.arange(len(states)), movers]
    actions = np.empty(len(states), np.int64)
    for index in np.unique(acting):
        lanes = np.flatnonzero(acting == index)
        actions[lanes] = agents[index].act(views[lanes])
    return actions


def advance(
    game: Game, states: States, lanes: Ints, seating: Ints, agents: Sequence[Agent], step: Step | None = None
) -> NDArray[np.float64]:
    """Let the agents act once in some lanes, in place; return the rewards [len(lanes), P] of `step`, or `game.step`."""
    moving = states[lanes]
    rewards = (step or game.step)(moving, choose(game, moving, seating[lanes], agents))
    states[lanes] = moving
    return rewards
