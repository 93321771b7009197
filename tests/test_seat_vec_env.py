"""SeatVecEnv: the learner's rewards, masks, seeds and statistics."""

import numpy as np
import pytest
from numpy.typing import NDArray
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.evaluation import evaluate_policy

import piles_env
import wall_env
from agents import make_agent
from agents.policy import ActorCritic, PolicyAgent
from agents.seat_vec_env import SeatVecEnv
from cardtable.game import Game
from piles_env import PilesGame, PilesRules
from wall_env import WallGame, WallRules

GAMES: list[Game] = [
    PilesGame(PilesRules(reward="dense")),
    PilesGame(PilesRules(num_players=2)),
    WallGame(WallRules(reward="dense")),
    WallGame(WallRules(num_players=3)),
    WallGame(WallRules(num_players=1, reward="score")),
]


def make(game: Game, lanes: int, seed: int = 3) -> SeatVecEnv:
    return SeatVecEnv(game, lanes, [make_agent("greedy", game), make_agent("random", game)], seed=seed)


def first_legal_from_middle(masks: NDArray[np.int8]) -> NDArray[np.int64]:
    """A fixed policy: the middle one of the legal actions."""
    return np.array([np.flatnonzero(mask)[mask.sum() // 2] for mask in masks])


@pytest.mark.parametrize("game", GAMES, ids=repr)
def test_rewards_sum_to_the_result_of_the_learners_side(game: Game) -> None:
    env = make(game, 16)
    env.reset()
    sums = np.zeros(16)
    finished = sides = 0
    for _ in range(400):
        masks = env.action_masks()
        assert masks.any(axis=1).all(), "the learner always has a legal action"
        observations, rewards, dones, infos = env.step(first_legal_from_middle(masks))
        assert env.observation_space.contains(observations[0])
        sums += rewards
        for lane in np.flatnonzero(dones):
            scores = infos[lane]["scores"].astype(float)
            own = [team for team in range(len(scores)) if _margin(scores, team, game) == pytest.approx(sums[lane])]
            assert own, (scores, sums[lane])
            assert infos[lane]["episode"]["r"] == pytest.approx(sums[lane])
            assert infos[lane]["episode"]["l"] > 0
            assert infos[lane]["terminal_observation"].shape == game.observation_shape
            sides |= 1 << own[0]
            sums[lane] = 0.0
            finished += 1
        assert all(not info for lane, info in enumerate(infos) if not dones[lane])
    assert finished > 30
    assert sides == (1 << len(game.teams)) - 1, "the learner plays every side"


def _margin(scores: NDArray[np.float64], team: int, game: Game) -> float:
    if len(scores) == 1:
        return float(scores[0])
    return float(scores[team] - (scores.sum() - scores[team]) / (len(scores) - 1))


@pytest.mark.parametrize("package", [piles_env, wall_env])
def test_a_lane_plays_the_same_games_as_the_pettingzoo_environment(package: object) -> None:
    """Lane 0 and `raw_env` with one seed: same deals, same decisions, same rewards for the learner."""
    raw = package.raw_env(reward="dense")  # type: ignore[attr-defined]
    game = raw.game
    opponent = make_agent("greedy", game)
    env = SeatVecEnv(game, 3, [opponent], seed=9)
    observations = env.reset()
    raw.reset(seed=9)
    for _episode in range(4):
        learner = set(np.flatnonzero(env.lanes.seating[0] == -1))  # drawn by chance; the rest must follow from it
        pending, done = 0.0, False
        while not done:
            while True:
                seat = int(raw.agent_selection.removeprefix("player_"))
                if seat in learner:
                    break
                view = game.view(raw.clone_state().states, [seat])
                raw.step(int(opponent.act(view)[0]))
                pending += raw.rewards[f"player_{min(learner)}"]
            seen = raw.observe(raw.agent_selection)
            assert (observations[0] == seen["observation"]).all()
            masks = env.action_masks()
            assert (masks[0] == seen["action_mask"]).all()
            actions = first_legal_from_middle(masks)
            raw.step(int(actions[0]))
            pending += raw.rewards[f"player_{min(learner)}"]
            while raw.agents and not any(raw.terminations.values()):
                seat = int(raw.agent_selection.removeprefix("player_"))
                if seat in learner:
                    break
                raw.step(int(opponent.act(game.view(raw.clone_state().states, [seat]))[0]))
                pending += raw.rewards[f"player_{min(learner)}"]
            observations, rewards, dones, _ = env.step(actions)
            done = bool(dones[0])
            assert done == any(raw.terminations.values())
            assert rewards[0] == pytest.approx(pending)
            pending = 0.0
        raw.reset()


def test_seeds_make_runs_equal_and_lanes_differ() -> None:
    game = GAMES[0]

    def run(env: SeatVecEnv) -> list[bytes]:
        seen = [env.reset().tobytes()]
        for _ in range(30):
            observations, rewards, _, _ = env.step(first_legal_from_middle(env.action_masks()))
            seen += [observations.tobytes(), rewards.tobytes()]
        return seen

    assert run(make(game, 8)) == run(make(game, 8))
    assert run(make(game, 8)) != run(make(game, 8, seed=4))
    env = make(game, 8, seed=4)
    env.seed(3)
    assert run(env) == run(make(game, 8)), "env.seed() sets the seed of the next reset"
    assert len({row.tobytes() for row in make(game, 8).reset()}) == 8
    few, many = make(game, 2), make(game, 8)
    assert (few.reset() == many.reset()[:2]).all(), "a lane does not depend on the number of lanes"


def test_wrong_opponents_are_refused() -> None:
    game = GAMES[0]
    with pytest.raises(ValueError, match="opponents is empty"):
        SeatVecEnv(game, 2, [])
    with pytest.raises(ValueError, match="weights must be 1 numbers"):
        SeatVecEnv(game, 2, [make_agent("random", game)], weights=[0.0])


def test_agents_can_be_the_learners_partners() -> None:
    """Opponent and partner are drawn apart; the learner decides for its own seats, and gets its side's margin."""
    game = GAMES[0]
    agents = [make_agent(name, game) for name in ("greedy", "random", "careful")]
    env = SeatVecEnv(game, 200, agents, seed=5)
    env.lanes.draw_from([0.5, 0.5, 0.0], [0.0, 0.25, 0.25])
    env.reset()
    seating = env.lanes.seating
    mine = seating == -1
    alone, beside = mine.sum(axis=1) == 2, mine.sum(axis=1) == 1
    assert (alone | beside).all()
    assert 70 < beside.sum() < 130
    partners = seating[beside, (mine[beside].argmax(axis=1) + 2) % 4]
    assert set(partners) == {1, 2}
    assert {tuple(seats) for seats in np.argwhere(mine[beside])[:, 1:]} == {(0,), (1,), (2,), (3,)}
    opponents = np.where(mine | np.roll(mine, 2, axis=1), -1, seating)
    assert set(opponents.max(axis=1)) == {0, 1}
    assert (np.sort(opponents, axis=1)[:, 2:] == opponents.max(axis=1)[:, None]).all(), "both opponents are the same"
    sums, first, met = np.zeros(200), np.ones(200, bool), opponents.max(axis=1)
    for step in range(1, 21):
        assert (seating[np.arange(200), env.lanes.seats] == -1).all()
        _, rewards, dones, infos = env.step(first_legal_from_middle(env.action_masks()))
        sums += rewards
        for lane in np.flatnonzero(dones & first):
            scores = infos[lane]["scores"]
            assert abs(sums[lane]) == abs(scores[0] - scores[1])
            assert infos[lane]["episode"]["r"] == sums[lane]
            assert infos[lane]["opponent"] == met[lane]
            assert step == (10 if beside[lane] else 20)
        first &= ~dones
    assert not first.any()
    with pytest.raises(ValueError, match="partners must be 3 shares with a sum of at most 1"):
        env.lanes.draw_from([1.0, 1.0, 1.0], [0.5, 0.6, 0.0])
    with pytest.raises(ValueError, match="weights must be 3 numbers"):
        env.lanes.draw_from([1.0])


def test_lanes_go_on_from_their_state() -> None:
    game = GAMES[0]
    one, other = make(game, 6), make(game, 6, seed=8)
    one.reset()
    other.reset()
    for _ in range(25):
        one.step(first_legal_from_middle(one.action_masks()))
    other.lanes.set_state(one.lanes.get_state())
    for agent, same in zip(one.lanes.agents, other.lanes.agents, strict=True):
        agent.reset(1)
        same.reset(1)
    for _ in range(25):
        found, expected = (env.step(first_legal_from_middle(env.action_masks())) for env in (one, other))
        for left, right in zip(found[:3], expected[:3], strict=True):
            assert (left == right).all()


def test_maskable_ppo_learns_on_it_and_its_policy_plays(tmp_path: object) -> None:
    game = GAMES[0]
    env = make(game, 8)
    model = MaskablePPO(
        ActorCritic,
        env,
        n_steps=16,
        batch_size=64,
        n_epochs=1,
        seed=0,
        device="cpu",
        policy_kwargs={"game": game, "widths": (32, 16)},
    )
    model.learn(256)
    assert model.ep_info_buffer, "episode statistics reach SB3, which logs rollout/ep_rew_mean from them"
    mean, _ = evaluate_policy(model, make(game, 4), n_eval_episodes=8, warn=False)
    assert -54 <= mean <= 54
    # What the buffer holds was chosen by the masks that it holds.
    buffer = model.rollout_buffer
    chosen = buffer.actions.astype(int).ravel()
    assert buffer.action_masks.reshape(len(chosen), -1)[np.arange(len(chosen)), chosen].all()
    agent = PolicyAgent.of(game, model.policy, sample=True)
    states = game.new_states(np.arange(50, dtype=np.uint64))
    views = game.view(states, game.current_player(states))
    probabilities = agent.policy(views)
    assert probabilities.sum(axis=1) == pytest.approx(1.0)
    assert (probabilities[game.action_mask(states) == 0] == 0).all()
    assert game.action_mask(states)[np.arange(50), agent.act(views)].all()
    with pytest.raises(ValueError, match="needs a network of its own"):
        PolicyAgent.of(PilesGame(PilesRules(num_players=2)), model.policy)
