"""A trained network as an agent."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from gymnasium import spaces
from numpy.typing import NDArray
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor

from agents.agent import GameAgent
from cardtable.chance import SAMPLE, uniform_each
from cardtable.game import Game, Ints, Views

if TYPE_CHECKING:
    from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy


class ObservationLayer(BaseFeaturesExtractor):
    """The first layer, which policy and value network share.

    It divides each number of an observation by the largest size that the observation space allows it.
    """

    def __init__(self, observation_space: spaces.Box, width: int = 256) -> None:
        super().__init__(observation_space, features_dim=width)
        low, high = observation_space.low.astype(np.float32), observation_space.high.astype(np.float32)
        scale = np.maximum(np.maximum(np.abs(low), np.abs(high)), 1.0)
        self.factor: torch.Tensor
        self.register_buffer("factor", torch.as_tensor(1.0 / scale))

        self.linear = torch.nn.Linear(len(scale), width)

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.linear(observations * self.factor))


class PolicyAgent(GameAgent):
    """Plays by a MaskablePPO policy.

    Args:
        game: the game that will be played.
        policy: the network.
        sample: draw actions with the policy's probabilities; otherwise take the most likely one.
    """

    def __init__(self, game: Game, policy: "MaskableActorCriticPolicy", sample: bool = False) -> None:
        super().__init__(game)
        expected, found = game.observation_shape, policy.observation_space.shape
        actions = getattr(policy.action_space, "n", None)
        if found != expected or actions != game.num_actions:
            raise ValueError(
                f"the network was made for observations of shape {found} and {actions} actions; "
                f"{game!r} has {expected} and {game.num_actions}, so it needs a network of its own"
            )
        self._policy = policy
        self._sample = sample

    @classmethod
    def load(cls, game: Game, path: str | Path) -> "PolicyAgent":
        """An agent from a file that MaskablePPO saved (`experiments train` does).

        Raises:
            ValueError: if there is no such file, or it was made for other rules.
        """
        from sb3_contrib import MaskablePPO

        if not Path(path).is_file():
            raise ValueError(f"there is no file {str(path)!r}; train one with `python -m experiments train`")
        return cls(game, MaskablePPO.load(path, device="cpu").policy)

    def policy(self, views: Views) -> NDArray[np.float64]:
        """Action probabilities for each view [B], float64 [B, A]; illegal actions have probability 0."""
        self._check(views)
        observations, masks = self.game.observe(views)
        self._policy.set_training_mode(False)
        with torch.no_grad():
            tensor: Any = torch.as_tensor(observations)
            logits = self._policy.get_distribution(tensor).distribution.logits.double().numpy()  # type: ignore[union-attr]
        logits = np.where(masks, logits, -np.inf)
        weights = np.exp(logits - logits.max(axis=1, keepdims=True))
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))

    def _act(self, views: Views, seeds: NDArray[np.uint64]) -> Ints:
        probabilities = self.policy(views)
        if not self._sample:
            return np.asarray(np.argmax(probabilities, axis=1), np.int64)
        sums = probabilities.cumsum(axis=1)
        targets = uniform_each(seeds, SAMPLE) * sums[:, -1]
        return np.asarray((sums <= targets[:, None]).sum(axis=1), np.int64)
