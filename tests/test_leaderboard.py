"""The leaderboard: all players that come with the suite, on a page that README.md quotes."""

from pathlib import Path

import pytest

pytest.importorskip("matplotlib")

from experiments import games, leaderboard
from experiments.__main__ import main
from experiments.entrants import make_entrant
from tests import readme
from tests.test_tournament import rows


@pytest.mark.parametrize(("game", "players"), leaderboard.FIELDS)
def test_the_page_in_the_docs_has_all_players(game: str, players: int) -> None:
    field = leaderboard.field(game, players)
    for spec in field:
        make_entrant(spec, games.make(game, players))
    section = readme.LEADERBOARD.read_text(encoding="utf-8").split(f"## {game.capitalize()}, {players} players\n\n")[1]
    ranking = section.split("\n\n")[0].splitlines()[2:]
    listed = [line.split("|")[2].strip() for line in ranking]
    assert sorted(listed) == sorted(field), "run `python -m experiments leaderboard`, copy its page to docs"


def test_shipped_networks_join_the_tables_of_their_names(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("piles-4p", "piles-4p-large", "piles-2p", "wall-2p")
    monkeypatch.setattr(leaderboard, "shipped", lambda: {name: Path(f"{name}.npz") for name in names})
    found = {each: set(leaderboard.field(*each)) - set(fixed) for each, fixed in leaderboard.FIELDS.items()}
    assert found == {
        ("piles", 4): {
            "policy:piles-4p",
            "policy:piles-4p-large",
            "pimc:playouts=300,policy=piles-4p",
            "pimc:playouts=300,policy=piles-4p-large",
        },
        ("piles", 2): {"policy:piles-2p", "pimc:playouts=300,policy=piles-2p"},
        ("wall", 2): {"policy:wall-2p"},
        ("wall", 4): set(),
    }


def test_it_writes_a_page_and_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leaderboard, "FIELDS", {("piles", 2): ("random", "careful"), ("wall", 2): ("greedy", "random")})
    monkeypatch.setattr(leaderboard, "shipped", dict)
    monkeypatch.setattr("experiments.ratings._RESAMPLES", 40)
    monkeypatch.setattr("experiments.tournament_report.plots", lambda summary: [])
    words = ["leaderboard", "--workers", "1", "--out", str(tmp_path), "--deals", "3"]
    assert main(words) == 0
    page = tmp_path / "leaderboard.md"
    text = page.read_text(encoding="utf-8")
    assert "Made by `python -m experiments leaderboard --deals 3`" in text
    assert "| date " in text and "| numpy " in text and "| machine " in text
    assert text.count("| against 1 ") == 2 and text.count("| Wall, 2 players  |") == 2
    assert {len(rows(tmp_path / name)) for name in ("piles-2p", "wall-2p")} == {6}
    monkeypatch.setattr(readme, "LEADERBOARD", page)
    quoted = readme.leaderboard().splitlines()
    assert [quoted[0], quoted[9]] == ["**Piles, 2 players**", "**Wall, 2 players**"]
    assert "3 deals" in quoted[7] and "3 deals" in quoted[16]
    assert [quoted[line].split("|")[2].strip() for line in (4, 5, 13, 14)] == ["careful", "random", "greedy", "random"]
    assert not any("ms" in line or "µs" in line for line in quoted), "no times, which are never the same twice"
    before = rows(tmp_path / "wall-2p")
    assert main(words) == 0
    assert page.read_text(encoding="utf-8") == text
    assert rows(tmp_path / "wall-2p") == before
