"""`python -m experiments evaluate`: two agents against each other on duplicate deals."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from agents import agent_names, make_agent
from agents.agent import Agent
from cardtable.game import Game
from experiments import games
from experiments.files import write_atomically
from experiments.match import Result, play_match, seatings
from experiments.progress import bar

DEALS = 1000
SEED = 1_000_003  # of the deals that are reported; training never deals from it


def add_arguments(parser: argparse.ArgumentParser) -> None:
    games.add_arguments(parser)
    known = "; ".join(f"{name}: {description}" for name, description in agent_names().items())
    parser.add_argument("--agents", nargs=2, required=True, metavar=("A", "B"), help=f"the two agents. {known}")
    parser.add_argument("--deals", type=int, default=DEALS, help=f"number of deals (default {DEALS})")
    parser.add_argument("--seed", type=int, default=SEED, help=f"seed of the deals (default {SEED})")


def run(arguments: argparse.Namespace) -> None:
    game = games.make(arguments.game, arguments.players)
    first, second = (make_agent(spec, game) for spec in arguments.agents)
    print(evaluate(game, arguments.agents[0], first, [(arguments.agents[1], second)], arguments.deals, arguments.seed))


def evaluate(
    game: Game, name: str, agent: Agent, opponents: Sequence[tuple[str, Agent]], deals: int, seed: int = SEED
) -> str:
    """Play an agent against each opponent on the same duplicate deals; return the results as a table."""
    rows = []
    games_per_deal = len(seatings(game))
    for opponent_name, opponent in opponents:
        progress = bar(deals * games_per_deal, f"{name} against {opponent_name}", unit="game", leave=False)
        result = play_match(game, (agent, opponent), deals, seed, progress.update)
        progress.close()
        rows.append(_row(name, opponent_name, result))
    header = ["agent", "against", "margin per deal", "95 % interval", "wins", "draws", "losses"]
    note = (
        f"{game.name}, {game.num_players} players; {deals} deals (seed {seed}), each played {games_per_deal} times, "
        "the agent once on each side; margins in points."
    )
    return f"{table([header, *rows])}\n{note}"


def write_result(game: Game, name: str, agent: Agent, opponents: Sequence[str], deals: int, folder: Path) -> str:
    """Evaluate what has just been trained against agents by name; keep the table as `result.md` in a run's folder."""
    report = evaluate(game, name, agent, [(opponent, make_agent(opponent, game)) for opponent in opponents], deals)
    write_atomically(folder / "result.md", lambda file: file.write_text(report + "\n", encoding="utf-8"))
    return report


def _row(name: str, opponent: str, result: Result) -> list[str]:
    total = result.wins + result.draws + result.losses
    low, high = result.mean - result.half_width, result.mean + result.half_width
    shares = [f"{100 * count / total:.1f} %" for count in (result.wins, result.draws, result.losses)]
    return [name, opponent, f"{result.mean:+.2f}", f"{low:+.2f} to {high:+.2f}", *shares]


def table(rows: Sequence[Sequence[str]]) -> str:
    """Rows, the first one the header, as a Markdown table with aligned columns."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |" for row in rows
    ]
    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    return "\n".join([lines[0], rule, *lines[1:]])
