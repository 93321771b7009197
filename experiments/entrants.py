"""The agents of a tournament by text, classes of one's own among them, and what tells whether they have changed."""

import ast
import hashlib
import importlib
import sys
import sysconfig
from collections.abc import Iterator
from importlib.util import resolve_name
from pathlib import Path

import cardtable
from agents import agent_names, make_agent
from agents.agent import Agent
from agents.spec import is_search, network_files
from cardtable.game import Game

_LONGEST_REASON = 200
_OURS = ("cardtable", "piles_env", "wall_env", "agents", "experiments")
_INSTALLED = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")]


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
    """A hash of the files that an agent was made from; it must have been made before.

    Of networks they are their weights. Of an own class they are its module and all modules that this one imports, at
    whatever remove, from the folder where it lies, or where its package does; not installed packages, and no files
    that the class reads.

    Returns:
        A SHA-256 in hexadecimal; "" for agents that come with this package, for which `code_fingerprint` stands.
    """
    files = _sources(spec.partition(":")[0]) if _is_own(spec) else network_files(spec)
    return _hash(files) if files else ""


def _sources(name: str) -> list[Path]:
    """The files of an imported module and of what it imports from its folder, sorted."""
    file = _file(name)
    folder = file.parents[name.count(".") + (file.name == "__init__.py")] if file.name else file
    found: dict[str, Path] = {}
    pending = [name]
    while pending:
        each = pending.pop()
        file = _file(each)
        if each in found or not file.name or not file.is_relative_to(folder) or _comes_from_elsewhere(each):
            continue
        found[each] = file
        parent = each.rpartition(".")[0]
        pending.append(parent)
        if file.suffix == ".py":
            pending += _imports(file, each if file.name == "__init__.py" else parent)
    return sorted(found.values())


def _file(module: str) -> Path:
    return Path(getattr(sys.modules.get(module), "__file__", None) or "")


def _comes_from_elsewhere(module: str) -> bool:
    """Whether a module belongs to this package or to an installed one."""
    return module.partition(".")[0] in _OURS or any(map(_file(module).is_relative_to, _INSTALLED))


def _imports(source: Path, package: str) -> Iterator[str]:
    """All names in a module's import statements that may be modules."""
    for node in ast.walk(ast.parse(source.read_bytes())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = resolve_name("." * node.level + (node.module or ""), package)
            yield from (base, *(f"{base}.{alias.name}" for alias in node.names))


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
