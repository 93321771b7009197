"""Both games as PettingZoo environments."""

import copy
import pickle
from typing import Any

import numpy as np
import pettingzoo
import pytest
from numpy.typing import NDArray
from pettingzoo.test import api_test, render_test, seed_test

import piles_env
from cardtable.aec import Observation
from cardtable.game import Game, IllegalAction
from tests.playing import (
    CASES,
    PILES_CASES,
    WALL_CASES,
    Case,
    Env,
    fingerprint,
    observe_all,
    over,
    play_episode,
    play_games,
    play_steps,
    returns,
    saved,
    walk,
)

GAMES = {case.label: 95 // case.game.num_players for case in CASES}  # longer games for more players, so fewer of them

# What PettingZoo says of every environment whose observations are dictionaries with a mask.
DICTIONARIES = pytest.mark.filterwarnings(
    "ignore:Observation space for each agent probably should be gymnasium.spaces.box:UserWarning",
    "ignore:Observation is not a NumPy array:UserWarning",
    r"ignore:Action mask numpy array is all zeros \(no legal actions\):UserWarning",  # of agents that are done
)


# --- PettingZoo's own tests -------------------------------------------------------------------------------------------


@DICTIONARIES
@over(CASES)
def test_api(case: Case) -> None:
    api_test(case.env(), num_cycles=300)


@DICTIONARIES
@over(CASES)
def test_api_without_wrappers(case: Case) -> None:
    api_test(case.raw_env(), num_cycles=300)


@over(CASES)
def test_seed(case: Case) -> None:
    seed_test(case.env)
    seed_test(case.raw_env)


@over(CASES)
def test_render(case: Case) -> None:
    def shows_all_players(text: str) -> bool:
        return all(f"player_{seat}" in text for seat in range(case.game.num_players))

    render_test(lambda render_mode: case.env(render_mode=render_mode), {"ansi": shows_all_players})


@over([PILES_CASES[0], WALL_CASES[0]])
def test_human_mode_prints_each_position(case: Case, capsys: pytest.CaptureFixture[str]) -> None:
    human, ansi = case.env(render_mode="human"), case.env(render_mode="ansi")
    for env in (human, ansi):
        env.reset(seed=1)
    for _ in range(3):
        capsys.readouterr()
        for env in (human, ansi):
            play_steps(env, 1, seed=2)
        assert capsys.readouterr().out == f"{ansi.render()}\n\n"
        assert human.render() is None
        assert capsys.readouterr().out == f"{ansi.render()}\n\n"


@pytest.mark.parametrize("env_id", ["piles_v0", "wall_v0"])
def test_registry(env_id: str) -> None:
    env = pettingzoo.make("aec", env_id, num_players=2, reward="dense")
    env.reset(seed=0)
    assert env.possible_agents == ["player_0", "player_1"]
    assert saved(env).metadata["name"] == env_id == str(env)
    assert saved(env).game.rules.reward == "dense"
    assert pettingzoo.spec("aec", env_id).version == 0


# --- spaces and observations ------------------------------------------------------------------------------------------


def test_the_cases_have_every_player_count_and_option_value() -> None:
    def values(cases: list[Case], option: str) -> set[Any]:
        return {getattr(case.game.rules, option) for case in cases}

    assert values(PILES_CASES, "num_players") == {2, 4}
    assert values(PILES_CASES, "opener_may_pass") == {False, True}
    assert values(PILES_CASES, "passed_cards") == {"shown", "hidden"}
    assert values(PILES_CASES, "reward") == {"margin", "win", "dense"}
    assert values(WALL_CASES, "num_players") == set(range(1, 7))
    assert values(WALL_CASES, "num_decks") == {1, 2}
    assert values(WALL_CASES, "jokers_per_deck") == set(range(5))
    assert values(WALL_CASES, "max_width") >= {None, 1}
    assert values(WALL_CASES, "ends") == {"idle", "deck"}
    assert values(WALL_CASES, "reward") == {"margin", "win", "score", "dense"}


@over(CASES)
def test_spaces_contain_every_observation_of_every_seat(case: Case) -> None:
    env = case.env()
    spaces = [env.observation_space(agent) for agent in env.possible_agents]
    env.reset(seed=0)

    def look(agent: str, observation: Observation, done: bool) -> None:
        for space, other in zip(spaces, env.possible_agents, strict=True):
            seen = observation if other == agent else env.observe(other)
            assert space.contains(seen), f"{other} sees what his space does not hold"
            assert seen["observation"].dtype == seen["action_mask"].dtype == np.int8
            assert env.infos[other] == {} if other in env.agents else done, "infos hold nothing that could leak"
            mover = other == agent and not done
            assert seen["action_mask"].any() == mover, "only the player to move has legal actions, and he always"
            if mover:
                assert seen["action_mask"][env.action_space(other).sample(seen["action_mask"])] == 1

    for game in range(GAMES[case.label]):
        play_episode(env, game, look)
        env.reset()


def test_a_thousand_games_are_looked_at() -> None:
    assert sum(GAMES.values()) >= 1_000


@over(CASES)
def test_an_observation_once_returned_never_changes(case: Case) -> None:
    env = case.env()
    env.reset(seed=3)
    kept: list[tuple[NDArray[np.int8], bytes]] = []

    def look(agent: str, observation: Observation, done: bool) -> None:
        for seen in (observation, *(env.observe(other) for other in env.possible_agents)):
            kept.extend((array, array.tobytes()) for array in seen.values())
        kept.append((env.state(), env.state().tobytes()))

    play_episode(env, 0, look)
    env.reset()
    play_episode(env, 1)
    assert len({data for _, data in kept}) > 5
    for array, data in kept:
        assert array.tobytes() == data
        array[:] = 1  # the caller's own: writing into one changes neither the game nor another
        assert env.state_space.contains(env.state())


@over(CASES)
def test_state_is_what_all_seats_see(case: Case) -> None:
    env = case.env()
    env.reset(seed=4)
    play_steps(env, 12, seed=4)
    each = [env.observe(agent)["observation"] for agent in env.possible_agents]
    assert env.state().tobytes() == np.concatenate(each).tobytes()
    assert env.state_space.contains(env.state())


@over(CASES)
def test_before_the_first_reset(case: Case) -> None:
    for env in (case.raw_env(), case.env()):
        game = saved(env).game
        assert env.possible_agents == [f"player_{seat}" for seat in range(game.num_players)]
        for agent in env.possible_agents:
            assert env.action_space(agent).n == game.num_actions
            assert env.action_space(agent) is env.action_space(agent)
            space = env.observation_space(agent)
            assert space is env.observation_space(agent)
            assert space["observation"].shape == game.observation_shape
            assert space["action_mask"].shape == (game.num_actions,)
        assert repr(env) and str(env) == saved(env).metadata["name"]
        for option, value in case.options.items():
            assert f"{option}={value!r}" in repr(saved(env))
        with pytest.raises((RuntimeError, AssertionError), match="reset"):
            env.observe("player_0")
        with pytest.raises((RuntimeError, AssertionError), match="reset"):
            env.step(0)
        env.close()
        env.reset(seed=0)
        assert env.observe(env.agent_selection)["action_mask"].any()


@pytest.mark.parametrize("method", ["render", "state", "last", "record", "clone_state"])
@over([PILES_CASES[0], WALL_CASES[0]])
def test_what_needs_a_reset_says_so(case: Case, method: str) -> None:
    env = case.raw_env(render_mode="ansi")
    with pytest.raises(RuntimeError, match="reset"):
        getattr(env, method)()


# --- rewards ----------------------------------------------------------------------------------------------------------


def shared_win(scores: list[int]) -> list[float]:
    """W13: the winners share +1, the others -1; 0 if all are equal."""
    winners = scores.count(max(scores))
    losers = len(scores) - winners
    if losers == 0:
        return [0.0] * len(scores)
    return [1 / winners if score == max(scores) else -1 / losers for score in scores]


def expected_returns(game: Game, scores: list[int]) -> list[float]:
    """What the rules' `reward` makes of final scores."""
    reward = game.rules.reward
    if game.name == "piles-v0":
        margin = scores[0] - scores[1]
        if reward == "win":
            margin = (margin > 0) - (margin < 0)
        return [float(-margin if seat % 2 else margin) for seat in range(game.num_players)]
    if reward == "win":
        return shared_win(scores)
    if reward == "score" or len(scores) == 1:
        return [float(score) for score in scores]
    return [score - (sum(scores) - score) / (len(scores) - 1) for score in scores]


@over(CASES)
def test_three_games_in_a_row_hand_out_the_final_return(case: Case) -> None:
    env, game = case.env(), case.game
    env.reset(seed=7)
    deals = set()
    for episode in range(3):
        deals.add(fingerprint(env)[0])
        seen = play_episode(env, episode)
        scores = game.scores(saved(env).clone_state().states)[0].tolist()
        for rewards in seen.values():
            assert [done for _, done in rewards] == [False] * (len(rewards) - 1) + [True], "one last() when done"
            assert all(type(reward) is float for reward, _ in rewards)
        assert returns(seen) == pytest.approx(expected_returns(game, scores), abs=1e-9)
        low, high = game.return_range
        assert all(low <= total <= high for total in returns(seen))
        assert not env.agents
        env.reset()
    assert len(deals) == 3


@over(CASES)
def test_rewards_of_a_finished_batch(case: Case) -> None:
    game = case.game
    ends = play_games(game, 64, seed=8).end
    rewards, scores = game.rewards(ends), game.scores(ends)
    if game.zero_sum:
        assert rewards.sum(axis=1) == pytest.approx(0, abs=1e-9)
    if case.is_piles:
        for team in game.teams:
            assert (rewards[:, team] == rewards[:, [team[0]]]).all(), "partners get the same"
    if game.rules.reward != "dense":
        for lane in range(len(ends)):
            expected = expected_returns(game, scores[lane].tolist())
            assert rewards[lane] == pytest.approx(expected, abs=1e-9)
    decided = any(len(set(row.tolist())) > 1 for row in scores)
    assert decided == (game.num_players > 1 and getattr(game.rules, "max_width", None) != 1)


@pytest.mark.parametrize("reward", ["margin", "win", "dense"])
@pytest.mark.parametrize("package_case", [PILES_CASES[1], WALL_CASES[0]], ids=["piles", "wall"])
def test_a_drawn_game_gives_0(package_case: Case, reward: str) -> None:
    case = Case(package_case.package, {"num_players": 2, "reward": reward})
    game = case.game
    seed = next(seed for seed in range(1_000) if len(set(game.scores(walk(game, seed).states[-1])[0].tolist())) == 1)
    drawn = walk(game, seed)
    env = case.env()
    env.reset(options={"state": drawn.states[0]})
    for action in drawn.actions:
        env.step(action)
    assert env.terminations == {"player_0": True, "player_1": True}
    env.reset(options={"state": drawn.states[0]})
    assert returns(play_episode(env, seed)) == [0.0, 0.0]
    assert not env.agents


@pytest.mark.parametrize("reward", ["margin", "win", "dense"])
def test_PD2_an_opener_who_never_places_makes_a_draw(reward: str) -> None:
    env = piles_env.env(opener_may_pass=True, reward=reward)
    env.reset(seed=0)
    handed_out = dict.fromkeys(env.possible_agents, 0.0)
    for agent in env.agent_iter():
        observation, gained, terminated, _, _ = env.last()
        handed_out[agent] += gained
        legal = observation["action_mask"].nonzero()[0]
        env.step(None if terminated else int(legal[-1 if agent == "player_0" else 0]))
    states = saved(env).clone_state().states
    assert states["taken"].any() and states["played"].any()
    assert handed_out == dict.fromkeys(env.possible_agents, 0.0)


# --- illegal actions --------------------------------------------------------------------------------------------------


def illegal_action_of(env: Env) -> int:
    mask = env.observe(env.agent_selection)["action_mask"]
    return int(np.flatnonzero(mask == 0)[len(mask) % 7])


def lose_by_an_illegal_action(env: Env, seed: int) -> tuple[str, float, dict[str, float]]:
    """Take some random steps, then an illegal one; return who chose it, his last reward, and all sums of rewards."""
    env.reset(seed=seed)
    total = sum_of_rewards_until(env, 2 * seed, seed)
    loser = env.agent_selection
    total[loser] += env.last()[1]
    env.step(illegal_action_of(env))
    assert all(env.terminations.values()) and env.agents == env.possible_agents
    last = {agent: last_and_leave(env, agent) for agent in env.possible_agents}
    assert not env.agents
    return loser, last[loser], {agent: total[agent] + last[agent] for agent in total}


@over(CASES)
def test_an_illegal_action_ends_the_game_and_loses(case: Case) -> None:
    env = case.env()
    for seed in range(5):
        loser, last, totals = lose_by_an_illegal_action(env, seed)
        if case.game.rules.reward != "dense":
            assert last == case.game.return_range[0]
        assert totals[loser] == min(totals.values())


@over(CASES)
def test_an_illegal_action_gives_the_lowest_return_of_the_game(case: Case) -> None:
    env = case.env()
    for seed in range(5):
        loser, _, totals = lose_by_an_illegal_action(env, seed)
        assert totals[loser] == case.game.return_range[0]


def sum_of_rewards_until(env: Env, steps: int, seed: int) -> dict[str, float]:
    """Take some random steps; return what `last()` handed out on the way."""
    raw = saved(env)
    path = walk(raw.game, seed, raw.clone_state().states)
    handed_out = dict.fromkeys(env.possible_agents, 0.0)
    for action in path.actions[: min(steps, len(path.actions) - 1)]:
        handed_out[env.agent_selection] += env.last()[1]
        env.step(action)
    return handed_out


def last_and_leave(env: Env, agent: str) -> float:
    assert env.agent_selection == agent
    observation, reward, terminated, truncated, _ = env.last()
    assert terminated or truncated
    assert not observation["action_mask"].any()
    env.step(None)
    return float(reward)


@over(CASES)
def test_without_wrappers_an_illegal_action_raises_and_changes_nothing(case: Case) -> None:
    env = case.raw_env()
    env.reset(seed=11)
    for _ in range(4):
        before = fingerprint(env)
        seen = observe_all(env.game, env.clone_state().states)
        with pytest.raises(IllegalAction):
            env.step(illegal_action_of(env))
        assert fingerprint(env) == before
        assert all(map(np.array_equal, observe_all(env.game, env.clone_state().states), seen))
        play_steps(env, 3, seed=12)
    play_episode(env, 13)


@over([PILES_CASES[0], WALL_CASES[0]])
def test_the_wrappers_judge_by_the_restored_position(case: Case) -> None:
    """A search goes back to an earlier position after it has looked at a later one."""
    env = case.env()
    env.reset(seed=14)
    play_steps(env, 9, seed=14)
    env.last()
    start = saved(env).clone_state()
    legal = np.flatnonzero(env.observe(env.agent_selection)["action_mask"])
    for action in legal[:6]:
        env.step(int(action))
        assert not any(env.terminations.values()), f"{action} was legal"
        env.last()
        saved(env).restore_state(start)


# --- copies -----------------------------------------------------------------------------------------------------------


@over(CASES)
def test_copies_have_the_same_rules_and_their_own_game(case: Case) -> None:
    original = case.env(render_mode="ansi")
    for duplicate in (copy.deepcopy(original), pickle.loads(pickle.dumps(original))):
        assert repr(saved(duplicate)) == repr(saved(original))
        assert saved(duplicate).game == saved(original).game
        for env in (original, duplicate):
            env.reset(seed=21)
        for agent in original.possible_agents:
            assert duplicate.observation_space(agent) == original.observation_space(agent)
            assert duplicate.action_space(agent) == original.action_space(agent)
        assert duplicate.render() == original.render()
        before = fingerprint(original)
        assert fingerprint(duplicate) == before
        assert play_episode(duplicate, 22)
        assert fingerprint(original) == before
        assert fingerprint(duplicate) != before
