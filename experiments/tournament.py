"""`python -m experiments tournament`: many agents on duplicate deals, in many processes, whenever stopped gone on with.

Results are stored in `games.sqlite` in the folder `--out`; the same command goes on from there.
"""

import argparse
import datetime
import platform
import shlex
import sys
import time
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing
from dataclasses import asdict, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from loky import cpu_count

from agents import agent_names
from cardtable.chance import agent_seeds, lane_seeds
from experiments import games
from experiments.arena import Batch, Contest, Played, play
from experiments.entrants import code_fingerprint, fingerprint, is_quick, make_entrant
from experiments.evaluate import DEALS, SEED, table
from experiments.progress import bar
from experiments.results import Games, Tournament
from experiments.schedule import SCHEDULES, Schedule
from experiments.statistics import ERROR, MIN_DEALS, compare, decisions
from experiments.store import EXPORTS, Store, open_store
from experiments.tournament_summary import Summary, summarize
from experiments.tournament_tables import note, ranking, running_table, times
from experiments.workers import play_all

_QUICK_BATCH = 1024  # games in lock-step
_SLOW_BATCH = 8  # for searches and agents that are not known here, so that results are stored every few seconds
_TABLE_EVERY = 60.0  # seconds between tables of the standings so far
PACKAGES = ("piles-wall", "numpy", "numba", "torch", "sb3-contrib")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    games.add_arguments(parser)
    known = "; ".join(f"{name}: {description}" for name, description in agent_names().items())
    parser.add_argument(
        "--agents",
        nargs="+",
        required=True,
        metavar="AGENT",
        help=f"the agents. {known}; module:Class: a class of your own, called with the game",
    )
    parser.add_argument("--out", type=Path, required=True, help="folder for the results; run again to go on")
    parser.add_argument("--deals", type=int, default=DEALS, help=f"number of deals (default {DEALS})")
    parser.add_argument("--seed", type=int, default=SEED, help=f"seed of deals and agents (default {SEED})")
    parser.add_argument(
        "--schedule",
        choices=SCHEDULES,
        default=SCHEDULES[0],
        help="round-robin: all against all; gauntlet: the first agent against each other; cross-play: each two of all "
        "but the last as partners against two of the last (default round-robin)",
    )
    parser.add_argument("--workers", type=int, default=cpu_count(), help="number of processes (default: all cores)")
    parser.add_argument(
        "--ray",
        nargs="?",
        const="local",
        metavar="ADDRESS",
        help="play on the Ray cluster at this address, on all its cores (without one: a cluster of this machine)",
    )
    parser.add_argument(
        "--max-seconds-per-move", type=float, metavar="X", help="who takes longer loses; games are then played singly"
    )
    parser.add_argument(
        "--until-significant",
        action="store_true",
        help=f"stop as soon as all pairs that meet are told apart ({100 * ERROR:.0f} %% error for all pairs together)",
    )
    parser.add_argument("--records", action="store_true", help="store and export the moves of each game, too")
    parser.add_argument("--export", choices=EXPORTS, help="write the games to games.csv, .parquet or .jsonl, too")


def run(arguments: argparse.Namespace) -> None:
    hold(arguments)


def hold(arguments: argparse.Namespace) -> Summary:
    """Play what is not stored yet, print the ranking, and write the report."""
    _check(arguments)
    game = games.make(arguments.game, arguments.players)
    schedule = Schedule(arguments.schedule, game.teams, len(arguments.agents), arguments.seed)
    for spec in arguments.agents:
        make_entrant(spec, game)  # mistakes show here, in one line
    contest = Contest(
        game,
        tuple(arguments.agents),
        tuple(agent_seeds(lane_seeds(arguments.seed, 1)[0], len(arguments.agents))),
        arguments.max_seconds_per_move,
        arguments.records,
    )
    seeds = [int(seed) for seed in lane_seeds(arguments.seed, arguments.deals)]
    with open_store(arguments.out) as store:
        store.begin(_identity(contest, schedule))
        deals = _play(contest, schedule, seeds, store, arguments)
        summary = summarize(_tournament(contest, schedule, store, deals))
        from experiments.tournament_report import report  # loads matplotlib, which nothing needs before

        report(summary, arguments.out, lambda number: _record(contest, schedule, seeds, store, number))
        print(f"{table(ranking(summary))}\n{note(summary.tournament)}\n\n{table(times(summary))}")
        print(f"report: {arguments.out / 'report.html'}")
        if arguments.export:
            path = store.export(arguments.export, contest.agents, deals * schedule.games_per_deal)
            print(f"games exported to {path}")
    return summary


def _check(arguments: argparse.Namespace) -> None:
    if arguments.deals < 1:
        raise ValueError(f"at least one deal is needed, not {arguments.deals}")
    if arguments.workers < 1:
        raise ValueError(f"--workers must be at least 1, not {arguments.workers}")
    if arguments.max_seconds_per_move is not None and not arguments.max_seconds_per_move > 0:
        raise ValueError(f"--max-seconds-per-move must be more than 0, not {arguments.max_seconds_per_move}")
    if arguments.until_significant and arguments.players == 1:
        raise ValueError("--until-significant tells opponents apart; with one player there are none")


def _play(contest: Contest, schedule: Schedule, seeds: list[int], store: Store, arguments: argparse.Namespace) -> int:
    """Play what is not stored yet; return the number of deals after which the tournament ended."""
    per_deal = schedule.games_per_deal
    looks = _looks(arguments.deals) if arguments.until_significant else iter([arguments.deals])
    size = _QUICK_BATCH if all(is_quick(spec) for spec in contest.agents) else _SLOW_BATCH
    stored = min(store.count(), arguments.deals * per_deal)
    if stored < arguments.deals * per_deal:
        store.add_run(_provenance())
    faults, table_due = 0, time.monotonic() + _TABLE_EVERY
    batches = _batches(schedule, seeds, stored, arguments.deals * per_deal, size)
    with (
        closing(_start(contest, batches, arguments)) as batches_played,
        closing(bar(arguments.deals * per_deal, "tournament", unit="game", initial=stored)) as progress,
    ):
        # Games may be stored beyond the deal at which it ends; the table never depends on how many.
        for look in looks:
            while stored < look * per_deal:
                played = next(batches_played)
                store.add(played)
                stored += len(played)
                faults += sum(game.result.fault >= 0 for game in played)
                progress.update(len(played))
                if faults:
                    progress.set_postfix_str(f"{faults} lost by a fault")
                if time.monotonic() > table_due and per_deal <= stored < look * per_deal:
                    table_due = _show_standings(_tournament(contest, schedule, store, stored // per_deal))
            if look < arguments.deals:
                pairs = decisions(compare(_tournament(contest, schedule, store, look)))
                if all(deal is not None for deal in pairs.values()):
                    return look
    return int(arguments.deals)


def _start(
    contest: Contest, batches: Iterator[Batch], arguments: argparse.Namespace
) -> Generator[list[Played], None, None]:
    if arguments.ray is None:
        return play_all(contest, batches, arguments.workers, arguments.out / "moving")
    try:
        from experiments.ray_workers import play_all_on_ray
    except ModuleNotFoundError as error:
        raise ValueError(
            f"--ray needs packages that are not installed ({error}): pip install 'piles-wall[ray]'"
        ) from None
    return play_all_on_ray(contest, batches, arguments.ray, arguments.out / "moving")


def _show_standings(tournament: Tournament) -> float:
    """Print the standings so far; return when it is time for the next ones: making them must not take long in all."""
    began = time.monotonic()
    print(f"\nafter {tournament.deals} deals:\n{running_table(tournament)}", file=sys.stderr)
    ended = time.monotonic()
    return ended + max(_TABLE_EVERY, 20 * (ended - began))


def _looks(deals: int) -> Iterator[int]:
    """After how many deals to look whether all is decided; seldom enough that looking costs little."""
    look = MIN_DEALS
    while look < deals:
        yield look
        look += max(1, look // 4)
    yield deals


def _batches(schedule: Schedule, seeds: list[int], first: int, last: int, size: int) -> Iterator[Batch]:
    """The games first..last-1, in batches that end at multiples of `size` wherever one goes on from."""
    while first < last:
        end = min(last, first - first % size + size)
        scheduled = tuple(schedule.games(first, end))
        yield Batch(scheduled, tuple(seeds[game.deal] for game in scheduled))
        first = end


def _tournament(contest: Contest, schedule: Schedule, store: Store, deals: int) -> Tournament:
    game = contest.game
    return Tournament(
        game=game.name,
        players=game.num_players,
        teams=game.teams,
        schedule=schedule.kind,
        seed=schedule.seed,
        deals=deals,
        agents=contest.agents,
        games=Games.collect(
            store.results(deals * schedule.games_per_deal), game.num_players, len(game.teams), len(contest.agents)
        ),
        provenance=store.provenance(),
        return_range=game.return_range,
    )


def _record(contest: Contest, schedule: Schedule, seeds: list[int], store: Store, number: int) -> str:
    """The record of a game; if none was kept the game is played again, with all the time that the agents take."""
    kept = store.record(number)
    if kept is not None:
        return kept
    (game,) = schedule.games(number, number + 1)
    (played,) = play(replace(contest, seconds_per_move=None, records=True), Batch((game,), (seeds[game.deal],)))
    assert played.record is not None
    return played.record


def _identity(contest: Contest, schedule: Schedule) -> Mapping[str, str]:
    """What decides the results, and so must not change between runs."""
    game = contest.game
    rules = ", ".join(f"{name}={value!r}" for name, value in asdict(game.rules).items())
    limit = contest.seconds_per_move
    identity = {
        "game": game.name,
        "rules": rules,
        "schedule": schedule.kind,
        "seed": str(schedule.seed),
        "agents": " ".join(map(shlex.quote, contest.agents)),
        "seconds per move": "no limit" if limit is None else str(limit),
        "records": "kept" if contest.records else "not kept",
        "code": code_fingerprint(game)[:16],
    }
    for spec in contest.agents:
        if hashed := fingerprint(spec):
            identity[f"files of {spec}"] = hashed[:16]
    return identity


def _provenance() -> Mapping[str, str]:
    """Where and by what a run is made."""
    versions = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        **versions,
        "machine": f"{platform.system()}, {platform.machine()}, {cpu_count()} cores",
        "command line": shlex.join(sys.argv),
    }
