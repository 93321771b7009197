"""The results of a tournament in an SQLite database: whole at any moment, and gone on with by the next run.

Games are stored in the order of the schedule, a batch in one transaction. So what is there is always the beginning of
the schedule, whenever the process or the machine stopped.
"""

import csv
import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from experiments.arena import Played
from experiments.files import write_atomically
from experiments.results import GameResult

EXPORTS = ("csv", "parquet", "jsonl")
DATABASE = "games.sqlite"
_FORMAT = "piles-wall tournament 1"
_ROWS_AT_ONCE = 10_000

_TABLES = """
CREATE TABLE IF NOT EXISTS identity (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS runs (number INTEGER PRIMARY KEY, provenance TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS games (
    number INTEGER PRIMARY KEY, -- place in the schedule
    deal INTEGER NOT NULL,
    seed TEXT NOT NULL,         -- of the deal; SQLite has no unsigned 64 bits
    seating TEXT NOT NULL,      -- lists are JSON
    scores TEXT NOT NULL,
    fault INTEGER NOT NULL,
    status TEXT NOT NULL,
    decisions TEXT NOT NULL,
    seconds TEXT NOT NULL,
    record TEXT                 -- NULL if records are not kept
);
"""
_RESULT = "deal, seating, scores, fault, status, decisions, seconds"


class Store:
    """An open database; `open_store` opens it."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self._path = path
        self._connection = connection

    def count(self) -> int:
        """Number of games that are stored: those with the numbers 0 to count - 1."""
        with self._errors():
            count, following = self._connection.execute(
                "SELECT COUNT(*), COALESCE(MAX(number) + 1, 0) FROM games"
            ).fetchone()
        if count != following:
            raise OSError(f"{self._path} is damaged: games are missing; choose another --out")
        return int(count)

    def add(self, played: Iterable[Played]) -> None:
        """Store the games that follow, all of them or, if it fails, none.

        Raises:
            OSError: if they cannot be written (the disk is full, say); what was stored before stays.
        """
        rows = [
            (
                game.game.number,
                game.result.deal,
                str(game.seed),
                _dump(game.result.seating),
                _dump(game.result.scores),
                game.result.fault,
                game.result.status,
                _dump(game.result.decisions),
                _dump(game.result.seconds),
                game.record,
            )
            for game in played
        ]
        with self._errors(), self._connection:
            self._connection.executemany("INSERT INTO games VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)

    def results(self, count: int) -> Iterator[GameResult]:
        """The first so many games, of which only a few are in memory."""
        return map(_result, self._rows(f"SELECT {_RESULT} FROM games WHERE number < ? ORDER BY number", (count,)))

    def record(self, number: int) -> str | None:
        """A game's record, one line of JSON; None if records are not kept."""
        found: str | None = next(self._rows("SELECT record FROM games WHERE number = ?", (number,)))[0]
        return found

    def provenance(self) -> dict[str, str]:
        """What produced the games; where runs differ, all values in order."""
        with self._errors():
            rows = self._connection.execute("SELECT provenance FROM runs ORDER BY number").fetchall()
            merged: dict[str, list[str]] = {name: [value] for name, value in self._identity().items()}
        for (text,) in rows:
            for name, value in json.loads(text).items():
                values = merged.setdefault(name, [])
                if value not in values:
                    values.append(value)
        return {name: "; ".join(values) for name, values in merged.items()}

    def begin(self, identity: Mapping[str, str]) -> None:
        """Begin a tournament, or go on with one.

        Args:
            identity: what must be the same in all runs.

        Raises:
            ValueError: if the games that are there were played with something else; the message names it.
        """
        identity = {"format": _FORMAT, **identity}
        with self._errors(), self._connection:
            found = self._identity()
            if not found:
                self._connection.executemany("INSERT INTO identity VALUES (?, ?)", identity.items())
            differing = [
                f"{name} ({found.get(name, 'nothing')} there, {identity.get(name, 'nothing')} now)"
                for name in {**identity, **found}
                if found and found.get(name) != identity.get(name)
            ]
            if differing:
                raise ValueError(
                    f"{self._path} holds another tournament; choose another --out. What differs: {'; '.join(differing)}"
                )

    def add_run(self, provenance: Mapping[str, str]) -> None:
        """Note what plays the games that follow; it may differ between runs."""
        with self._errors(), self._connection:
            self._connection.execute("INSERT INTO runs (provenance) VALUES (?)", (json.dumps(provenance),))

    def export(self, kind: str, agents: Sequence[str], count: int) -> Path:
        """Write the first so many games to a file beside the database, a row for each.

        Columns are number, deal, seed, agent_0, ... by seat, score_0, ... by side, fault and status, decisions_0, ...
        and seconds_0, ... by agent, and record.

        Args:
            kind: one of `EXPORTS`.
            agents: the agents as text; they are put in place of their indices.
            count: number of games.
        """
        path = self._path.with_name(f"games.{kind}")
        write = {"csv": _write_csv, "jsonl": _write_json_lines, "parquet": _write_parquet}[kind]
        write_atomically(path, lambda file: write(file, self._flat_rows(agents, count)))
        return path

    def _flat_rows(self, agents: Sequence[str], count: int) -> Iterator[dict[str, Any]]:
        query = f"SELECT number, seed, record, {_RESULT} FROM games WHERE number < ? ORDER BY number"
        for number, seed, record, *columns in self._rows(query, (count,)):
            result = _result(columns)
            row: dict[str, Any] = {"number": number, "deal": result.deal, "seed": int(seed)}
            row |= {f"agent_{seat}": agents[agent] for seat, agent in enumerate(result.seating)}
            row |= {f"score_{side}": score for side, score in enumerate(result.scores)}
            row |= {"fault": agents[result.fault] if result.fault >= 0 else None, "status": result.status}
            row |= {f"decisions_{agent}": decisions for agent, decisions in enumerate(result.decisions)}
            row |= {f"seconds_{agent}": seconds for agent, seconds in enumerate(result.seconds)}
            yield {**row, "record": record}

    def _rows(self, query: str, values: Sequence[Any]) -> Iterator[Any]:
        """The rows that a query finds, without having all of them in memory."""
        with self._errors():
            yield from self._connection.execute(query, values)

    def _identity(self) -> dict[str, str]:
        return dict(self._connection.execute("SELECT name, value FROM identity ORDER BY rowid"))

    @contextmanager
    def _errors(self) -> Iterator[None]:
        with _errors(self._path):
            yield


@contextmanager
def open_store(out: Path) -> Iterator[Store]:
    """Open the database of a folder, for this process alone; both are made if they are not there.

    Raises:
        OSError: if the folder cannot be written, another process has it open, or the database is damaged.
    """
    path = out / DATABASE
    lock = FileLock(out / "lock", timeout=0)
    try:
        out.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    except Timeout:
        raise OSError(f"another process plays a tournament in {out}; wait for it, or choose another --out") from None
    except OSError as error:
        raise OSError(f"cannot write in {out}: {error.strerror}; choose another --out") from error
    with lock, closing(_connect(path)) as connection:
        yield Store(path, connection)


def _connect(path: Path) -> sqlite3.Connection:
    with _errors(path):
        connection = sqlite3.connect(path)
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")  # a batch that is stored survives a power cut, too
            (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
            if verdict != "ok":
                raise sqlite3.DatabaseError(" ".join(verdict.split()))
            connection.executescript(_TABLES)
        except BaseException:
            connection.close()
            raise
        return connection


@contextmanager
def _errors(path: Path) -> Iterator[None]:
    """Turn the database's errors into one line that says what to do."""
    try:
        yield
    except sqlite3.OperationalError as error:  # disk full, read-only, input or output: the file itself is whole
        raise OSError(
            f"cannot write to {path}: {error}; what was stored before is kept, and the same command goes on from there"
        ) from error
    except sqlite3.DatabaseError as error:
        raise OSError(
            f"{path} is damaged or no database: {error}; it is left as it is. Restore it or choose another --out"
        ) from error


def _dump(values: Sequence[float]) -> str:
    return json.dumps(values, separators=(",", ":"))


def _result(columns: Sequence[Any]) -> GameResult:
    deal, seating, scores, fault, status, decisions, seconds = columns
    load = json.loads
    return GameResult(
        deal, tuple(load(seating)), tuple(load(scores)), fault, status, tuple(load(decisions)), tuple(load(seconds))
    )


def _write_csv(path: Path, rows: Iterator[dict[str, Any]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        first = next(rows)
        writer = csv.DictWriter(file, list(first))
        writer.writeheader()
        writer.writerow(first)
        writer.writerows(rows)


def _write_json_lines(path: Path, rows: Iterator[dict[str, Any]]) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)


def _write_parquet(path: Path, rows: Iterator[dict[str, Any]]) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    first = next(rows)
    types = {int: pa.int64(), float: pa.float64(), str: pa.string()}
    always = {"seed": pa.uint64(), "fault": pa.string(), "record": pa.string()}
    schema = pa.schema([(name, always.get(name) or types[type(value)]) for name, value in first.items()])
    with parquet.ParquetWriter(path, schema) as writer:
        part = [first]
        while part:
            writer.write_table(pa.Table.from_pylist(part, schema=schema))
            part = [row for row, _ in zip(rows, range(_ROWS_AT_ONCE), strict=False)]
