"""`python -m experiments play` and `replay`: what people see, type and get."""

import io
import re
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from cardtable.cards import SUITS, SYMBOLS
from cardtable.chance import lane_seeds
from cardtable.game import Game
from cardtable.records import GameRecord, replay, verify
from experiments.__main__ import main
from experiments.moves import legal_moves, listing, parse_move, tell
from experiments.play import Table
from tests.helpers import piles_game, play, wall_game
from tests.playing import CASES, Case, over, walk
from tests.test_records import WALL

Run = Callable[..., str]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command with lines typed by a person; return what it prints. It must end without an error."""

    def run_command(words: str, *typed: str) -> str:
        monkeypatch.setattr(sys, "stdin", io.StringIO("".join(line + "\n" for line in typed)))
        assert main(words.split()) == 0
        return capsys.readouterr().out

    return run_command


def record_of(output: str) -> GameRecord:
    """The record that a finished game prints last."""
    return GameRecord.from_json(output.splitlines()[-1])


# --- whole games ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    ["piles --seed 1", "piles --players 2 --seed 2", "wall --seed 3", "wall --players 3 --seats greedy,human,random"],
)
def test_a_whole_game(words: str, run: Run) -> None:
    output = run(f"play {words}", *["1"] * 300)
    assert "game over" in output and "Points:" in output and "Won by player_" in output
    record = record_of(output)
    verify(record)
    assert record.scores is not None and "human" in record.players


def test_a_game_in_a_terminal_in_an_empty_folder(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "experiments", "play", "wall", "--seats", "human,greedy", "--seed", "5",
         "--record", "game.json"],
        cwd=tmp_path, input="7\nstart 5\n?\nDRAW\ndiscard\nsave so far.json\nquit\n", capture_output=True, text=True,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert "there is no move number 7; the numbers are 1 to 6" in done.stdout
    assert "you started with 5♥" in done.stdout
    assert "The game ends here, before it is over." in done.stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == ["game.json", "so far.json"]
    texts = [path.read_text(encoding="utf-8") for path in tmp_path.iterdir()]
    assert texts[0] == texts[1]
    record = GameRecord.from_json(texts[0])
    verify(record)
    assert record.moves[0] == "start 5h" and "discard" in record.moves and record.scores is None


def test_the_end_shows_all_cards_and_who_has_won(run: Run) -> None:
    output = run("play piles --players 2 --seats greedy,human --seed 4", *["pass"] * 20)
    record = record_of(output)
    assert record.scores is not None and record.scores[0] > record.scores[1]
    assert f"{record.scores[0]:5}  player_0 (greedy)" in output
    assert output.splitlines()[-4] == "Won by player_0 (greedy)."


def test_watching_shows_a_board_for_each_move(run: Run) -> None:
    output = run("play piles --seats greedy,random,greedy,random --seed 6")
    assert len(record_of(output).moves) == 40
    assert len(re.findall("^Piles, ", output, re.MULTILINE)) == 41
    assert "player_0 placed" in output and "press Enter" not in output and "you" not in output
    assert output == run("play piles --seats greedy,random,greedy,random --seed 6")


def test_people_at_one_table_hand_over(run: Run) -> None:
    output = run("play wall --seats human,human --seed 5", "", "start 3", "", "start 4", "", "pass", "", "pass")
    assert output.count("press Enter") == 4
    before, after = output.split("player_1, press Enter", 1)
    assert before.endswith("\n" * 50)
    assert "you started with 4" not in before and "player_0 started with 3♥" in after
    assert "A draw." in output


# --- what is typed ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["Th@b2", "TH@B2", "10h@b2", "10♥@b2", "10H B2", "th @ b2"])
def test_a_placement_may_be_typed_as_it_is_seen(text: str) -> None:
    game = piles_game()
    states = game.new_states(lane_seeds(5, 1))
    assert parse_move(game, states, text) == game.text_to_action(states[0], "Th@b2")


@over(CASES)
def test_every_legal_move_can_be_typed(case: Case) -> None:
    """In record notation, in capitals and by its number, and it stands in the list."""
    game, steps = case.game, walk(case.game, seed=2).states
    for states in steps[:-1:7]:
        listed = listing(game, states)
        for number, action in enumerate(legal_moves(game, states), start=1):
            text = game.action_to_text(states[0], action)
            assert {parse_move(game, states, typed) for typed in (text, text.upper(), f"  {text}", str(number))} == {
                action
            }
            assert re.search(rf"\b{number}(:|  ){re.escape(text.partition('@')[2] or text)}\b", listed)


def test_the_list_of_piles_has_a_line_for_each_card() -> None:
    game = piles_game(num_players=2)
    states = game.new_states(lane_seeds(1, 1))
    play(game, states, game.action_to_text(states[0], legal_moves(game, states)[0]))
    first, *others = listing(game, states).splitlines()
    assert first == "  1:pass"
    cards = [re.match(r"  (..)@ +\d+:[a-d][1-3] ", line) for line in others]
    assert all(cards) and len(cards) <= 10


def test_the_list_of_wall_says_what_a_place_is_worth() -> None:
    game = wall_game()
    record = GameRecord.from_json(WALL)
    texts = [listing(game, states) for states in list(replay(record))[:-1]]
    assert any("build 2.0   above A and K, 2 points" in text for text in texts)
    assert any("take        A♦" in text for text in texts)


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("Kh@z9", "'kh@z9' is no move; write a card, @ and a pile"),
        ("Kh@b2", "player_0 does not hold Kh"),
        ("2d@a3", "'2d@a3' is not legal: P10: rank 2 is not higher than 9"),
        ("pass", "'pass' is not legal: PD1"),
        ("hello", "'hello' is no move"),
        ("0", "there is no move number 0; the numbers are 1 to 62"),
        ("undo", "there is nothing to undo"),
        ("save", "save needs the name of a file"),
        ("save nowhere/game.json", "there is no folder nowhere"),
    ],
)
def test_a_mistake_is_named_and_the_question_is_put_again(
    typed: str, message: str, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    output = run("play piles --seed 5", typed, "quit")
    assert message in output and "Type ? for the legal moves" in output
    assert output.count("player_0 (? lists moves, help)> ") == 2
    assert not list(tmp_path.iterdir())


def test_help_names_all_that_can_be_typed(run: Run) -> None:
    output = run("play wall", "help", "HELP", "quit")
    for command in ("moves", "Enter", "undo", "hint", "save FILE", "quit", "build 1.3"):
        assert output.count(command) >= 2


# --- undo, hint, save -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("moves", [["pass", "1", "pass", "2"], ["2", "pass", "pass", "1"]])
def test_undo_goes_back_and_chance_stays_the_same(moves: list[str], run: Run) -> None:
    rest = ["1"] * 16
    words = "play piles --players 2 --seats greedy,human --seed 8"
    straight = record_of(run(words, *moves, *rest))
    roundabout = record_of(run(words, "3", "undo", moves[0], "undo", *moves, "4", "5", "undo", "undo", *rest))
    assert roundabout == straight
    assert any(move.startswith("pass:") for move in straight.moves)


def test_undo_can_go_back_to_the_first_decision_and_no_further(run: Run) -> None:
    output = run(
        "play wall --seats greedy,human --seed 9", "start 2", "draw", "undo", "undo", "undo", "start 7", "quit"
    )
    assert output.count("nothing to undo") == 1
    assert "you started with 7♥" in output or "you started with 7♣" in output


def test_undo_goes_back_to_another_person(run: Run) -> None:
    output = run("play wall --seats human,human --seed 5", "", "start 3", "", "undo", "", "start 5", "", "quit")
    assert "player_0 started with 5♥" in output


@pytest.mark.parametrize(("words", "spec"), [("piles --seed 5", "pimc"), ("wall --seed 5 --hint random", "random")])
def test_a_hint_is_a_legal_choice_of_the_agent(words: str, spec: str, run: Run) -> None:
    found = re.search(rf"{spec} would choose (.+) \(number (\d+)\)", run(f"play {words}", "hint", "quit"))
    assert found
    game: Game = piles_game() if words.startswith("piles") else wall_game()
    states = game.new_states(lane_seeds(5, 1))
    assert parse_move(game, states, found[1]) == parse_move(game, states, found[2])


def test_save_does_not_overwrite_other_files(run: Run, tmp_path: Path) -> None:
    mine, other = tmp_path / "mine.json", tmp_path / "other.txt"
    other.write_text("precious")
    output = run("play wall --seed 5", f"save {mine}", "1", f"save {mine}", f"save {other}", "quit")
    assert f"{other} exists already" in output
    assert other.read_text() == "precious"
    assert len(GameRecord.from_json(mine.read_text()).moves) >= 1
    assert mine.read_text().count("\n") == 1
    assert len(list(tmp_path.iterdir())) == 2


# --- how it ends ------------------------------------------------------------------------------------------------------


def test_the_end_of_input_ends_the_game_with_its_record(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "game.json"
    output = run(f"play piles --seed 5 --record {path}", "1", "2")
    assert output.endswith(f"The game ends here, before it is over.\nThe record is in {path}.\n")
    record = GameRecord.from_json(path.read_text())
    verify(record)
    assert len(record.moves) == 8


def test_ctrl_c_ends_the_game_with_its_record(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(prompt: str) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr("builtins.input", interrupt)
    path = tmp_path / "game.json"
    assert "The game ends here" in run(f"play piles --seed 5 --record {path}")
    assert GameRecord.from_json(path.read_text()).moves == []


def test_a_finished_game_is_recorded(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "game.json"
    output = run(f"play wall --seats greedy,greedy --record {path}")
    record = GameRecord.from_json(path.read_text())
    verify(record)
    assert record.scores and "{" not in output


def test_a_record_that_cannot_be_written_is_printed(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(path: Path, write: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("experiments.play.write_atomically", fail)
    output = run(f"play wall --seats greedy,greedy --record {tmp_path / 'game.json'}")
    assert "cannot be written: No space left on device" in output
    verify(record_of(output))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("piles --seats human", "--seats names 1 (human), but there are 4 players"),
        ("piles --seats greedy,human,greedy", "--seats names 3 (greedy, human, greedy), but there are 4 players"),
        ("wall --players 2 --seats human,greedy,greedy", "--seats names 3 (human, greedy, greedy), but there are 2"),
        ("wall --seats human,humna", "--seats: unknown agent 'humna'"),
        ("wall --hint human", "unknown agent 'human'"),
        ("piles --players 3", "num_players must be one of 4, 2"),
        ("wall --pause -1", "--pause must be at least 0"),
        ("wall --record nowhere/game.json", "there is no folder nowhere"),
        ("wall --record README.md", "README.md exists already"),
    ],
)
def test_mistakes_get_one_line(
    words: str, message: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(Path(__file__).parent.parent)
    assert main(["play", *words.split()]) == 1
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1


# --- what is hidden ---------------------------------------------------------------------------------------------------

_CARD = re.compile(rf"(10|[A2-9TJQK])([{SYMBOLS}{SUITS}])")
_HIDDEN = [
    piles_game(),
    piles_game(num_players=2),
    piles_game(passed_cards="hidden"),
    wall_game(),
    wall_game(num_players=4),
]


@pytest.mark.parametrize("game", _HIDDEN, ids=repr)
def test_no_hidden_card_is_shown(
    game: Game, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """At each question, nothing that has been printed names a card of which the person does not know where it is."""
    names = ["human", *["greedy"] * (game.num_players - 1)]
    asked, rng = 0, np.random.default_rng(3)

    for seed in range(4):
        table = Table(game, names, "greedy", seed, pause=0)

        def type_in(prompt: str, table: Table = table) -> str:
            nonlocal asked
            asked += 1
            shown = capsys.readouterr().out.replace("'Th@b2'", "").replace("'start 5h'", "")  # examples in messages
            choosing = game.name == "wall-v0" and table.states["phase"][0] == 0  # start cards are where all may see
            unseen = set() if choosing else unseen_cards(game, table)
            for rank, suit in _CARD.findall(shown):
                card = ("T" if rank == "10" else rank) + (SUITS[SYMBOLS.index(suit)] if suit in SYMBOLS else suit)
                assert card not in unseen
            count = len(legal_moves(game, table.states))
            return str(rng.choice(["?", "hint", "hello", "build 1.0", "", *[str(rng.integers(1, count + 1))] * 6]))

        monkeypatch.setattr("builtins.input", type_in)
        table.play()
        capsys.readouterr()
    assert asked > 50


def unseen_cards(game: Game, table: Table) -> set[str]:
    """The cards of which player_0 does not know where they are, in record notation."""
    view = game.view(table.states, np.zeros(1))[0]
    if game.name == "piles-v0":
        cards = [card for card in range(52) if int(view["unseen"]) >> card & 1]
    else:
        cards = np.flatnonzero(view["unseen"][:52]).tolist()
    return {"A23456789TJQK"[card % 13] + SUITS[card // 13] for card in cards}


def test_a_hidden_passed_card_is_told_to_passer_and_taker_only() -> None:
    game = piles_game(passed_cards="hidden", opener_may_pass=True)
    before = game.new_states(lane_seeds(1, 1))
    after = before.copy()
    game.step(after, [312])
    told = [tell(game, before, after, seat) for seat in range(4)]
    card = told[0].removeprefix("you passed and lost ").removesuffix(" to player_1")
    assert told == [
        f"you passed and lost {card} to player_1",
        f"player_0 passed and lost {card} to you",
        "player_0 passed and lost a card to player_1",
        "player_0 passed and lost a card to player_1",
    ]
    assert _CARD.fullmatch(card)


def test_a_game_of_wall_in_words() -> None:
    positions = list(replay(GameRecord.from_json(WALL)))
    told = [tell(wall_game(), *pair, viewer=0) for pair in pairwise(positions)]
    assert told[:8] == [
        "player_1 started with 7♥",
        "you started with 7♣",
        "player_1 drew a card",
        "player_1 widened the base with 7♦ at the right end",
        "you drew a card",
        "you discarded A♦",
        "player_1 took A♦ from the discard pile",
        "player_1 built A♦ at 1.0: 1 point",
    ]
    assert "player_1 built A♠ at 2.0: 2 points" in told
    assert told[-2:] == ["player_1 passed", "you passed"] or told[-2:] == ["you passed", "player_1 passed"]


# --- replay -----------------------------------------------------------------------------------------------------------


def test_replay_shows_each_position(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "game.json"
    path.write_text(WALL + "\n")
    output = run(f"replay {path}")
    assert len(re.findall("^Wall, ", output, re.MULTILINE)) == 25
    assert "move 8, player_1 (Bob): build 1.0" in output
    assert output.endswith("scores: 1, 4\n")


def test_replay_refuses_a_bad_record(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "game.json"
    path.write_text(WALL.replace('"scores":[1,4]', '"scores":[1,5]'))
    assert main(["replay", str(path)]) == 1
    assert "the scores are [1, 4] by W2, not [1, 5]" in capsys.readouterr().err
    assert main(["replay", str(tmp_path / "none.json")]) == 1
    assert "none.json" in capsys.readouterr().err
