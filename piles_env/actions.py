"""Action ids of Piles: their fields, their text, and the game's symmetries as permutations of indices."""

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from piles_env.encoding import layout
from piles_env.engine import COLUMNS, NUM_KINDS, PASS, ROWS
from piles_env.state import NUM_PILES

PILE_NAMES = tuple("abcd"[pile % COLUMNS] + "123"[pile // COLUMNS] for pile in range(NUM_PILES))
KIND_NAMES = tuple(colour + rank for colour in ("red ", "black ") for rank in "A23456789TJQK")


def encode(pile: int, kind: int) -> int:
    """The action id of placing a card of a kind (0..25) on a pile (0..11)."""
    return pile * NUM_KINDS + kind


def decode(action: int) -> tuple[int, int] | None:
    """Pile and kind of an action id (0..312), None for a pass."""
    return None if action == PASS else divmod(action, NUM_KINDS)


def action_name(action: int) -> str:
    """An action id in words: "red T@b2", "pass"."""
    if action == PASS:
        return "pass"
    pile, kind = divmod(action, NUM_KINDS)
    return f"{KIND_NAMES[kind]}@{PILE_NAMES[pile]}"


@dataclass(frozen=True)
class Symmetry:
    """A map of the game onto itself: `new[observation] = old`, `new_mask[action] = old_mask`.

    Attributes:
        name: what it does, for example "swap colours, mirror columns".
        observation: int64 [D]; `image = x[..., observation]` is the image of an observation x.
        action: int64 [313]; `image = mask[..., action]` is the image of a mask. As a permutation it maps an action's
            image to the action; `inverse_action` maps an action to its image.
    """

    name: str
    observation: NDArray[np.int64]
    action: NDArray[np.int64]

    @property
    def inverse_action(self) -> NDArray[np.int64]:
        return np.argsort(self.action)


def _kinds(swap: bool) -> NDArray[np.int64]:
    kinds = np.arange(NUM_KINDS)
    return (kinds + 13) % NUM_KINDS if swap else kinds


def _piles(mirror_columns: bool, mirror_rows: bool) -> NDArray[np.int64]:
    grid = np.arange(NUM_PILES).reshape(ROWS, COLUMNS)
    if mirror_columns:
        grid = grid[:, ::-1]
    if mirror_rows:
        grid = grid[::-1]
    return grid.ravel()


@cache
def symmetries(num_players: int) -> tuple[Symmetry, ...]:
    """All eight symmetries of Piles, the identity first.

    The colours can be swapped, and the Castle mirrored left to right, top to bottom, or both. Each is its own inverse.
    """
    found = []
    for swap in (False, True):
        for mirror_columns in (False, True):
            for mirror_rows in (False, True):
                kinds, piles = _kinds(swap), _piles(mirror_columns, mirror_rows)
                parts = [
                    name
                    for name, on in (
                        ("swap colours", swap),
                        ("mirror columns", mirror_columns),
                        ("mirror rows", mirror_rows),
                    )
                    if on
                ]
                action = np.append((piles[:, None] * NUM_KINDS + kinds).ravel(), PASS)
                found.append(
                    Symmetry(", ".join(parts) or "identity", _observation_map(num_players, swap, kinds, piles), action)
                )
    return tuple(found)


def _observation_map(
    num_players: int, swap: bool, kinds: NDArray[np.int64], piles: NDArray[np.int64]
) -> NDArray[np.int64]:
    pieces = layout(num_players)
    index = {name: part.copy() for name, part in pieces.split(np.arange(pieces.size)).items()}
    for name in ("hand", "unseen"):
        index[name] = index[name][kinds]
    for name in ("taken", "played"):
        index[name] = index[name][:, kinds]
    for name in ("top", "under"):
        index[name] = index[name][piles][:, kinds]
    index["total"] = index["total"][piles]
    last = index["last_action"]
    last[:, :NUM_KINDS] = last[:, kinds]
    last[:, NUM_KINDS : NUM_KINDS + NUM_PILES] = last[:, NUM_KINDS + piles]
    if swap:
        index["colour"] = index["colour"][[0, 2, 1]]
    return np.concatenate([part.ravel() for part in index.values()])
