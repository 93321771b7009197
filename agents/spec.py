"""Agents by text: "greedy", "policy:runs/piles/model.zip"; a name, and after a colon what it needs."""

import difflib
from collections.abc import Callable

from agents.agent import Agent
from agents.simple import GreedyAgent, RandomAgent
from cardtable.game import Game


def _random(game: Game, argument: str) -> Agent:
    _no_argument("random", argument)
    return RandomAgent(game)


def _greedy(game: Game, argument: str) -> Agent:
    _no_argument("greedy", argument)
    return GreedyAgent(game)


def _policy(game: Game, argument: str) -> Agent:
    if not argument:
        raise ValueError("policy needs a file that `experiments train` has saved, as in 'policy:runs/piles/model.zip'")
    from agents.policy import PolicyAgent  # torch is loaded only when a network is to play

    return PolicyAgent.load(game, argument)


_AGENTS: dict[str, tuple[Callable[[Game, str], Agent], str]] = {
    "random": (_random, "chooses uniformly among the legal actions"),
    "greedy": (_greedy, "takes what leads most if the game ended now (Wall: if the turn ended now); ties at random"),
    "policy": (_policy, "policy:FILE is a network that `experiments train` has saved"),
}


def agent_names() -> dict[str, str]:
    """The known agents, with a line on each."""
    return {name: description for name, (_, description) in _AGENTS.items()}


def make_agent(spec: str, game: Game) -> Agent:
    """Make the agent that a text describes, for a game.

    Args:
        spec: a name of `agent_names()`, for some followed by a colon and an argument.
        game: the game that it will play.

    Raises:
        ValueError: if the name is unknown (the message lists the known ones) or the argument is wrong.
    """
    name, _, argument = spec.partition(":")
    if name not in _AGENTS:
        close = difflib.get_close_matches(name, _AGENTS, 1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise ValueError(f"unknown agent {name!r}; the agents are {', '.join(_AGENTS)}{hint}")
    return _AGENTS[name][0](game, argument)


def _no_argument(name: str, argument: str) -> None:
    if argument:
        raise ValueError(f"{name} takes no argument, but {argument!r} is given")
