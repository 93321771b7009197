"""Action ids of Wall: their fields, their text, and the mirror image of a wall as permutations of indices."""

from functools import cache

import numpy as np
from numpy.typing import NDArray

from wall_env.encoding import layout
from wall_env.engine import DISCARD, DRAW, FIRST_BUILD, LEFT, LOWEST_START, PASS, RIGHT, TAKE
from wall_env.rules import WallRules

NAMES = {DRAW: "draw", TAKE: "take", PASS: "pass", DISCARD: "discard", LEFT: "left", RIGHT: "right"}


def num_actions(rules: WallRules) -> int:
    """12 actions without a place, and one for each place above the base."""
    return FIRST_BUILD + rules.num_cells - rules.width_limit


def encode_build(rules: WallRules, level: int, position: int) -> int:
    """The action id of building up at (level, position), positions counted from the wall's left end, from 0.

    Raises:
        ValueError: if no wall by these rules can have such a place.
    """
    if not 1 <= level <= rules.num_levels or not 0 <= position < rules.width_limit - level:
        raise ValueError(
            f"W10: there is no place {level}.{position}; levels are 1 to {rules.num_levels}, "
            f"positions 0 to {rules.width_limit - 1} minus the level"
        )
    return FIRST_BUILD + sum(rules.width_limit - below for below in range(1, level)) + position


def decode_build(rules: WallRules, action: int) -> tuple[int, int] | None:
    """Level and position of a building action, None for another action."""
    position = action - FIRST_BUILD
    if position < 0:
        return None
    for level in range(1, rules.num_levels + 1):
        if position < rules.width_limit - level:
            return level, position
        position -= rules.width_limit - level
    raise ValueError(f"action ids are 0 to {num_actions(rules) - 1}, not {action}")


def action_name(rules: WallRules, action: int) -> str:
    """An action id in words: "start 5", "draw", "build 1.3"."""
    if action < DRAW:
        return f"start {action + LOWEST_START}"
    place = decode_build(rules, action)
    return NAMES[action] if place is None else f"build {place[0]}.{place[1]}"


@cache
def mirrors(rules: WallRules) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Mirroring the viewer's own wall left to right, by the number w of cards in its base.

    The rules do not tell left from right, and walls do not touch each other, so the image is a position as good as the
    one before. Where a card goes depends on w, because positions count from the left.

    Returns:
        int64 [W + 1, D] and int64 [W + 1, A]: `x[..., observation[w]]` is the image of an observation, and
        `mask[..., action[w]]` that of a mask. Each is its own inverse.
    """
    width, pieces = rules.width_limit, layout(rules)
    observation = np.tile(np.arange(pieces.size), (width + 1, 1))
    action = np.tile(np.arange(num_actions(rules)), (width + 1, 1))
    action[:, [LEFT, RIGHT]] = RIGHT, LEFT
    for w in range(width + 1):
        first = pieces.slices["wall"].start  # the own wall comes first, level by level
        for level in range(rules.num_levels + 1):
            there = np.arange(max(0, w - level))
            observation[w, first + there] = first + there[::-1]
            if level > 0 and len(there):
                built = encode_build(rules, level, 0)
                action[w, built + there] = built + there[::-1]
            first += width - level
    return observation, action
