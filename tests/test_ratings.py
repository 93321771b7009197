"""Ratings are those of an independent library, finite whatever happened, and as certain as they say."""

from math import log10

import numpy as np
import pytest

choix = pytest.importorskip("choix")
pytest.importorskip("scipy")

from experiments import ratings as module  # noqa: E402
from experiments.ratings import ELO, MEAN, point_ratings, ratings  # noqa: E402
from experiments.results import GameResult, Tournament  # noqa: E402
from tests.made_tournaments import PILES, duels, reordered, result, tournament  # noqa: E402

SEATS = ((0,), (1,), (2,), (3,))


def tables(deals: int, spread: float, seed: int = 0) -> Tournament:
    """Four seats, five agents of Gumbel scores (so rankings are Plackett's and Luce's), rounded by `spread`."""
    rng = np.random.default_rng(seed)
    strengths = np.linspace(-1, 1, 5)
    results: list[GameResult] = []
    for deal in range(deals):
        for _ in range(4):
            seating = rng.permutation(5)[:4]
            scores = np.round(spread * (strengths[seating] + rng.gumbel(size=4))).astype(int)
            results.append(result(deal, seating.tolist(), scores.tolist(), 5))
    return tournament(results, SEATS, [f"agent {number}" for number in range(5)])


# --- maximum likelihood -----------------------------------------------------------------------------------------------


def test_two_agents_by_hand() -> None:
    """Nine wins and three, half a win more for each: odds of 9.5 to 3.5."""
    games = [result(deal, (0, 1), (1, 0) if deal < 9 else (0, 1)) for deal in range(12)]
    difference = 400 * log10(9.5 / 3.5)
    assert point_ratings(tournament(games)) == pytest.approx([MEAN + difference / 2, MEAN - difference / 2], abs=1e-3)


def test_a_draw_is_half_a_win() -> None:
    draws = [result(deal, (0, 1), (4, 4)) for deal in range(10)]
    wins = [result(deal, (0, 1), (deal % 2, (deal + 1) % 2)) for deal in range(10)]
    more = [result(deal, (1, 0), (1, 0)) for deal in range(4)]
    assert point_ratings(tournament(draws + more)) == pytest.approx(point_ratings(tournament(wins + more)), abs=1e-3)


def test_pairs_are_rated_as_by_choix() -> None:
    made = duels([-1.0, 0.0, 0.3, 1.5], 30)
    wins = np.full((4, 4), 0.5)
    np.fill_diagonal(wins, 0)
    for seating, scores in zip(made.games.seatings, made.games.scores, strict=True):
        first, second = seating if scores[0] > scores[1] else seating[::-1]
        wins[first, second] += 1
    expected = choix.ilsr_pairwise_dense(wins)
    assert point_ratings(made) == pytest.approx(MEAN + ELO * (expected - expected.mean()), abs=1e-2)


def test_rankings_are_rated_as_by_choix() -> None:
    made = tables(20, spread=1e6)
    data = []
    for seating, scores in zip(made.games.seatings, made.games.scores, strict=True):
        data += 2 * [[agent for _, agent in sorted(zip(scores, seating, strict=True), reverse=True)]]
    data += [[a, b] for a in range(5) for b in range(5) if a != b]  # half as much as the games, which count twice
    expected = choix.ilsr_rankings(5, data)
    assert point_ratings(made) == pytest.approx(MEAN + ELO * (expected - expected.mean()), abs=1e-2)


def test_ties_count_in_all_orders() -> None:
    """Sides that are tied by three, above a fourth, as the six orders of the three with a sixth of the games each."""
    tied = tournament([result(deal, (0, 1, 2, 3), (5, 5, 5, 0), 4) for deal in range(6)], SEATS, "abcd")
    orders = [(3, 2, 1, 0), (3, 1, 2, 0), (2, 3, 1, 0), (2, 1, 3, 0), (1, 2, 3, 0), (1, 3, 2, 0)]
    split = tournament([result(deal, (0, 1, 2, 3), scores, 4) for deal, scores in enumerate(orders)], SEATS, "abcd")
    found = point_ratings(tied)
    assert found == pytest.approx(point_ratings(split), abs=1e-3)
    assert found[0] == pytest.approx(found[1], abs=1e-3) and found[0] > found[3] + 100


def test_partners_share_what_they_achieve() -> None:
    """The geometric mean of two strengths against a third's: half of each partner's rating counts."""
    games = [result(deal, (0, 2, 1, 2), (1, 0) if deal < 15 else (0, 1), 3) for deal in range(20)]
    found = point_ratings(tournament(games, PILES, "abc", "cross-play"))
    assert found[0] == pytest.approx(found[1], abs=1e-3)
    assert found[2] < found[0] - 100


def test_faults_are_losses() -> None:
    clean = [result(0, (0, 1), (0, 1)), result(1, (0, 1), (0, 1))]
    faulty = [result(0, (0, 1), (9, 0), fault=0), result(1, (0, 1), (0, 1))]
    assert (point_ratings(tournament(clean)) == point_ratings(tournament(faulty))).all()


def test_agents_that_play_alone_are_rated_by_the_deals() -> None:
    alone = [result(deal, (agent,), (5 + (agent == deal % 4),)) for deal in range(12) for agent in (1, 0)]
    shared = [result(deal, (0, 1), (int(deal % 4 == 0), int(deal % 4 == 1))) for deal in range(12)]
    assert point_ratings(tournament(alone, ((0,),))) == pytest.approx(point_ratings(tournament(shared)))


# --- edges ------------------------------------------------------------------------------------------------------------

ALWAYS = [result(deal, (0, 1) if deal % 2 else (1, 0), (9, 0) if deal % 2 else (0, 9)) for deal in range(500)]
EDGES = {
    "no results": tournament([]),
    "one agent": tournament([], agents=["alone"]),
    "one game": tournament(ALWAYS[:1]),
    "all draws": tournament([result(deal, (0, 1), (3, 3)) for deal in range(40)]),
    "all faults": tournament([result(deal, (0, 1), (3, 3), fault=1) for deal in range(40)]),
    "identical agents": tournament([result(deal, (0, 1), (deal % 2, 1 - deal % 2)) for deal in range(40)]),
    "one agent on all sides": tournament([result(deal, (0, 0), (deal % 2, 1)) for deal in range(40)]),
    "always losing": tournament(ALWAYS),
    "two that never met": tournament([result(deal, (0, 1), (5, 2), 3) for deal in range(9)], agents="abc"),
    "six tied": tournament([result(0, range(6), 6 * [1], 6)], tuple((seat,) for seat in range(6)), "abcdef"),
}


@pytest.mark.parametrize("name", EDGES)
def test_ratings_are_finite_and_sane(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_RESAMPLES", 100)
    found = ratings(EDGES[name])
    values = np.array([(each.rating, each.low, each.high) for each in found])
    assert len(found) == len(EDGES[name].agents)
    assert np.isfinite(values).all() and (abs(values - MEAN) < 3000).all()
    assert values[:, 0].mean() == pytest.approx(MEAN)
    assert (values[:, 1] <= values[:, 0] + 1).all() and (values[:, 0] <= values[:, 2] + 1).all()
    if name in ("no results", "all draws", "identical agents", "six tied"):
        assert values[:, 0] == pytest.approx(MEAN, abs=1e-3)
    if name == "no results":
        assert (values[:, 2] - values[:, 1] > 400).all()
    if name == "always losing":
        assert values[0, 1] > values[1, 2] + 400
        assert (values[:, 2] - values[:, 1] > 200).all(), "how much worse it is cannot be known"


def test_the_order_of_results_does_not_matter() -> None:
    made = tables(10, spread=2)  # with many ties
    rng = np.random.default_rng(0)
    shuffled = reordered(made, rng.permutation(len(made.games)))
    assert ratings(made) == ratings(shuffled)
    assert (point_ratings(made) == [each.rating for each in ratings(made)]).all()


# --- intervals --------------------------------------------------------------------------------------------------------


def test_intervals_cover_the_true_ratings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_RESAMPLES", 80)
    truth = MEAN + ELO * np.array([-0.5, 0.0, 0.5])
    runs = 50
    found = [ratings(duels([-0.5, 0.0, 0.5], 30, seed)) for seed in range(runs)]
    for agent in range(3):
        covered = np.mean([each[agent].low <= truth[agent] <= each[agent].high for each in found])
        assert 0.94 - 5 * (0.94 * 0.06 / runs) ** 0.5 < covered


def test_more_deals_make_intervals_narrower() -> None:
    few, many = (ratings(tables(deals, spread=3)) for deals in (20, 180))
    for first, second in zip(few, many, strict=True):
        assert (second.high - second.low) < 0.6 * (first.high - first.low)


def test_what_happens_within_a_deal_counts_once() -> None:
    """Ten equal games on each deal are not ten times as sure: the deal is the sample."""
    one = duels([0.0, 0.8], 40)
    ten = reordered(one, np.repeat(np.arange(len(one.games)), 10))
    first, second = ratings(one)[1], ratings(ten)[1]
    assert second.high - second.low > 0.8 * (first.high - first.low)
