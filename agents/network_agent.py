"""Networks as players."""

import json
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from agents.agent import GameAgent
from agents.dense_network import DenseNetwork
from agents.network import Network, check_made_for
from agents.place_network import PlaceNetwork
from cardtable.game import Game, Ints, Views

_ARCHITECTURES: dict[str, type[Network]] = {kind.architecture: kind for kind in (DenseNetwork, PlaceNetwork)}
_SHIPPED = Path(__file__).parent / "policies"


def shipped() -> dict[str, Path]:
    """The files of the networks that come with the suite, by name."""
    return {path.stem: path for path in sorted(_SHIPPED.glob("*.npz"))}


def load_network(path: Path, game: Game) -> Network:
    """Read a network that `Network.save` wrote.

    Raises:
        ValueError: if the file is not there, is no network, or is for another game, other rules or another encoding.
    """
    if not path.is_file():
        raise ValueError(
            f"there is no file {str(path)!r}; train a network with `python -m experiments imitate` or `train`"
        )
    try:
        with np.load(path, allow_pickle=False) as file:
            about = json.loads(str(file["about"]))
            parameters = {name: file[name] for name in file.files if name != "about"}
        check_made_for(game, about)
        return _ARCHITECTURES[about["architecture"]](game, parameters, about["training"])
    except (OSError, ValueError, KeyError, IndexError) as error:
        raise ValueError(f"{str(path)!r} is no network that can play here: {error}") from error


class NetworkAgent(GameAgent):
    """Takes the legal action that a network values most.

    Args:
        game: the game that will be played.
        network: the network, for this game.
    """

    def __init__(self, game: Game, network: Network) -> None:
        super().__init__(game)
        self._network = network

    def values(self, views: Views) -> NDArray[np.float32]:
        """The network's value of each action, float32 [B, A]; minus infinity for actions that are not legal."""
        observations, masks = self.game.observe(views)
        return np.where(masks, self._network.values(observations), -np.inf).astype(np.float32)

    def _act(self, views: Views, seeds: NDArray[np.uint64]) -> Ints:
        return np.asarray(np.argmax(self.values(views), axis=1), np.int64)
