"""What games on duplicate deals say about agents: means with intervals, matrices, and when a pair is decided.

The deal is the sample: all games of a deal meet the same chance, so their average is one number, and the averages of
different deals are independent. Nothing here needs more than numpy.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, permutations
from math import inf, log, nan, sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray

from experiments.results import Tournament

Floats = NDArray[np.float64]

ERROR = 0.05  # of the sequential test, for all pairs of a tournament together
MIN_DEALS = 30  # it decides nothing earlier: averages of a few deals are far from normal
_AT_ONCE = 16_384  # games
_EFFECT = 0.3  # it looks for mean margins of about this many standard deviations of a deal's margin


def student_t_95(degrees: int) -> float:
    """The two-sided 95 % quantile of Student's t distribution.

    Up to four degrees of freedom from a table, then the Cornish-Fisher series around the normal quantile (Abramowitz
    and Stegun, 26.7.5), which errs by less than 0.2 %.
    """
    if degrees <= 4:
        return (12.7062, 4.3027, 3.1824, 2.7764)[degrees - 1]
    z, n = 1.959964, float(degrees)
    return (
        z
        + (z**3 + z) / (4 * n)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * n**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * n**3)
    )


def half_width(samples: Floats) -> float:
    """Half the width of a mean's 95 % confidence interval, by Student's t over deals [deals]; infinite below two."""
    deals = len(samples)
    if deals < 2:
        return inf
    return student_t_95(deals - 1) * float(samples.std(ddof=1)) / sqrt(deals)


@dataclass(frozen=True)
class Estimate:
    """A mean over deals with its 95 % confidence interval.

    Attributes:
        mean: the mean; NaN without deals.
        low, high: the interval; infinite (for a share: 0 to 1) where the deals are too few to say.
        deals: number of deals.
    """

    mean: float
    low: float
    high: float
    deals: int


def margin_estimate(samples: Floats) -> Estimate:
    """The mean of margins per deal, in points, from the deals' averages [deals]; interval by Student's t."""
    if not len(samples):
        return Estimate(nan, -inf, inf, 0)
    mean, half = float(samples.mean()), half_width(samples)
    return Estimate(mean, mean - half, mean + half, len(samples))


def share_estimate(samples: Floats) -> Estimate:
    """The mean of shares from 0 to 1, such as won games, from the deals' averages [deals].

    Student's t alone would be certain after three wins in three deals. So the interval, not the mean, counts two wins
    and two losses more than there were (A. Agresti and B. Coull, "Approximate is better than 'exact' for interval
    estimation of binomial proportions", The American Statistician 52, 1998).
    """
    if not len(samples):
        return Estimate(nan, 0.0, 1.0, 0)
    padded = np.concatenate([samples, [0.0, 0.0, 1.0, 1.0]])
    centre, half = float(padded.mean()), half_width(padded)
    mean = float(samples.mean())
    return Estimate(mean, min(mean, max(0.0, centre - half)), max(mean, min(1.0, centre + half)), len(samples))


# --- games ------------------------------------------------------------------------------------------------------------


def side_points(tournament: Tournament, part: slice = slice(None)) -> Floats:
    """Points as they count, by side [games, sides]: the scores, or where an agent is at fault the widest loss.

    The other sides of a game that was broken off are even with each other.

    Args:
        tournament: the tournament.
        part: which of its games.
    """
    games = tournament.games
    faults, seatings = games.faults[part], games.seatings[part]
    points = np.where(faults[:, None] < 0, games.scores[part], 0.0)
    for side, seats in enumerate(tournament.teams):
        at_fault = (seatings[:, seats] == faults[:, None]).any(axis=1)
        points[at_fault, side] = tournament.return_range[0]
    return np.asarray(points)


def with_opponents(tournament: Tournament) -> Tournament:
    """A tournament of one-player games as if all agents had shared one table on each deal; others as they are.

    Deals that some agent has not played yet are left out; who was at fault has the lowest return as its score.
    """
    if len(tournament.teams) > 1:
        return tournament
    games, agents = tournament.games, len(tournament.agents)
    deals, rows = np.unique(games.deals, return_inverse=True)
    points, found = np.zeros((len(deals), agents), np.int32), np.zeros((len(deals), agents), np.bool_)
    points[rows, games.seatings[:, 0]] = side_points(tournament)[:, 0]
    found[rows, games.seatings[:, 0]] = True
    whole = found.all(axis=1)
    shared = replace(
        games,
        deals=deals[whole],
        seatings=np.tile(np.arange(agents, dtype=np.int16), (int(whole.sum()), 1)),
        scores=points[whole],
        faults=np.full(int(whole.sum()), -1, np.int16),
        statuses=(),
    )
    return replace(tournament, players=agents, teams=tuple((seat,) for seat in range(agents)), games=shared)


@dataclass(frozen=True)
class Comparisons:
    """How agents did against each other, deal by deal.

    A game compares any two seats on different sides that different agents hold.

    Attributes:
        margins: mean margin of agent a against agent b in points, float64 [deals, n, n]; NaN where they did not meet.
        wins: share of comparisons that a won, a draw being half a win, float64 [deals, n, n]; NaN likewise.
    """

    margins: Floats
    wins: Floats

    def pair_margins(self, a: int, b: int) -> Floats:
        """Margins of a against b in the deals in which they met, in the order of the deals [deals]."""
        return _found(self.margins[:, a, b])

    def pair_wins(self, a: int, b: int) -> Floats:
        """Shares that a won against b in the deals in which they met, in the order of the deals [deals]."""
        return _found(self.wins[:, a, b])

    def agent_margins(self, a: int) -> Floats:
        """Margins of a against all it met in a deal, each opponent counting the same [deals]."""
        margins = self.margins[:, a, :]
        return np.asarray(np.nanmean(margins[~np.isnan(margins).all(axis=1)], axis=1))


def compare(tournament: Tournament) -> Comparisons:
    """Compare the agents of a tournament, whatever the order of its games."""
    tournament = with_opponents(tournament)
    margins, wins = _Means(tournament), _Means(tournament)
    for part in parts(tournament):
        seatings, points = _by_seat(tournament, part)
        for s, t in _opposed_seats(tournament.teams):
            a, b = seatings[:, s], seatings[:, t]
            margin = points[:, s] - points[:, t]
            margins.add(part, a, b, margin, a != b)
            wins.add(part, a, b, (np.sign(margin) + 1) / 2, a != b)
    return Comparisons(margins.result(), wins.result())


def overall(pair_means: Floats) -> Floats:
    """Means of a matrix's rows [n] over the agents that were met, each counting the same; NaN where none was."""
    found = ~np.isnan(pair_means)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(found, pair_means, 0.0).sum(axis=1) / found.sum(axis=1))


def mean_over_deals(values: Floats) -> Floats:
    """The payoff matrix [n, n]: means over the deals of values [deals, n, n]; NaN where there are none."""
    found = ~np.isnan(values)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(found, values, 0.0).sum(axis=0) / found.sum(axis=0))


def partner_margins(tournament: Tournament) -> Floats:
    """Cross-play: the mean margin of sides on which agents i and j are partners, float64 [deals, n, n].

    The margin is against the mean of the other sides. Games between sides of the same agents are left out, as they
    are even by design; NaN where i and j were no partners.
    """
    means = _Means(tournament)
    for part in parts(tournament):
        seatings, points = _by_seat(tournament, part)
        line_ups = [np.sort(seatings[:, seats], axis=1) for seats in tournament.teams]
        for side, seats in enumerate(tournament.teams):
            others = [other for other in range(len(tournament.teams)) if other != side]
            for s, t in combinations(seats, 2):
                i, j = seatings[:, s], seatings[:, t]
                margin = points[:, s] - np.mean([points[:, tournament.teams[other][0]] for other in others], axis=0)
                differs = np.any([(line_ups[side] != line_ups[other]).any(axis=1) for other in others], axis=0)
                means.add(part, i, j, margin, differs)
                means.add(part, j, i, margin, differs & (i != j))
    return means.result()


class _Means:
    """Means by deal and two agents of a tournament."""

    def __init__(self, tournament: Tournament) -> None:
        deals, self._rows = np.unique(tournament.games.deals, return_inverse=True)
        self._shape = (len(deals), len(tournament.agents), len(tournament.agents))
        self._sums = np.zeros(self._shape).ravel()
        self._counts = np.zeros(self._shape, np.int64).ravel()

    def add(
        self, part: slice, a: NDArray[np.int64], b: NDArray[np.int64], values: Floats, where: NDArray[np.bool_]
    ) -> None:
        """One value of each game of a part, all [games]."""
        index = np.ravel_multi_index((self._rows[part][where], a[where], b[where]), self._shape)
        # Whole and half numbers are added, so the sums are exact and do not depend on the order.
        self._sums += np.bincount(index, values[where], len(self._sums))
        self._counts += np.bincount(index, minlength=len(self._sums))

    def result(self) -> Floats:
        with np.errstate(invalid="ignore"):
            return (self._sums / self._counts).reshape(self._shape)


def parts(tournament: Tournament) -> Iterator[slice]:
    """Its games in parts, so that what is reckoned for each game needs little memory."""
    for first in range(0, len(tournament.games), _AT_ONCE):
        yield slice(first, first + _AT_ONCE)


def _by_seat(tournament: Tournament, part: slice) -> tuple[NDArray[np.int64], Floats]:
    """Agents and points by seat, both [games, seats]."""
    side_of = {seat: side for side, seats in enumerate(tournament.teams) for seat in seats}
    sides = [side_of[seat] for seat in range(tournament.players)]
    return tournament.games.seatings[part].astype(np.int64), side_points(tournament, part)[:, sides]


def _opposed_seats(teams: Sequence[Sequence[int]]) -> Iterator[tuple[int, int]]:
    for mine, others in permutations(teams, 2):
        for seat in mine:
            for other in others:
                yield seat, other


def _found(values: Floats) -> Floats:
    return values[~np.isnan(values)]


# --- the sequential test ----------------------------------------------------------------------------------------------


def log_evidence(margins: ArrayLike) -> Floats:
    """The logarithm of the evidence against a mean of zero after each deal, float64 [deals].

    The mixture sequential probability ratio test (H. Robbins, "Statistical methods related to the law of the iterated
    logarithm", 1970) in its form for normal samples of unknown variance (T. L. Lai, "On confidence sequences", 1976;
    H. Wang and A. Ramdas, "Anytime-valid t-tests and confidence sequences for Gaussian means with unknown variance",
    Sequential Analysis 44, 2025): the likelihood ratio of the t statistics under a mean of N(0, 0.3^2) standard
    deviations against a mean of 0.

    Args:
        margins: margin of each deal, in the order of the deals [deals].
    """
    x = np.asarray(margins, np.float64)
    n = np.arange(1, len(x) + 1)
    total, squares = np.cumsum(x), np.cumsum(x * x)
    prior = n * _EFFECT**2
    explained = total**2 / n * prior / (1 + prior)
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = np.where(squares > 0, squares / (squares - explained), 1.0)  # nothing but draws is no evidence
    return np.asarray((n * np.log(ratio) - np.log1p(prior)) / 2 * (squares > 0))


def decided_after(margins: ArrayLike, error: float = ERROR) -> int | None:
    """The number of deals after which it is decided which of two agents is better; None if it is not yet.

    It looks at the deals in their order and ignores what follows the decision, so neither the number of workers nor
    how far ahead they are can change it. Looking after every deal costs nothing: for normal margins the probability
    that a pair of equal agents is ever decided is at most `error` (Ville's inequality), however long they play.
    Margins of deals are near enough to normal from `MIN_DEALS` on; what comes rarely and outweighs everything else (a
    crash in one deal of a hundred) is beyond it.

    Args:
        margins: margin of the first agent in each deal, in the order of the deals [deals].
        error: the probability, above 0 and below 1.
    """
    if not 0 < error < 1:
        raise ValueError(f"the probability of an error must lie between 0 and 1, not at {error}")
    decided = log_evidence(margins) >= -log(error)
    decided[: MIN_DEALS - 1] = False
    return int(decided.argmax()) + 1 if decided.any() else None


def decisions(comparisons: Comparisons) -> dict[tuple[int, int], int | None]:
    """For each two agents that met, the number of deals after which `decided_after` knows the better one, or None.

    The agents of a pair are in the order of their indices. The probability that any pair of equal agents is decided is
    at most `ERROR`, as each of n pairs gets an n-th of it (Bonferroni).
    """
    pairs = combinations(range(comparisons.margins.shape[1]), 2)
    margins = {pair: found for pair in pairs if len(found := comparisons.pair_margins(*pair))}
    return {pair: decided_after(found, ERROR / len(margins)) for pair, found in margins.items()}
