"""The agents of a tournament by text, classes of one's own among them, and what tells whether they have changed."""

import hashlib
import importlib
import sys
from pathlib import Path

import cardtable
from agents import agent_names, make_agent
from agents.agent import Agent
from agents.network_agent import shipped
from agents.spec import is_search
from cardtable.game import Game

_LONGEST_REASON = 200


def make_entrant(spec: str, game: Game) -> Agent:
    """Make an agent: one that `make_agent` knows, or "module:Class", which is called with the game.

    Python finds the module as it finds all others: in the working folder with `python -m experiments`.

    Raises:
        ValueError: if there is no such agent, or it cannot be made.
    """
    try:
        agent = _make_own(spec, game) if _is_own(spec) else make_agent(spec, game)
    except ValueError:
        raise
    except Exception as error:  # own classes and damaged weights may raise anything
        reason = f"{type(error).__name__}: {' '.join(str(error).split())}"
        raise ValueError(f"agent {spec!r} cannot be made: {reason[:_LONGEST_REASON]}") from error
    for method in ("reset", "act"):
        if not callable(getattr(agent, method, None)):
            raise ValueError(f"agent {spec!r} has no method {method!r}; see agents.agent.Agent")
    return agent


def _make_own(spec: str, game: Game) -> Agent:
    module_name, _, class_name = spec.partition(":")
    agent: Agent = getattr(importlib.import_module(module_name), class_name)(game)
    return agent


def fingerprint(spec: str) -> str:
    """A hash of the file that an agent was made from: the weights of a network, or the module of an own class.

    Returns:
        A SHA-256 in hexadecimal; "" for agents that come with this package, for which `code_fingerprint` stands.
    """
    name, _, rest = spec.partition(":")
    if name == "policy":
        return _hash([shipped().get(rest, Path(rest))])
    if _is_own(spec):
        source = sys.modules[name].__file__
        return _hash([Path(source)]) if source else ""
    return ""


def code_fingerprint(game: Game) -> str:
    """A hash of the source that decides how games go: the game's package, the agents' and `cardtable`."""
    root = Path(str(cardtable.__file__)).parent.parent
    packages = ("cardtable", "agents", type(game).__module__.partition(".")[0])
    return _hash([path for package in packages for path in sorted((root / package).glob("*.py"))])


def is_quick(spec: str) -> bool:
    """Whether an agent is known to answer large batches in little time."""
    return not _is_own(spec) and not is_search(spec)


def _is_own(spec: str) -> bool:
    name, colon, _ = spec.partition(":")
    return bool(colon) and name not in agent_names()


def _hash(paths: list[Path]) -> str:
    digest = hashlib.sha256()
    for path in paths:
        content = path.read_bytes()
        digest.update(f"{path.name} {len(content)}\n".encode() + content)
    return digest.hexdigest()
