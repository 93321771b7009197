"""Agents by text: "greedy", "pimc:playouts=300", "policy:runs/piles-4p/model.zip"."""

import difflib
from collections.abc import Callable

from agents.agent import Agent
from agents.piles_pimc import PilesPimcAgent
from agents.simple import GreedyAgent, RandomAgent
from cardtable.game import Game
from piles_env import PilesGame

_PIMC_PLAYOUTS = 300


def _random(game: Game, argument: str) -> Agent:
    _parameters("random", argument, {})
    return RandomAgent(game)


def _greedy(game: Game, argument: str) -> Agent:
    _parameters("greedy", argument, {})
    return GreedyAgent(game)


def _pimc(game: Game, argument: str) -> Agent:
    if not isinstance(game, PilesGame):
        raise ValueError(f"pimc plays Piles only, not {game.name}")
    return PilesPimcAgent(game, _parameters("pimc", argument, {"playouts": _PIMC_PLAYOUTS})["playouts"])


def _policy(game: Game, argument: str) -> Agent:
    if not argument:
        raise ValueError(
            "policy needs a file that `experiments train` has saved, as in 'policy:runs/piles-4p/model.zip'"
        )
    from agents.policy import PolicyAgent  # torch is loaded only when a network is to play

    return PolicyAgent.load(game, argument)


_AGENTS: dict[str, tuple[Callable[[Game, str], Agent], str]] = {
    "random": (_random, "chooses uniformly among the legal actions"),
    "greedy": (_greedy, "takes what leads most if the game ended now (Wall: if the turn ended now); ties at random"),
    "pimc": (
        _pimc,
        f"Piles only: tries each action in sampled games that fit its view; pimc:playouts=N, default {_PIMC_PLAYOUTS}",
    ),
    "policy": (_policy, "policy:FILE is a network that `experiments train` has saved"),
}


def agent_names() -> dict[str, str]:
    """The known agents, with a line on each."""
    return {name: description for name, (_, description) in _AGENTS.items()}


def make_agent(spec: str, game: Game) -> Agent:
    """Make the agent that a text describes, for a game.

    Args:
        spec: a name of `agent_names()`, for some followed by a colon and parameters or a file.
        game: the game that it will play.

    Raises:
        ValueError: if the name is unknown (the message lists the known ones) or what follows it is wrong.
    """
    name, _, argument = spec.partition(":")
    if name not in _AGENTS:
        close = difflib.get_close_matches(name, _AGENTS, 1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise ValueError(f"unknown agent {name!r}; the agents are {', '.join(_AGENTS)}{hint}")
    return _AGENTS[name][0](game, argument)


def _parameters(agent: str, argument: str, defaults: dict[str, int]) -> dict[str, int]:
    """Parameters of the form "name=number,..." over their defaults, each at least 1."""

    values = dict(defaults)
    for part in argument.split(",") if argument else ():
        name, _, number = part.partition("=")
        if name not in defaults or not number.isdecimal() or int(number) < 1:
            known = ", ".join(f"{known}=N with N at least 1" for known in defaults) or "nothing"
            raise ValueError(f"{agent} does not understand {part!r}; after the colon it takes {known}")
        values[name] = int(number)
    return values
