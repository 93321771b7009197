"""The report of a tournament: a page of HTML, plots, and a table for papers."""

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
from experiments.results import Tournament
from experiments.statistics import Floats
from experiments.tournament_plots import DARK, LIGHT, Plot, plots
from experiments.tournament_summary import Summary, unique_names
from experiments.tournament_tables import DECIDED, METHODS, note, pairs, ranking

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


def report(summary: Summary, out: Path, record: Callable[[int], str]) -> None:
    """Write `report.html`, `table.md` and a PNG image of each plot, each of them whole or not at all.

    `table.md` holds nothing that depends on the machine: the same results make the same file.

    Args:
        summary: of the tournament.
        out: the folder; it is made if it is not there.
        record: the record (a line of JSON) of the game with an index in the tournament; it is asked for the most
            lopsided games, which are shown move by move.

    Raises:
        OSError: if the files cannot be written.
        RecordError: if a record is malformed.
    """
    drawn = [(plot, plot.draw(LIGHT), plot.draw(DARK)) for plot in plots(summary)]
    out.mkdir(parents=True, exist_ok=True)
    for plot, light, _ in drawn:
        _write(out / f"{plot.name}.png", light)
    parts = [f"{table(ranking(summary))}\n{note(summary.tournament)}"]
    parts += [table(pairs(summary))] if summary.pairs else []
    parts += [f"{METHODS} {DECIDED}"]
    _write(out / "table.md", ("\n\n".join(parts) + "\n").encode())
    _write(out / "report.html", _page(summary, drawn, _replays(summary.tournament, record)).encode())


def _page(summary: Summary, drawn: list[tuple[Plot, bytes, bytes]], replays: list[Replay]) -> str:
    tournament = summary.tournament
    games = tournament.games
    names = unique_names(tournament.agents)
    faulty = np.flatnonzero(games.faults >= 0)[:_FAULTS]
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
    template = environment.from_string(files("experiments").joinpath("tournament_report.html.jinja").read_text("utf-8"))
    return template.render(
        title=f"{tournament.game}: {tournament.schedule} of {len(names)} agents",
        note=note(tournament),
        methods=f"{METHODS} {DECIDED}",
        light=LIGHT,
        dark=DARK,
        ranking=ranking(summary),
        pairs=pairs(summary),
        plots=[(plot, _image(light), _image(dark)) for plot, light, dark in drawn],
        faults=[
            (names[games.faults[game]], games.deals[game], status)
            for game, status in zip(faulty, games.statuses, strict=False)
        ],
        faults_left_out=max(0, len(games.statuses) - _FAULTS),
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


def _replays(tournament: Tournament, record: Callable[[int], str]) -> list[Replay]:
    """The most lopsided games of different deals."""
    games = tournament.games
    leads = _leads(tournament)
    chosen: dict[int, int] = {}
    for game in np.lexsort((np.arange(len(games)), -leads)):
        if len(chosen) == _REPLAYS or leads[game] == -np.inf:
            break
        chosen.setdefault(int(games.deals[game]), int(game))
    found = []
    for deal, game in chosen.items():
        played = GameRecord.from_json(record(game))
        found.append(_replay(played, games.scores[game].tolist(), f"Deal {deal}", leads[game]))
    return found


def _leads(tournament: Tournament) -> Floats:
    """The winner's margin over the mean of the other sides [games]; with one side, its score; -inf after a fault."""
    scores = np.sort(tournament.games.scores, axis=1)
    others = scores[:, :-1].sum(axis=1) / max(1, scores.shape[1] - 1)
    return np.where(tournament.games.faults < 0, scores[:, -1] - others, -np.inf)


def _replay(record: GameRecord, scores: list[int], title: str, lead: float) -> Replay:
    game = game_of(record)
    boards, seat = [], -1
    for number, states in enumerate(replay(record)):
        said = (
            f"move {number}, player_{seat} ({record.players[seat]}): {record.moves[number - 1]}" if number else "deal"
        )
        boards.append((said, game.render(states[0])))
        seat = int(game.current_player(states)[0])
    title = f"{title}: {', '.join(record.players)}; scores {', '.join(map(str, scores))} (by {lead:g})"
    if record.scores != scores:
        again = "not to the end" if record.scores is None else f"to {', '.join(map(str, record.scores))}"
        title += f"; played again for this page it went {again}, as its agents do not choose by their seeds alone"
    return Replay(title, boards)
