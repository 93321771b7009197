"""What actions of Wall are worth if a network plays on: the trials of `wall_mcts` with another player for a round.

A network is some thirty times slower than "builder", so it plays only until each player has had a turn, and this is to
learn from, not to play by: labels from such trials teach the next network (expert iteration; Anthony, Tian and Barber,
NeurIPS 2017).
"""

import numpy as np
from numpy.typing import NDArray

from agents.network_agent import NetworkAgent
from agents.wall_mcts import expected_margin, play, play_on
from cardtable.chance import WORLD, draw_each
from cardtable.game import Game, Ints, States, Views
from cardtable.kernel import kernel
from wall_env import engine
from wall_env.builder import WORK, builder_action
from wall_env.encoding import NUM_RANKS
from wall_env.policies import count_deck
from wall_env.state import CHOOSE, PLACE


@kernel
def _play(
    states: States,
    live: Ints,
    actions: Ints,
    seats: Ints,
    luck: NDArray[np.float64],
    turns: Ints,
    done: NDArray[np.bool_],
) -> None:
    """Act in the live trials, note the luck of draws, and stop where the game is over or each player has had a turn."""
    scratch = np.zeros(1, WORK)
    unseen = np.empty(NUM_RANKS, np.int64)
    for k in range(len(live)):
        lane, w = live[k], scratch[0]
        s = states[lane]
        if actions[k] == engine.DRAW:
            count_deck(s, unseen)
            builder_action(s, unseen, w)  # for `luck`
        luck[lane] += play(s, actions[k], seats[lane], w)
        if s.phase != PLACE:
            turns[lane] += 1
        done[lane] = s.to_move < 0 or turns[lane] == s.num_players


@kernel
def _margins(states: States, seats: Ints, turns: Ints, out: NDArray[np.float64]) -> None:
    scratch = np.zeros(1, WORK)
    unseen = np.empty(NUM_RANKS, np.int64)
    for lane in range(len(states)):
        s, w = states[lane], scratch[0]
        count_deck(s, unseen)
        if s.to_move < 0:
            out[lane] = expected_margin(s, seats[lane], unseen, w)
        else:
            out[lane] = play_on(s, builder_action(s, unseen, w), seats[lane], turns[lane], unseen, w)


def action_values(
    game: Game, views: Views, playouts: int, seeds: NDArray[np.uint64], policy: NetworkAgent
) -> NDArray[np.float32]:
    """The margin that the viewer may expect after each action, in points: `policy` plays on, and "builder" later.

    Start cards are not tried: that which the network prefers gets 1 and the others 0.

    Args:
        game: Wall.
        views: views [B] of seats that are to move.
        playouts: trials for each view, shared equally among its legal actions (at least one each).
        seeds: uint64 [B].
        policy: who goes on for a round.

    Returns:
        float32 [B, A], NaN where an action is not legal.
    """
    masks = game.observe(views)[1] != 0
    values = np.where(masks, np.float32(0), np.float32(np.nan))
    starting = np.flatnonzero(views["phase"] == CHOOSE)
    if len(starting):
        values[starting, policy.values(views[starting]).argmax(axis=1)] = 1
    trials = np.where(views["phase"] == CHOOSE, 0, np.maximum(1, playouts // masks.sum(axis=1)))
    row, first = np.nonzero(masks)
    row, first = np.repeat(row, trials[row]), np.repeat(first, trials[row])
    # All actions of a view are tried in the same games.
    number = np.concatenate([np.tile(np.arange(n), k) for n, k in zip(trials, masks.sum(axis=1), strict=True)])
    states = game.determinize(views[row], draw_each(seeds[row], WORLD, number))
    seats = views["seat"][row].astype(np.int64)
    luck, turns, done = np.zeros(len(row)), np.zeros(len(row), np.int64), np.zeros(len(row), np.bool_)
    live, actions = np.arange(len(row)), first
    while len(live):
        _play(states, live, actions, seats, luck, turns, done)
        live = live[~done[live]]
        moving = states[live]
        actions = policy.values(game.view(moving, game.current_player(moving))).argmax(axis=1)
    margins = np.empty(len(row))
    _margins(states, seats, turns, margins)
    np.add.at(values, (row, first), ((margins - luck) / trials[row]).astype(np.float32))
    return values
