"""Game records: written, read, checked and replayed; and what is wrong with a bad one is said."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from cardtable import records
from cardtable.game import Game, States
from cardtable.records import GameRecord, RecordError
from tests.playing import CASES, Case, contents, over, play_steps, saved, view_all, walk

# A whole game of four players.
PILES = (
    '{"format":"cardtable/1","game":"piles-v0","rules":{"num_players":4,"opener_may_pass":false,"passed_cards":"shown",'
    '"reward":"margin"},"seed":1,"players":["player_0","player_1","player_2","player_3"],"deal":{"opener":0,"hands":['
    '["5h","Qh","3c","4c","8c","Kc","Jd","Qd","6s","9s"],["4h","8h","Jh","Kh","7c","Qc","2d","5d","9d","Ks"],'
    '["3h","Th","2c","5c","9c","Tc","Jc","Td","Kd","8s"],["Ah","2h","6h","Ad","3d","6d","7d","8d","5s","7s"]],'
    '"castle":["4d","As","6c","9h","Ac","3s","Js","7h","Qs","2s","Ts","4s"],"stock":[]},"moves":["9s@b2","pass:7c",'
    '"8s@b1","pass:Ah","Kc@d1","Qc@b2","Th@d3","5s@c2","6s@c2","4h@a1","9c@b3","8d@d2","5h@a2","9d@d3","Jc@d1",'
    '"Ad@d2","8c@b1","Ks@b2","2c@c1","7s@d1","4c@c3","Kh@d1","Tc@c2","pass:6h","pass:Qd","8h@d3","Kd@d2","6d@d1",'
    '"3c@b1","pass:5d","Td@d2","7d@b1","Jd@d3","pass:Jh","3h@d3","pass:2h","Qh@a1","pass:2d","5c@d3","3d@a1"],'
    '"scores":[21,28]}'
)
# By hand: two sevens, an ace on them, a joker that stands for a king, and an ace on ace and king.
WALL = (
    '{"format":"cardtable/1","game":"wall-v0","rules":{"num_players":2,"num_decks":1,"jokers_per_deck":2,'
    '"max_width":null,"ends":"idle","reward":"margin"},"seed":0,"players":["Ann","Bob"],"deal":{"starting_player":1,'
    '"deck":["7d","Ad","6s","XX","6c","Kc","As","2s","3s","4s","5s","7s","8s","9s","Ts","Js","Qs","Ks","Ah","2h",'
    '"3h","4h","5h","6h","8h","9h","Th","Jh","Qh","Kh","2d","3d","4d","5d","6d","8d","9d","Td","Jd","Qd","Kd","Ac",'
    '"2c","3c","4c","5c","8c","9c","Tc","Jc","Qc","XX"]},"moves":["start 7h","start 7c","draw","right","draw",'
    '"discard","take","build 1.0","draw","left","draw","discard","take","build 1.0","draw","right","pass","draw",'
    '"build 1.1","pass","draw","build 2.0","pass","pass"],"scores":[1,4]}'
)
GOLDEN = pytest.mark.parametrize("line", [PILES, WALL], ids=["piles", "wall"])


@pytest.mark.parametrize(("line", "scores"), [(PILES, [21, 28]), (WALL, [1, 4])], ids=["piles", "wall"])
def test_golden_record(line: str, scores: list[int]) -> None:
    record = GameRecord.from_json(line)
    assert record.to_json() == line
    game, states = records.game_of(record), records.verify(record)
    assert game.terminated(states)[0]
    assert game.scores(states)[0].tolist() == scores == record.scores
    assert game.to_record(states[0], record.players) == record


# --- round trips ------------------------------------------------------------------------------------------------------


def same_position(game: Game, first: States, second: States) -> bool:
    """Whether all seats see the same, and the same cards will be drawn.

    Two copies of a card may have changed places; and where a start card lay in the deck is not in a record.
    """
    same = contents(view_all(game, first)) == contents(view_all(game, second))
    return same and (first["seed"] == second["seed"]).all() and upcoming(first) == upcoming(second)


def upcoming(states: States) -> list[int]:
    """The hidden cards of Wall in order, as they look."""
    state = states[0]
    if "deck" not in (states.dtype.names or ()) or state["phase"] == 0:
        return []
    deck = state["deck"][state["deck_top"] : state["deck_length"]]
    return [104 if card >= 104 else int(card) % 52 for card in deck]


@over(CASES)
def test_record_of_a_whole_game(case: Case) -> None:
    game = case.game
    for seed in range(3):
        walked = walk(game, seed)
        record = game.to_record(walked.states[-1][0])
        line = record.to_json()
        assert "\n" not in line
        read = GameRecord.from_json(line)
        assert read == record
        assert records.game_of(read) == game
        replayed = list(records.replay(read))
        assert len(replayed) == len(walked.states) == len(read.moves) + 1
        for then, now in zip(walked.states, replayed, strict=True):
            assert same_position(game, then, now)
            assert (game.action_mask(then) == game.action_mask(now)).all()
            assert (game.rewards(then) == game.rewards(now)).all()
        assert contents(records.verify(read)) == contents(game.from_record(read)) == contents(replayed[-1])


@over(CASES)
def test_record_of_a_game_that_goes_on(case: Case) -> None:
    game = case.game
    walked = walk(game, seed=4)
    for at in range(0, len(walked.actions), len(walked.actions) // 12 + 1):
        record = GameRecord.from_json(game.to_record(walked.states[at][0]).to_json())
        assert record.scores is None
        assert len(record.moves) == at
        assert same_position(game, records.verify(record), walked.states[at])


@over(CASES)
def test_an_environment_writes_its_record(case: Case) -> None:
    env = case.env()
    env.reset(seed=5)
    play_steps(env, 9, seed=5)
    raw = saved(env)
    record = raw.record()
    assert record == raw.game.to_record(raw.clone_state().states[0], env.possible_agents)
    assert record.moves and record.players == env.possible_agents
    assert same_position(raw.game, records.verify(record), raw.clone_state().states)


def test_names_of_players_are_kept() -> None:
    game = CASES[0].game
    record = game.to_record(walk(game, 6).states[3][0], ["Ann", "Bob", "Cem", "Dot"])
    assert GameRecord.from_json(record.to_json()).players == ["Ann", "Bob", "Cem", "Dot"]


def test_replayed_positions_are_independent() -> None:
    positions = records.replay(GameRecord.from_json(WALL))
    first = next(positions)
    first[:] = np.zeros(1, first.dtype)
    assert records.game_of(GameRecord.from_json(WALL)).scores([*positions][-1])[0].tolist() == [1, 4]


# --- bad records ------------------------------------------------------------------------------------------------------


def refuse(line: str, words: str) -> None:
    """The record must be refused with a message that matches `words`."""
    with pytest.raises(RecordError, match=words):
        records.verify(GameRecord.from_json(line))


def edited(line: str, edit: Callable[[dict[str, Any]], object]) -> str:
    data = json.loads(line)
    edit(data)
    return json.dumps(data)


def put(*path: str | int, to: Any) -> Callable[[dict[str, Any]], None]:
    """An edit: set what stands at the end of a path of names and numbers; append where a number is one too high."""

    def edit(data: dict[str, Any]) -> None:
        at: Any = data
        for step in path[:-1]:
            at = at[step]
        if isinstance(at, list) and path[-1] == len(at):
            at.append(to)
        else:
            at[path[-1]] = to

    return edit


def cut(*path: str, keep: int) -> Callable[[dict[str, Any]], None]:
    """An edit: keep only the first items of the list at the end of a path."""

    def edit(data: dict[str, Any]) -> None:
        at: Any = data
        for step in path:
            at = at[step]
        del at[keep:]

    return edit


def both(*edits: Callable[[dict[str, Any]], object]) -> Callable[[dict[str, Any]], None]:
    def edit(data: dict[str, Any]) -> None:
        for each in edits:
            each(data)

    return edit


BAD_PILES = {
    "card missing": (put("deal", "hands", 0, to=["5h"]), r"^deal: P3: hands"),
    "castle card missing": (cut("deal", "castle", keep=11), r"^deal: P3: castle"),
    "card doubled": (put("deal", "hands", 0, 0, to="4h"), r"^deal: P1: 4h is dealt twice"),
    "castle card doubled": (put("deal", "castle", 0, to="4h"), r"^deal: P1: 4h is dealt twice"),
    "joker": (put("deal", "castle", 0, to="XX"), r"^deal: P1: .*joker"),
    "no card": (put("deal", "castle", 0, to="1h"), r"^deal: '1h' is no card"),
    "card of a wrong type": (put("deal", "castle", 0, to=7), r"^deal: 7 is no card"),
    "hand missing": (cut("deal", "hands", keep=3), r"^deal: P3: hands"),
    "stock of four players": (put("deal", "stock", 0, to="5h"), r"^deal: P3: stock"),
    "hands are text": (put("deal", "hands", to="5h"), r"^deal: P3: hands"),
    "no deal": (put("deal", to={}), r"^deal: P3"),
    "more in the deal": (put("deal", "more", to=1), r"^deal: P3"),
    "opener out of range": (put("deal", "opener", to=4), r"^deal: PD4: opener must be .* not 4"),
    "another opener": (put("deal", "opener", to=1), r"^move 1 \('9s@b2'\): P6: player_1 does not hold 9s"),
    "rank too low": (put("moves", 0, to="5h@c2"), r"^move 1 \('5h@c2'\): P10: rank 5 is not higher than 13"),
    "card not held": (put("moves", 0, to="Ah@b2"), r"^move 1 \('Ah@b2'\): P6: player_0 does not hold Ah"),
    "card played before": (put("moves", 4, to="9s@b2"), r"^move 5 \('9s@b2'\): P6: player_0 does not hold 9s"),
    "card lost before": (put("moves", 5, to="7c@b2"), r"^move 6 \('7c@b2'\): P6: player_1 does not hold 7c"),
    "opener passes": (put("moves", 0, to="pass:5h"), r"^move 1 \('pass:5h'\): PD1"),
    "wrong taken card": (put("moves", 1, to="pass:Ah"), r"^move 2 \('pass:Ah'\): P11"),
    "no taken card": (put("moves", 1, to="pass"), r"^move 2 \('pass'\): P11"),
    "taken joker": (put("moves", 1, to="pass:XX"), r"^move 2 \('pass:XX'\): P11"),
    "taken nonsense": (put("moves", 1, to="pass:7"), r"^move 2 \('pass:7'\): '7' is no card"),
    "no pile": (put("moves", 0, to="9s@e1"), r"^move 1 \('9s@e1'\): P6"),
    "no move": (put("moves", 0, to="hello"), r"^move 1 \('hello'\): P6"),
    "empty move": (put("moves", 0, to=""), r"^move 1 \(''\): P6"),
    "more after a move": (put("moves", 0, to="9s@b2:7c"), r"^move 1 \('9s@b2:7c'\): P6"),
    "moves missing": (cut("moves", keep=35), r"not over after move 35, .*P12.*moves are missing"),
    "moves after the end": (put("moves", 40, to="pass:5h"), r"^move 41 \('pass:5h'\): P12: the game is over"),
    "wrong score": (put("scores", to=[21, 29]), r"after move 40, .*\[21, 28\] by P13 and P14, not \[21, 29\]"),
    "scores changed round": (put("scores", to=[28, 21]), r"after move 40, .*\[21, 28\]"),
    "a score too many": (put("scores", to=[21, 28, 0]), r"after move 40, .*\[21, 28\]"),
    "no scores": (put("scores", to=None), r"after move 40 the game is over with scores \[21, 28\]"),
    "a player missing": (cut("players", keep=3), r"3 players are named; the rules say 4"),
    "rules for two players": (put("rules", "num_players", to=2), r"4 players are named; the rules say 2"),
    "deal for two players": (
        both(put("rules", "num_players", to=2), cut("players", keep=2)),
        r"^deal: P3: hands",
    ),
    "wrong value of a rule": (put("rules", "num_players", to=3), r"num_players must be .* not 3"),
    "another game": (put("game", to="wall-v0"), r"unknown option 'opener_may_pass'"),
}
BAD_WALL = {
    "card missing": (cut("deal", "deck", keep=51), r"^deal: W1: XX .* 1 times, not 2"),
    "card doubled": (put("deal", "deck", 0, to="As"), r"^deal: W1: 7d .* 0 times, not 1|^deal: W1: As .* 2 times"),
    "card too many": (put("deal", "deck", 52, to="As"), r"^deal: W1: As .* 2 times, not 1"),
    "no card": (put("deal", "deck", 0, to="1h"), r"^deal: '1h' is no card"),
    "deck is text": (put("deal", "deck", to="7d"), r"^deal: W1"),
    "no deal": (put("deal", to={}), r"^deal: W3"),
    "starting player out of range": (
        put("deal", "starting_player", to=2),
        r"^deal: W3: starting_player must be .* not 2",
    ),
    "rules for two decks": (put("rules", "num_decks", to=2), r"^deal: W1: .* 1 times, not 2"),
    "rules for one joker": (put("rules", "jokers_per_deck", to=1), r"^deal: W1: XX .* 2 times, not 1"),
    "start card still in the deck": (put("moves", 0, to="start 7d"), r"^deal: W1: 7"),
    "start card of a higher id": (
        both(put("moves", 0, to="start 7d"), put("deal", "deck", 0, to="7h")),
        r"^move 1 \('start 7d'\): WD4",
    ),
    "start cards in the wrong order": (
        both(put("moves", 0, to="start 7c"), put("moves", 1, to="start 7h")),
        r"^move 1 \('start 7c'\): WD4",
    ),
    "start card of a wrong rank": (
        both(put("moves", 0, to="start 8s"), put("deal", "deck", 12, to="7h")),
        r"^move 1 \('start 8s'\): W",
    ),
    "draw instead of a start card": (
        both(put("moves", 1, to="draw"), put("deal", "deck", 52, to="7c")),
        r"^move 2 \('draw'\): W4",
    ),
    "start card later": (
        both(put("moves", 2, to="start 7d"), lambda data: data["deal"]["deck"].pop(0)),
        r"^move 3 \('start 7d'\): W",
    ),
    "drawn twice": (put("moves", 3, to="draw"), r"^move 4 \('draw'\): W6"),
    "card placed before one is taken": (put("moves", 2, to="discard"), r"^move 3 \('discard'\): W5"),
    "empty discard pile": (put("moves", 2, to="take"), r"^move 3 \('take'\): WD3"),
    "wrong value built": (put("moves", 5, to="build 1.0"), r"^move 6 \('build 1\.0'\): W10"),
    "built on a taken place": (
        put("moves", 18, to="build 1.0"),
        r"^move 19 \('build 1\.0'\): W10: place 1\.0 is taken",
    ),
    "built in the air": (put("moves", 3, to="build 2.0"), r"^move 4 \('build 2\.0'\): W10"),
    "no such place": (put("moves", 3, to="build 99.0"), r"^move 4 \('build 99\.0'\): W10"),
    "joker in the base": (put("moves", 13, to="left"), r"^move 14 \('left'\): W9: a joker"),
    "base too high": (put("moves", 18, to="right"), r"^move 19 \('right'\): W9"),
    "base too wide": (put("rules", "max_width", to=2), r"^move 16 \('right'\): WD2"),
    "no move": (put("moves", 2, to="hello"), r"^move 3 \('hello'\): W5"),
    "moves missing": (cut("moves", keep=22), r"not over after move 22, .*WD1.*moves are missing"),
    "moves after the end": (put("moves", 24, to="pass"), r"^move 25 \('pass'\): WD1: the game is over"),
    "wrong score": (put("scores", to=[1, 5]), r"after move 24, .*\[1, 4\] by W2, not \[1, 5\]"),
    "no scores": (put("scores", to=None), r"after move 24 the game is over with scores \[1, 4\]"),
    "a player too many": (put("players", 2, to="Cem"), r"3 players are named; the rules say 2"),
    "wrong value of a rule": (put("rules", "max_width", to=0), r"max_width must be .* not 0"),
    "another game": (put("game", to="piles-v0"), r"unknown option 'num_decks'"),
}
BAD_ANY = {
    "format of another version": (put("format", to="cardtable/2"), r"format is 'cardtable/2'.*'cardtable/1'"),
    "no format": (lambda data: data.pop("format"), r"format is None"),
    "unknown game": (put("game", to="chess-v0"), r"unknown game 'chess-v0'.*piles-v0, wall-v0"),
    "unknown rule": (put("rules", "speed", to=1), r"unknown option 'speed'; the options are num_players"),
    "unknown rule called name": (put("rules", "name", to="x"), r"unknown option 'name'; the options are num_players"),
    "rule of a wrong type": (put("rules", "num_players", to="2"), r"num_players must be .* not '2'"),
    "field missing": (lambda data: data.pop("moves"), r"field 'moves' is missing"),
    "unknown field": (put("note", to="x"), r"unknown field 'note'; the fields are format, game"),
    "number as a move": (put("moves", 0, to=3), r"field 'moves' holds 3"),
    "number as a player": (put("players", 0, to=3), r"field 'players' holds 3"),
    "fraction as a score": (put("scores", 0, to=1.0), r"field 'scores' holds 1\.0"),
    "truth as a score": (put("scores", 0, to=True), r"field 'scores' holds True"),
    "seed too low": (put("seed", to=-1), r"seed -1 is not in"),
    "seed too high": (put("seed", to=2**64), rf"seed {2**64} is not in"),
    **{
        f"{name} = {value!r}": (put(name, to=value), rf"field '{name}' is .* wrong type")
        for name in ("game", "rules", "seed", "players", "deal", "moves", "scores")
        for value in (1.5, True, "text", {"a": 1}, [1.5], None)
        if (name, type(value)) not in {("game", str), ("rules", dict), ("deal", dict), ("scores", type(None))}
        if not (isinstance(value, list) and name in ("players", "moves", "scores"))
    },
}


def _parameters(bad: dict[str, Any]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(("edit", "words"), list(bad.values()), ids=list(bad))


@_parameters(BAD_PILES)
def test_bad_piles_record(edit: Callable[[dict[str, Any]], object], words: str) -> None:
    refuse(edited(PILES, edit), words)


@_parameters(BAD_WALL)
def test_bad_wall_record(edit: Callable[[dict[str, Any]], object], words: str) -> None:
    refuse(edited(WALL, edit), words)


@GOLDEN
@_parameters(BAD_ANY)
def test_bad_record(line: str, edit: Callable[[dict[str, Any]], object], words: str) -> None:
    refuse(edited(line, edit), words)


@GOLDEN
def test_json_that_is_cut_off(line: str) -> None:
    for length in range(len(line)):
        refuse(line[:length], "the record may be cut off")
    refuse(line + line, "not a JSON line")


@pytest.mark.parametrize("text", ["[]", "null", "3", '"text"', "[1,2]"])
def test_json_that_is_no_record(text: str) -> None:
    refuse(text, "a record is a JSON object")


@GOLDEN
def test_a_game_that_goes_on_may_have_no_scores_only(line: str) -> None:
    record = GameRecord.from_json(edited(line, both(cut("moves", keep=20), put("scores", to=None))))
    assert not records.game_of(record).terminated(records.verify(record))[0]


def illegal_actions_with_text(game: Game, states: States) -> list[int]:
    """The illegal actions that can be written: not placing a card that is not held, nor starting with one not there."""
    illegal = np.flatnonzero(game.action_mask(states)[0] == 0).tolist()
    if game.name == "wall-v0":
        return [action for action in illegal if action >= 6]
    hand = int(states["hand"][0][states["to_move"][0]])
    return [action for action in illegal if action == 312 or (hand >> action % 26 | hand >> action % 26 + 26) & 1]


def illegal_move(game: Game, state: np.void, action: int) -> str:
    if game.name == "wall-v0":
        return game.action_name(action)
    if action == 312:  # PD1, so the opener still holds all his cards
        return f"pass:{game.deal_to_json(state)['hands'][int(state['to_move'])][0]}"
    return game.action_to_text(state, action)


@over(CASES)
def test_an_illegal_next_move_is_refused(case: Case) -> None:
    """Whatever is illegal where a game stands is refused as the next move of its record."""
    game, rng, refused = case.game, np.random.default_rng(8), 0
    walked = walk(game, seed=8)
    for quarter in range(4):
        at = quarter * len(walked.actions) // 4
        state = walked.states[at][0]
        record = json.loads(game.to_record(state).to_json())
        for action in rng.permutation(illegal_actions_with_text(game, walked.states[at]))[:6].tolist():
            text = illegal_move(game, state, action)
            words = rf"^move {at + 1} \('{text}'\): (PD?|WD?)\d+"
            refuse(json.dumps({**record, "moves": [*record["moves"], text]}), words)
            refused += 1
    assert refused >= 6
