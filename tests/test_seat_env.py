"""The learner's Gymnasium environments: checkers, registration, illegal actions, and the same games as SeatVecEnv."""

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from numpy.typing import NDArray
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.evaluation import evaluate_policy
from stable_baselines3.common.env_checker import check_env as sb3_check_env

import agents.seat_env
from agents import make_agent
from agents.seat_env import SeatEnv, SeatVectorEnv
from agents.seat_vec_env import SeatVecEnv
from cardtable.game import IllegalAction
from piles_env import PilesGame
from wall_env import WallGame

IDS = [("Piles-v0", {}), ("Piles-v0", {"num_players": 2}), ("Wall-v0", {}), ("Wall-v0", {"num_players": 4})]
ids = pytest.mark.parametrize(("name", "rules"), IDS)


def middle(mask: NDArray[np.int8]) -> int:
    """A fixed policy: the middle one of the legal actions."""
    return int(np.flatnonzero(mask)[mask.sum() // 2])


@ids
def test_gymnasiums_and_sb3s_checkers_pass(name: str, rules: dict[str, Any]) -> None:
    env = gymnasium.make(name, opponents=["greedy"], render_mode="ansi", **rules)
    check_env(env.unwrapped)
    sb3_check_env(env)


@ids
def test_games_go_on_after_each_other(name: str, rules: dict[str, Any]) -> None:
    env = gymnasium.make(name, opponents=["greedy", "random"], reward="dense", **rules)
    observation, info = env.reset(seed=1)
    first, ends = observation.tobytes(), set()
    for _ in range(5):
        total, done = 0.0, False
        while not done:
            assert (info["action_mask"] == env.unwrapped.action_masks()).all()
            observation, reward, done, truncated, info = env.step(middle(info["action_mask"]))
            assert not truncated
            total += reward
        margins = [own - np.delete(info["scores"], side).mean() for side, own in enumerate(info["scores"])]
        assert any(total == pytest.approx(margin) for margin in margins)
        assert not info["action_mask"].any()
        ends.add(observation.tobytes())
        observation, info = env.reset()
    assert len(ends) == 5
    assert env.reset(seed=1)[0].tobytes() == first


def test_an_illegal_action_loses() -> None:
    env = gymnasium.make("Piles-v0")
    _, info = env.reset(seed=1)
    illegal = int(np.flatnonzero(info["action_mask"] == 0)[0])
    _, reward, terminated, _, info = env.step(illegal)
    assert (reward, terminated) == (-54.0, True)
    assert f"action {illegal}" in info["illegal_action"]
    with pytest.raises(RuntimeError, match=r"no game is going on; call reset\(\)"):
        env.unwrapped.step(0)
    _, info = env.reset()
    assert info["action_mask"].any()


def test_lanes_of_all_three_environments_agree() -> None:
    game = PilesGame()
    single = SeatEnv(game, ["greedy"])
    vector = SeatVectorEnv(game, 3, [make_agent("greedy", game)])
    sb3 = SeatVecEnv(game, 3, [make_agent("greedy", game)], seed=8)
    one, info = single.reset(seed=8)
    many, infos = vector.reset(seed=8)
    assert (sb3.reset() == many).all()
    for _ in range(100):
        assert (one == many[0]).all()
        assert (info["action_mask"] == infos["action_mask"][0]).all()
        assert (sb3.action_masks() == infos["action_mask"]).all()
        actions = np.array([middle(mask) for mask in infos["action_mask"]])
        one, reward, done, _, info = single.step(actions[0])
        many, rewards, terminated, _, infos = vector.step(actions)
        theirs, sb3_rewards, dones, sb3_infos = sb3.step(actions)
        assert reward == rewards[0]
        assert (sb3_rewards == rewards).all()
        assert (dones == terminated).all()
        assert (theirs == many).all()
        assert done == terminated[0]
        for lane in np.flatnonzero(terminated):
            assert (infos["final_obs"][lane] == sb3_infos[lane]["terminal_observation"]).all()
            assert (infos["final_info"]["scores"][lane] == sb3_infos[lane]["scores"]).all()
        if done:
            assert (one == infos["final_obs"][0]).all()
            one, info = single.reset()
    with pytest.raises(IllegalAction):
        vector.step(np.full(3, -1))


@ids
def test_make_vec(name: str, rules: dict[str, Any]) -> None:
    env = gymnasium.make_vec(name, num_envs=4, opponents=["random"], **rules)
    assert isinstance(env, SeatVectorEnv)
    observations, infos = env.reset(seed=1)
    assert env.observation_space.contains(observations)
    assert (env.reset(seed=1)[0] == observations).all()
    assert not (env.reset()[0] == observations).all()
    sync = gymnasium.make_vec(name, num_envs=4, vectorization_mode="sync", **rules)
    observations, infos = sync.reset(seed=1)
    sync.step(np.array([middle(mask) for mask in infos["action_mask"]]))
    sync.close()


def test_masked_training_and_evaluation_work_on_the_single_environment() -> None:
    env = gymnasium.make("Wall-v0", opponents=["random"], reward="dense")
    model = MaskablePPO("MlpPolicy", env, n_steps=32, batch_size=32, n_epochs=1, seed=0, device="cpu")
    model.learn(64)
    mean, _ = evaluate_policy(model, env, n_eval_episodes=3, warn=False)
    assert np.isfinite(mean)


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match=r"opponents must be a sequence of agents, such as \['greedy'\]"):
        SeatEnv(WallGame(), "greedy")
    with pytest.raises(ValueError, match="unknown agent 'nobody'"):
        agents.seat_env.piles(["nobody"])
    with pytest.raises(ValueError, match="render_mode must be None or 'ansi', not 'human'"):
        agents.seat_env.wall(render_mode="human")
    with pytest.raises(ValueError, match="unknown reset option 'x'"):
        SeatEnv(WallGame()).reset(options={"x": 1})
