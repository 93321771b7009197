"""Games by the short names of the command line."""

import argparse

from cardtable.game import Game
from piles_env import PilesGame, PilesRules
from wall_env import WallGame, WallRules

GAMES = ("piles", "wall")
_DEFAULT_PLAYERS = {"piles": 4, "wall": 2}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The game and its number of players."""
    parser.add_argument("game", choices=GAMES)
    parser.add_argument(
        "--players", type=int, help="number of players (piles: 4 or 2, default 4; wall: 1 to 6, default 2)"
    )


def make(name: str, players: int | None, reward: str = "margin") -> Game:
    """A game with default rules but for these.

    Raises:
        ValueError: if the rules do not allow that number of players.
    """
    players = _DEFAULT_PLAYERS[name] if players is None else players
    if name == "piles":
        return PilesGame(PilesRules(num_players=players, reward=reward))
    return WallGame(WallRules(num_players=players, reward=reward))
