"""Agents by text: "greedy", "pimc:playouts=300", "policy:runs/piles-4p/model.zip"."""

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from agents.agent import Agent
from agents.heuristics import HeuristicAgent
from agents.network_agent import NetworkAgent, load_network, shipped
from agents.piles_ismcts import PilesIsmctsAgent
from agents.piles_pimc import PilesPimcAgent
from agents.wall_mcts import WallMctsAgent
from cardtable.game import Game

_SEARCH = ("playouts", "ms")


@dataclass(frozen=True)
class _Entry:
    """A name that `make_agent` knows.

    Attributes:
        make: makes the agent of a game, with the parameters that the spec gives.
        description: a line for help texts.
        game: the name of the only game that it plays; None for all games.
        parameters: the names of numbers that may follow the colon, of which only one may be given.
    """

    make: Callable[..., Agent]
    description: str
    game: str | None = None
    parameters: tuple[str, ...] = ()


def _policy(game: Game, name: str) -> Agent:
    known = shipped()
    if name in known or name.endswith(".npz"):
        return NetworkAgent(game, load_network(known.get(name, Path(name)), game))
    if not name.endswith(".zip"):
        raise ValueError(
            f"policy needs {' or '.join(map(repr, known)) or 'a file'}, or a file of your own: one that `experiments "
            f"train` has saved, as in 'policy:runs/piles-4p/model.zip', or `experiments imitate` (.npz), not {name!r}"
        )
    from agents.policy import PolicyAgent  # torch is loaded only when such a network is to play

    return PolicyAgent.load(game, name)


_AGENTS: dict[str, _Entry] = {
    "random": _Entry(lambda game: HeuristicAgent(game, "random"), "chooses uniformly among the legal actions"),
    "greedy": _Entry(
        lambda game: HeuristicAgent(game, "greedy"),
        "takes what leads most if the game ended now (Wall: if the turn ended now); ties at random",
    ),
    "careful": _Entry(
        lambda game: HeuristicAgent(game, "careful"),
        "weighs how safely each pile is held and what each card in hand is good for",
        "piles-v0",
    ),
    "pimc": _Entry(
        PilesPimcAgent,
        "tries each action in sampled games that fit its view, played out by rules of thumb",
        "piles-v0",
        _SEARCH,
    ),
    "ismcts": _Entry(
        PilesIsmctsAgent,
        "searches one tree of what all can see, in sampled games that fit its view",
        "piles-v0",
        _SEARCH,
    ),
    "builder": _Entry(
        lambda game: HeuristicAgent(game, "builder"),
        "counts what its wall may become, and what a discard is worth to the next player",
        "wall-v0",
    ),
    "mcts": _Entry(
        WallMctsAgent,
        "tries each action in sampled games that fit its view, played on by builder and valued as builder does",
        "wall-v0",
        _SEARCH,
    ),
    "policy": _Entry(_policy, "policy:NAME is a network that is shipped, policy:FILE one that you have trained"),
}


def agent_names() -> dict[str, str]:
    """The known agents, with a line on each."""
    return {name: _describe(entry) for name, entry in _AGENTS.items()}


def is_search(spec: str) -> bool:
    """Whether a spec names a player that searches, and so takes its time."""
    entry = _AGENTS.get(spec.partition(":")[0])
    return entry is not None and entry.parameters == _SEARCH


def _describe(entry: _Entry) -> str:
    parts = [entry.description]
    if entry.game:
        parts.insert(0, f"({entry.game} only)")
    if entry.parameters:
        parts.append(f"[{' or '.join(f'{name}=N' for name in entry.parameters)}]")
    return " ".join(parts)


def make_agent(spec: str, game: Game) -> Agent:
    """Make the agent that a text describes, for a game.

    Args:
        spec: a name of `agent_names()`, for some followed by a colon and a parameter or a file.
        game: the game that it will play.

    Raises:
        ValueError: if the name is unknown (the message lists the known ones), plays another game, or what follows it is
            wrong.
    """
    name, _, argument = spec.partition(":")
    if name not in _AGENTS:
        close = difflib.get_close_matches(name, _AGENTS, 1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise ValueError(f"unknown agent {name!r}; the agents are {', '.join(_AGENTS)}{hint}")
    entry = _AGENTS[name]
    if entry.game not in (None, game.name):
        playing = [other for other, known in _AGENTS.items() if known.game in (None, game.name)]
        raise ValueError(f"{name} plays {entry.game} only; {game.name} is played by {', '.join(playing)}")
    if name == "policy":
        return entry.make(game, argument)
    return entry.make(game, **_parameters(name, argument, entry.parameters))


def _parameters(agent: str, argument: str, known: tuple[str, ...]) -> Mapping[str, int]:
    """What follows the colon: nothing, or one "name=number" with a number of at least 1."""
    if not argument:
        return {}
    name, _, number = argument.partition("=")
    if name not in known or not number.isdecimal() or int(number) < 1:
        takes = " or ".join(f"{each}=N" for each in known)
        takes = f"{takes} with N at least 1" if known else "nothing"
        raise ValueError(f"{agent} does not understand {argument!r}; after the colon it takes {takes}")
    return {name: int(number)}
