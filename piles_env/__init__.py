"""Piles: a card game for two teams of two with hidden hands, on a Castle of 4 x 3 piles; also for two players.

    import piles_env
    env = piles_env.env()             # PettingZoo AEC; piles_env.env(num_players=2, reward="dense"), ...
    game = piles_env.PilesGame()      # the batch-first contract of `cardtable.game.Game`

Options are those of `PilesRules`.
"""

from typing import Any

import pettingzoo
from pettingzoo.utils.env import AECEnv

from cardtable.aec import Observation, TableEnv, wrap
from cardtable.game import IllegalAction, register_game
from piles_env.game import PilesGame, make
from piles_env.rules import PilesRules

__all__ = ["IllegalAction", "PilesGame", "PilesRules", "env", "raw_env"]


def raw_env(*, render_mode: str | None = None, **rules: Any) -> TableEnv:
    """Piles as a PettingZoo environment without wrappers: an illegal action raises `IllegalAction`.

    Args:
        render_mode: None, "ansi" or "human".
        rules: options of `PilesRules`.

    Raises:
        ValueError: if an option is unknown or its value is not allowed.
    """
    return TableEnv(make(**rules), "piles_v0", render_mode)


def env(*, render_mode: str | None = None, **rules: Any) -> AECEnv[str, Observation, int]:
    """`raw_env` with PettingZoo's usual wrappers: an illegal action ends the game with its lowest return."""
    return wrap(raw_env(render_mode=render_mode, **rules))


register_game(PilesGame.name, make)
pettingzoo.register("aec", "piles_v0", "piles_env:env")
