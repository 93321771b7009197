"""Intervals cover what they promise, the sequential test errs as seldom as it says, and small examples by hand."""

import subprocess
import sys
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

from experiments.ratings import point_ratings
from experiments.results import Games
from experiments.statistics import (
    MIN_DEALS,
    compare,
    decided_after,
    log_evidence,
    margin_estimate,
    mean_over_deals,
    overall,
    partner_margins,
    share_estimate,
    side_points,
    student_t_95,
)
from tests.made_tournaments import DUEL, PILES, reordered, result, tournament
from tests.playing import ROOT

WITHOUT = """
import sys
sys.modules.update(dict.fromkeys(("scipy", "matplotlib", "jinja2", "choix"), None))
import agents, experiments.match, experiments.statistics
"""
RUNS = 2000
FIVE_SIGMA = 5 * (0.05 * 0.95 / RUNS) ** 0.5  # of a share of 5 % in that many runs


def test_matches_and_statistics_need_no_further_packages() -> None:
    subprocess.run([sys.executable, "-c", WITHOUT], cwd=ROOT, check=True)


def test_quantiles_of_students_t() -> None:
    table = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 7: 2.365, 10: 2.228, 30: 2.042, 100: 1.984, 1000: 1.962}
    for degrees, value in table.items():
        assert student_t_95(degrees) == pytest.approx(value, rel=2e-3)


# --- intervals --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("deals", [3, 20, 200])
def test_margin_intervals_cover_the_true_mean(deals: int) -> None:
    rng = np.random.default_rng(deals)
    found = [margin_estimate(row) for row in rng.normal(2.0, 7.0, (RUNS, deals))]
    covered = np.mean([each.low <= 2.0 <= each.high for each in found])
    assert covered == pytest.approx(0.95, abs=FIVE_SIGMA)


@pytest.mark.parametrize("share", [0.5, 0.8, 0.97])
@pytest.mark.parametrize("deals", [5, 30, 300])
def test_share_intervals_cover_the_true_share(share: float, deals: int) -> None:
    """Two games on each deal, which may depend on each other; it may cover more, not less."""
    rng = np.random.default_rng(deals)
    games = rng.random((RUNS, deals, 2)) < share
    same = rng.random((RUNS, deals)) < 0.3
    games[..., 1] = np.where(same, games[..., 0], games[..., 1])
    found = [share_estimate(row) for row in games.mean(axis=2)]
    covered = np.mean([each.low <= share <= each.high for each in found])
    assert covered > 0.95 - FIVE_SIGMA
    assert all(0 <= each.low <= each.mean <= each.high <= 1 for each in found)


def test_estimates_of_few_deals() -> None:
    nothing = margin_estimate(np.array([]))
    assert np.isnan(nothing.mean) and (nothing.low, nothing.high, nothing.deals) == (-np.inf, np.inf, 0)
    nothing = share_estimate(np.array([]))
    assert np.isnan(nothing.mean) and (nothing.low, nothing.high, nothing.deals) == (0, 1, 0)
    one = margin_estimate(np.array([3.0]))
    assert (one.mean, one.low, one.high) == (3.0, -np.inf, np.inf)
    three = margin_estimate(np.array([1.0, 2.0, 3.0]))
    assert (three.low, three.high) == pytest.approx((2 - 4.3027 / 3**0.5, 2 + 4.3027 / 3**0.5))
    wins = share_estimate(np.ones(3))
    assert wins.mean == wins.high == 1.0
    assert 0.1 < wins.low < 0.5, "three wins prove little"


# --- comparisons ------------------------------------------------------------------------------------------------------


def test_margins_and_wins_of_a_pair_by_hand() -> None:
    results = [
        result(0, (0, 1), (10, 4)),  # a wins by 6
        result(0, (1, 0), (5, 5)),  # a draw
        result(3, (0, 1), (0, 2)),  # b wins by 2
        result(3, (1, 0), (8, 0)),  # b wins by 8
    ]
    comparisons = compare(tournament(results))
    assert comparisons.pair_margins(0, 1).tolist() == [3.0, -5.0]
    assert comparisons.pair_margins(1, 0).tolist() == [-3.0, 5.0]
    assert comparisons.agent_margins(0).tolist() == [3.0, -5.0]
    assert comparisons.pair_wins(0, 1).tolist() == [0.75, 0.0]
    assert not len(comparisons.pair_margins(0, 0))
    payoffs = mean_over_deals(comparisons.margins)
    assert np.array_equal(payoffs, [[np.nan, -1.0], [1.0, np.nan]], equal_nan=True)
    assert overall(payoffs).tolist() == [-1.0, 1.0]


def test_three_seats_are_compared_two_by_two() -> None:
    teams = ((0,), (1,), (2,))
    comparisons = compare(tournament([result(0, (0, 1, 1), (9, 3, 6))], teams))
    assert comparisons.pair_margins(0, 1).tolist() == [4.5]
    assert comparisons.pair_wins(0, 1).tolist() == [1.0]
    comparisons = compare(tournament([result(0, (2, 0, 1), (9, 3, 3), 3)], teams, "abc"))
    expected = [[np.nan, 0, -6], [0, np.nan, -6], [6, 6, np.nan]]
    assert np.array_equal(comparisons.margins[0], expected, equal_nan=True)
    assert overall(mean_over_deals(comparisons.margins)).tolist() == [-3.0, -3.0, 6.0]


def test_a_fault_costs_the_widest_margin() -> None:
    piles = tournament([result(0, (0, 1, 0, 1), (20, 0), fault=0)], PILES)
    assert side_points(piles).tolist() == [[-54.0, 0.0]]
    assert compare(piles).pair_margins(0, 1).tolist() == [-54.0]
    wall = tournament([result(0, (0, 1, 2), (20, 9, 1), 3, fault=1)], ((0,), (1,), (2,)), "abc", width=757.0)
    margins = compare(wall).margins[0]
    assert margins[0, 2] == 0.0, "the others are even"
    assert margins[0, 1] == margins[2, 1] == 757.0


def test_partners_by_hand() -> None:
    results = [
        result(0, (0, 2, 1, 2), (10, 4), 3),  # a and b against c and c: +6
        result(0, (2, 1, 2, 0), (8, 4), 3),  # the other way round: -4
        result(0, (0, 1, 1, 0), (30, 0), 3),  # the same partners on both sides say nothing
        result(1, (1, 2, 0, 2), (0, 2), 3),  # -2
        result(1, (0, 2, 0, 2), (9, 2), 3),  # a with itself: +7
    ]
    cross = tournament(results, PILES, "abc", "cross-play")
    margins = partner_margins(cross)
    assert margins[:, 0, 1].tolist() == margins[:, 1, 0].tolist() == [1.0, -2.0]
    found = mean_over_deals(margins)
    assert found[0, 0] == 7.0 and found[2, 2] == pytest.approx((-1 + (2 - 7) / 2) / 2)
    assert np.isnan(found[0, 2])
    comparisons = compare(cross)
    assert comparisons.margins[0, 0, 1] == 0.0, "on different sides they met only as equals"
    assert comparisons.margins[0, 0, 2] == 1.0


def test_agents_that_play_alone_are_compared_on_the_same_deals() -> None:
    results = [
        result(deal, (agent,), (scores[agent],), 2) for deal, scores in enumerate([(5, 3), (2, 9)]) for agent in (0, 1)
    ]
    alone = tournament(
        [*results, result(2, (0,), (9,)), result(3, (0,), (9,), fault=0), result(3, (1,), (4,))], ((0,),)
    )
    assert compare(alone).pair_margins(0, 1).tolist() == [2.0, -7.0, -58.0]
    assert compare(alone).pair_wins(0, 1).tolist() == [1.0, 0.0, 0.0]


def test_a_tournament_without_results() -> None:
    for teams in (DUEL, PILES, ((0,),), ((0,), (1,), (2,))):
        comparisons = compare(tournament([], teams))
        assert comparisons.margins.shape == comparisons.wins.shape == (0, 2, 2)
        assert np.isnan(overall(mean_over_deals(comparisons.margins))).all()
        assert not len(comparisons.pair_margins(0, 1)) and not len(comparisons.agent_margins(0))
        assert partner_margins(tournament([], teams)).shape == (0, 2, 2)


def test_the_order_of_results_does_not_matter() -> None:
    rng = np.random.default_rng(1)
    results = [
        result(deal, rng.permutation([0, 1, 2, 3]), rng.integers(0, 30, 2), 4) for deal in range(20) for _ in range(7)
    ]
    ordered = tournament(results, PILES, "abcd")
    shuffled = reordered(ordered, rng.permutation(len(results)))
    for first, second in (
        (compare(ordered).margins, compare(shuffled).margins),
        (compare(ordered).wins, compare(shuffled).wins),
        (partner_margins(ordered), partner_margins(shuffled)),
    ):
        assert np.array_equal(first, second, equal_nan=True)


def test_a_game_needs_little_memory() -> None:
    """Whoever reads the results reads them one by one, from a database."""

    def peak(games: int) -> int:
        results = (result(k // 4, ((k % 2, 1 - k % 2) * 2), (k % 55, 7)) for k in range(games))
        tracemalloc.start()
        collected = Games.collect(results, 4, 2, 2)
        made = replace(tournament([], PILES), games=collected)
        compare(made), point_ratings(made), partner_margins(made)
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    peak(100)  # loads what is needed
    assert peak(40_000) - peak(20_000) < 20_000 * 100  # bytes; one by one they take ten times as much


# --- the sequential test ----------------------------------------------------------------------------------------------


def test_evidence_by_hand() -> None:
    """Three deals of margins 1, 2, 3: squares 14, of which 12 * 0.27 / 1.27 are explained."""
    expected = 1.5 * np.log(14 / (14 - 12 * 0.27 / 1.27)) - 0.5 * np.log(1.27)
    assert log_evidence([1, 2, 3])[2] == pytest.approx(expected)
    assert log_evidence([5.0])[0] == pytest.approx(0.0), "one deal says nothing about its own spread"
    assert log_evidence([10, -3, 4]) == pytest.approx(log_evidence([-1.0, 0.3, -0.4])), "neither unit nor side matters"


DRAWS = {
    "normal": lambda rng, deals: rng.normal(0, 5, deals),
    "heavy tails": lambda rng, deals: rng.standard_t(4, deals),
    "mostly draws": lambda rng, deals: rng.choice([-1, 0, 1], deals, p=[0.1, 0.8, 0.1]),
    "a little skewed": lambda rng, deals: rng.gamma(16, 1, deals) - 16,
}


@pytest.mark.parametrize("kind", DRAWS)
def test_equal_agents_are_seldom_told_apart_however_long_they_play(kind: str) -> None:
    rng = np.random.default_rng(0)
    errors = np.mean([decided_after(DRAWS[kind](rng, 1000)) is not None for _ in range(RUNS)])
    assert errors < 0.05 + FIVE_SIGMA / 5


def test_different_agents_are_told_apart_soon() -> None:
    rng = np.random.default_rng(0)
    for effect, median in ((0.2, 250), (0.5, 60), (2.0, MIN_DEALS)):
        found = [decided_after(rng.normal(effect, 1, 3000)) for _ in range(100)]
        assert None not in found
        assert np.median([each or 0 for each in found]) <= median


def test_what_follows_a_decision_does_not_change_it() -> None:
    margins = np.random.default_rng(0).normal(1, 2, 500)
    decided = decided_after(margins)
    assert decided is not None and MIN_DEALS <= decided < 100
    for deals in (decided, decided + 1, 400):
        assert decided_after(margins[:deals]) == decided
    assert decided_after(margins[: decided - 1]) is None
    assert decided_after(-margins) == decided


def test_decisions_at_the_edges() -> None:
    assert decided_after([]) is None
    assert decided_after(np.zeros(1000)) is None, "nothing but draws"
    assert decided_after(np.full(1000, -54.0)) == MIN_DEALS, "always losing"
    with pytest.raises(ValueError, match="between 0 and 1, not at 1"):
        decided_after([1.0], error=1.0)
