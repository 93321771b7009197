"""The report holds what was found, on one page that needs nothing else, whatever happened in the tournament."""

import re
from functools import cache
from html.parser import HTMLParser
from itertools import count
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("scipy")
pytest.importorskip("matplotlib")
pytest.importorskip("jinja2")

from agents import make_agent
from cardtable.chance import lane_seeds
from cardtable.game import Game
from cardtable.records import GameRecord, RecordError
from experiments.evaluate import table
from experiments.results import Tournament
from experiments.tournament_plots import LIGHT, plots
from experiments.tournament_report import report
from experiments.tournament_summary import summarize, unique_names
from experiments.tournament_tables import duration, payoffs, running_table, times
from piles_env import PilesGame
from tests.made_tournaments import PILES, duels, reordered, result, tournament
from wall_env import WallGame

VOID = {"meta", "img", "source", "input", "link", "br", "hr"}
PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few resamples and one game to look at: both have tests of their own."""
    monkeypatch.setattr("experiments.ratings._RESAMPLES", 40)
    monkeypatch.setattr("experiments.tournament_report._REPLAYS", 1)


class Page(HTMLParser):
    """A page that must be well-formed; it notes its addresses, texts and tags."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.addresses: list[str] = []
        self.text = ""
        self.feed(text)
        self.close()
        assert not self.open, f"not closed: {self.open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.addresses += [value or "" for name, value in attrs if name in ("src", "srcset", "href", "action", "data")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open.pop() == tag, f"</{tag}> at {self.getpos()}"

    def handle_data(self, data: str) -> None:
        self.text += data


def read(out: Path) -> Page:
    """The page of a report, checked to be well-formed and self-contained."""
    text = (out / "report.html").read_text(encoding="utf-8")
    page = Page(text)
    assert page.addresses and all(address.startswith("data:image/png;base64,") for address in page.addresses)
    assert not {"link", "iframe", "object"} & set(page.tags)
    assert "url(" not in text and "@import" not in text and "http" not in re.sub(r"http-equiv", "", text)
    assert "prefers-color-scheme: dark" in text and 'name="viewport"' in text
    return page


def played(game: Game, seed: int) -> str:
    """The record of a game between players that choose at random."""
    states, agent = game.new_states(lane_seeds(seed, 1)), make_agent("random", game)
    while not game.terminated(states)[0]:
        game.step(states, agent.act(game.view(states, game.current_player(states))))
    return game.to_record(states[0], ["<random>"] * game.num_players).to_json()


@cache
def some_record() -> str:
    return played(WallGame(), 0)


def write(made: Tournament, out: Path) -> str:
    """Make a report in which the games to look at are any; return the text of its tables."""
    report(summarize(made), out, lambda number: some_record())
    return (out / "table.md").read_text(encoding="utf-8")


def test_a_round_robin(tmp_path: Path) -> None:
    made = duels([-1.5, 0.0, 1.5], 40)
    out = tmp_path / "new" / "folder"
    text = write(made, out)
    assert {path.name for path in out.iterdir()} == {
        "report.html", "table.md", "ratings.png", "payoffs.png", "margins.png", "time.png",
    }  # fmt: skip
    assert all(path.read_bytes().startswith(PNG) for path in out.glob("*.png"))
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines()[2:5]]
    assert [row[1] for row in rows] == ["agent 2", "agent 1", "agent 0"]
    assert [row[7:] for row in rows] == [["0", "160"]] * 3
    low, high = map(int, rows[0][3].split(" to "))
    assert 1500 < low < int(rows[0][2]) < high
    low, high = map(float, rows[0][5].split(" to "))
    assert 0 < low < float(rows[0][4]) < high
    assert "round-robin, 40 deals (seed 7), 240 games" in text
    assert "| agent 2 | agent 0 |" in text and "deal 30" in text
    assert times(summarize(made))[1:] == [["agent 2", "50 ms"], ["agent 1", "50 ms"], ["agent 0", "50 ms"]]
    assert " ms" not in text, "no times, which are never the same twice"
    page = read(out)
    for words in ("Ranking", "Payoffs", "Margins", "Time per move", "tournament <piles> & more", "3 pairs"):
        assert words in page.text
    assert "Cross-play" not in page.text and "what happened" not in page.text


def test_the_same_results_make_the_same_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("experiments.tournament_report._REPLAYS", 0)  # of equally lopsided games the first are shown
    made = duels([0.0, 0.5], 10)
    for name, each in (("a", made), ("b", reordered(made, range(len(made.games))[::-1]))):
        write(each, tmp_path / name)
    first = {path.name: path.read_bytes() for path in (tmp_path / "a").iterdir()}
    assert {path.name: path.read_bytes() for path in (tmp_path / "b").iterdir()} == first


def test_cross_play_and_faults(tmp_path: Path) -> None:
    games = [
        result(deal, seating, (10 + deal % 3, 8), 3, fault=2 if deal == 3 else -1)
        for deal in range(30)
        for seating in ((0, 2, 1, 2), (0, 2, 0, 2), (1, 2, 1, 2))
    ]
    made = tournament(games, PILES, ("greedy", "$x$ <b>", "greedy"), "cross-play")
    text = write(made, tmp_path)
    assert re.search(r"greedy #2 .*\| 3 +\| 90 +\|", text), "faults and games"
    page = read(tmp_path)
    assert "Cross-play" in page.text and "$x$ <b>" in page.text and "b" not in page.tags
    assert "crashed: ValueError: no <idea> & no move" in page.text
    assert (tmp_path / "cross-play.png").exists()


@pytest.mark.parametrize("game", [PilesGame(), WallGame()], ids=repr)
def test_the_most_lopsided_deals_are_replayed(game: Game, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("experiments.tournament_report._REPLAYS", 3)
    records = dict.fromkeys((2, 5), played(game, 0))
    won = (record for seed in count() if len(set(GameRecord.from_json(record := played(game, seed)).scores or ())) == 2)
    records[4] = next(won)
    first, second = GameRecord.from_json(records[4]).scores or ()
    scores = [(3, 3), (9, 9), (130, 9), (9, 9), (first, second), (1, 150)]
    games = [result(deal, [0, 1] * (game.num_players // 2), each) for deal, each in enumerate(scores)]
    games += [
        result(5, [1, 0] * (game.num_players // 2), (45, 1)),
        result(0, [0, 1] * (game.num_players // 2), (99, 0), fault=1),
    ]
    made = tournament(games, game.teams)
    report(summarize(made), tmp_path, records.__getitem__)
    page = read(tmp_path)
    titles = re.findall("Deal .*", page.text)
    assert [title.split(":")[0] for title in titles] == ["Deal 5", "Deal 2", "Deal 4"]
    assert "; scores 1, 150 (by 149); played again for this page it went to " in titles[0]
    assert titles[2].startswith("Deal 4: <random>, ") and titles[2].endswith(f"(by {abs(first - second)})")
    assert page.tags.count("pre") > 20 and "move 1, player_" in page.text
    with pytest.raises(RecordError):
        report(summarize(made), tmp_path, lambda number: "{}")


ALONE = [result(deal, (agent,), (5 + agent,)) for deal in range(5) for agent in (0, 1)]
EDGES = {
    "no results": tournament([]),
    "one agent": tournament([], agents=["alone"]),
    "one game": tournament([result(0, (0, 1), (3, 1))]),
    "all draws": tournament([result(deal, (0, 1), (3, 3)) for deal in range(40)]),
    "always losing": tournament([result(deal, (0, 1), (54, 0)) for deal in range(40)]),
    "no time": tournament([result(deal, (0, 1), (3, 1), seconds=0.0) for deal in range(3)]),
    "three that did not all meet": tournament([result(0, (0, 1), (3, 1), 3)], agents="abc"),
    "alone": tournament(ALONE, ((0,),)),
    "long names": tournament([result(0, (0, 1), (3, 1))], agents=["runs/" + 50 * "x", "runs/" + 49 * "x" + "y"]),
}


@pytest.mark.parametrize("name", EDGES)
def test_reports_of_odd_tournaments(name: str, tmp_path: Path) -> None:
    made = EDGES[name]
    text = write(made, tmp_path)
    page = read(tmp_path)
    for shown in (text, running_table(made), table(payoffs(summarize(made))), page.text):
        assert "nan" not in shown and "inf" not in shown
        assert all(agent in shown for agent in made.agents)


def test_the_running_table_is_short_and_ordered() -> None:
    lines = running_table(duels([1.5, 0.0, -1.5], 20)).splitlines()
    assert len(lines) == 5 and max(map(len, lines)) <= 80
    assert [line.split("|")[1].strip() for line in lines[2:]] == ["agent 0", "agent 1", "agent 2"]


def test_a_report_that_cannot_be_written_leaves_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(EDGES["one game"], tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    def full(self: Path, data: bytes) -> int:
        with self.open("wb") as file:
            file.write(data[:10])
        raise OSError("no space left")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match="no space left"):
        write(EDGES["always losing"], tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_names_and_times() -> None:
    assert unique_names(["a", "b", "a"]) == ["a #1", "b", "a #2"]
    times = {
        0.0: "0 µs",
        4.2e-7: "0.42 µs",
        3.7e-4: "370 µs",
        2.6e-3: "2.6 ms",
        0.9: "900 ms",
        12.3: "12 s",
        250: "250 s",
    }
    assert {seconds: duration(seconds) for seconds in times} == times
    assert duration(float("nan")) == "–"


def test_matrices_are_in_the_order_of_the_ranking() -> None:
    summary = summarize(duels([-2.0, 2.0], 30))
    assert [standing.name for standing in summary.standings] == ["agent 1", "agent 0"]
    assert summary.payoffs[0, 1] > 0 > summary.payoffs[1, 0]
    assert summary.margins[0].mean() == pytest.approx(summary.payoffs[0, 1])
    assert np.isnan(summary.payoffs[0, 0]) and summary.partners is None
    (pair,) = summary.pairs
    assert (pair.first, pair.margin.deals, pair.decided) == ("agent 1", 30, 30)


def test_plots_are_the_size_that_they_say() -> None:
    def size(made: Tournament, name: str) -> tuple[int, int]:
        plot = next(plot for plot in plots(summarize(made)) if plot.name == name)
        width = int.from_bytes(plot.draw(LIGHT)[16:20], "big")  # of the PNG header
        return width, plot.width

    for agents in (2, 9):
        width, shown = size(duels(agents * [0.0], 2), "payoffs")
        assert width == pytest.approx(2 * shown, abs=2)
