"""How searching players of Piles play a possible game to its end."""

import numpy as np

from cardtable import chance
from cardtable.bits import widen
from cardtable.kernel import Record, inner
from piles_env import engine
from piles_env.careful import careful_action
from piles_env.policies import greedy_action


@inner
def play_out(s: Record, careful_until: int, seed: np.uint64) -> int:
    """Play a game to its end, carefully until a turn, then greedily; return the final margin of team 0, in points.

    Good replies matter most, and greedy is five times as fast.
    """
    while s.to_move >= 0:
        hand, turn = s.hand[s.to_move], widen(s.turn)
        if turn < careful_until:
            action = careful_action(s, hand, seed, chance.PLAYOUT, turn)
        else:
            action = greedy_action(s, hand, seed, chance.PLAYOUT, turn)
        engine.play(s, action)
    return engine.public_margin(s)
