"""`python -m experiments leaderboard`: all players of both games, and one page with the results.

Each table is a tournament of its own, in a folder of its own, and is gone on with as all tournaments are.
"""

import argparse
from collections.abc import Mapping
from pathlib import Path

from loky import cpu_count

from agents.network_agent import shipped
from experiments import tournament
from experiments.evaluate import table
from experiments.files import write_atomically
from experiments.tournament_summary import Summary
from experiments.tournament_tables import METHODS, note, payoffs, ranking, times

DEALS = 150
FIELDS = {  # by game and number of players; the networks that are shipped for them join in
    ("piles", 4): ("random", "greedy", "careful", "ismcts:playouts=300", "pimc:playouts=300", "pimc:playouts=1000"),
    ("piles", 2): ("random", "greedy", "careful", "ismcts:playouts=300", "pimc:playouts=300", "pimc:playouts=1000"),
    ("wall", 2): ("random", "greedy", "builder", "mcts:playouts=300"),
    ("wall", 4): ("random", "greedy", "builder", "mcts:playouts=300"),
}
_MADE_WITH = ("date", "python", *tournament.PACKAGES, "machine")  # of what a tournament notes


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("runs/leaderboard"),
        help="folder for the results; run again to go on (default runs/leaderboard)",
    )
    parser.add_argument(
        "--deals",
        type=int,
        default=DEALS,
        help=f"number of deals for each table (default {DEALS}; 60 took 21 minutes on two cores)",
    )
    parser.add_argument("--workers", type=int, default=cpu_count(), help="number of processes (default: all cores)")


def run(arguments: argparse.Namespace) -> None:
    summaries = {}
    for game, players in FIELDS:
        words = [game, "--players", str(players), "--agents", *field(game, players)]
        words += ["--deals", str(arguments.deals), "--workers", str(arguments.workers)]
        words += ["--out", str(arguments.out / _name(game, players))]
        parser = argparse.ArgumentParser()
        tournament.add_arguments(parser)
        print(f"\n{_title(game, players)}\n")
        summaries[_title(game, players)] = tournament.hold(parser.parse_args(words))
    path = arguments.out / "leaderboard.md"
    text = _page(summaries, f"python -m experiments leaderboard --deals {arguments.deals}")
    write_atomically(path, lambda file: file.write_text(text, encoding="utf-8"))
    print(f"\nleaderboard: {path}")


def field(game: str, players: int) -> list[str]:
    """The agents of a table: heuristics, searches, and the shipped networks whose names begin as "piles-4p" does.

    In Piles the networks guide a search, too.
    """
    names = [name for name in shipped() if name.startswith(_name(game, players))]
    guided = [f"pimc:playouts=300,policy={name}" for name in names] if game == "piles" else []
    return [*FIELDS[game, players], *(f"policy:{name}" for name in names), *guided]


def _name(game: str, players: int) -> str:
    return f"{game}-{players}p"


def _title(game: str, players: int) -> str:
    return f"{game.capitalize()}, {players} players"


def _page(summaries: Mapping[str, Summary], command: str) -> str:
    """The page as Markdown; below each second heading, the first table is the ranking."""
    parts = ["# Leaderboard", f"Made by `{command}`. {METHODS}"]
    for title, summary in summaries.items():
        parts += [
            f"## {title}",
            table(ranking(summary)),
            note(summary.tournament),
            "Margin per deal of the agent on the left against the one with the place above:",
            table(payoffs(summary)),
        ]
    spent = [[title, *row] for title, summary in summaries.items() for row in times(summary)[1:]]
    header = ["", *times(next(iter(summaries.values())))[0]]
    parts += [
        "## Time per move",
        "Mean over all moves, as they came in batches of games; it depends on the machine and on what else it did.",
        table([header, *spent]),
        "## Made with",
        table([["", ""], *_made_with(list(summaries.values()))]),
    ]
    return "\n\n".join(parts) + "\n"


def _made_with(summaries: list[Summary]) -> list[list[str]]:
    """Versions and machines; where tables differ, all values in order."""
    noted = [summary.tournament.provenance for summary in summaries]
    values = {name: dict.fromkeys(each[name] for each in noted if name in each) for name in _MADE_WITH}
    return [[name, "; ".join(found)] for name, found in values.items() if found]
