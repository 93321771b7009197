"""The database of a tournament: whole at any moment, refused where it does not fit, and exported."""

import csv
import json
import os
import sqlite3
from pathlib import Path

import pytest
from pyarrow import parquet

from experiments.arena import Played
from experiments.results import GameResult
from experiments.schedule import ScheduledGame
from experiments.store import DATABASE, open_store

IDENTITY = {"game": "piles-v0", "seed": "1"}


def played(number: int, record: str | None = None) -> Played:
    seating = (0, 1, 0, 1) if number % 2 == 0 else (1, 0, 1, 0)
    fault, status = (1, "crashed: ZeroDivisionError: division by zero") if number == 3 else (-1, "ok")
    result = GameResult(number // 2, seating, (number, 54 - number), fault, status, (20, 20), (0.1 + number, 1 / 3))
    return Played(ScheduledGame(number, number // 2, seating), 2**64 - 1 - number // 2, result, record)


def fill(folder: Path, first: int = 0, last: int = 10, record: str | None = None) -> None:
    with open_store(folder) as store:
        store.begin(IDENTITY)
        store.add_run({"machine": "this"})
        store.add(played(number, record) for number in range(first, last))


def test_results_come_back_as_they_went_in(tmp_path: Path) -> None:
    fill(tmp_path, 0, 4)
    fill(tmp_path, 4, 10)
    with open_store(tmp_path) as store:
        assert store.count() == 10
        assert list(store.results(8)) == [played(number).result for number in range(8)]


def test_a_batch_is_stored_as_a_whole_or_not_at_all(tmp_path: Path) -> None:
    fill(tmp_path)
    with open_store(tmp_path) as store:
        with pytest.raises(OSError):
            store.add([played(10), played(11), played(5)])  # number 5 is there already
        assert store.count() == 10


def test_changes_are_refused_by_name(tmp_path: Path) -> None:
    fill(tmp_path)
    with open_store(tmp_path) as store:
        with pytest.raises(ValueError, match=r"choose another --out\. What differs: seed \(1 there, 2 now\)$"):
            store.begin({**IDENTITY, "seed": "2"})
        with pytest.raises(ValueError, match=r"files of policy:x.zip \(nothing there, abc now\)"):
            store.begin({**IDENTITY, "files of policy:x.zip": "abc"})
        store.begin(IDENTITY)
        store.add_run({"machine": "that"})
        assert store.count() == 10
        assert store.provenance()["machine"] == "this; that"


def test_a_second_process_is_refused(tmp_path: Path) -> None:
    with open_store(tmp_path), pytest.raises(OSError, match="another process"), open_store(tmp_path):
        pass
    fill(tmp_path)


def test_a_full_disk_costs_the_last_batch_alone(tmp_path: Path) -> None:
    fill(tmp_path)
    with open_store(tmp_path) as store:
        pages = store._connection.execute("PRAGMA page_count").fetchone()[0]
        store._connection.execute(f"PRAGMA max_page_count = {pages + 1}")
        with pytest.raises(OSError, match="full; what was stored before is kept"):
            store.add(played(number, "x" * 1000) for number in range(10, 200))
        assert store.count() == 10
    fill(tmp_path, 10, 200)
    with open_store(tmp_path) as store:
        assert store.count() == 200


@pytest.mark.parametrize("damage", ["header", "middle", "empty", "gap"])
def test_a_damaged_database_is_said_to_be(tmp_path: Path, damage: str) -> None:
    fill(tmp_path, 0, 500)
    path = tmp_path / DATABASE
    if damage == "gap":
        with sqlite3.connect(path) as connection:
            connection.execute("DELETE FROM games WHERE number = 7")
        connection.close()
    else:
        content = bytearray(path.read_bytes())
        first = {"header": 0, "middle": 8192, "empty": len(content)}[damage]
        content[first : first + 5000] = b"?" * 5000
        path.write_bytes(content if damage != "empty" else b"no database, but a text that is long enough" * 100)
    with pytest.raises(OSError, match="damaged") as error, open_store(tmp_path) as store:
        store.count()
    assert "\n" not in str(error.value)


def test_a_folder_that_cannot_be_written_is_said_to_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(OSError, match="cannot write in"), open_store(tmp_path / "file" / "out"):
        pass
    folder = tmp_path / "locked"
    fill(folder)
    folder.chmod(0o555)
    user = os.geteuid()
    if user == 0:  # root may write everywhere
        os.seteuid(65534)
    try:
        with pytest.raises(OSError, match=r"cannot write in .*Permission denied"), open_store(folder):
            pass
    finally:
        os.seteuid(user)
        folder.chmod(0o755)
    with open_store(folder) as store:
        assert store.count() == 10


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("record", [None, '{"format":"cardtable/1"}'])
def test_exports_hold_the_same(tmp_path: Path, kind: str, record: str | None) -> None:
    fill(tmp_path, record=record)
    with open_store(tmp_path) as store:
        path = store.export(kind, ["careful", "policy:x,y.zip"], 8)
    if kind == "csv":
        with path.open(newline="", encoding="utf-8") as file:
            rows = [{name: value or None for name, value in row.items()} for row in csv.DictReader(file)]
    elif kind == "jsonl":
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    else:
        rows = parquet.read_table(path).to_pylist()
    assert len(rows) == 8
    expected = {
        "number": 3,
        "deal": 1,
        "seed": 2**64 - 2,
        "agent_0": "policy:x,y.zip",
        "agent_1": "careful",
        "agent_2": "policy:x,y.zip",
        "agent_3": "careful",
        "score_0": 3,
        "score_1": 51,
        "fault": "policy:x,y.zip",
        "status": "crashed: ZeroDivisionError: division by zero",
        "decisions_0": 20,
        "decisions_1": 20,
        "seconds_0": 3.1,
        "seconds_1": 1 / 3,
        "record": record,
    }
    if kind == "csv":
        expected = {name: None if value is None else str(value) for name, value in expected.items()}
    assert rows[3] == expected
    assert rows[2]["fault"] is None
