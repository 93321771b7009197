"""The rewards that Wall is learnt from: averaged over the order of the deck they are the margin, and they vary less."""

from functools import partial
from itertools import permutations

import numpy as np
import pytest
from numpy.typing import NDArray

from agents import make_agent
from agents.lockstep import advance
from agents.seat_lanes import SeatLanes
from agents.wall_rewards import step_without_luck
from cardtable.chance import lane_seeds
from cardtable.game import IllegalAction, States
from wall_env import WallGame, WallRules, engine
from wall_env.state import TURN


def play_to_end(game: WallGame, states: States, players: tuple[str, ...], moves: int = -1) -> NDArray[np.float64]:
    """Let players, by seat, go on in place; the sums of the rewards [B, P]."""
    agents = [make_agent(name, game) for name in players]
    for agent in agents:
        agent.reset(0)
    returns = np.zeros((len(states), game.num_players))
    seating = np.tile(np.arange(game.num_players), (len(states), 1))
    while moves and len(live := np.flatnonzero(states["to_move"] >= 0)):
        returns[live] += advance(game, states, live, seating, agents, partial(step_without_luck, game))
        moves -= 1
    return returns


def margins(game: WallGame, states: States) -> NDArray[np.float64]:
    scores = game.scores(states).astype(float)
    return scores - (scores.sum(axis=1, keepdims=True) - scores) / max(1, game.num_players - 1)


def passes(game: WallGame, states: States) -> NDArray[np.float64]:
    """What is expected at the beginning of a turn: the margin in the end less what is got by passing until then."""
    states = states.copy()
    returns = np.zeros((len(states), game.num_players))
    while (states["to_move"] >= 0).all():
        returns += step_without_luck(game, states, np.full(len(states), engine.PASS))
    return margins(game, states) - returns


@pytest.mark.parametrize("num_players", [1, 2, 3])
def test_the_mean_over_all_orders_of_the_deck_is_the_margin(num_players: int) -> None:
    game = WallGame(WallRules(num_players=num_players))
    players = ("builder", "greedy", "builder")[:num_players]
    positions = game.new_states(lane_seeds(4, 20))
    while True:  # to a turn with four cards in the deck
        live = (positions["to_move"] >= 0) & (
            (positions["deck_length"] - positions["deck_top"] > 4) | (positions["phase"] != TURN)
        )
        if not live.any():
            break
        some = positions[live]
        play_to_end(game, some, players, 1)
        positions[live] = some
    positions = positions[positions["deck_length"] - positions["deck_top"] == 4]
    positions = positions[positions["to_move"] >= 0]
    assert len(positions) >= 10
    for position in positions[:, None]:
        states = np.repeat(position, 24)
        top = int(position["deck_top"][0])
        for state, order in zip(states, permutations(position["deck"][0, top : top + 4]), strict=True):
            state["deck"][top : top + 4] = order
        returns = play_to_end(game, states, players) + passes(game, position)
        assert np.allclose(returns.mean(axis=0), margins(game, states).mean(axis=0), atol=1e-9)


def test_without_draws_the_sum_is_the_margin() -> None:
    game = WallGame()
    states = game.new_states(lane_seeds(5, 1))
    returns = np.zeros((1, 2))
    for action in (3, 4):  # start cards
        returns += step_without_luck(game, states, np.array([action]))
    assert np.allclose(returns, 0, atol=0.5), "neither wall is much better"
    assert np.allclose(passes(game, states), returns), "all that is expected has been paid out"


def test_returns_vary_less_than_margins_and_have_the_same_mean() -> None:
    game = WallGame()
    states = game.new_states(lane_seeds(6, 1500))
    returns = play_to_end(game, states, ("builder", "builder"))[:, 0]
    found = margins(game, states)[:, 0]
    luck = found - returns
    assert abs(luck.mean()) < 4 * luck.std() / len(luck) ** 0.5
    assert returns.var() < 0.7 * found.var()


def test_lanes_pay_what_the_steps_bring() -> None:
    game = WallGame()
    agents = [make_agent("builder", game)]
    lanes = SeatLanes(game, 3, agents, step=partial(step_without_luck, game))
    usual = SeatLanes(game, 3, agents)
    for table in (lanes, usual):
        table.reset(lane_seeds(7, 3))
    returns, ends = np.zeros(3), 0
    while not ends:
        actions = (lanes.masks * np.arange(1, game.num_actions + 1)).argmax(axis=1)
        rewards, finished = lanes.step(actions)
        usual.step(actions)
        returns += rewards
        ends = len(finished.lanes)
    assert np.allclose(finished.returns, returns[finished.lanes])
    assert (lanes.observations == usual.observations).all() and not np.allclose(returns, 0)


def test_an_illegal_action_changes_nothing() -> None:
    game = WallGame()
    states = game.new_states(lane_seeds(8, 2))
    before = states.copy()
    with pytest.raises(IllegalAction, match="W4"):
        step_without_luck(game, states, np.array([0, engine.DRAW]))
    assert (states == before).all()
