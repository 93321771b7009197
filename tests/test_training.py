"""Training: what is learnt from, whom is played against, and that nothing is lost when a run is broken off."""

import csv
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from agents import make_agent
from agents.network import ONE_COLOUR
from agents.network_agent import load_network
from agents.policy import ActorCritic, PolicyAgent
from agents.torch_networks import new_module, to_module, to_network
from cardtable.game import Game
from experiments import curves, evaluate, train
from experiments.__main__ import main as command
from experiments.exploit import Config as ExploitConfig
from experiments.exploit import exploit
from experiments.pool import Pool
from experiments.train import Config, Training
from piles_env import PilesGame, PilesRules
from tests.playing import ROOT
from wall_env import WallGame

SMALL = Config(
    decisions=2000,
    lanes=50,
    steps=10,
    batch_size=250,
    final_learning_rate=1e-3,  # as it is at the beginning, so that it does not depend on the budget
    widths=(8, 8, 8),
    snapshot_every=1000,
    evaluate_every=2000,
    evaluation_deals=2,
    opponents=("random", "greedy"),
    partners=0.2,
    threads=1,
    deals=4,
)


def small(folder: Path, **changes: Any) -> Config:
    return replace(SMALL, out=folder, **changes)


def weights(training: Training) -> np.ndarray:
    return torch.nn.utils.parameters_to_vector(training.policy.parameters()).detach().numpy()


def rows(folder: Path) -> list[dict[str, str]]:
    """The rows of a run's CSV file, without times."""
    with (folder / curves.CSV).open(newline="") as file:
        return [{name: cell for name, cell in row.items() if not name.startswith("time/")}
                for row in csv.DictReader(file)]  # fmt: skip


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Training:
    """A run of 4,000 decisions in one go."""
    training = Training(small(tmp_path_factory.mktemp("whole"), decisions=4000))
    training.run()
    return training


def test_wall_begins_as_builder_and_is_learnt_without_luck(tmp_path: Path) -> None:
    training = Training(small(tmp_path, game="wall", players=2, temperature=0.1, opponents=("builder",), decisions=500))
    game, model = training.game, training.model
    states = game.new_states(np.arange(40, dtype=np.uint64))
    players = [make_agent("builder", game), PolicyAgent.of(game, training.policy)]
    while len(live := np.flatnonzero(~game.terminated(states))):
        moving = states[live]
        views = game.view(moving, game.current_player(moving))
        actions, found = (player.act(views) for player in players)
        logits = training.policy.actor(torch.as_tensor(game.observe(views)[0]).float()).detach().numpy()
        rows = np.arange(len(live))
        assert np.allclose(logits[rows, found], logits[rows, actions], atol=1e-3), "but for ties it plays as builder"
        game.step(moving, actions)
        states[live] = moving
    model.collect_rollouts(model.env, training._watch, model.rollout_buffer, 10)
    points = model.rollout_buffer.rewards / training.config.reward_scale
    assert (np.abs(points - points.round()) > 0.01).mean() > 0.5, "points are whole numbers, expectations are not"


# --- the policy -------------------------------------------------------------------------------------------------------


def test_log_probabilities_before_the_first_update_are_those_of_the_rollout(tmp_path: Path) -> None:
    training = Training(small(tmp_path))
    model = training.model
    model.collect_rollouts(model.env, training._watch, model.rollout_buffer, 10)
    batch = next(iter(model.rollout_buffer.get(500)))
    assert (batch.action_masks.sum(dim=1) < 313).all(), "some actions are illegal"
    actions = batch.actions.long().flatten()
    values, logs, entropy = training.policy.evaluate_actions(batch.observations, actions, batch.action_masks)
    assert torch.allclose(logs, batch.old_log_prob, atol=1e-5)
    assert torch.allclose(values.flatten(), batch.old_values, atol=1e-5)
    stock = MaskableActorCriticPolicy.evaluate_actions(
        training.policy, batch.observations, actions, action_masks=batch.action_masks
    )
    for ours, theirs in zip((values, logs, entropy), stock, strict=True):
        assert torch.allclose(ours, theirs, atol=1e-5)


def test_the_policy_draws_as_the_stock_one_does() -> None:
    game = PilesGame()
    space = train.SeatVecEnv(game, 1, [make_agent("random", game)])
    policy = ActorCritic(space.observation_space, space.action_space, lambda left: 1e-3, game, (8, 8, 8))
    seen, masks = game.show(game.new_states(np.arange(3, dtype=np.uint64)), np.zeros(3, np.int64))
    masks[:, 40:] = 0
    seen, masks = np.repeat(seen, 2000, axis=0), np.repeat(masks, 2000, axis=0)
    with torch.no_grad():
        expected = policy.get_distribution(torch.as_tensor(seen), masks).distribution.probs[::2000].numpy()
        torch.manual_seed(0)
        actions, _, logs = policy(torch.as_tensor(seen), action_masks=masks)
        best = policy(torch.as_tensor(seen[::2000]), deterministic=True, action_masks=masks[::2000])[0]
    found = np.array([np.bincount(part, minlength=313) for part in actions.numpy().reshape(3, 2000)]) / 2000
    assert np.abs(found - expected).max() < 5 * (expected.max() / 2000) ** 0.5
    assert np.allclose(logs.numpy(), np.log(expected.repeat(2000, axis=0)[np.arange(6000), actions]), atol=1e-4)
    assert (best.numpy() == expected.argmax(axis=1)).all()


def test_the_saved_policies_are_the_trained_one(whole: Training) -> None:
    game = PilesGame()
    network = load_network(whole.folder / "policy.npz", game)
    about = network.about["training"]
    assert (about["method"], about["decisions"], about["config"]["seed"]) == ("train", 4000, 0)
    states = game.new_states(np.arange(60, dtype=np.uint64))
    views = game.view(states, game.current_player(states))
    seen = game.observe(views)[0]
    with torch.no_grad():
        logits = whole.policy.actor(torch.as_tensor(seen)).numpy()
    assert np.allclose(network.values(seen), logits, rtol=1e-5, atol=1e-5)
    expected = PolicyAgent.of(game, whole.policy).act(views)
    for name in ("policy.npz", "model.zip"):
        assert (make_agent(f"policy:{whole.folder / name}", game).act(views) == expected).all()
    with pytest.raises(ValueError, match="it was made for rules"):
        make_agent(f"policy:{whole.folder / 'model.zip'}", PilesGame(PilesRules(opener_may_pass=True)))


def test_a_network_of_one_colour_plays_black_as_it_plays_red(tmp_path: Path) -> None:
    game = PilesGame()
    states = game.new_states(np.arange(300, dtype=np.uint64))
    agent = make_agent("greedy", game)
    for _ in range(6):
        game.step(states[:250], agent.act(game.view(states[:250], game.current_player(states[:250]))))
    seen = game.show(states, game.current_player(states).astype(np.int64))[0]
    colours = game.layout.split(seen)["colour"].argmax(axis=1)
    assert set(colours) == {0, 1, 2}, "none yet, red and black"
    swap = next(symmetry for symmetry in game.symmetries if symmetry.name == "swap colours")
    known = colours > 0
    for widths in ((8, 4, 8), (8,)):
        module = new_module(game, widths, one_colour=True)
        with torch.no_grad():
            values = module(torch.as_tensor(seen)).numpy()
            swapped = module(torch.as_tensor(seen[:, swap.observation])).numpy()
        assert np.allclose(swapped[known], values[known][:, swap.action], atol=1e-6)
        path = tmp_path / "net.npz"
        to_network(game, module, {}).save(path)
        network = load_network(path, game)
        assert np.allclose(network.values(seen), values, rtol=1e-5, atol=1e-5)
        with torch.no_grad():
            assert np.allclose(to_module(game, network)(torch.as_tensor(seen)).numpy(), values, atol=1e-6)
            red = to_module(game, to_network(game, new_module(game, widths), {}))
            black = red(torch.as_tensor(seen[:, swap.observation])).numpy()[known][:, swap.action]
            assert not np.allclose(black, red(torch.as_tensor(seen)).numpy()[known], atol=1e-3)
    assert not hasattr(new_module(WallGame(), (8,), one_colour=True), ONE_COLOUR)


# --- breaking off and going on ----------------------------------------------------------------------------------------


def test_a_run_in_two_parts_is_the_run_in_one(whole: Training, tmp_path: Path) -> None:
    """Killed after 2,500 decisions, with a checkpoint of 2,000 and half a row written."""
    first = Training(small(tmp_path, decisions=2000))
    first.run()
    assert first.decisions == 2000
    kept = tmp_path / "kept"
    shutil.copytree(first.folder, kept)
    more = Training.resume(first.folder, decisions=2500)
    more.run()
    shutil.copy(kept / "checkpoint.pt", more.folder)
    with (more.folder / curves.CSV).open("a") as file:
        file.write("3000,1.5,0.")
    second = Training.resume(first.folder, decisions=4000)
    assert second.decisions == 2000
    second.run()
    assert second.decisions == 4000
    assert (weights(second) == weights(whole)).all()
    assert rows(second.folder) == rows(whole.folder)
    assert [int(row["decisions"]) for row in rows(second.folder)] == list(range(500, 4001, 500))
    board = EventAccumulator(str(second.folder / "curves")).Reload()
    assert [event.step for event in board.Scalars("policy/entropy")] == list(range(500, 4001, 500))
    assert {name.split("/")[0] for name in board.Tags()["scalars"]} == {"evaluation", "games", "policy", "pool", "time"}


def test_ctrl_c_writes_a_checkpoint(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--lanes", "50", "--steps", "10", "--widths", "8", "8", "8", "--threads", "1", "--out", str(tmp_path)]
    folder = tmp_path / "piles-4p"

    def interrupt() -> None:
        while not (folder / curves.CSV).exists() or len((folder / curves.CSV).read_text().splitlines()) < 3:
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    assert command(["train", "piles", "--minutes", "5", *words]) == 130
    thread.join()
    assert f"--resume {folder}" in capsys.readouterr().out
    decisions = Training.resume(folder).decisions
    assert decisions == int(rows(folder)[-1]["decisions"]) >= 1000
    assert command(["train", "--resume", str(folder), "--decisions", str(decisions + 500)]) == 0
    assert f"{decisions + 500:,} decisions; saved as" in capsys.readouterr().out
    assert {"result.md", "curves.png", "model.zip", "policy.npz"} <= {path.name for path in folder.iterdir()}


@pytest.mark.slow
def test_a_killed_run_goes_on(tmp_path: Path) -> None:
    script = (
        "from pathlib import Path\n"
        "from tests.test_training import small\n"
        "from experiments.train import Training\n"
        f"Training(small(Path({str(tmp_path)!r}), decisions=10**9, checkpoint_minutes=1e-9)).run()"
    )
    process = subprocess.Popen([sys.executable, "-c", script], cwd=ROOT, stderr=subprocess.DEVNULL)
    folder = tmp_path / "piles-4p"
    while process.poll() is None and not (folder / "checkpoint.pt").exists():
        time.sleep(0.01)
    time.sleep(0.3)
    process.kill()
    process.wait()
    training = Training.resume(folder, decisions=10**9)
    assert training.decisions > 0
    replaced = Training.resume(folder, decisions=training.decisions + 500)
    replaced.run()
    steps = [int(row["decisions"]) for row in rows(folder)]
    assert steps == list(range(500, training.decisions + 501, 500))


def test_a_run_that_was_killed_before_its_first_checkpoint_starts_again(tmp_path: Path) -> None:
    folder = Training(small(tmp_path)).folder
    assert Training.resume(folder).decisions == 0
    with pytest.raises(ValueError, match=r"is not the folder of a run: there is no config\.json"):
        Training.resume(tmp_path)


def test_a_run_for_something_else_is_not_resumed(whole: Training, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(whole.folder, folder)
    state = torch.load(folder / "checkpoint.pt", weights_only=True)
    for change, message in (
        ({"format": "older"}, "has format 'older'"),
        ({"about": state["about"] | {"layout": "another"}}, "it was made for layout another"),
    ):
        torch.save(state | change, folder / "checkpoint.pt")
        with pytest.raises(ValueError, match=message):
            Training.resume(folder)


def test_no_batch_is_of_one_decision(tmp_path: Path) -> None:
    """Whose advantage would be normalised to NaN, and with it all weights."""
    training = Training(small(tmp_path, lanes=3, steps=7, batch_size=10, decisions=21))
    training.run()
    assert np.isfinite(weights(training)).all()


# --- starting from a network ------------------------------------------------------------------------------------------


def test_a_policy_that_starts_from_a_network_plays_like_it_until_its_critic_is_fitted(tmp_path: Path) -> None:
    game = PilesGame()
    torch.manual_seed(3)
    network = to_network(game, new_module(game, (8, 4, 8), scale=20.0), {"method": "imitate"})
    path = tmp_path / "net.npz"
    network.save(path)
    config = small(tmp_path, start=path, temperature=2.0, critic_updates=2, decisions=1000)
    training = Training(config)
    assert training.config.widths == (8, 4, 8)
    states = game.new_states(np.arange(20, dtype=np.uint64))
    seen = torch.as_tensor(game.show(states, game.current_player(states).astype(np.int64))[0])

    def logits() -> torch.Tensor:
        with torch.no_grad():
            return training.policy.actor(seen)

    with torch.no_grad():
        expected = to_module(game, network)(seen) / 2.0
        critic = training.policy.predict_values(seen)
    assert torch.allclose(logits(), expected, atol=1e-5)
    training.run()
    assert torch.allclose(logits(), expected, atol=1e-5)
    with torch.no_grad():
        assert not torch.allclose(training.policy.predict_values(seen), critic)
    training = Training.resume(training.folder, decisions=1500)
    training.run()
    assert not torch.allclose(logits(), expected, atol=1e-3)
    # What comes from `train` are logits already.
    again = Training(replace(config, start=training.folder / "policy.npz"))
    with torch.no_grad():
        assert torch.allclose(again.policy.actor(seen), logits(), atol=1e-5)
    with pytest.raises(ValueError, match="it was made for rules"):
        Training(replace(config, players=2))


# --- the pool ---------------------------------------------------------------------------------------------------------


def pool(game: Game, snapshots: int = 2, partners: float = 0.0) -> Pool:
    fixed = {name: make_agent(name, game) for name in ("random", "greedy")}
    return Pool(game, fixed, new_module(game, (8, 8, 8)), 0.4, partners, snapshots)


def test_those_who_win_are_met_more_often() -> None:
    found = pool(PilesGame(), partners=0.3)
    assert found.names == ["random", "greedy", "latest"]
    assert found.opponents() == pytest.approx([0.3, 0.3, 0.4])
    assert found.partners() == pytest.approx([0.15, 0.15, 0.0])
    for _ in range(100):
        found.record(0, 5.0)
        found.record(1, -5.0)
        found.record(1, 5.0)
    assert found.win_rates() == pytest.approx([1.0, 0.5, 0.5], abs=0.01)
    shares = found.opponents()
    assert shares.sum() == pytest.approx(1.0)
    assert shares[2] == pytest.approx(0.4)
    assert shares[1] > 20 * shares[0]
    for _ in range(200):
        found.forget()
    assert found.opponents() == pytest.approx([0.3, 0.3, 0.4], abs=0.01), "who is not met gets another chance"


def test_a_full_pool_parts_with_the_one_that_is_beaten_most() -> None:
    game = PilesGame()
    found = pool(game)
    states = game.new_states(np.arange(50, dtype=np.uint64))
    views = game.view(states, game.current_player(states))
    found.add("first")
    torch.nn.init.normal_(found._policy.head.at_place.weight)
    found.add("second")
    second = found.agents[4].act(views)
    assert (second != found.agents[3].act(views)).any(), "a snapshot does not change with the policy"
    found.record(3, 5.0)
    found.record(4, -5.0)
    found.add("third")
    assert found.names == ["random", "greedy", "latest", "third", "second"]
    assert found.win_rates()[3] == 0.5
    other = pool(game)
    other.set_state(found.get_state())
    assert other.names == found.names
    assert (other.opponents() == found.opponents()).all()
    assert (other.agents[4].act(views) == second).all()


def test_memory_stays_flat_over_200_reloads() -> None:
    def resident() -> float:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6

    game = PilesGame()
    fixed = {"random": make_agent("random", game)}
    found = Pool(game, fixed, new_module(game, (128, 128, 256)), 0.5, 0.0, 2)  # 1 MB each
    for number in range(220):
        if number == 20:
            before = resident()
        found.add("one")
        if number % 10 == 0:
            found.set_state(found.get_state())
    assert len(found.agents) == 4
    assert resident() - before < 20


# --- the command line and files --------------------------------------------------------------------------------------


def test_exploit_plays_against_one_agent_only(tmp_path: Path) -> None:
    values = {field.name: getattr(small(tmp_path), field.name) for field in fields(Config)}
    values |= {"opponents": (), "latest": 0.0, "partners": 0.0, "snapshots": 0}
    training = exploit(ExploitConfig(**values, agent="greedy"))
    assert training._pool.names == ["greedy", "latest"]
    assert training._pool._games[0] > 0 == training._pool._games[1]
    assert "| trained | greedy" in train.measure(training)
    assert command(["exploit", "piles", "--agent", "nobody", "--out", str(tmp_path / "none")]) == 1
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("path", sorted(train.CONFIGS.glob("*.json")), ids=lambda path: path.stem)
def test_presets_can_be_trained(path: Path, tmp_path: Path) -> None:
    config = Config.from_json(path.read_text())
    assert path.stem.removesuffix("-shipped") == f"{config.game}-{config.players}p"
    made_before = {"start": None, "opponents": ()} if config.start else {}  # by `imitate`
    training = Training(replace(config, out=tmp_path, **made_before))
    assert Config.from_json((training.folder / "config.json").read_text()) == training.config


def test_wrong_configs_are_refused() -> None:
    with pytest.raises(ValueError, match="unknown config field 'lane'"):
        Config.from_json('{"lane": 3}')
    for change, message in (
        ({"minutes": 1.0}, "give --minutes or --decisions, not both"),
        ({"lanes": 1}, "--lanes must be at least 2, not 1"),
        ({"steps": 0}, "--steps must be at least 1, not 0"),
        ({"learning_rate": 0.0}, "--learning-rate must be more than 0"),
        ({"partners": 1.5}, "--partners must be from 0 to 1"),
    ):
        with pytest.raises(ValueError, match=message):
            Training(replace(SMALL, **change))


def test_the_deals_of_the_curves_are_not_those_of_the_results() -> None:
    assert train._EVALUATION_SEED != evaluate.SEED != SMALL.seed
