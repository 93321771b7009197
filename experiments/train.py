"""`python -m experiments train`: MaskablePPO against a pool of players, then a measurement on duplicate deals.

The learner plays all seats of its side, or one of them beside another partner. Rewards come early: in Piles the points
gained if the game ended now, which sum to the final margin, in Wall those of `agents.wall_rewards`, whose sum has the
same mean. All that a run needs to go on is in its folder; `--resume` goes on.
"""

import json
import signal
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Annotated, Any, Literal, Self, TypeVar

import numpy as np
import torch
import tyro
from numpy.typing import NDArray
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.buffers import MaskableRolloutBuffer
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.utils import LinearSchedule
from stable_baselines3.common.vec_env import VecEnvWrapper
from torch import Tensor

from agents import make_agent
from agents.agent import Agent
from agents.lockstep import Step
from agents.network import ONE_COLOUR, Network, check_made_for, describe_game
from agents.network_agent import load_network
from agents.places import places_of
from agents.policy import ActorCritic, PolicyAgent
from agents.seat_vec_env import SeatVecEnv
from agents.torch_networks import to_module, to_network, widths_of
from agents.wall_rewards import step_without_luck
from cardtable.game import Game
from experiments import curves, games
from experiments.evaluate import write_result
from experiments.files import new_folder, write_atomically
from experiments.match import play_match
from experiments.pool import Pool
from experiments.progress import bar
from experiments.torch_settings import torch_settings
from wall_env import WallGame

CONFIGS = Path(__file__).parent / "configs"
_SHORT = {"piles": "piles-4p", "wall": "wall-2p"}
_EVALUATION_SEED = 1_000_007  # of the deals of the curves; neither trained on nor reported
_MINUTES = 3.0  # if neither minutes nor decisions are given
METHOD = "train"  # in the networks that come from here: their values are logits
_CONFIG = "config.json"
_CHECKPOINT = "checkpoint.pt"
_FORMAT = "piles-wall-checkpoint/1"
_TIMES = ("time/environment", "time/rollout", "time/learning")


@dataclass(frozen=True, kw_only=True)
class Config:
    """A training run; the same config on the same machine with a budget of decisions brings the same policy.

    Attributes:
        game: "piles" or "wall".
        players: number of players.
        minutes: how long to train in all; 3 if neither this nor `decisions` is given.
        decisions: how many decisions to learn from in all, rounded up to one in each lane.
        seed: seed of games and network.
        start: a network (.npz) that the policy begins as; its sizes take the place of `widths`.
        temperature: values in points, of a network of `imitate` or of "builder" in Wall, are divided by this to become
            logits.
        critic_updates: if the policy begins as a network, or as "builder" in Wall, so many updates fit only the critic.
        lanes: games played side by side.
        steps: decisions in each lane between updates.
        batch_size: decisions that a step of the optimiser learns from.
        epochs: times that an update learns from each decision.
        learning_rate: Adam's, at the beginning.
        final_learning_rate: Adam's at the end; it falls along a straight line.
        clip_range: how much the probability of a decision may change in one update, as in PPO.
        entropy: weight of the entropy in the loss.
        gae_lambda: how far rewards are credited: 0 by the critic alone, 1 by the games' ends alone.
        widths: of the network, as in `agents.torch_networks.new_module`.
        reward_scale: rewards are multiplied by this for learning; all that is shown stays in points.
        opponents: the pool's fixed players, against whom the policy is also measured; none: the game's rules of thumb.
        latest: share of games against the present policy; the others are against the rest of the pool.
        partners: share of games in which another agent plays the learner's partners.
        snapshots: past policies in the pool, at most.
        snapshot_every: decisions between two of them.
        evaluate_every: decisions between two measurements against `opponents`.
        evaluation_deals: deals of such a measurement.
        checkpoint_minutes: minutes between two checkpoints.
        threads: of torch; more than free cores slow it down many times over.
        deals: deals on which the result is measured at the end.
        out: parent of the run's folder.
    """

    game: tyro.conf.Fixed[Literal["piles", "wall"]] = "piles"
    players: int = 4
    minutes: float | None = None
    decisions: int | None = None
    seed: int = 0
    start: Annotated[Path | None, tyro.conf.arg(name="from")] = None
    temperature: float = 0.5
    critic_updates: int = 10
    lanes: int = 250
    steps: int = 32
    batch_size: int = 500
    epochs: int = 2
    learning_rate: float = 1e-3
    final_learning_rate: float = 1e-4
    clip_range: float = 0.2
    entropy: float = 0.01
    gae_lambda: float = 0.95
    widths: tuple[int, ...] = (64, 64, 128)
    reward_scale: float = 0.05
    opponents: tuple[str, ...] = ()
    latest: float = 0.5
    partners: float = 0.0
    snapshots: int = 8
    snapshot_every: int = 500_000
    evaluate_every: int = 250_000
    evaluation_deals: int = 100
    checkpoint_minutes: float = 2.0
    threads: int = 2
    deals: int = 500
    out: Path = Path("runs")

    def check(self) -> None:
        """Raise a ValueError if a value is not possible."""
        if self.minutes is not None and self.decisions is not None:
            raise ValueError("give --minutes or --decisions, not both")
        for name in ("minutes", "decisions", "temperature", "learning_rate", "reward_scale", "checkpoint_minutes"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ValueError(f"--{name.replace('_', '-')} must be more than 0, not {value}")
        for name in ("steps", "epochs", "snapshot_every", "evaluate_every", "evaluation_deals", "threads", "deals"):
            if getattr(self, name) < 1:
                raise ValueError(f"--{name.replace('_', '-')} must be at least 1, not {getattr(self, name)}")
        for name in ("lanes", "batch_size"):  # one advantage alone cannot be normalised
            if getattr(self, name) < 2:
                raise ValueError(f"--{name.replace('_', '-')} must be at least 2, not {getattr(self, name)}")
        for name in ("latest", "partners"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"--{name} must be from 0 to 1, not {getattr(self, name)}")

    def to_json(self) -> str:
        """The config as text; `from_json` reads it."""
        return json.dumps(asdict(self), indent=2, default=str) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what `to_json` wrote; what is not named has its default.

        Raises:
            ValueError: if a name is unknown.
        """
        values = json.loads(text)
        unknown = values.keys() - {field.name for field in fields(cls)}
        if unknown:
            raise ValueError(f"unknown config field {min(unknown)!r}; the fields are in docs/training.md")
        for name in ("widths", "opponents"):
            if name in values:
                values[name] = tuple(values[name])
        for name in ("start", "out"):
            if values.get(name) is not None:
                values[name] = Path(values[name])
        return cls(**values)


ConfigType = TypeVar("ConfigType", bound=Config)


def main(words: Sequence[str]) -> None:
    """The command line."""
    if "--resume" in words:
        chosen = tyro.cli(_Resume, args=words, prog="python -m experiments train")
        training = Training.resume(chosen.resume, chosen.minutes, chosen.decisions)
    else:
        training = Training(parse(Config, "train", words))
    print(f"Training {training.game!r}; files go to {training.folder}\n"
          f"To watch the curves: tensorboard --logdir {training.folder}")  # fmt: skip
    training.run()
    print(f"{training.decisions:,} decisions; saved as {training.folder / 'policy.npz'}\n\n{measure(training)}")


def parse(kind: type[ConfigType], command: str, words: Sequence[str]) -> ConfigType:
    """A config from the words of a command line: a preset or a run's config.json, then options.

    Raises:
        ValueError: if there is no such preset or file, or a value is wrong.
    """
    presets = sorted(path.stem for path in CONFIGS.glob("*.json"))
    known = f"{', '.join([*_SHORT, *presets])} or a run's config.json"
    if not words:
        raise ValueError(f"{command} what? Name one of {known}")
    if words[0] in ("-h", "--help"):
        words = ["piles", *words]
    path = CONFIGS / f"{_SHORT.get(words[0], words[0])}.json"
    if not path.is_file():
        path = Path(words[0])
    if not path.is_file():
        raise ValueError(f"there is no preset or file {words[0]!r}; name one of {known}")
    preset = kind.from_json(path.read_text(encoding="utf-8"))
    return tyro.cli(
        kind,
        args=words[1:],
        default=preset,
        prog=f"python -m experiments {command} NAME",
        description=f"NAME is one of {known}.",
        config=(tyro.conf.SuppressFixed,),
    )


@dataclass(frozen=True)
class _Resume:
    """Go on with a run that was interrupted, or train longer.

    Attributes:
        resume: the run's folder.
        minutes: how long to train in all, the time before included.
        decisions: how many decisions to learn from in all, those before included.
    """

    resume: Path
    minutes: float | None = None
    decisions: int | None = None


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


class _Watch(BaseCallback):
    """Tells the pool how games end."""

    def __init__(self, pool: Pool) -> None:
        super().__init__()
        self._pool = pool
        self.margins: list[float] = []  # of the games that have ended in this update

    def _on_rollout_start(self) -> None:
        self.margins = []

    def _on_step(self) -> bool:
        for lane in np.flatnonzero(self.locals["dones"]):
            info = self.locals["infos"][lane]
            self.margins.append(info["episode"]["r"])
            self._pool.record(info["opponent"], info["episode"]["r"])
        return True


class Training:
    """A run: the policy, the pool, and what is needed to go on with both.

    Args:
        config: what to train and how.
        folder: the run's folder if there is one already; otherwise a new one is made in `config.out`.
        state: what a checkpoint of the run holds; see `resume`.

    Raises:
        ValueError: if the config asks for agents or rules that there are not, or a network was made for others.

    Attributes:
        config: the config with the network's sizes and the opponents' names filled in.
        folder: where the run's files are.
        game: the game.
        model: the MaskablePPO model.
        seconds: how long it has been trained, in all sessions.
    """

    def __init__(self, config: Config, folder: Path | None = None, state: Mapping[str, Any] | None = None) -> None:
        config.check()
        self.game = games.make(config.game, config.players, reward="dense")
        if state is not None:
            _check_state(self.game, state)
        network, one_colour = None, state is None or state["one_colour"]
        if config.start is not None and state is None:
            network = load_network(config.start, self.game)
            one_colour = ONE_COLOUR in network.parameters
            config = replace(config, widths=widths_of(network))
        self._start = None if network is None else network.about["training"]  # goes into the policy's file
        self.config = config = replace(config, opponents=config.opponents or self.game.policies)
        fixed = {name: make_agent(name, self.game) for name in self.config.opponents}
        self._env = SeatVecEnv(self.game, config.lanes, list(fixed.values()), seed=config.seed, step=_step(self.game))
        self.model = new_model(self._env, config, one_colour)
        if network is not None:
            self.policy.actor.load_state_dict(to_module(self.game, network).state_dict())
            if network.about["training"]["method"] != METHOD:  # its values are no logits
                self.policy.actor.head.scale /= config.temperature
        elif self.policy.actor.head.advised:
            self.policy.actor.head.scale *= places_of(self.game).unit / config.temperature
        self._pool = Pool(self.game, fixed, self.policy.actor, config.latest, config.partners, config.snapshots)
        self._env.lanes.agents = self._pool.agents
        self._draw_opponents()
        self._watch = _Watch(self._pool)
        self.model.learn(0, self._watch)  # sets up lanes and counters, and learns nothing
        self._updates = 0
        self.seconds = 0.0
        if state is not None:
            self._set_state(state)
        self.folder = new_folder(config.out, f"{config.game}-{config.players}p") if folder is None else folder
        write_atomically(self.folder / _CONFIG, lambda file: file.write_text(config.to_json(), encoding="utf-8"))

    @classmethod
    def resume(cls, folder: Path, minutes: float | None = None, decisions: int | None = None) -> "Training":
        """A run as it was at its last checkpoint.

        Args:
            folder: the run's folder.
            minutes, decisions: another budget than before, in all.

        Raises:
            ValueError: if the folder is not that of a run, or the run was made for other rules or by another version.
        """
        path, checkpoint = folder / _CONFIG, folder / _CHECKPOINT
        if not path.is_file():
            raise ValueError(f"{str(folder)!r} is not the folder of a run: there is no {_CONFIG} in it")
        config = Config.from_json(path.read_text(encoding="utf-8"))
        if minutes is not None or decisions is not None:
            config = replace(config, minutes=minutes, decisions=decisions)
        if not checkpoint.is_file():  # it was killed before the first one
            return cls(config, folder)
        return cls(config, folder, torch.load(checkpoint, weights_only=True))

    @property
    def policy(self) -> ActorCritic:
        """The network that learns."""
        policy = self.model.policy
        assert isinstance(policy, ActorCritic)
        return policy

    def values(self, observations: NDArray[np.int8]) -> NDArray[np.float32]:
        """What the critic expects of the rewards to come, in points: float32 [B] of observations int8 [B, D]."""
        with torch.no_grad():
            values: Tensor = self.policy.predict_values(torch.as_tensor(observations))[:, 0] / self.config.reward_scale
        return values.numpy()

    @property
    def decisions(self) -> int:
        """How many decisions have been learnt from."""
        return self.model.num_timesteps

    def run(self) -> None:
        """Train until the budget is used; then `folder` holds `model.zip` and `policy.npz`.

        Raises:
            KeyboardInterrupt: after Ctrl-C or SIGTERM, when a checkpoint has been written.
        """
        names = [*curves.METRICS, *curves.evaluation_metrics(self.config.opponents)]
        log = curves.Curves(self.folder, names, self.decisions)
        opponents = {name: make_agent(name, self.game) for name in self.config.opponents}  # apart from the pool's
        saved = time.monotonic()
        with _stop_signals() as stop, torch_settings(self.config.threads):
            progress = self._bar()
            while self._left() > 0 and not stop.is_set():
                before, began = self.decisions, time.monotonic()
                row = self._update()
                learnt = time.monotonic()
                self.seconds += learnt - began
                if _crossed(before, self.decisions, self.config.evaluate_every) or self._left() <= 0:
                    row |= self._evaluate(opponents)
                if _crossed(before, self.decisions, self.config.snapshot_every):
                    self._pool.add(f"{self.decisions:,} decisions")
                now = time.monotonic()
                self.seconds += now - learnt
                row |= {name: row[name] / (now - began) for name in _TIMES if name in row}
                row |= {"time/evaluation": (now - learnt) / (now - began), "time/seconds": self.seconds}
                row["time/decisions_per_second"] = (self.decisions - before) / (now - began)
                log.write(self.decisions, row)
                self._show(progress, row, self.decisions - before, now - began)
                if now - saved > 60 * self.config.checkpoint_minutes:
                    log.flush()
                    self.save()
                    saved = time.monotonic()
            progress.close()
            log.close()
            self.save()
        if self._left() > 0:
            print(f"stopped after {self.decisions:,} decisions; to go on: "
                  f"python -m experiments train --resume {self.folder}")  # fmt: skip
            raise KeyboardInterrupt
        write_atomically(self.folder / "model.zip", self.model.save)

    def to_network(self) -> Network:
        """The policy as it is now, without torch."""
        training = {"method": METHOD, "decisions": self.decisions, "seconds": round(self.seconds),
                    "config": json.loads(self.config.to_json()), "start": self._start}  # fmt: skip
        return to_network(self.game, self.policy.actor, training)

    def save(self) -> None:
        """Write a checkpoint, and the policy as it is now."""
        write_atomically(self.folder / "policy.npz", self.to_network().save)
        state = {
            "format": _FORMAT,
            "about": describe_game(self.game),
            "one_colour": hasattr(self.policy.actor, ONE_COLOUR),
            "decisions": self.decisions,
            "updates": self._updates,
            "seconds": self.seconds,
            "start": self._start,
            "policy": self.policy.state_dict(),
            "optimiser": self.policy.optimizer.state_dict(),
            "pool": self._pool.get_state(),
            "lanes": {name: torch.as_tensor(array) for name, array in self._env.lanes.get_state().items()},
            "episode_starts": torch.as_tensor(self.model._last_episode_starts),
            "torch_random": torch.get_rng_state(),
            "numpy_random": _numpy_random(),
        }
        write_atomically(self.folder / _CHECKPOINT, lambda file: torch.save(state, file))

    def _set_state(self, state: Mapping[str, Any]) -> None:
        self._updates, self.seconds, self._start = state["updates"], state["seconds"], state["start"]
        self.policy.load_state_dict(state["policy"])
        self.policy.optimizer.load_state_dict(state["optimiser"])
        self._pool.set_state(state["pool"])
        self._env.lanes.set_state({name: tensor.numpy() for name, tensor in state["lanes"].items()})
        # What `collect_rollouts` and `train` go on from; SB3 has no other way to set it.
        self.model.num_timesteps = state["decisions"]
        self.model._last_obs = self._env.lanes.observations.copy()
        self.model._last_episode_starts = state["episode_starts"].numpy()
        torch.set_rng_state(state["torch_random"])
        _set_numpy_random(state["numpy_random"])

    def _left(self) -> float:
        """The share of the budget that is left; 0 or less if it is used."""
        if self.config.decisions is not None:
            return 1.0 - self.decisions / self.config.decisions
        return 1.0 - self.seconds / (60 * self._minutes)

    @property
    def _minutes(self) -> float:
        return _MINUTES if self.config.minutes is None else self.config.minutes

    def _draw_opponents(self) -> None:
        self._env.lanes.draw_from(self._pool.opponents().tolist(), self._pool.partners().tolist())

    def _update(self) -> dict[str, float]:
        """Play, then learn from it; return what there is to log, times in seconds."""
        model, config = self.model, self.config
        self._draw_opponents()
        knows_nothing = config.start is None and not self.policy.actor.head.advised
        self.policy.actor.requires_grad_(knows_nothing or self._updates >= config.critic_updates)
        steps = config.steps
        if config.decisions is not None:  # the last update may be smaller
            steps = min(steps, -(-(config.decisions - self.decisions) // config.lanes))
        if steps != model.rollout_buffer.buffer_size:
            model.n_steps = steps
            model.rollout_buffer = _buffer(model, steps)
        single = steps * config.lanes % config.batch_size == 1  # left over for a last batch, which it cannot be
        model.batch_size = config.batch_size + single
        model._current_progress_remaining = self._left()  # for the learning rate
        began, in_games = time.monotonic(), self._env.env_seconds
        assert model.env is not None
        model.collect_rollouts(model.env, self._watch, model.rollout_buffer, steps)
        played, in_games = time.monotonic(), self._env.env_seconds - in_games
        model.train()
        self._updates += 1
        rates = self._pool.win_rates()
        self._pool.forget()
        found = model.logger.name_to_value
        margins = np.array(self._watch.margins)
        row = {
            "games/ended": len(margins),
            "policy/entropy": -found["train/entropy_loss"],
            "policy/approx_kl": found["train/approx_kl"],
            "policy/clip_fraction": found["train/clip_fraction"],
            "policy/explained_variance": found["train/explained_variance"],
            "policy/value_loss": found["train/value_loss"],
            "policy/learning_rate": found["train/learning_rate"],
            "pool/size": len(rates),
            "pool/hardest": rates.min(),
            "time/environment": in_games,
            "time/rollout": played - began - in_games,
            "time/learning": time.monotonic() - played,
        }
        if len(margins):
            row |= {"games/margin": margins.mean(), "games/wins": (margins > 0).mean()}
        model.logger.name_to_value.clear()
        return {name: float(value) for name, value in row.items()}

    def _evaluate(self, opponents: Mapping[str, Agent]) -> dict[str, float]:
        """Play the policy's best actions against the fixed opponents, always on the same deals."""
        row: dict[str, float] = {}
        agent = PolicyAgent.of(self.game, self.policy)
        for name, opponent in opponents.items():
            result = play_match(self.game, (agent, opponent), self.config.evaluation_deals, _EVALUATION_SEED)
            games_played = result.wins + result.draws + result.losses
            row |= {f"evaluation/margin_{name}": result.mean, f"evaluation/wins_{name}": result.wins / games_played}
        return row

    def _bar(self) -> Any:
        if self.config.decisions is not None:
            return bar(self.config.decisions, "training", unit="decision", initial=self.decisions)
        form = "{l_bar}{bar}| {n:.0f}/{total} s [{remaining} left{postfix}]"
        return bar(round(60 * self._minutes), "training", initial=self.seconds, bar_format=form)

    def _show(self, progress: Any, row: Mapping[str, float], decisions: int, seconds: float) -> None:
        """Move the bar on."""
        progress.update(decisions if self.config.decisions is not None else seconds)
        margin = f", {row['games/margin']:+.1f} points a game" if "games/margin" in row else ""
        rate = row["time/decisions_per_second"]
        progress.set_postfix_str(f"{self.decisions:,} decisions, {rate:,.0f}/s{margin}")


def measure(training: Training) -> str:
    """Play a run's policy on duplicate deals that it has not met; write `result.md` and `curves.png`.

    Returns:
        The table of results.
    """
    config, folder = training.config, training.folder
    game = games.make(config.game, config.players)
    policy = make_agent(f"policy:{folder / 'policy.npz'}", game)
    report = write_result(game, "trained", policy, config.opponents, config.deals, folder)
    curves.picture(folder, f"{game.name}, {game.num_players} players, seed {config.seed}")
    return report


def _check_state(game: Game, state: Mapping[str, Any]) -> None:
    """Raise a ValueError unless a checkpoint is of this version and of this game."""
    if state["format"] != _FORMAT:
        raise ValueError(f"the checkpoint has format {state['format']!r}, not {_FORMAT!r}; train a new run")
    check_made_for(game, state["about"])


def new_model(env: SeatVecEnv, config: Config, one_colour: bool = True) -> MaskablePPO:
    """A fresh MaskablePPO for an environment; `one_colour` as in `new_module`."""
    model = MaskablePPO(
        ActorCritic,
        ScaledReward(env, config.reward_scale),
        n_steps=config.steps,
        batch_size=config.batch_size,
        n_epochs=config.epochs,
        learning_rate=LinearSchedule(config.learning_rate, config.final_learning_rate, 1.0),
        clip_range=config.clip_range,
        ent_coef=config.entropy,
        gamma=1.0,  # games are short, and rewards sum to the margin
        gae_lambda=config.gae_lambda,
        policy_kwargs={"game": env.game, "widths": config.widths, "one_colour": one_colour},
        seed=config.seed,
        device="cpu",
    )
    model.about = describe_game(env.game)  # type: ignore[attr-defined]  # so that it is in `model.zip`
    return model


def _step(game: Game) -> Step | None:
    """What carries out actions and says what they brought: for Wall without the luck of draws."""
    return partial(step_without_luck, game) if game.name == WallGame.name else None


def _buffer(model: MaskablePPO, steps: int) -> MaskableRolloutBuffer:
    return MaskableRolloutBuffer(
        steps, model.observation_space, model.action_space, model.device, model.gae_lambda, model.gamma, model.n_envs
    )


def _crossed(before: int, after: int, every: int) -> bool:
    """Whether a multiple of `every` was reached."""
    return after // every > before // every


def _numpy_random() -> dict[str, Any]:
    state: Any = np.random.get_state(legacy=False)  # noqa: NPY002  # by which SB3 shuffles
    return {"key": torch.as_tensor(state["state"]["key"].astype(np.int64)), "pos": state["state"]["pos"]}


def _set_numpy_random(state: Mapping[str, Any]) -> None:
    np.random.set_state(("MT19937", state["key"].numpy().astype(np.uint32), state["pos"], 0, 0.0))  # noqa: NPY002


@contextmanager
def _stop_signals() -> Iterator[threading.Event]:
    """An event that Ctrl-C and SIGTERM set, so that an update is not torn apart; a second Ctrl-C ends at once."""
    stop = threading.Event()
    if threading.current_thread() is not threading.main_thread():  # Python gives signals to no other
        yield stop
        return

    def ask(number: int, frame: FrameType | None) -> None:
        stop.set()
        signal.signal(signal.SIGINT, signal.default_int_handler)

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
