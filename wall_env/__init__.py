"""Wall (Wallbuilder): 1 to 6 players build walls from a shared deck.

    import wall_env
    env = wall_env.env()             # PettingZoo AEC; wall_env.env(num_players=4, reward="dense"), ...
    game = wall_env.WallGame()      # the batch-first contract of `cardtable.game.Game`

Options are those of `WallRules`.
"""

from typing import Any

import gymnasium
import pettingzoo
from pettingzoo.utils.env import AECEnv

from cardtable.aec import Observation, TableEnv, wrap
from cardtable.game import IllegalAction, register_game
from cardtable.vector import TableVectorEnv
from wall_env.game import WallGame, make_game
from wall_env.rules import WallRules

__all__ = ["IllegalAction", "WallGame", "WallRules", "env", "make_game", "raw_env", "vector_env"]


def raw_env(*, render_mode: str | None = None, **rules: Any) -> TableEnv:
    """Wall as a PettingZoo environment without wrappers: an illegal action raises `IllegalAction`.

    Args:
        render_mode: None, "ansi" or "human".
        rules: options of `WallRules`.

    Raises:
        ValueError: if an option is unknown or its value is not allowed.
    """
    return TableEnv(make_game(**rules), "wall_v0", render_mode)


def env(*, render_mode: str | None = None, **rules: Any) -> AECEnv[str, Observation, int]:
    """`raw_env` with PettingZoo's usual wrappers: an illegal action ends the game with its lowest return."""
    return wrap(raw_env(render_mode=render_mode, **rules))


def vector_env(num_envs: int, *, copy: bool = True, num_threads: int = 1, **rules: Any) -> TableVectorEnv:
    """Wall as a Gymnasium vector environment: `num_envs` games side by side, each at its own mover's decision.

    Args:
        num_envs, copy, num_threads: as in `cardtable.vector.TableVectorEnv`, which says what is returned.
        rules: options of `WallRules`.

    Raises:
        ValueError: if an argument or option is unknown or its value is not allowed.
    """
    return TableVectorEnv(make_game(**rules), num_envs, copy=copy, num_threads=num_threads)


register_game(WallGame.name, make_game)
pettingzoo.register("aec", "wall_v0", "wall_env:env")
gymnasium.register("Wall-v0", entry_point="agents.seat_env:wall", vector_entry_point="agents.seat_env:wall_vector")
