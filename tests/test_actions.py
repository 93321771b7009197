"""Actions: exactly the marked ones are accepted, and what else is given is refused with a clear message."""

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import piles_env
import piles_env.actions
import wall_env
import wall_env.actions
from cardtable.game import Game, IllegalAction, States
from tests.playing import (
    CASES,
    CLAUSE,
    PILES_CASES,
    WALL_CASES,
    Case,
    Env,
    contents,
    fingerprint,
    over,
    play_episode,
    play_games,
    play_steps,
    positions,
    rows,
    saved,
)

ONE_OF_EACH = [PILES_CASES[0], WALL_CASES[0]]


def accepts(game: Game, states: States, action: int) -> bool:
    """Whether a copy of a position [1] takes an action; if not, the error must be clear and nothing changed."""
    tried = states.copy()
    try:
        game.step(tried, np.array([action]))
    except IllegalAction as error:
        assert contents(tried) == contents(states), "a refused action has changed something"
        check_message(game, error, action, lane=0)
        return False
    assert contents(tried) != contents(states), "an accepted action has changed nothing"
    return True


def check_message(game: Game, error: IllegalAction, action: int, lane: int) -> None:
    assert (error.lane, error.action) == (lane, action)
    assert f"lane {lane}:" in str(error)
    assert f"{action} ({game.action_name(action)})" in str(error)
    assert CLAUSE.match(error.reason), f"no clause: {error.reason}"
    assert error.reason in str(error)


@over(CASES)
def test_the_mask_marks_exactly_the_accepted_actions(case: Case) -> None:
    game = case.game
    for states in rows(positions(game, 6, seed=1)):
        mask = game.action_mask(states)[0]
        seat = game.current_player(states)
        assert (game.observe(game.view(states, seat))[1][0] == mask).all(), "the mover's own mask"
        assert [accepts(game, states, action) for action in range(game.num_actions)] == (mask == 1).tolist()


@over(CASES)
def test_one_illegal_lane_stops_the_whole_batch(case: Case) -> None:
    game, rng = case.game, np.random.default_rng(2)
    states = positions(game, 32, seed=2)
    masks = game.action_mask(states)
    actions = masks.argmax(axis=1)
    for lane in (0, 13, 31):
        refused = actions.copy()
        refused[lane] = rng.choice(np.flatnonzero(masks[lane] == 0))
        before = contents(states)
        with pytest.raises(IllegalAction) as caught:
            game.step(states, refused)
        assert contents(states) == before
        check_message(game, caught.value, int(refused[lane]), lane)
    game.step(states, actions)
    assert contents(states) != before


@over(CASES)
def test_a_finished_game_takes_no_action(case: Case) -> None:
    game = case.game
    ends = play_games(game, 3, seed=3).end
    assert not game.action_mask(ends).any()
    assert game.terminated(ends).all()
    assert (game.current_player(ends) == -1).all()
    for states in rows(ends):
        for action in (0, game.num_actions - 1):
            before = contents(states)
            with pytest.raises(IllegalAction, match="the game is over"):
                game.step(states, np.array([action]))
            assert contents(states) == before


def test_W4_a_start_rank_that_is_gone() -> None:
    game = Case(wall_env, {"num_players": 6}).game
    states = game.new_states(np.zeros(1, np.uint64))
    for _ in range(4):
        assert accepts(game, states, 0)
        game.step(states, [0])
    assert not accepts(game, states, 0)
    assert np.flatnonzero(game.action_mask(states)[0]).tolist() == [1, 2, 3, 4, 5]


# --- what is no action ------------------------------------------------------------------------------------------------

NO_INTEGERS = [None, 1.0, math.nan, math.inf, True, np.True_, "3", "pass", b"3", 3j]
NO_ACTION_IDS = [-1, -(2**40), 2**40, 2**63 - 1, 2**64 - 1, 2**80, np.int64(-1)]


@pytest.mark.parametrize("action", NO_INTEGERS + NO_ACTION_IDS, ids=repr)
@over(ONE_OF_EACH)
def test_step_names_what_is_no_action(case: Case, action: Any) -> None:
    game = case.game
    states = positions(game, 1, seed=4)
    before = contents(states)
    with pytest.raises(IllegalAction, match="lane 0:") as caught:
        game.step(states, [action])
    assert repr(action) in str(caught.value) or repr(caught.value.action) in str(caught.value)
    assert f"0 to {game.num_actions - 1}" in str(caught.value), "the message says what an action is"
    assert contents(states) == before


@pytest.mark.parametrize("action", [None, 1.0, True, "3"], ids=repr)
def test_step_names_the_lane_of_what_is_no_action(action: Any) -> None:
    game = PILES_CASES[0].game
    states = positions(game, 2, seed=4)
    legal = int(game.action_mask(states)[0].argmax())
    before = contents(states)
    with pytest.raises(IllegalAction, match="lane 1:"):
        game.step(states, [legal, action])
    assert contents(states) == before


@pytest.mark.parametrize("shape", [(), (0,), (1,), (3,), (2, 1), (1, 2)], ids=str)
@over(ONE_OF_EACH)
def test_one_action_is_needed_for_each_game(case: Case, shape: tuple[int, ...]) -> None:
    game = case.game
    states = positions(game, 2, seed=5)
    before = contents(states)
    with pytest.raises(ValueError, match=re.escape(str(shape))):
        game.step(states, np.zeros(shape, np.int64))
    assert contents(states) == before


@over(ONE_OF_EACH)
def test_an_empty_batch_can_be_stepped(case: Case) -> None:
    game = case.game
    states = game.new_states(np.zeros(0, np.uint64))
    game.step(states, np.zeros(0, np.int64))
    assert len(states) == len(game.action_mask(states)) == len(game.rewards(states)) == 0


def playing_env(make: Callable[[], Env]) -> Env:
    env = make()
    env.reset(seed=6)
    play_steps(env, 4, seed=6)
    return env


@pytest.mark.parametrize("action", [*NO_INTEGERS, *NO_ACTION_IDS, np.zeros(2, np.int64), [3]], ids=repr)
@pytest.mark.parametrize("wrapped", [False, True], ids=["raw_env", "env"])
@over(ONE_OF_EACH)
def test_an_environment_names_what_is_no_action(case: Case, wrapped: bool, action: Any) -> None:
    env = playing_env(case.env if wrapped else case.raw_env)
    before = fingerprint(env)
    # PettingZoo's wrapper asserts and does not say more than that.
    kinds, words = (AssertionError, IllegalAction) if wrapped else IllegalAction, "not in action space|not legal"
    with pytest.raises(kinds, match=words):
        env.step(action)
    assert fingerprint(env) == before
    play_episode(env, 6)


@pytest.mark.parametrize(
    "kind", [int, np.int16, np.int32, np.int64, np.uint16, np.array], ids=lambda kind: kind.__name__
)
@over(ONE_OF_EACH)
def test_an_environment_takes_every_integer_that_its_space_holds(case: Case, kind: Callable[[int], Any]) -> None:
    for make in (case.raw_env, case.env):
        env = playing_env(make)
        agent, before = env.agent_selection, fingerprint(env)
        action = kind(int(env.observe(agent)["action_mask"].argmax()))
        assert env.action_space(agent).contains(action)
        env.step(action)
        assert fingerprint(env) != before
        assert not any(env.terminations.values())


@over(ONE_OF_EACH)
def test_an_environment_whose_game_is_over_takes_None_alone(case: Case) -> None:
    for make in (case.raw_env, case.env):
        env = make()
        env.reset(seed=7)
        raw = saved(env)
        raw.game.playout(raw._states, np.zeros(1, np.uint64))
        env.reset(options={"state": raw.clone_state().states})
        assert all(env.terminations.values())
        for agent in env.possible_agents:
            assert not env.last()[0]["action_mask"].any()
            with pytest.raises(ValueError, match="only valid action is None"):
                env.step(0)
            env.step(None)
            assert agent not in env.agents
    with pytest.raises(RuntimeError, match="reset"):
        raw.step(None)


# --- options ----------------------------------------------------------------------------------------------------------

WRONG_PILES: list[tuple[str, list[Any]]] = [
    ("num_players", [3, 0, -2, 4.0, "4", None, True, [4]]),
    ("opener_may_pass", [1, 0, None, "yes", "False"]),
    ("passed_cards", ["secret", "", None, True, 0, "SHOWN"]),
    ("reward", ["points", "score", "", None, 1]),
]
WRONG_WALL: list[tuple[str, list[Any]]] = [
    ("num_players", [0, 7, -1, 2.0, "2", None, True]),
    ("num_decks", [0, 3, -1, 1.0, "1", None, True]),
    ("jokers_per_deck", [-1, 5, 2.0, "2", None, False]),
    ("max_width", [0, -1, 2.5, "6", True, False, [6], math.nan]),
    ("ends", ["never", "", None, 0]),
    ("reward", ["points", "", None, 1]),
]
WRONG_OPTIONS = [
    pytest.param(package, name, value, id=f"{package.__name__}-{name}={value!r}")
    for package, wrong in ((piles_env, WRONG_PILES), (wall_env, WRONG_WALL))
    for name, values in wrong
    for value in values
]


@pytest.mark.parametrize(("package", "name", "value"), WRONG_OPTIONS)
def test_a_wrong_value_of_an_option_is_named(package: Any, name: str, value: Any) -> None:
    rules = package.PilesRules if package is piles_env else package.WallRules
    for make in (package.env, package.raw_env, rules):
        with pytest.raises(ValueError, match=f"{name} must be .*{re.escape(repr(value))}"):
            make(**{name: value})


@pytest.mark.parametrize("package", [piles_env, wall_env], ids=lambda package: package.__name__)
def test_an_unknown_option_is_named_and_the_known_ones_listed(package: Any) -> None:
    options = package.env().unwrapped.game.rules.__dataclass_fields__
    for make in (package.env, package.raw_env):
        with pytest.raises(ValueError, match="'players'") as caught:
            make(players=2)
        assert all(name in str(caught.value) for name in options)
        with pytest.raises(ValueError, match=r"render_mode must be .*'rgb'"):
            make(render_mode="rgb")


def a_deal(case: Case) -> dict[str, Any]:
    game = case.game
    return game.deal_to_json(game.new_states(np.zeros(1, np.uint64))[0])


def wrong_reset_options(case: Case) -> list[tuple[dict[str, Any], str]]:
    """Reset options that are not possible, each with what the message has to say."""
    game, other_game = case.game, (PILES_CASES[1] if case.is_piles else WALL_CASES[1]).game
    first = "opener" if case.is_piles else "starting_player"
    state, deal = game.new_states(np.zeros(1, np.uint64)), a_deal(case)
    foreign = other_game.new_states(np.zeros(1, np.uint64))
    seats = [-1, game.num_players, 1.0, "0", [0], True]
    return [
        ({"dealer": 0}, f"'dealer'.*{first}.*deal"),
        *(({first: seat}, f"{first} must be a seat .*{re.escape(repr(seat))}") for seat in seats),
        *(({"deal": wrong}, CLAUSE.pattern) for wrong in (None, 5, "abc", [], {}, {**deal, "more": 1})),
        *(({"deal": {**deal, first: seat}}, first) for seat in seats),
        ({"deal": {key: value for key, value in deal.items() if key != first}}, CLAUSE.pattern),
        *(({"state": wrong}, "'state'") for wrong in (None, 5, state[0], state[:0], np.zeros(1))),
        *(({"state": np.repeat(state, 2)}, "'state'"), ({"state": state, "deal": deal}, "'deal'")),
        ({"state": foreign}, "num_players"),
    ]


def describe(options: dict[str, Any]) -> str:
    return ",".join(f"{name}={type(value).__name__}:{value!r}"[:40] for name, value in options.items())


@pytest.mark.parametrize(
    ("case", "options", "words"),
    [
        pytest.param(case, options, words, id=f"{case.label}-{describe(options)}")
        for case in ONE_OF_EACH
        for options, words in wrong_reset_options(case)
    ],
)
def test_wrong_reset_options_are_named_and_the_game_goes_on(case: Case, options: dict[str, Any], words: str) -> None:
    env = playing_env(case.env)
    before = fingerprint(env)
    with pytest.raises(ValueError, match=words):
        env.reset(seed=8, options=options)
    assert fingerprint(env) == before
    play_episode(env, 8)


@over(CASES)
def test_right_reset_options(case: Case) -> None:
    env, last_seat = case.env(), case.game.num_players - 1
    first = "opener" if case.is_piles else "starting_player"
    env.reset(seed=9, options={first: last_seat})
    assert env.agent_selection == f"player_{last_seat}"
    deal = saved(env).record().deal
    play_steps(env, 6, seed=9)
    position = saved(env).clone_state().states
    env.reset(seed=10)
    assert saved(env).record().deal != deal
    env.reset(seed=10, options={"deal": deal})
    assert saved(env).record().deal == deal
    env.reset(seed=10, options={"deal": deal, first: 0})
    assert saved(env).record().deal == {**deal, first: 0}
    assert env.agent_selection == "player_0"
    env.reset(seed=11, options={"state": position})
    assert contents(saved(env).clone_state().states) == contents(position)
    play_episode(env, 12)
    env.reset(options={"state": position})
    assert contents(saved(env).clone_state().states) == contents(position), "the caller's position has changed"


# --- text -------------------------------------------------------------------------------------------------------------


@over(CASES)
def test_text_round_trip(case: Case) -> None:
    game = case.game
    for states in rows(positions(game, 40, seed=13)):
        legal = np.flatnonzero(game.action_mask(states)[0]).tolist()
        texts = [game.action_to_text(states[0], action) for action in legal]
        assert [game.text_to_action(states[0], text) for text in texts] == legal
        assert len(set(texts)) == len(texts)


@pytest.mark.parametrize(
    "text", ["", "fly", "Pass", " pass", "pass ", "build", "Th@", "@a1", "Th@e1", "Zz@a1", "XX@a1"]
)
@over(ONE_OF_EACH)
def test_what_is_no_move_is_refused_with_the_notation(case: Case, text: str) -> None:
    game = case.game
    with pytest.raises(ValueError, match=r"is no move|is no card|does not hold") as caught:
        game.text_to_action(positions(game, 1, seed=14)[0], text)
    assert text.partition("@")[0] in str(caught.value)


def test_piles_action_ids_and_fields() -> None:
    actions = piles_env.actions
    places = [actions.decode(action) for action in range(312)]
    assert places == [(pile, kind) for pile in range(12) for kind in range(26)]
    assert [actions.encode(*place) for place in places if place is not None] == list(range(312))
    assert actions.decode(312) is None
    names = [actions.action_name(action) for action in range(313)]
    assert len(set(names)) == 313
    assert names[5 * 26 + 9] == "red T@b2" and names[5 * 26 + 22] == "black T@b2" and names[312] == "pass"


@over(WALL_CASES)
def test_wall_action_ids_and_fields(case: Case) -> None:
    actions, rules = wall_env.actions, case.game.rules
    count = case.game.num_actions
    assert [actions.decode_build(rules, action) for action in range(12)] == [None] * 12
    places = [actions.decode_build(rules, action) for action in range(12, count)]
    levels, width = rules.num_levels, rules.width_limit
    assert places == [(level, at) for level in range(1, levels + 1) for at in range(width - level)]
    assert [actions.encode_build(rules, *place) for place in places if place is not None] == list(range(12, count))
    assert len({actions.action_name(rules, action) for action in range(count)}) == count
    for level, at in ((0, 0), (levels + 1, 0), (1, width - 1), (1, -1), (levels, width - levels)):
        with pytest.raises(ValueError, match=rf"W10.* {level}\.{at};"):
            actions.encode_build(rules, level, at)
    with pytest.raises(ValueError, match=f"0 to {count - 1}"):
        actions.decode_build(rules, count)
