"""The report of a tournament: a table for the terminal, a page of HTML, plots, and a table for papers."""

import base64
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from pathlib import Path

import jinja2
import numpy as np

from cardtable.records import GameRecord, game_of, replay
from experiments.evaluate import table
from experiments.files import write_atomically
from experiments.results import GameResult, Tournament
from experiments.statistics import ERROR
from experiments.tournament_plots import DARK, LIGHT, Plot, duration, plots
from experiments.tournament_summary import Pair, Standing, Summary, quick_standings, summarize, unique_names

_REPLAYS = 3
_FAULTS = 20  # are listed


@dataclass(frozen=True)
class Replay:
    """A game to look at.

    Attributes:
        title: who played what with which result.
        boards: what happened and the position after it, from the deal to the end.
    """

    title: str
    boards: list[tuple[str, str]]


def report(tournament: Tournament, out: Path, record: Callable[[int], str | None] = lambda index: None) -> str:
    """Write `report.html`, `table.md` and a PNG image of each plot, each of them whole or not at all.

    Args:
        tournament: the tournament.
        out: the folder; it is made if it is not there.
        record: the record (a line of JSON) of the game with an index in the results, None if it was not kept. The most
            lopsided games with a record are shown move by move.

    Returns:
        The ranking as a table for the terminal.

    Raises:
        OSError: if the files cannot be written.
        RecordError: if a record is malformed.
    """
    summary = summarize(tournament)
    drawn = [(plot, plot.draw(LIGHT), plot.draw(DARK)) for plot in plots(summary)]
    out.mkdir(parents=True, exist_ok=True)
    for plot, light, _ in drawn:
        _write(out / f"{plot.name}.png", light)
    ranking = f"{table(_ranking(summary))}\n{_note(summary.tournament)}"
    parts = [ranking, *([table(_pairs(summary))] if summary.pairs else []), _METHODS]
    _write(out / "table.md", ("\n\n".join(parts) + "\n").encode())
    _write(out / "report.html", _page(summary, drawn, _replays(summary.tournament, record)).encode())
    return f"{ranking}\nreport: {out / 'report.html'}"


def running_table(tournament: Tournament) -> str:
    """The ranking so far, a line for each agent, quick enough to be shown while the tournament runs."""
    rows = [
        [each.name, f"{each.rating.rating:.0f}", _points(each.margin), _share(each.wins), str(each.faults)]
        for each in quick_standings(tournament)
    ]
    return table([["agent", "rating", "margin", "wins", "faults"], *rows])


_METHODS = " ".join(
    f"""
    The deal is the sample: all games of a deal count as one observation, and the intervals (95 %) are over deals.
    A margin is an agent's points less its opponent's on the same deal; a draw is half a win; margin and wins are means
    over its opponents, each counting the same. An agent at fault (a crash, an illegal move, slowness) loses by the
    widest margin that the rules allow. Ratings are by maximum likelihood in the model of Bradley and Terry, or of
    Plackett and Luce at tables with more than two sides, on Elo's scale with a mean of 1500, with one draw more between
    each two agents than was played; a team's rating is its members' mean. Their intervals are by the Bayesian bootstrap
    over deals. Margins have intervals by Student's t, and so have wins, with two wins and two losses more than there
    were. "Decided" is the deal at which a mixture sequential probability ratio test told a pair apart, with an error of
    {100 * ERROR:.0f} % for each pair; where a tournament was stopped by such a test, the other intervals are a little
    too narrow.
    """.split()
)


# --- tables -----------------------------------------------------------------------------------------------------------


def _points(value: float) -> str:
    return "–" if np.isnan(value) else f"{value:+z.2f}"


def _share(value: float) -> str:
    return "–" if np.isnan(value) else f"{100 * value:.1f} %"


def _ranking(summary: Summary) -> list[list[str]]:
    header = ["", "agent", "rating", "95 % interval", "margin per deal", "wins", "time per move", "faults", "games"]
    return [header, *(_standing_row(place, each) for place, each in enumerate(summary.standings, start=1))]


def _standing_row(place: int, standing: Standing) -> list[str]:
    rating = standing.rating
    return [
        str(place),
        standing.name,
        f"{rating.rating:.0f}",
        f"{rating.low:.0f} to {rating.high:.0f}",
        _points(standing.margin),
        _share(standing.wins),
        duration(standing.seconds),
        str(standing.faults),
        str(standing.games),
    ]


def _pairs(summary: Summary) -> list[list[str]]:
    header = ["agent", "against", "margin per deal", "95 % interval", "wins", "95 % interval", "deals", "decided"]
    return [header, *map(_pair_row, summary.pairs)]


def _pair_row(pair: Pair) -> list[str]:
    margin, wins = pair.margin, pair.wins
    return [
        pair.first,
        pair.second,
        _points(margin.mean),
        f"{_points(margin.low)} to {_points(margin.high)}" if np.isfinite(margin.low) else "–",
        _share(wins.mean),
        f"{100 * wins.low:.1f} to {100 * wins.high:.1f} %",
        str(margin.deals),
        "no" if pair.decided is None else f"deal {pair.decided}",
    ]


def _note(tournament: Tournament) -> str:
    """What was played, in one line."""
    players = "1 player" if tournament.players == 1 else f"{tournament.players} players"
    return (
        f"{tournament.game}, {players}; {tournament.schedule}, {tournament.deals} deals (seed {tournament.seed}), "
        f"{len(tournament.results)} games; margins in points, ratings in Elo points."
    )


# --- page -------------------------------------------------------------------------------------------------------------


def _page(summary: Summary, drawn: list[tuple[Plot, bytes, bytes]], replays: list[Replay]) -> str:
    tournament = summary.tournament
    names = unique_names(tournament.agents)
    faulty = [result for result in tournament.results if result.fault >= 0]
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
    template = environment.from_string(files("experiments").joinpath("tournament_report.html.jinja").read_text("utf-8"))
    return template.render(
        title=f"{tournament.game}: {tournament.schedule} of {len(names)} agents",
        note=_note(tournament),
        methods=_METHODS,
        light=LIGHT,
        dark=DARK,
        ranking=_ranking(summary),
        pairs=_pairs(summary),
        plots=[(plot, _image(light), _image(dark)) for plot, light, dark in drawn],
        faults=[(names[each.fault], each.deal, each.status) for each in faulty[:_FAULTS]],
        faults_left_out=max(0, len(faulty) - _FAULTS),
        replays=replays,
        provenance=tournament.provenance,
    )


def _image(png: bytes) -> str:
    return f"data:image/png;base64,{base64.b64encode(png).decode()}"


def _write(path: Path, data: bytes) -> None:
    write_atomically(path, partial(_write_bytes, data))


def _write_bytes(data: bytes, path: Path) -> None:
    path.write_bytes(data)


# --- replays ----------------------------------------------------------------------------------------------------------


def _replays(tournament: Tournament, record: Callable[[int], str | None]) -> list[Replay]:
    """The most lopsided games of different deals, as far as they were recorded."""
    games = [(_lead(result), index) for index, result in enumerate(tournament.results) if result.fault < 0]
    chosen: dict[int, tuple[float, int]] = {}
    for lead, index in sorted(games, key=lambda game: (-game[0], game[1])):
        if len(chosen) == _REPLAYS:
            break
        chosen.setdefault(tournament.results[index].deal, (lead, index))
    found = []
    for deal, (lead, index) in chosen.items():
        line = record(index)
        if line is not None:
            found.append(_replay(GameRecord.from_json(line), deal, lead))
    return found


def _lead(result: GameResult) -> float:
    """The winner's margin over the mean of the other sides; with one side, its score."""
    best, *others = sorted(result.scores, reverse=True)
    return best - sum(others) / max(1, len(others))


def _replay(record: GameRecord, deal: int, lead: float) -> Replay:
    game = game_of(record)
    boards, seat = [], -1
    for number, states in enumerate(replay(record)):
        said = (
            f"move {number}, player_{seat} ({record.players[seat]}): {record.moves[number - 1]}" if number else "deal"
        )
        boards.append((said, game.render(states[0])))
        seat = int(game.current_player(states)[0])
    scores = ", ".join(map(str, record.scores or ()))
    return Replay(f"Deal {deal}: {', '.join(record.players)}; scores {scores} (by {lead:g})", boards)
