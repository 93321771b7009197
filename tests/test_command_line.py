"""`python -m experiments`: what a user sees and what is written."""

import json
from pathlib import Path

import pytest

from experiments.__main__ import main
from experiments.files import new_folder, write_atomically


def test_evaluate_prints_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", "wall", "--agents", "greedy", "random", "--deals", "50"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [cell.strip() for cell in lines[0].split("|")[1:-1]][:4] == [
        "agent",
        "against",
        "margin per deal",
        "95 % interval",
    ]
    cells = [cell.strip() for cell in lines[2].split("|")[1:-1]]
    assert cells[:2] == ["greedy", "random"]
    assert float(cells[2]) > 5
    assert "wall-v0, 2 players; 50 deals" in lines[3]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["evaluate", "piles", "--agents", "greedy", "clever"], "unknown agent 'clever'"),
        (["evaluate", "piles", "--players", "3", "--agents", "greedy", "random"], "num_players must be one of 4, 2"),
        (["evaluate", "piles", "--agents", "greedy", "random", "--deals", "0"], "at least one deal"),
        (["train", "piles", "--minutes", "0"], "--minutes must be more than 0"),
    ],
)
def test_mistakes_get_one_line(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 1
    error = capsys.readouterr().err
    assert message in error
    assert "Traceback" not in error


@pytest.mark.parametrize("game", ["piles", "wall"])
def test_train_saves_measures_and_can_be_measured_again(
    game: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    small = ["--lanes", "50", "--steps", "8", "--evaluation-deals", "4", "--threads", "1"]
    assert main(["train", game, "--decisions", "800", *small, "--deals", "4", "--out", str(tmp_path)]) == 0
    output = capsys.readouterr().out
    folder = next(tmp_path.iterdir())
    files = {"model.zip", "policy.npz", "config.json", "result.md", "curves", "curves.png", "progress.csv"}
    assert files <= {path.name for path in folder.iterdir()}
    assert json.loads((folder / "config.json").read_text())["game"] == game
    assert (folder / "result.md").read_text().splitlines()[2].startswith("| trained | random")
    assert output.count("| trained |") == 3
    other = ["--players", "2" if game == "piles" else "3"]
    for model in (folder / "policy.npz", folder / "model.zip"):
        assert main(["evaluate", game, "--agents", f"policy:{model}", "random", "--deals", "4"]) == 0
        assert main(["evaluate", game, *other, "--agents", f"policy:{model}", "random", "--deals", "4"]) == 1
        assert "it was made for rules" in capsys.readouterr().err


def test_files_are_whole_or_not_there(tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    write_atomically(path, lambda file: file.write_text("first"))

    def fail(file: Path) -> None:
        file.write_text("half")
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        write_atomically(path, fail)
    assert path.read_text() == "first"
    assert [entry.name for entry in tmp_path.iterdir()] == ["file.txt"]


def test_a_run_never_overwrites_another(tmp_path: Path) -> None:
    assert [new_folder(tmp_path, "run").name for _ in range(3)] == ["run", "run-2", "run-3"]
