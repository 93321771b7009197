"""Networks for MaskablePPO, and networks in torch as players."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from numpy.typing import NDArray
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.type_aliases import Schedule
from torch import Tensor, nn

from agents.agent import GameAgent
from agents.network import check_made_for
from agents.torch_networks import Module, new_module
from cardtable.chance import SAMPLE, uniform_each
from cardtable.game import Game, Ints, Views

_CRITIC_WIDTH = 128
_ILLEGAL = -1e8  # as a logit


class _Features(nn.Module):
    """Where SB3 expects two extractors: the actor's features, which the last layers of actor and critic share."""

    def __init__(self, actor: Module) -> None:
        super().__init__()
        self.actor = actor
        self.latent_dim_pi = self.latent_dim_vf = actor.num_summary

    def forward(self, observations: Tensor) -> tuple[Tensor, Tensor]:
        features = self.forward_actor(observations)
        return features, self.actor.summary(features)

    def forward_actor(self, observations: Tensor) -> Tensor:
        return self.actor.features(observations)

    def forward_critic(self, observations: Tensor) -> Tensor:
        return self.actor.summary(self.actor.features(observations))


class _Logits(nn.Module):
    """Where SB3 expects the last layer."""

    def __init__(self, actor: Module) -> None:
        super().__init__()
        self.actor = actor

    def forward(self, features: Tensor) -> Tensor:
        return self.actor.values(features)


class ActorCritic(MaskableActorCriticPolicy):
    """A policy for MaskablePPO: one of `agents.torch_networks` is the actor, a critic uses the features of its body.

    The stock policy normalises the logits three times for each distribution, by slower functions; with hundreds of
    actions that takes as long as the layers.

    Args:
        observation_space, action_space, lr_schedule, kwargs: as MaskablePPO gives them.
        game: the game that it is for.
        widths, one_colour: of the actor, as in `new_module`.

    Attributes:
        actor: the network whose values are the logits.
    """

    actor: Module

    def __init__(
        self,
        observation_space: spaces.Space[Any],
        action_space: spaces.Space[Any],
        lr_schedule: Schedule,
        game: Game,
        widths: Sequence[int],
        one_colour: bool = True,
        **kwargs: Any,
    ) -> None:
        self._game = game
        self._widths = widths
        self._one_colour = one_colour
        super().__init__(observation_space, action_space, lr_schedule, **kwargs)

    def _build(self, lr_schedule: Schedule) -> None:
        self.actor = new_module(self._game, self._widths, one_colour=self._one_colour)
        features = self.actor.num_summary
        self.mlp_extractor: _Features = _Features(self.actor)  # type: ignore[assignment]
        self.action_net = _Logits(self.actor)
        self.value_net: nn.Sequential = nn.Sequential(  # type: ignore[assignment]
            nn.Linear(features, _CRITIC_WIDTH), nn.ReLU(), nn.Linear(_CRITIC_WIDTH, 1)
        )
        self.optimizer = torch.optim.Adam(self.parameters(), lr=lr_schedule(1), eps=1e-5, fused=True)

    def _get_constructor_parameters(self) -> dict[str, Any]:
        return super()._get_constructor_parameters() | {
            "game": self._game,
            "widths": self._widths,
            "one_colour": self._one_colour,
        }

    def forward(
        self, obs: Tensor, deterministic: bool = False, action_masks: NDArray[Any] | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Actions, values and log-probabilities, as MaskablePPO plays."""
        logits, values = self._logits_and_values(obs, action_masks)
        actions = logits.argmax(dim=1) if deterministic else torch.multinomial(logits.softmax(dim=1), 1)[:, 0]
        return actions, values, logits.log_softmax(dim=1).gather(1, actions[:, None])[:, 0]

    def evaluate_actions(
        self, obs: Tensor, actions: Tensor, action_masks: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Values, log-probabilities and entropies, as MaskablePPO learns."""
        logits, values = self._logits_and_values(obs, action_masks)
        logs = logits.log_softmax(dim=1)
        # Not logs.exp(): where that underflows, as with all illegal actions, it takes 50 times as long.
        entropies = -(logits.softmax(dim=1) * logs).sum(dim=1)
        return values, logs.gather(1, actions[:, None])[:, 0], entropies

    def _logits_and_values(self, observations: Tensor, masks: Any) -> tuple[Tensor, Tensor]:
        """Unnormalised log-probabilities [B, A] and values [B, 1]."""
        features = self.actor.features(observations.float())
        logits = self.actor.values(features)
        if masks is not None:
            logits = logits.masked_fill(torch.as_tensor(masks) == 0, _ILLEGAL)
        return logits, self.value_net(self.actor.summary(features))


class PolicyAgent(GameAgent):
    """Plays by a policy in torch.

    Args:
        game: the game that will be played.
        logits: takes observations int8 [B, D] and returns unnormalised log-probabilities [B, A] of all actions.
        sample: draw actions with the policy's probabilities; otherwise take the most likely one.
    """

    def __init__(self, game: Game, logits: Callable[[Tensor], Tensor], sample: bool = False) -> None:
        super().__init__(game)
        self._logits = logits
        self._sample = sample

    @classmethod
    def of(cls, game: Game, policy: MaskableActorCriticPolicy, sample: bool = False) -> "PolicyAgent":
        """An agent that plays by a policy of MaskablePPO, and changes as that learns.

        Raises:
            ValueError: if it was made for other sizes of observations or actions.
        """
        expected, found = game.observation_shape, policy.observation_space.shape
        actions = getattr(policy.action_space, "n", None)
        if found != expected or actions != game.num_actions:
            raise ValueError(
                f"the network was made for observations of shape {found} and {actions} actions; "
                f"{game!r} has {expected} and {game.num_actions}, so it needs a network of its own"
            )

        def logits(observations: Tensor) -> Tensor:
            return policy.get_distribution(observations).distribution.logits  # type: ignore[union-attr,no-any-return]

        return cls(game, policy.actor if isinstance(policy, ActorCritic) else logits, sample)

    @classmethod
    def load(cls, game: Game, path: str | Path) -> "PolicyAgent":
        """An agent from a file that MaskablePPO saved (`experiments train` does).

        Raises:
            ValueError: if there is no such file, or it was made for other rules.
        """
        if not Path(path).is_file():
            raise ValueError(f"there is no file {str(path)!r}; train one with `python -m experiments train`")
        model = MaskablePPO.load(path, device="cpu")
        about = getattr(model, "about", None)  # `experiments train` says what the network was made for
        if about is not None:
            check_made_for(game, about)
        return cls.of(game, model.policy)

    def policy(self, views: Views) -> NDArray[np.float64]:
        """Action probabilities for each view [B], float64 [B, A]; illegal actions have probability 0."""
        self._check(views)
        observations, masks = self.game.observe(views)
        with torch.no_grad():
            logits = self._logits(torch.as_tensor(observations)).double().numpy()
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
