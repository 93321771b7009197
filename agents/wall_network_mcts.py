"""What actions of Wall are worth by trials in which a network takes part: it plays on for a round, or values their end.

A network is some thirty times slower than "builder", so this is to learn from, not to play by: labels from such trials
teach the next network (expert iteration; Anthony, Tian and Barber, NeurIPS 2017).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from agents.network_agent import NetworkAgent
from agents.wall_mcts import expected_margin, play_any, play_on
from cardtable.chance import WORLD, draw_each
from cardtable.game import Game, Ints, States, Views
from cardtable.kernel import kernel
from wall_env.builder import WORK, builder_action
from wall_env.encoding import NUM_RANKS
from wall_env.policies import count_deck
from wall_env.state import CHOOSE, PLACE

Critic = Callable[[NDArray[np.int8]], NDArray[np.float32]]
_BATCH = 2048  # observations that a critic gets at a time


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
        luck[lane] += play_any(s, actions[k], seats[lane], unseen, w)
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


@kernel
def _play_on(states: States, actions: Ints, seats: Ints, out: NDArray[np.float64]) -> None:
    """Trials by "builder" that end before a turn of the seat for which they are made, or with the game."""
    scratch = np.zeros(1, WORK)
    unseen = np.empty(NUM_RANKS, np.int64)
    for lane in range(len(states)):
        # One turn counts as over already, so that the seat itself is to move at the end.
        out[lane] = play_on(states[lane], actions[lane], seats[lane], 1, unseen, scratch[0])


@dataclass(frozen=True)
class _Trials:
    """Games that fit views, one for each trial of an action; all actions of a view are tried in the same games.

    Attributes:
        values: float32 [B, A]: 0 for legal actions, NaN for others; `add` puts in what trials bring.
        states: the games [T].
        row, action, seats: int64 [T]: each trial's view, action and seat.
        share: float64 [T]: one by the number of trials of the same action.
    """

    values: NDArray[np.float32]
    states: States
    row: Ints
    action: Ints
    seats: Ints
    share: NDArray[np.float64]

    @classmethod
    def of(cls, game: Game, views: Views, playouts: int, seeds: NDArray[np.uint64]) -> Self:
        """Trials for views [B], none where a start card is to be chosen."""
        masks = game.observe(views)[1] != 0
        trials = np.where(views["phase"] == CHOOSE, 0, np.maximum(1, playouts // masks.sum(axis=1)))
        row, action = np.nonzero(masks)
        row, action = np.repeat(row, trials[row]), np.repeat(action, trials[row])
        number = np.concatenate([np.tile(np.arange(n), k) for n, k in zip(trials, masks.sum(axis=1), strict=True)])
        return cls(
            np.where(masks, np.float32(0), np.float32(np.nan)),
            game.determinize(views[row], draw_each(seeds[row], WORLD, number)),
            row,
            action,
            views["seat"][row].astype(np.int64),
            1 / trials[row],
        )

    def add(self, margins: NDArray[np.float64]) -> NDArray[np.float32]:
        """The values with the margins [T] that the trials brought."""
        np.add.at(self.values, (self.row, self.action), (margins * self.share).astype(np.float32))
        return self.values


def values_by_policy(
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
    trials = _Trials.of(game, views, playouts, seeds)
    starting = np.flatnonzero(views["phase"] == CHOOSE)
    if len(starting):
        trials.values[starting, policy.values(views[starting]).argmax(axis=1)] = 1
    states, count = trials.states, len(trials.row)
    luck, turns, done = np.zeros(count), np.zeros(count, np.int64), np.zeros(count, np.bool_)
    live, actions = np.arange(count), trials.action
    while len(live):
        _play(states, live, actions, trials.seats, luck, turns, done)
        live = live[~done[live]]
        moving = states[live]
        actions = policy.values(game.view(moving, game.current_player(moving))).argmax(axis=1)
    margins = np.empty(count)
    _margins(states, trials.seats, turns, margins)
    return trials.add(margins - luck)


def values_by_critic(
    game: Game, views: Views, playouts: int, seeds: NDArray[np.uint64], critic: Critic
) -> NDArray[np.float32]:
    """The same by trials of "builder" to whose ends a critic adds what "builder" misjudges there.

    Start cards are not tried: that of "builder" gets 1 and the others 0.

    Args:
        game, views, playouts, seeds: as in `values_by_policy`.
        critic: what the seat that is to move may expect beyond "builder"'s reckoning: the sum of the rewards of
            `agents.wall_rewards` to come, in points, float32 [N] of observations int8 [N, D].

    Returns:
        float32 [B, A], NaN where an action is not legal.
    """
    trials = _Trials.of(game, views, playouts, seeds)
    starting = np.flatnonzero(views["phase"] == CHOOSE)
    trials.values[starting, game.policy_actions(views[starting], seeds[starting], "builder")] = 1
    margins = np.empty(len(trials.row))
    _play_on(trials.states, trials.action, trials.seats, margins)
    going_on = np.flatnonzero(~game.terminated(trials.states))
    seen = game.show(trials.states[going_on], trials.seats[going_on])[0]
    for first in range(0, len(seen), _BATCH):
        part = slice(first, first + _BATCH)
        margins[going_on[part]] += critic(seen[part])
    return trials.add(margins)
