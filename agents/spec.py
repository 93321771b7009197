"""Agents by text: "greedy", "pimc:playouts=300,policy=piles-4p", "policy:runs/piles-4p/model.zip"."""

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
        parameters: the names of what may follow the colon. Of the numbers only one may be given.
    """

    make: Callable[..., Agent]
    description: str
    game: str | None = None
    parameters: tuple[str, ...] = ()


def _policy(game: Game, name: str) -> Agent:
    if not name.endswith(".zip"):
        return _network(game, name)
    from agents.policy import PolicyAgent  # torch is loaded only when such a network is to play

    return PolicyAgent.load(game, name)


def _network(game: Game, name: str) -> NetworkAgent:
    known = shipped()
    if name not in known and not name.endswith(".npz"):
        raise ValueError(
            f"policy needs {' or '.join(map(repr, known)) or 'a file'}, or a file of your own: one that `experiments "
            f"train` or `imitate` has saved, as in 'policy:runs/piles-4p/policy.npz', not {name!r}"
        )
    return NetworkAgent(game, load_network(known.get(name, Path(name)), game))


def _pimc(game: Game, policy: str | None = None, **amount: int) -> Agent:
    return PilesPimcAgent(game, policy=None if policy is None else _network(game, policy), **amount)


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
        _pimc,
        "tries each action in sampled games that fit its view, played out by rules of thumb; with a policy, those that "
        "it proposes",
        "piles-v0",
        (*_SEARCH, "policy"),
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
    "policy": _Entry(
        _policy,
        f"policy:NAME is a network that is shipped ({', '.join(shipped())}), policy:FILE one that you have trained",
    ),
}


def agent_names() -> dict[str, str]:
    """The known agents, with a line on each."""
    return {name: _describe(entry) for name, entry in _AGENTS.items()}


def is_search(spec: str) -> bool:
    """Whether a spec names a player that searches, and so takes its time."""
    entry = _AGENTS.get(spec.partition(":")[0])
    return entry is not None and entry.parameters[:2] == _SEARCH


def network_files(spec: str) -> list[Path]:
    """The files of the networks that an agent plays by: after "policy:" or "policy="; empty if it has none."""
    agent, _, argument = spec.partition(":")
    pairs = [part.partition("=") for part in argument.split(",")]
    names = [argument] if agent == "policy" else [value for name, _, value in pairs if name == "policy"]
    return [shipped().get(name, Path(name)) for name in names]


def _describe(entry: _Entry) -> str:
    parts = [entry.description]
    if entry.game:
        parts.insert(0, f"({entry.game} only)")
    if entry.parameters:
        parts.append(f"[{_usage(entry.parameters)}]")
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


def _parameters(agent: str, argument: str, known: tuple[str, ...]) -> Mapping[str, Any]:
    """What follows the colon: "name=value" for some of the names, with commas between them."""
    found: dict[str, Any] = {}
    for part in argument.split(",") if argument else ():
        name, _, value = part.partition("=")
        number = name in _SEARCH
        taken = name in found or (number and not found.keys().isdisjoint(_SEARCH))
        if name not in known or taken or (number and not (value.isdecimal() and int(value) >= 1)):
            takes = f"{_usage(known)}, N at least 1" if known else "nothing"
            raise ValueError(f"{agent} does not understand {argument!r}; after the colon it takes {takes}")
        found[name] = int(value) if number else value
    return found


def _usage(parameters: tuple[str, ...]) -> str:
    return " or ".join(f"{name}=N" for name in _SEARCH) + ("; policy=NAME" if "policy" in parameters else "")
