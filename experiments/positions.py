"""`python -m experiments positions`: agents on positions in which the right move is plain."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from importlib.resources import as_file, files
from pathlib import Path

import numpy as np

from agents import agent_names, make_agent
from cardtable.game import Game, States
from cardtable.records import RecordError, verify
from experiments import piles_positions, wall_positions
from experiments.blocks import Block, read_blocks
from experiments.evaluate import table
from experiments.games import GAMES
from experiments.moves import legal_moves, parse_move

_SEEDS = 10  # of each agent, as ties are settled at random
_BUILDERS = {
    "piles": (piles_positions.piles_position, piles_positions.NEEDED, piles_positions.ALLOWED),
    "wall": (wall_positions.wall_position, wall_positions.NEEDED, wall_positions.ALLOWED),
}


@dataclass(frozen=True)
class Position:
    """A position with the moves that a good player chooses in it.

    Attributes:
        name, why: what it is about, and why these moves are right.
        game: its game.
        states: the position [1], player_0 to move.
        best: the right actions.
    """

    name: str
    why: str
    game: Game
    states: States
    best: frozenset[int]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("game", choices=GAMES)
    parser.add_argument("--players", type=int, help="only the positions for so many players (default: all)")
    known = "; ".join(f"{name}: {description}" for name, description in agent_names().items())
    parser.add_argument("--agents", nargs="+", required=True, metavar="A", help=f"the agents. {known}")


def run(arguments: argparse.Namespace) -> None:
    everything = load_positions(arguments.game)
    positions = [position for position in everything if arguments.players in (None, position.game.num_players)]
    if not positions:
        counts = sorted({position.game.num_players for position in everything})
        raise ValueError(f"no position is for {arguments.players} players; there are some for {counts}")
    print(report(positions, arguments.agents))


def load_positions(game: str) -> list[Position]:
    """The positions that come with the package, "piles" or "wall"."""
    with as_file(files("agents") / "positions" / f"{game}.txt") as path:
        return read_positions(game, path)


def read_positions(game: str, path: Path) -> list[Position]:
    """The positions of a file.

    Args:
        game: "piles" or "wall".
        path: the file, in the format that `agents/positions/piles.txt` and `wall.txt` explain.

    Raises:
        ValueError: if a position is malformed or breaks the rules; the message names file and line.
    """
    positions: list[Position] = []
    for block in read_blocks(path):
        position = _position(game, block)
        if position.name in [other.name for other in positions]:
            block.fail(f"there is another position called {position.name!r}", "name")
        positions.append(position)
    return positions


def _position(name: str, block: Block) -> Position:
    build, needed, allowed = _BUILDERS[name]
    block.check_keys(("name", *needed, "best", "why"), allowed)
    game, record = build(block)
    try:
        states = verify(record)
    except RecordError as error:
        block.fail(f"the position breaks the rules: {error}")
    best: set[int] = set()
    for text in block.text("best").split(","):
        best |= _matching(game, states, text.strip(), block)
    if best == set(legal_moves(game, states)):
        block.fail("every legal move is among them", "best")
    return Position(block.text("name"), block.text("why"), game, states, frozenset(best))


def _matching(game: Game, states: States, text: str, block: Block) -> set[int]:
    """The actions that a move in record notation means; "*" stands for any part of it, as in "*@b2"."""
    if "*" not in text:
        try:
            return {parse_move(game, states, text)}
        except ValueError as error:
            block.fail(str(error), "best")
    legal = {action: game.action_to_text(states[0], action) for action in legal_moves(game, states)}
    found = {action for action, move in legal.items() if fnmatchcase(move, text)}
    if not found:
        block.fail(f"no legal move looks like {text!r}; legal are {', '.join(legal.values())}", "best")
    return found


def shares(positions: Sequence[Position], spec: str) -> list[float]:
    """How often an agent chooses a right move in each position, over some seeds of the agent.

    Raises:
        ValueError: if the agent does not play the game of a position.
    """
    found = [0.0] * len(positions)
    for game in dict.fromkeys(position.game for position in positions):
        agent = make_agent(spec, game)
        lanes = [lane for lane, position in enumerate(positions) if position.game == game]
        states = np.concatenate([positions[lane].states for lane in lanes])
        views = game.view(states, game.current_player(states))
        for seed in range(_SEEDS):
            agent.reset(seed)
            for lane, action in zip(lanes, agent.act(views), strict=True):
                found[lane] += (int(action) in positions[lane].best) / _SEEDS
    return found


def report(positions: Sequence[Position], specs: Sequence[str]) -> str:
    """The scores of agents as a table, and a table of what they did in each position."""
    by_agent = [shares(positions, spec) for spec in specs]
    scores = [[spec, f"{100 * float(np.mean(found)):.0f} %"] for spec, found in zip(specs, by_agent, strict=True)]
    cells = [
        [position.name, str(position.game.num_players), *(_cell(found[lane]) for found in by_agent)]
        for lane, position in enumerate(positions)
    ]
    note = (
        f"Mean share of {_SEEDS} seeds in which an agent chose a right move, of {len(positions)} positions; "
        "✓ always, ✗ never."
    )
    return "\n\n".join([table([["agent", "right"], *scores]), table([["position", "players", *specs], *cells]), note])


def _cell(share: float) -> str:
    return "✓" if share > 0.999 else "✗" if share < 0.001 else f"{100 * share:.0f} %"
