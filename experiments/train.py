"""`python -m experiments train`: MaskablePPO by self-play on one side's seats, then a measurement on duplicate deals.

The learner plays all seats of its side with one policy. The other side is played, game by game, by the policy as it is
now, by `greedy` or by `random`. Rewards are dense (points gained if the game ended now) and sum to the final margin.
"""

import argparse
import json
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import VecEnvWrapper

from agents import make_agent
from agents.policy import ObservationLayer, PolicyAgent
from agents.seat_vec_env import SeatVecEnv
from cardtable.game import Game, Ints, Views
from experiments import games
from experiments.evaluate import evaluate
from experiments.files import new_folder, write_atomically
from experiments.progress import bar


@dataclass(frozen=True)
class Config:
    """Hyperparameters of a training run.

    Attributes:
        lanes: games played side by side.
        steps: decisions in each lane between updates.
        batch_size, epochs, learning_rate, clip_range, entropy, gae_lambda: as in PPO (Schulman et al., 2017).
        widths: hidden layers; policy and value network share the first.
        reward_scale: rewards are multiplied by this for learning; logs stay in points.
        current, greedy, random: how often the other side is played by the present policy, `greedy` and `random`.
    """

    lanes: int = 256
    steps: int = 32
    batch_size: int = 2048
    epochs: int = 2
    learning_rate: float = 1e-3
    clip_range: float = 0.2
    entropy: float = 0.01
    gae_lambda: float = 0.95
    widths: tuple[int, ...] = (256, 128)
    reward_scale: float = 0.05
    current: float = 0.5
    greedy: float = 0.25
    random: float = 0.25


class CurrentPolicy:
    """The learner's policy as it is now, as an agent; `model` is set once it exists."""

    def __init__(self, game: Game) -> None:
        self._game = game
        self._seed = 0
        self._agent: PolicyAgent | None = None

    def follow(self, model: MaskablePPO) -> None:
        """Play by this model's policy from now on, whatever it learns."""
        self._agent = PolicyAgent(self._game, model.policy, sample=True)
        self._agent.reset(self._seed)

    def reset(self, seed: int) -> None:
        self._seed = seed
        if self._agent is not None:
            self._agent.reset(seed)

    def act(self, views: Views) -> Ints:
        if self._agent is None:
            raise RuntimeError("call follow(model) before the first game")
        return self._agent.act(views)


class ScaledReward(VecEnvWrapper):
    """Multiplies rewards by a constant; episode statistics stay as they are."""

    def __init__(self, venv: SeatVecEnv, scale: float) -> None:
        super().__init__(venv)
        self._scale = np.float32(scale)

    def reset(self) -> Any:
        return self.venv.reset()

    def step_wait(self) -> tuple[Any, NDArray[np.float32], NDArray[np.bool_], list[dict[str, Any]]]:
        observations, rewards, dones, infos = self.venv.step_wait()
        return observations, rewards * self._scale, dones, infos


class Clock(BaseCallback):
    """Ends training after some minutes and shows a bar: time left, decisions a second, mean margin of recent games."""

    def __init__(self, minutes: float, env: SeatVecEnv) -> None:
        super().__init__()
        self._seconds = 60 * minutes
        self._env = env
        self._began = self._shown = 0.0
        self._bar: Any = None

    def _on_training_start(self) -> None:
        self._began = self._shown = time.monotonic()
        self._bar = bar(
            round(self._seconds), "training", bar_format="{l_bar}{bar}| {n:.0f}/{total} s [{remaining} left{postfix}]"
        )

    def _on_step(self) -> bool:
        now = time.monotonic()
        if now - self._shown >= 1:
            self._bar.update(min(now, self._began + self._seconds) - self._shown)
            self._shown = now
            rate = self.num_timesteps / (now - self._began)
            recent = [episode["r"] for episode in self.model.ep_info_buffer or ()]
            margin = f", {np.mean(recent):+.1f} points a game" if recent else ""
            self._bar.set_postfix_str(f"{self.num_timesteps:,} decisions, {rate:,.0f}/s{margin}")
        return now - self._began < self._seconds

    def _on_rollout_end(self) -> None:
        elapsed = time.monotonic() - self._began
        self.logger.record("time/share_in_environment", self._env.env_seconds / elapsed)

    def _on_training_end(self) -> None:
        self._bar.close()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    games.add_arguments(parser)
    parser.add_argument("--minutes", type=float, default=3.0, help="how long to train (default 3)")
    parser.add_argument("--seed", type=int, default=0, help="seed of games and network (default 0)")
    parser.add_argument("--deals", type=int, default=500, help="deals on which the result is measured (default 500)")
    parser.add_argument("--out", type=Path, default=Path("runs"), help="parent of the run's folder (default runs)")


def run(arguments: argparse.Namespace) -> None:
    if not arguments.minutes > 0:
        raise ValueError(f"--minutes must be more than 0, not {arguments.minutes}")
    game = games.make(arguments.game, arguments.players, reward="dense")
    folder = new_folder(arguments.out, f"{arguments.game}-{game.num_players}p")
    print(f"Training {game!r} for {arguments.minutes:g} minutes; files go to {folder}")
    model = train(game, Config(), arguments.minutes, arguments.seed, folder)
    path = folder / "model.zip"
    print(f"{model.num_timesteps:,} decisions; saved as {path}\nTo watch the curves: tensorboard --logdir {folder}")
    measured = games.make(arguments.game, arguments.players)
    opponents = [(name, make_agent(name, measured)) for name in ("random", "greedy")]
    report = evaluate(measured, "trained", PolicyAgent.load(measured, path), opponents, arguments.deals)
    write_atomically(folder / "result.md", lambda file: file.write_text(report + "\n", encoding="utf-8"))
    print(f"\n{report}")
    print(f"To measure again: python -m experiments evaluate {arguments.game} --players {game.num_players} "
          f"--agents policy:{path} greedy")  # fmt: skip


def train(game: Game, config: Config, minutes: float, seed: int, folder: Path) -> MaskablePPO:
    """Train a policy and save it as `folder/model.zip`, with `config.json` and TensorBoard's curves beside it."""
    torch.distributions.Distribution.set_default_validate_args(False)  # checks that cost a tenth of the time
    settings = {"game": game.name, "rules": asdict(game.rules), "seed": seed, "minutes": minutes, **asdict(config)}
    write_atomically(folder / "config.json", lambda file: file.write_text(json.dumps(settings, indent=2) + "\n"))
    current = CurrentPolicy(game)
    opponents = [current, make_agent("greedy", game), make_agent("random", game)]
    env = SeatVecEnv(game, config.lanes, opponents, (config.current, config.greedy, config.random), seed)
    model = new_model(env, config, seed, folder)
    current.follow(model)
    model.learn(10**12, callback=Clock(minutes, env), tb_log_name="curves")
    write_atomically(folder / "model.zip", model.save)
    return model


def new_model(env: SeatVecEnv, config: Config, seed: int, log: Path | None) -> MaskablePPO:
    """A fresh MaskablePPO for an environment; TensorBoard's curves go to the folder `log`."""
    return MaskablePPO(
        "MlpPolicy",
        ScaledReward(env, config.reward_scale),
        n_steps=config.steps,
        batch_size=config.batch_size,
        n_epochs=config.epochs,
        learning_rate=config.learning_rate,
        clip_range=config.clip_range,
        ent_coef=config.entropy,
        gamma=1.0,  # games are short, and dense rewards sum to the margin
        gae_lambda=config.gae_lambda,
        policy_kwargs={
            "features_extractor_class": ObservationLayer,
            "features_extractor_kwargs": {"width": config.widths[0]},
            "net_arch": list(config.widths[1:]),
            "activation_fn": torch.nn.ReLU,
        },
        tensorboard_log=None if log is None else str(log),
        seed=seed,
        device="cpu",
    )
