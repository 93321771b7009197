"""Vector environments: the games of the PettingZoo environments, in batches, threads and any number of lanes."""

import multiprocessing
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

import piles_env
import wall_env
from cardtable.game import IllegalAction
from cardtable.vector import TableVectorEnv

CASES: list[tuple[Any, dict[str, Any]]] = [
    (piles_env, {}),
    (piles_env, {"num_players": 2, "reward": "dense"}),
    (piles_env, {"passed_cards": "hidden", "reward": "win", "opener_may_pass": True}),
    (wall_env, {}),
    (wall_env, {"num_players": 1, "max_width": 4, "reward": "score"}),
    (wall_env, {"num_players": 6, "num_decks": 2, "jokers_per_deck": 4, "reward": "dense"}),
    (wall_env, {"num_players": 3, "ends": "deck", "reward": "win"}),
]
case = pytest.mark.parametrize(("package", "rules"), CASES, ids=lambda value: getattr(value, "__name__", str(value)))


def choose(masks: NDArray[np.int8], tick: int) -> NDArray[np.int64]:
    """Some legal action in each lane; which one changes from step to step."""
    legal = [np.flatnonzero(mask) for mask in masks]
    return np.array([options[(7 * tick + 3 * lane) % len(options)] for lane, options in enumerate(legal)])


def play(env: TableVectorEnv, steps: int, seed: int = 5) -> list[Any]:
    """All that some steps return, as plain values."""
    observations, infos = env.reset(seed=seed)
    seen: list[Any] = [observations.copy()]
    for tick in range(steps):
        result = env.step(choose(infos["action_mask"], tick))
        infos = result[4]
        seen += [part.copy() for part in result[:4]]
        seen += [infos[name].copy() for name in ("action_mask", "current_player", "rewards")]
        if "final_obs" in infos:
            over = infos["_final_obs"]
            seen += [infos["final_obs"][over].copy(), infos["final_info"]["scores"][over].copy()]
    return seen


def equal(one: list[Any], other: list[Any]) -> bool:
    return len(one) == len(other) and all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


@case
def test_lanes_play_the_games_of_the_pettingzoo_environment(package: Any, rules: dict[str, Any]) -> None:
    seeds = [5, 6, 11]
    env = package.vector_env(len(seeds), **rules)
    raws = [package.raw_env(**rules) for _ in seeds]
    observations, infos = env.reset(seed=seeds)
    for raw, seed in zip(raws, seeds, strict=True):
        raw.reset(seed=seed)
    finished = tick = 0
    while finished < 6:
        tick += 1
        for lane, raw in enumerate(raws):
            seen = raw.observe(raw.agent_selection)
            assert raw.agent_selection == f"player_{infos['current_player'][lane]}"
            assert (observations[lane] == seen["observation"]).all()
            assert (infos["action_mask"][lane] == seen["action_mask"]).all()
        actions = choose(infos["action_mask"], tick)
        observations, rewards, terminated, truncated, infos = env.step(actions)
        assert not truncated.any()
        for lane, raw in enumerate(raws):
            acted = raw.agent_selection
            raw.step(int(actions[lane]))
            expected = [raw.rewards[agent] for agent in raw.possible_agents]
            assert infos["rewards"][lane].tolist() == expected
            assert rewards[lane] == raw.rewards[acted]
            assert terminated[lane] == any(raw.terminations.values())
            if terminated[lane]:
                finished += 1
                assert infos["_final_obs"][lane]
                assert infos["_final_info"][lane]
                assert (infos["final_obs"][lane] == raw.observe(acted)["observation"]).all()
                assert infos["final_info"]["scores"][lane].tolist() == raw.record().scores
                raw.reset()


@case
def test_threads_and_copies_change_nothing(package: Any, rules: dict[str, Any]) -> None:
    plain = play(package.vector_env(10, **rules), 80)
    threaded = package.vector_env(10, num_threads=3, copy=False, **rules)
    assert equal(play(threaded, 80), plain)
    threaded.close()
    assert threaded.closed
    few = package.vector_env(4, **rules)
    many = package.vector_env(10, **rules)
    assert (few.reset(seed=5)[0] == many.reset(seed=5)[0][:4]).all(), "a lane does not depend on their number"


@case
def test_spaces_and_attributes_are_gymnasiums(package: Any, rules: dict[str, Any]) -> None:
    env = package.vector_env(3, **rules)
    assert isinstance(env, gymnasium.vector.VectorEnv)
    assert env.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    observations, infos = env.reset(seed=1)
    assert env.observation_space.contains(observations)
    for tick in range(60):
        actions = choose(infos["action_mask"], tick)
        assert env.action_space.contains(actions)
        observations, rewards, terminated, truncated, infos = env.step(actions)
        assert env.observation_space.contains(observations)
        assert (rewards.dtype, terminated.dtype, truncated.dtype) == (np.float64, np.bool_, np.bool_)
        assert infos["action_mask"].dtype == np.int8
        for lane in range(3):
            assert env.single_observation_space.contains(observations[lane])
            assert env.single_action_space.sample(infos["action_mask"][lane]) < env.single_action_space.n
    assert len(env.render()) == 3


def test_wrappers_of_gymnasium_work() -> None:
    env = gymnasium.wrappers.vector.RecordEpisodeStatistics(piles_env.vector_env(4, reward="dense"))
    _, infos = env.reset(seed=1)
    episodes = 0
    for tick in range(100):
        _, _, _, _, infos = env.step(choose(infos["action_mask"], tick))
        if "episode" in infos:
            episodes += int(infos["_episode"].sum())
            assert (infos["episode"]["l"][infos["_episode"]] == 40).all()
    assert episodes == 8


def test_without_copy_the_arrays_are_read_only_views() -> None:
    env = piles_env.vector_env(2, copy=False)
    observations, infos = env.reset(seed=1)
    with pytest.raises(ValueError, match="read-only"):
        observations[0, 0] = 1
    again, *_ = env.step(choose(infos["action_mask"], 0))
    assert np.shares_memory(observations, again)
    copied = piles_env.vector_env(2)
    observations, infos = copied.reset(seed=1)
    before = observations.copy()
    copied.step(choose(infos["action_mask"], 0))
    assert (observations == before).all(), "a copy stays as it was"


def test_resets_continue_streams_and_obey_masks() -> None:
    env = piles_env.vector_env(3)
    first, _ = env.reset(seed=4)
    second, _ = env.reset()
    again, _ = env.reset(seed=4)
    assert (again == first).all()
    assert not (second == first).all(axis=1).any()
    assert (env.reset()[0] == second).all()
    mask = np.array([False, True, False])
    third, infos = env.reset(options={"reset_mask": mask})
    assert (third[~mask] == second[~mask]).all()
    assert not (third[mask] == second[mask]).all()
    assert infos["action_mask"].any(axis=1).all()
    partly, _ = env.reset(seed=[None, 4, None], options={"reset_mask": mask})
    raw = piles_env.raw_env()
    raw.reset(seed=4)
    assert (partly[1] == raw.observe("player_0")["observation"]).all()
    assert (partly[0] == third[0]).all()


def test_lanes_get_different_deals_and_base_seeds_share_none() -> None:
    deals = [piles_env.vector_env(64).reset(seed=seed)[0] for seed in (0, 1)]
    assert len({row.tobytes() for row in np.concatenate(deals)}) == 128
    unseeded = [piles_env.vector_env(8).reset()[0] for _ in range(2)]
    assert len({row.tobytes() for row in np.concatenate(unseeded)}) == 16


def _first_deal(_: int) -> bytes:
    return piles_env.vector_env(1).reset()[0].tobytes()


@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded, use of fork:DeprecationWarning")
def test_unseeded_processes_get_different_deals(method: str) -> None:
    with multiprocessing.get_context(method).Pool(2) as pool:
        assert len(set(pool.map(_first_deal, range(8), chunksize=1))) == 8


def test_an_illegal_action_changes_no_lane() -> None:
    env = piles_env.vector_env(4, num_threads=2)
    with pytest.raises(RuntimeError, match=r"call reset\(\) before step"):
        env.step(np.zeros(4, np.int64))
    _, infos = env.reset(seed=1)
    actions = choose(infos["action_mask"], 0)
    before = env._buffers.states.tobytes()
    for wrong in (312, 313, -1):
        bad = actions.copy()
        bad[3] = wrong
        with pytest.raises(IllegalAction, match=f"lane 3: action {wrong}"):
            env.step(bad)
        assert env._buffers.states.tobytes() == before
    with pytest.raises(ValueError, match="one action is needed for each of the 4 games"):
        env.step(actions[:3])
    with pytest.raises(IllegalAction, match="an action is an integer"):
        env.step(actions.astype(float))
    env.step(actions)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"num_envs": 0}, "num_envs must be an integer of at least 1, not 0"),
        ({"num_envs": 2, "num_threads": 0}, "num_threads must be an integer from 1"),
        ({"num_envs": 2, "num_players": 3}, "num_players must be one of 4, 2, not 3"),
        ({"num_envs": 2, "colour": 1}, "unknown option 'colour'"),
    ],
)
def test_wrong_arguments_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        piles_env.vector_env(**arguments)


def test_wrong_resets_are_refused() -> None:
    env = piles_env.vector_env(2)
    with pytest.raises(ValueError, match="first reset must start all lanes"):
        env.reset(options={"reset_mask": np.array([True, False])})
    env.reset(seed=1)
    with pytest.raises(ValueError, match="2 seeds are needed"):
        env.reset(seed=[1])
    with pytest.raises(ValueError, match="unknown reset option 'opener'"):
        env.reset(options={"opener": 1})
    for mask in (np.array([1, 0]), np.array([True]), np.array([False, False]), [True, True]):
        with pytest.raises(ValueError, match="reset_mask must be a bool array"):
            env.reset(options={"reset_mask": mask})
