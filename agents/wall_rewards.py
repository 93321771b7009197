"""Wall with rewards that come early and without the luck of the draws, to learn from.

A final margin varies by 5 points from game to game, good actions differ by some tenths. So each action is rewarded by
what it changes in the margin that "builder" would expect, less what a draw brought beyond its expectation. The first
sums to the final margin whatever is expected on the way (Ng, Harada and Russell, "Policy invariance under reward
transformations", ICML 1999); the second has mean 0, as the order of the deck is uniform (as in Burch et al., "AIVAT",
AAAI 2018). So the mean return of any two players is what it would be without either.
"""

import numpy as np
from numpy.typing import NDArray

from agents.wall_mcts import expected_points, play_any, share
from cardtable.bits import widen
from cardtable.game import Game, Ints, States
from cardtable.kernel import Record, inner, kernel
from wall_env.builder import WORK, builder_action, survey_cards
from wall_env.encoding import NUM_RANKS, rank_index
from wall_env.policies import count_deck
from wall_env.state import CHOOSE, PLACE


@inner
def _expect(s: Record, unseen: Ints, w: Record, out: NDArray[np.float64]) -> None:
    """The margin that each seat may expect; 0 before all have a wall."""
    out[:] = 0.0
    if s.phase == CHOOSE:
        return
    count_deck(s, unseen)
    survey_cards(s, unseen, w)
    for player in range(s.num_players):
        _add(s, player, expected_points(s, player, unseen, w), out)
    if s.phase == PLACE and s.to_move >= 0:
        builder_action(s, unseen, w)
        k = rank_index(s.in_hand)
        _add(s, widen(s.to_move), max(-w.denied[k], w.gain[k] + w.turn[0]), out)


@inner
def _add(s: Record, player: int, points: float, out: NDArray[np.float64]) -> None:
    """Give a player points, as they count in everyone's margin."""
    for seat in range(s.num_players):
        out[seat] += share(s, seat, player) * points


@kernel
def _play(states: States, chosen: Ints, rewards: NDArray[np.float64]) -> None:
    scratch = np.zeros(1, WORK)
    unseen = np.empty(NUM_RANKS, np.int64)
    before = np.empty(rewards.shape[1])
    for lane in range(len(states)):
        s, w = states[lane], scratch[0]
        player = widen(s.to_move)
        _expect(s, unseen, w, before)
        _add(s, player, play_any(s, chosen[lane], player, unseen, w), before)
        _expect(s, unseen, w, rewards[lane])
        rewards[lane] -= before


def step_without_luck(game: Game, states: States, actions: Ints) -> NDArray[np.float64]:
    """`game.step` with the rewards of this module.

    Args:
        game: Wall.
        states: records [B].
        actions: integers [B].

    Returns:
        What the actions brought each seat, float64 [B, P], in points.

    Raises:
        IllegalAction: if an action is not a legal one or a game is over; no state has changed then.
    """
    chosen = game.check_actions(states, actions)
    lane = game.first_illegal(states, chosen, 0, len(states))
    if lane >= 0:
        raise game.illegal_action(states[lane], chosen[lane], lane)
    rewards = np.empty((len(states), game.num_players))
    _play(states, chosen, rewards)
    return rewards
