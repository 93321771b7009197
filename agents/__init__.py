"""Players for both games: `make_agent("greedy", game)` makes one; `agent.act(views)` chooses for a batch of views."""

import piles_env
import wall_env
from agents.agent import Agent, GameAgent
from agents.spec import agent_names, make_agent

__all__ = ["Agent", "GameAgent", "agent_names", "make_agent", "piles_env", "wall_env"]
