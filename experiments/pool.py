"""Who plays the other seats while a policy learns: the policy itself, fixed players, and the policy as it was."""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from agents.agent import Agent
from agents.policy import PolicyAgent
from agents.torch_networks import Module
from cardtable.game import Game

_MEMORY = 0.95  # of what is known about an agent this much is kept at each update


class Pool:
    """Opponents and partners of a learner, and how often each is to be met.

    A part of the games is played against the learner's present policy. The others go to those who still win, but not
    always: an agent that the learner beats with probability p is met in proportion to p (1 - p) (prioritised fictitious
    self-play, Vinyals et al., "Grandmaster level in StarCraft II using multi-agent reinforcement learning", Nature
    2019). Their (1 - p)**2, tried instead, gave nearly all games to "careful", which a beginner learns little from.
    What is known about an agent fades, so that one that is not met any more seems even again, and gets another chance.

    Args:
        game: the game.
        fixed: players that stay as they are, by name.
        policy: the network that learns.
        latest_share: share of games against the present policy.
        partner_share: share of games in which others than the learner, equally often each, play its partners.
        snapshots: at most so many past policies are kept; the one that is beaten most makes room for the next.

    Attributes:
        agents: for `SeatLanes`: the fixed players, the present policy, the past ones.
        names: a name for each.
    """

    def __init__(
        self,
        game: Game,
        fixed: Mapping[str, Agent],
        policy: Module,
        latest_share: float,
        partner_share: float,
        snapshots: int,
    ) -> None:
        self._game = game
        self._latest_share = latest_share
        self._partner_share = partner_share
        self._latest = len(fixed)
        self._most = len(fixed) + 1 + snapshots
        self._policy = policy
        self._networks: list[Module] = []
        self.agents: list[Agent] = [*fixed.values(), PolicyAgent(game, policy, sample=True)]
        self.names = [*fixed, "latest"]
        self._games = np.zeros(self._most)
        self._points = np.zeros(self._most)  # a win counts 1, a draw 1/2

    def add(self, name: str) -> None:
        """Add the policy as it is now; in place of the one that is beaten most if the pool is full."""
        first = self._latest + 1
        if self._most == first:
            return
        index = len(self.agents)
        if index == self._most:
            index = first + int(np.argmax(self.win_rates()[first:]))
        self._put(index, name, deepcopy(self._policy))
        self._games[index] = self._points[index] = 0.0

    def _put(self, index: int, name: str, network: Module) -> None:
        agent = PolicyAgent(self._game, network, sample=True)
        agent.reset(index)
        self.agents[index:] = [agent, *self.agents[index + 1 :]]
        self.names[index:] = [name, *self.names[index + 1 :]]
        number = index - self._latest - 1
        self._networks[number:] = [network, *self._networks[number + 1 :]]

    def record(self, opponent: int, margin: float) -> None:
        """Count a game against an agent that ended with this margin for the learner."""
        if opponent >= 0:
            self._games[opponent] += 1
            self._points[opponent] += 0.5 if margin == 0 else float(margin > 0)

    def forget(self) -> None:
        """Let what is known fade; to be called once an update."""
        self._games *= _MEMORY
        self._points *= _MEMORY

    def win_rates(self) -> NDArray[np.float64]:
        """How often the learner beats each agent, float64 [agents]; 1/2 for one that it has not met."""
        count = len(self.agents)
        return (self._points[:count] + 0.5) / (self._games[:count] + 1.0)

    def opponents(self) -> NDArray[np.float64]:
        """The share of games in which each agent is to be the opponent, float64 [agents]."""
        rates = self.win_rates()
        weights = rates * (1.0 - rates)
        weights[self._latest] = 0.0
        weights *= (1.0 - self._latest_share) / weights.sum()
        weights[self._latest] = self._latest_share
        return weights

    def partners(self) -> NDArray[np.float64]:
        """The share of games in which each agent is to play the learner's partners, float64 [agents]."""
        shares = np.full(len(self.agents), self._partner_share / (len(self.agents) - 1))
        shares[self._latest] = 0.0  # it had better be the learner
        return shares

    def get_state(self) -> dict[str, Any]:
        """What changes in a pool, in tensors, numbers and text."""
        return {
            "names": self.names[self._latest + 1 :],
            "networks": [network.state_dict() for network in self._networks],
            "games": torch.as_tensor(self._games.copy()),
            "points": torch.as_tensor(self._points.copy()),
        }

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Become what a pool with the same arguments was at `get_state`."""
        for number, (name, tensors) in enumerate(zip(state["names"], state["networks"], strict=True)):
            network = deepcopy(self._policy)
            network.load_state_dict(tensors)
            self._put(self._latest + 1 + number, name, network)
        self._games[:] = state["games"].numpy()
        self._points[:] = state["points"].numpy()
