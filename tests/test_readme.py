"""The documents tell the truth: their tables are the code's, their examples run, the README's commands are CI's."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.readme import README, SECTIONS, with_sections

TEXT = README.read_text(encoding="utf-8")
EXAMPLES = [
    example
    for document in SECTIONS
    for example in re.findall(r"```python\n(.*?)```", document.read_text(encoding="utf-8"), re.DOTALL)
]


@pytest.mark.parametrize("document", SECTIONS, ids=lambda path: path.name)
def test_generated_parts_are_up_to_date(document: Path) -> None:
    assert with_sections(document) == document.read_text(encoding="utf-8"), "run `python -m tests.readme`"


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_examples_run(number: int, tmp_path: Path) -> None:
    script = tmp_path / "example.py"
    script.write_text(EXAMPLES[number], encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-W", "error", str(script)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(README.parent)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def test_there_are_examples_of_both_games() -> None:
    assert sum("import piles_env" in example for example in EXAMPLES) >= 1
    assert sum("import wall_env" in example for example in EXAMPLES) >= 1


def test_ci_runs_the_readmes_commands() -> None:
    ci = (README.parent / ".ci" / "run").read_text(encoding="utf-8")
    commands = [line for line in TEXT.splitlines() if line.startswith("python3 -m venv .venv && ")]
    assert len(commands) == 2
    assert "python3 -m venv .venv && " in ci, "CI takes the commands from the README itself"


def test_every_clause_of_the_rules_is_told() -> None:
    clauses = [f"P{n}" for n in range(1, 17)] + [f"PD{n}" for n in range(1, 6)]
    clauses += [f"W{n}" for n in range(1, 14)] + [f"WD{n}" for n in range(1, 5)]
    missing = [clause for clause in clauses if not re.search(rf"\| {clause} \|", TEXT)]
    assert not missing
