"""Tournaments: what is played does not depend on processes, batches, interruptions or other agents' failures."""

import random
import re
import socket
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agents import make_agent
from cardtable.chance import agent_seeds, lane_seeds
from cardtable.game import Game
from cardtable.records import GameRecord, verify
from experiments import entrants, tournament
from experiments.__main__ import main
from experiments.arena import Batch, Contest, Played, play
from experiments.match import play_match
from experiments.schedule import Schedule
from experiments.store import DATABASE, Store, open_store
from experiments.workers import play_all
from piles_env import PilesGame
from tests.playing import ROOT
from wall_env import WallGame, WallRules

OWN = "tests.unruly_agents:"
SEED = 11


def contest(*agents: str, game: Game | None = None, **options: Any) -> Contest:
    seeds = agent_seeds(lane_seeds(SEED, 1)[0], len(agents))
    return Contest(game or PilesGame(), agents, tuple(seeds), **options)


def batch(contest: Contest, deals: int) -> Batch:
    schedule = Schedule("round-robin", contest.game.teams, len(contest.agents), SEED)
    games = tuple(schedule.games(0, deals * schedule.games_per_deal))
    seeds = lane_seeds(SEED, deals)
    return Batch(games, tuple(int(seeds[game.deal]) for game in games))


def untimed(games: list[Played]) -> list[Played]:
    """Games without the times, which are never the same twice."""
    return [replace(game, result=replace(game.result, seconds=())) for game in games]


def rows(folder: Path) -> list[tuple[Any, ...]]:
    """All that is stored of the games, without the times."""
    with closing(sqlite3.connect(f"file:{folder / DATABASE}?mode=ro", uri=True)) as connection:
        query = (
            "SELECT number, deal, seed, seating, scores, fault, status, decisions, record FROM games ORDER BY number"
        )
        return connection.execute(query).fetchall()


def table(folder: Path) -> str:
    """The final table, to the letter."""
    return (folder / "table.md").read_text(encoding="utf-8")


def words(folder: Path, *agents: str, deals: int = 20, workers: int = 1) -> list[str]:
    given = ["--agents", *agents, "--deals", str(deals), "--workers", str(workers), "--seed", str(SEED)]
    return ["tournament", "piles", *given, "--out", str(folder)]


# --- one process ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("game", [PilesGame(), WallGame(), WallGame(WallRules(num_players=3))], ids=repr)
def test_a_deterministic_agent_against_itself_is_exactly_even(game: Game) -> None:
    both = contest(OWN + "Steady", OWN + "Steady", game=game)
    margins = []
    for played in play(both, batch(both, 50)):
        result = played.result
        by_agent = [
            np.mean([points for seats, points in zip(game.teams, result.scores, strict=True)
                     if result.seating[seats[0]] == agent])
            for agent in (0, 1)
        ]  # fmt: skip
        margins.append(by_agent[0] - by_agent[1])
    assert np.any(margins)
    assert np.mean(margins) == pytest.approx(0.0, abs=1e-12)


def test_two_agents_do_as_in_a_match() -> None:
    both = contest("greedy", "random")
    results = [played.result for played in play(both, batch(both, 30))]
    margins = [(r.scores[0] - r.scores[1]) * (1 if r.seating[0] == 0 else -1) for r in results]
    match = play_match(both.game, [make_agent(name, both.game) for name in both.agents], 30, SEED)
    assert np.reshape(margins, (30, 2)).mean(axis=1).tolist() == match.margins.tolist()
    assert all(result.decisions == (20, 20) and min(result.seconds) > 0 for result in results)


@pytest.mark.parametrize(
    ("agent", "status"),
    [
        ("Crasher", "crashed: RuntimeError: out of ideas"),
        ("Quitter", "crashed: SystemExit: 3"),
        ("Cheat", "illegal: action 10000 is not legal: action ids are 0 to 312"),
        ("Mute", "illegal: one action is needed for each of the 1 games: got shape (0,)"),
        ("Dreamer", "illegal: action "),
    ],
)
def test_who_fails_loses_that_game_alone(agent: str, status: str) -> None:
    failing, sound = contest(OWN + agent, "careful"), contest(OWN + "First", "careful")
    found, expected = (play(each, batch(each, 60)) for each in (failing, sound))
    faults = [played for played in found if played.result.fault >= 0]
    assert 2 <= len(faults) <= 30
    assert {played.result.fault for played in faults} == {0}
    assert all(played.result.status.startswith(status) for played in faults)
    for one, other in zip(untimed(found), untimed(expected), strict=True):
        if one.result.fault < 0:
            assert one == other


def test_who_is_too_slow_loses_that_game_alone() -> None:
    failing = contest("random", OWN + "Sleeper", seconds_per_move=0.6)
    began = time.monotonic()
    found = [played.result for played in play(failing, batch(failing, 15))]
    assert time.monotonic() - began < 20
    statuses = Counter((result.fault, result.status) for result in found)
    assert set(statuses) == {(-1, "ok"), (1, "slow")}


def test_batches_do_not_matter_even_to_agents_that_remember() -> None:
    for agents in (("careful", "pimc:playouts=20"), (OWN + "Crasher", "greedy")):
        both = contest(*agents)
        whole = batch(both, 8)
        parts = [played for single in whole.single() for played in play(both, single)]
        assert untimed(play(both, whole)) == untimed(parts)
    remembering = contest(OWN + "Counter", "random")
    assert untimed(play(remembering, batch(remembering, 5))) == untimed(play(remembering, batch(remembering, 5)))


def test_records_are_whole_games() -> None:
    both = contest("greedy", OWN + "Crasher", records=True)
    for played in play(both, batch(both, 20)):
        assert played.record is not None
        record = GameRecord.from_json(played.record)
        verify(record)
        assert record.seed == played.seed
        assert record.players == [both.agents[agent] for agent in played.game.seating]
        assert record.scores == (list(played.result.scores) if played.result.fault < 0 else None)


def test_games_without_records_are_played_again(tmp_path: Path) -> None:
    both = contest("greedy", "careful")
    whole = batch(both, 10)
    recorded = play(replace(both, records=True), whole)
    schedule = Schedule("round-robin", both.game.teams, 2, SEED)
    with open_store(tmp_path) as store:
        store.add(play(both, whole))
        for number in (0, 7, 19):
            found = tournament._record(both, schedule, list(whole.seeds[::2]), store, number)
            assert found == recorded[number].record


# --- many processes ---------------------------------------------------------------------------------------------------


def test_who_brings_down_its_process_loses_that_game_alone(tmp_path: Path) -> None:
    killing, sound = contest("random", OWN + "Killer"), contest("random", OWN + "First")
    whole = batch(sound, 9)
    parts = [Batch(whole.games[first:last], whole.seeds[first:last]) for first, last in ((0, 6), (6, 12), (12, 18))]
    found = [game for games in play_all(killing, iter(parts), 2, tmp_path / "moving") for game in games]
    expected = play(sound, whole)
    faults = [played.result for played in found if played.result.fault >= 0]
    assert 1 <= len(faults) <= 3
    assert {(result.fault, result.status) for result in faults} == {(1, "crashed: its process ended")}
    for one, other in zip(untimed(found), untimed(expected), strict=True):
        assert one == other or one.result.fault == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
@pytest.mark.parametrize("agent", ["Crasher", "Killer"])
def test_a_ray_cluster_plays_the_same(agent: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even if an agent brings down its process."""
    pytest.importorskip("ray")
    from experiments.ray_workers import LOCAL, play_all_on_ray

    both = contest("careful", OWN + agent)
    whole = batch(both, 10)
    parts = [Batch(whole.games[first : first + 5], whole.seeds[first : first + 5]) for first in range(0, 20, 5)]
    found = [game for games in play_all_on_ray(both, iter(parts), LOCAL, tmp_path / "moving") for game in games]
    expected = [game for games in play_all(both, iter(parts), 1, tmp_path / "moving") for game in games]
    assert untimed(found) == untimed(expected)
    assert any(game.result.fault == 1 for game in found)


@pytest.mark.slow
def test_a_ray_cluster_may_lose_a_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three nodes on this machine, of which one is killed while it plays."""
    pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    agents = ["greedy", "random", "careful", OWN + "RareCrasher"]
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "node_ip_address": "127.0.0.2"})
    try:
        lost, _ = (cluster.add_node(num_cpus=1, node_ip_address=f"127.0.0.{last}") for last in (3, 4))
        add, batches = Store.add, 0

        def kill(store: Store, played: list[Played]) -> None:
            nonlocal batches
            add(store, played)
            batches += 1
            if batches == 20:
                cluster.remove_node(lost, allow_graceful=False)

        monkeypatch.setattr(Store, "add", kill)
        assert main([*words(tmp_path / "ray", *agents, deals=150), "--ray", cluster.address]) == 0
        assert batches == 225
    finally:
        cluster.shutdown()
    assert main(words(tmp_path / "here", *agents, deals=150)) == 0
    assert rows(tmp_path / "ray") == rows(tmp_path / "here")
    assert table(tmp_path / "ray") == table(tmp_path / "here")


def test_a_ray_cluster_that_is_not_there_is_said_to_be(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("ray")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    began = time.monotonic()
    for address in (f"127.0.0.1:{port}", f"ray://127.0.0.1:{port}", "no.such.host.invalid:6379"):
        assert main([*words(tmp_path, "random", "greedy"), "--ray", address]) == 1
        error = capsys.readouterr().err
        assert f"error: there is no Ray cluster at {address}: " in error.splitlines()[-1]
    assert time.monotonic() - began < 20


def test_killed_at_any_moment_it_goes_on_to_the_same_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    agents = ["greedy", "random", "careful", OWN + "RareCrasher"]
    monkeypatch.setattr("experiments.tournament_report.plots", lambda summary: [])  # as it is not about them
    rng = random.Random(5)
    broken, unbroken = tmp_path / "broken", tmp_path / "unbroken"
    command = [sys.executable, "-m", "experiments", *words(broken, *agents, deals=150)]
    count, kills = 0, 0
    for _ in range(5):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        while process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.02)
            if (broken / DATABASE).exists():
                try:
                    now = len(rows(broken))
                except sqlite3.OperationalError:  # the tables are not there yet
                    continue
                if now > count:
                    break
        time.sleep(rng.uniform(0, 0.1))
        kills += process.poll() is None
        process.kill()
        process.wait()
        found = rows(broken)
        assert [row[0] for row in found] == list(range(len(found)))
        assert len(found) >= count, "nothing is lost"
        count = len(found)
    assert kills == 5
    assert 0 < count < 1800
    assert main(words(broken, *agents, deals=150)) == 0
    assert main(words(unbroken, *agents, deals=150, workers=2)) == 0
    assert rows(broken) == rows(unbroken), "interruptions and the number of processes change nothing"
    assert table(broken) == table(unbroken)
    assert len(rows(unbroken)) == 1800
    assert any(row[5] >= 0 for row in rows(unbroken)), "a failing agent has been among them"


def test_the_same_command_goes_on_and_other_agents_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "my_agents.py").write_text("from tests.unruly_agents import First as Mine\n")
    assert main([*words(out, "my_agents:Mine", "random"), "--export", "csv"]) == 0
    first = capsys.readouterr().out
    assert (out / "games.csv").read_text().count("\n") == 41
    page = (out / "report.html").read_text(encoding="utf-8")
    assert page.count("<summary>Deal ") == 3 and "played again" not in page
    assert main(words(out, "my_agents:Mine", "random")) == 0
    assert capsys.readouterr().out == first.replace(f"games exported to {out / 'games.csv'}\n", "")
    before = rows(out)
    assert main(words(out, "my_agents:Mine", "random", deals=23)) == 0
    assert len(rows(out)) == 46
    assert rows(out)[:40] == before, "more deals come at the end"
    capsys.readouterr()

    def refused(*given: str) -> str:
        assert main(list(given)) == 1
        error = capsys.readouterr().err.strip().splitlines()
        assert len(error) == 1
        return error[0].partition("What differs: ")[2]

    assert refused(*words(out, "my_agents:Mine", "greedy")).startswith("agents (my_agents:Mine random there, ")
    assert refused(*words(out, "my_agents:Mine", "random"), "--seed", "3") == f"seed ({SEED} there, 3 now)"
    assert "num_players=2" in refused(*words(out, "my_agents:Mine", "random"), "--players", "2")
    assert refused(*words(out, "my_agents:Mine", "random"), "--schedule", "gauntlet").startswith("schedule (round-")
    (tmp_path / "my_agents.py").write_text("from tests.unruly_agents import Cheat as Mine\n")
    assert refused(*words(out, "my_agents:Mine", "random")).startswith("files of my_agents:Mine (")


def test_until_significant_ends_where_it_is_decided_however_it_is_played(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = []
    for name, size in (("large", 1024), ("small", 6)):
        monkeypatch.setattr(tournament, "_QUICK_BATCH", size)
        command = [*words(tmp_path / name, "careful", "random", deals=1000), "--until-significant", "--export", "csv"]
        assert main(command) == 0
        tables.append(capsys.readouterr().out.replace(name, ""))
        assert (tmp_path / name / "games.csv").read_text().count("\n") == 61, "30 deals are enough"
    assert len(rows(tmp_path / "small")) < 70 < len(rows(tmp_path / "large"))
    assert tables[0].splitlines()[0] == tables[1].splitlines()[0]


def test_the_example_of_the_docs_plays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    docs = (ROOT / "docs" / "tournaments.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```python\n(.*?)```", docs, re.DOTALL)
    (tmp_path / "example_of_docs.py").write_text(example)
    monkeypatch.syspath_prepend(tmp_path)
    both = contest("example_of_docs:Thrifty", "random")
    results = [played.result for played in play(both, batch(both, 30))]
    assert {result.status for result in results} == {"ok"}


# --- mistakes ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--deals", "0"], "at least one deal is needed, not 0"),
        (["--workers", "0"], "--workers must be at least 1"),
        (["--max-seconds-per-move", "0"], "--max-seconds-per-move must be more than 0"),
        (["--max-seconds-per-move", "nan"], "--max-seconds-per-move must be more than 0"),
        (["--seed", "-1"], "seed must be at least 0"),
        (["--agents", "random"], "round-robin needs at least 2 agents"),
        (["--agents", "random", "clever"], "unknown agent 'clever'"),
        (["--agents", "random", "policy:nowhere.zip"], "there is no file 'nowhere.zip'"),
        (["--agents", "random", "nowhere:Agent"], "agent 'nowhere:Agent' cannot be made: ModuleNotFoundError"),
        (["--agents", "random", OWN + "Nobody"], "cannot be made: AttributeError"),
        (["--agents", "random", OWN + "Broken"], "cannot be made: KeyError: 'no such thing'"),
        (["--agents", "random", "builtins:id"], "has no method 'reset'"),
        (["--players", "2", "--schedule", "cross-play"], "cross-play needs partners"),
    ],
)
def test_mistakes_get_one_line(
    given: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*words(tmp_path / "out", "random", "greedy"), *given]) == 1
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not (tmp_path / "out").exists(), "nothing is begun"


def test_weights_are_told_apart_by_content(tmp_path: Path) -> None:
    path = tmp_path / "model.zip"
    path.write_bytes(b"one")
    specs = (f"policy:{path}", f"pimc:playouts=300,policy={path}")
    before = [entrants.fingerprint(spec) for spec in specs]
    assert all(before)
    path.write_bytes(b"two")
    assert all(found != entrants.fingerprint(spec) for found, spec in zip(before, specs, strict=True))
    assert entrants.fingerprint("careful") == ""


def test_own_agents_are_told_apart_by_all_that_they_import_from_their_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    package = tmp_path / "own_package"
    package.mkdir()
    agent = """
import own_helper, numpy
from . import inner

class Mine:
    reset = act = inner.x

    def __init__(self, game): ...
"""
    files = {
        package / "__init__.py": "",
        package / "agent.py": agent,
        package / "inner.py": "from .values import x\n",
        package / "values.py": "x = print\n",
        package / "unused.py": "",
        tmp_path / "own_helper.py": "",
    }
    for file, text in files.items():
        file.write_text(text)
    spec = "own_package.agent:Mine"
    entrants.make_entrant(spec, PilesGame())
    before = entrants.fingerprint(spec)
    for file, text in files.items():
        file.write_text(text + "# changed\n")
        assert (entrants.fingerprint(spec) == before) == (file.name == "unused.py"), file
        file.write_text(text)
