"""Matches on duplicate deals and their statistics."""

import numpy as np
import pytest

from agents import make_agent
from agents.agent import GameAgent
from cardtable.game import Game, Ints, Views
from experiments import match
from experiments.match import Result, play_match, seatings
from piles_env import PilesGame, PilesRules
from wall_env import WallGame, WallRules

GAMES: list[Game] = [
    PilesGame(),
    PilesGame(PilesRules(num_players=2)),
    WallGame(),
    WallGame(WallRules(num_players=3)),
]


class First(GameAgent):
    """Always takes the legal action with the lowest id."""

    def _act(self, views: Views, seeds: np.ndarray) -> Ints:
        return self.game.observe(views)[1].argmax(axis=1)


@pytest.mark.parametrize("game", GAMES, ids=repr)
def test_a_deterministic_agent_against_itself_is_exactly_even(game: Game) -> None:
    result = play_match(game, (First(game), First(game)), deals=50, seed=1)
    assert result.margins == pytest.approx(0.0, abs=1e-9)
    if len(game.teams) == 2:
        assert (result.margins == 0).all()
        assert result.wins == result.losses


@pytest.mark.parametrize("game", GAMES, ids=repr)
def test_greedy_beats_random_clearly(game: Game) -> None:
    result = play_match(game, (make_agent("greedy", game), make_agent("random", game)), deals=200, seed=1)
    assert result.mean - result.half_width > 3
    assert result.wins + result.draws + result.losses == 200 * len(game.teams)
    reverse = play_match(game, (make_agent("random", game), make_agent("greedy", game)), deals=200, seed=1)
    assert reverse.mean + reverse.half_width < -3


def test_results_depend_on_the_seed_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    game = GAMES[0]

    def margins(seed: int) -> list[float]:
        agents = make_agent("greedy", game), make_agent("random", game)
        return play_match(game, agents, deals=40, seed=seed).margins.tolist()

    whole = margins(1)
    monkeypatch.setattr(match, "_LANES", 7)
    assert margins(1) == whole, "the batch's size does not matter"
    assert margins(2) != whole


def test_each_agent_plays_each_side_of_a_deal() -> None:
    assert seatings(GAMES[0]).tolist() == [[0, 1, 0, 1], [1, 0, 1, 0]]
    assert seatings(GAMES[1]).tolist() == [[0, 1], [1, 0]]
    assert seatings(GAMES[3]).tolist() == [[0, 1, 1], [1, 0, 1], [1, 1, 0]]


def test_intervals_cover_the_true_mean_95_times_in_100() -> None:
    rng = np.random.default_rng(0)
    for deals in (3, 5, 20, 200):
        samples = rng.normal(2.0, 7.0, (4000, deals))
        hits = sum(abs(r.mean - 2.0) <= r.half_width for r in (Result(row, 0, 0, 0) for row in samples))
        assert hits / 4000 == pytest.approx(0.95, abs=0.015), deals


def test_one_deal_has_no_interval_and_none_is_refused() -> None:
    game = GAMES[0]
    agents = make_agent("random", game), make_agent("random", game)
    assert play_match(game, agents, deals=1, seed=0).half_width == float("inf")
    with pytest.raises(ValueError, match="at least one deal is needed, not 0"):
        play_match(game, agents, deals=0, seed=0)
