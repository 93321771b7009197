"""Positions with an obvious move: read as they are written, right by brute force, and what agents make of them."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from cardtable.chance import lane_seeds
from cardtable.game import Game, States
from experiments.__main__ import main
from experiments.games import GAMES
from experiments.positions import Position, load_positions, read_positions, report, shares
from tests.helpers import legal_texts

Values = dict[int, NDArray[np.float64]]  # margins of the player to move: by action, in each game that fits his view

NAMES = [(game, position.name) for game in GAMES for position in load_positions(game)]


@cache
def named(game: str) -> dict[str, Position]:
    return {position.name: position for position in load_positions(game)}


# --- the moves are right ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("game", "name"), NAMES)
def test_the_right_moves_are_better_than_all_others(game: str, name: str) -> None:
    """Near the end by all lines of play in every game that fits the view; earlier by playouts of "greedy"."""
    position = named(game)[name]
    if game == "piles" and position.states["turn"][0] >= 40 - position.game.num_players:
        values = solved(position, hands_that_fit(position), piles_margins)
        every_world = True
    elif game == "wall" and position.game.num_players > 1:
        values = solved(position, decks_that_fit(position), wall_margins)
        every_world = True
    else:
        values, every_world = played_out(position), False
    right = [values[action] for action in position.best]
    others = [values[action] for action in values if action not in position.best]
    if every_world:
        assert (np.max(others, axis=0) < np.min(right, axis=0)).all()
        assert (np.max(right, axis=0) == np.min(right, axis=0)).all()
    else:
        for better in right:
            for worse in others:
                difference = better - worse
                assert difference.mean() > 4 * difference.std(ddof=1) / len(difference) ** 0.5


def test_most_are_solved_exactly() -> None:
    late = [p for p in named("piles").values() if p.states["turn"][0] >= 40 - p.game.num_players]
    assert len(late) >= 10
    assert len([p for p in named("wall").values() if p.game.num_players > 1]) >= 10


def legal(game: Game, states: States) -> list[int]:
    actions: list[int] = np.flatnonzero(game.action_mask(states)[0]).tolist()
    return actions


def after(game: Game, states: States, action: int) -> States:
    following = states.copy()
    game.step(following, [action])
    return following


def hands_that_fit(position: Position) -> list[States]:
    """Piles: every deal of the cards that are not seen; they are few."""
    drawn = position.game.determinize(np.repeat(view_of(position), 300), lane_seeds(0, 300))
    return [drawn[lane : lane + 1] for lane in np.unique(drawn["hand"], axis=0, return_index=True)[1]]


def decks_that_fit(position: Position) -> list[States]:
    """Wall: every order of the deck, of two cards at most."""
    states = position.states
    top, end = int(states["deck_top"][0]), int(states["deck_length"][0])
    assert end - top <= 2
    other = states.copy()
    other["deck"][0, top:end] = states["deck"][0, top:end][::-1]
    return [states, other]


def view_of(position: Position) -> States:
    return position.game.view(position.states, position.game.current_player(position.states))


def solved(position: Position, worlds: Sequence[States], margin: "Margin") -> Values:
    """What each action is worth in each world when all play on with open cards."""
    game = position.game
    return {
        action: np.array([margin(game, after(game, world, action), {}) for world in worlds])
        for action in legal(game, position.states)
    }


class Margin:
    """Team or player 0's margin at the end, when both sides play best from here on with open cards."""

    def __init__(self, fields: Sequence[str]) -> None:
        self._fields = fields  # of a record, what sets a position apart

    def __call__(self, game: Game, states: States, known: dict[bytes, float]) -> float:
        key = b"".join(states[0][name].tobytes() for name in self._fields)
        if key not in known:
            if game.terminated(states)[0]:
                mine, *others = game.scores(states)[0].tolist()
                known[key] = mine - sum(others) / len(others)
            else:
                values = [self(game, after(game, states, action), known) for action in legal(game, states)]
                known[key] = max(values) if states["to_move"][0] % 2 == 0 else min(values)
        return known[key]


piles_margins = Margin(("top", "under", "hand", "taken", "turn", "to_move"))
wall_margins = Margin(("wall", "discard", "deck_top", "to_move", "phase", "in_hand", "from_discard", "idle"))


def played_out(position: Position) -> Values:
    """Margins of each action in 300 games that fit the view, the same ones for all actions."""
    game, seeds = position.game, lane_seeds(1, 300)
    worlds = game.determinize(np.repeat(view_of(position), len(seeds)), seeds)
    values = {}
    for action in legal(game, position.states):
        states = worlds.copy()
        game.step(states, np.full(len(states), action))
        game.playout(states, seeds, "greedy")
        scores = game.scores(states).astype(np.float64)
        values[action] = scores[:, 0] - scores[:, 1:].sum(axis=1)
    return values


# --- the files --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("game", "least"), [("piles", 12), ("wall", 10)])
def test_there_are_enough(game: str, least: int) -> None:
    positions = load_positions(game)
    assert len(positions) >= least
    for position in positions:
        assert position.why and position.best < set(legal(position.game, position.states))
        assert position.game.current_player(position.states)[0] == 0


@pytest.mark.parametrize("game", GAMES)
def test_a_position_is_the_same_each_time(game: str) -> None:
    for first, second in zip(load_positions(game), load_positions(game), strict=True):
        assert first.states.tobytes() == second.states.tobytes()


PILES = """\
# A comment.

name: Of two
players: 2
castle:
  8h/2c  5h  9s  2d
# A comment between.
  Jh  Ks/4s  7d  Tc
  6s  3h  Jc  8d
hand: Kh Kd Qh Qd Th Td 9h 9d
colour: red
we took: 6h
they took: 3c
best: *@a1, Kh@b1
why: To test,
  in two lines.
"""
WALL = """\
name: Of two
player_0:
  9h .
  5h 4d 3d
player_1:
  XX
  Kh Ac 6h
discard: 7s Qh
taken: 8s
best: right
why: To test.
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "positions.txt"
    path.write_text(text, encoding="utf-8")
    return path


def test_piles_is_read_as_it_is_written(tmp_path: Path) -> None:
    (position,) = read_positions("piles", written(tmp_path, PILES))
    game, state = position.game, position.states[0]
    assert (position.name, position.why, game.num_players) == ("Of two", "To test, in two lines.", 2)
    shown = game.render_view(view_of(position)[0])
    assert "turn 5 of 40, player_0 to move" in shown
    for text in ("8♥ = ", "K♠ = ", "player_0 took from passes: 6♥", "player_1 took from passes: 3♣", "(Red)",
                 "> player_0 (you)  9♥ 9♦ 10♥ 10♦ Q♥ Q♦ K♥ K♦"):  # fmt: skip
        assert text in shown
    assert game.moves_to_text(state)[-1]
    assert {game.action_to_text(state, action) for action in position.best} >= {"9h@a1", "Qh@a1", "Kh@b1"}


def test_wall_is_read_as_it_is_written(tmp_path: Path) -> None:
    text = WALL.replace("  XX\n  Kh Ac 6h", "  . XX\n  Kh Ac 6h")
    (position,) = read_positions("wall", written(tmp_path, text))
    game = position.game
    assert game.render_view(view_of(position)[0]) == (
        "Wall, player_0 to place 8♠ from the discard pile; player_0 1, player_1 1\n\n"
        "> player_0 (you)  1 points  in hand: 8♠\n      9♥  ·\n    5♥  4♦  3♦\n\n"
        "  player_1  1 points\n      ·   ★7\n    K♥  A♣  6♥\n\n"
        "discard pile from the top: 7♠ Q♥\ndeck: 43 cards"
    )
    assert legal_texts(game, position.states) == {"discard", "left", "right"}


def replaced(text: str, old: str, new: str) -> str:
    assert old in text
    return text.replace(old, new)


@pytest.mark.parametrize(
    ("game", "text", "message"),
    [
        ("piles", replaced(PILES, "hand: ", "hands: "), ":10: hands: there is no such key; the keys are name, castle"),
        ("piles", replaced(PILES, "colour: red\n", ""), ":3: 'colour' is missing"),
        ("piles", replaced(PILES, "why", "best"), ":15: 'best' stands twice"),
        ("piles", replaced(PILES, "hand: ", "hand "), ":10: neither 'key: value' nor an indented line: 'hand Kh"),
        ("piles", "  Kh\n", ":1: an indented line goes on with a value"),
        ("piles", replaced(PILES, "players: 2", "players: 3"), ":4: players: must be one of 4, 2, not '3'"),
        ("piles", replaced(PILES, "Tc\n", "Tc 2h\n"), ":6: castle: the Castle is 3 lines of 4 piles"),
        ("piles", replaced(PILES, "Tc\n", "Xc\n"), ":8: castle: 'Xc' is no card"),
        ("piles", replaced(PILES, "Tc\n", "XX\n"), ":6: castle: XX is not in the pack"),
        ("piles", replaced(PILES, "Tc\n", "Kh\n"), ":10: hand: Kh is named too often"),
        ("piles", replaced(PILES, "9h 9d", "9h"), ":10: hand: 4 cards are placed or taken, so there are 8 in the hand"),
        ("piles", replaced(PILES, "colour: red", "colour: none"), ":11: colour: must be red or black"),
        ("piles", replaced(PILES, "8h/2c", "8h/Kc"), ":6: castle: no game was found that leads here"),
        ("piles", replaced(PILES, "why:", "hidden: 2h\nwhy:"), ":15: hidden: these cards are nowhere: Ah"),
        ("piles", replaced(PILES, "6h", "rest").replace("3c", "rest"), ":13: they took: 'rest' may stand in one"),
        ("piles", replaced(PILES, "Kh Kd Qh Qd Th Td 9h 9d", "").replace("6h", "rest"),
         ":6: castle: 40 cards are placed or taken, so the game is over"),
        ("piles", replaced(PILES, "Kh@b1", "Ah@b1"), ":14: best: P6: player_0 does not hold Ah"),
        ("piles", replaced(PILES, "Kh@b1", "*c@*"), ":14: best: no legal move looks like '*c@*'; legal are pass, 9h@"),
        ("piles", replaced(PILES, "Kh@b1", "*"), ":14: best: every legal move is among them"),
        ("piles", f"{PILES}\n{PILES}", ":20: name: there is another position called 'Of two'"),
        ("wall", WALL, ":6: player_1: level 1 has 2 places ('.' for an empty one), not 1"),
        ("wall", replaced(WALL, "player_1", "player_2"), ":1: 'player_1' is missing; each player has a wall"),
        ("wall", replaced(WALL, "  XX\n  Kh Ac 6h\n", ""), ":5: player_1: a wall has a base"),
        ("wall", replaced(WALL, "  XX\n", "").replace("9h .", "Th ."), "W10: 10♥ does not equal 5 + 4"),
        ("wall", replaced(WALL, "  XX\n", "").replace("Kh Ac", "Kh 2c"), "W9: "),
        ("wall", replaced(WALL, "  XX\n", "").replace("6h", "6c"), ":3: player_0: each base needs a card of rank 2"),
        ("wall", replaced(WALL, "  XX\n", "").replace("best: right", "best: build 1.1"), "W10"),
        ("wall", replaced(WALL, "  XX\n", "").replace("discard:", "drawn: 9d\ndiscard:"), ":7: drawn: one card may be"),
    ],
)  # fmt: skip
def test_mistakes_are_named_with_their_line(game: str, text: str, message: str, tmp_path: Path) -> None:
    path = written(tmp_path, text)
    with pytest.raises(ValueError) as caught:
        read_positions(game, path)
    assert str(caught.value).startswith(f"{path}:")
    assert message in str(caught.value)


# --- agents in them ---------------------------------------------------------------------------------------------------


def test_greedy_is_right_on_the_last_turn() -> None:
    last = [position for position in load_positions("piles") if position.states["turn"][0] == 39]
    assert shares(last, "greedy") == pytest.approx([1.0] * len(last))
    assert 0 < np.mean(shares(last, "random")) < 0.9


def test_pimc_is_right_nearly_always() -> None:
    assert np.mean(shares(load_positions("piles"), "pimc:playouts=300")) > 0.9


def test_the_command_prints_two_tables(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["positions", "wall", "--agents", "random", "greedy"]) == 0
    output = capsys.readouterr().out
    lines = output.splitlines()
    assert lines[0].startswith("| agent ") and [line.split()[1] for line in lines[2:4]] == ["random", "greedy"]
    assert sum(line.startswith("| ") for line in lines) == 2 + len(load_positions("wall")) + 2
    assert "✓" in output and "✗" in output
    assert main(["positions", "wall", "--agents", "random", "greedy"]) == 0
    assert capsys.readouterr().out == output


def test_positions_for_one_number_of_players(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["positions", "piles", "--players", "2", "--agents", "greedy"]) == 0
    assert "| 4 " not in capsys.readouterr().out
    assert main(["positions", "piles", "--players", "3", "--agents", "greedy"]) == 1
    assert "no position is for 3 players; there are some for [2, 4]" in capsys.readouterr().err


def test_an_unknown_agent_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["positions", "piles", "--agents", "clever"]) == 1
    assert "unknown agent 'clever'" in capsys.readouterr().err


def test_a_report_marks_what_is_right_always_and_never() -> None:
    positions = [position for position in load_positions("piles") if position.name == "Last card: pass"]
    assert "| Last card: pass | 4       | ✓      |" in report(positions, ["greedy"])
