"""Piles: a card game for two teams of two with hidden hands, on a Castle of 4 x 3 piles; also for two players.

    import piles_env
    env = piles_env.env()             # PettingZoo AEC; piles_env.env(num_players=2, reward="dense"), ...
    game = piles_env.PilesGame()      # the batch-first contract of `cardtable.game.Game`

Options are those of `PilesRules`.
"""

from typing import Any

import gymnasium
import pettingzoo
from pettingzoo.utils.env import AECEnv

from cardtable.aec import Observation, TableEnv, wrap
from cardtable.game import IllegalAction, register_game
from cardtable.vector import TableVectorEnv
from piles_env.game import PilesGame, make_game
from piles_env.rules import PilesRules

__all__ = ["IllegalAction", "PilesGame", "PilesRules", "env", "make_game", "raw_env", "vector_env"]


def raw_env(*, render_mode: str | None = None, **rules: Any) -> TableEnv:
    """Piles as a PettingZoo environment without wrappers: an illegal action raises `IllegalAction`.

    Args:
        render_mode: None, "ansi" or "human".
        rules: options of `PilesRules`.

    Raises:
        ValueError: if an option is unknown or its value is not allowed.
    """
    return TableEnv(make_game(**rules), "piles_v0", render_mode)


def env(*, render_mode: str | None = None, **rules: Any) -> AECEnv[str, Observation, int]:
    """`raw_env` with PettingZoo's usual wrappers: an illegal action ends the game with its lowest return."""
    return wrap(raw_env(render_mode=render_mode, **rules))


def vector_env(num_envs: int, *, copy: bool = True, num_threads: int = 1, **rules: Any) -> TableVectorEnv:
    """Piles as a Gymnasium vector environment: `num_envs` games side by side, each at its own mover's decision.

    Args:
        num_envs, copy, num_threads: as in `cardtable.vector.TableVectorEnv`, which says what is returned.
        rules: options of `PilesRules`.

    Raises:
        ValueError: if an argument or option is unknown or its value is not allowed.
    """
    return TableVectorEnv(make_game(**rules), num_envs, copy=copy, num_threads=num_threads)


register_game(PilesGame.name, make_game)
pettingzoo.register("aec", "piles_v0", "piles_env:env")
gymnasium.register("Piles-v0", entry_point="agents.seat_env:piles", vector_entry_point="agents.seat_env:piles_vector")
