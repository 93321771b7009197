"""Ratings by maximum likelihood, on Elo's scale.

A game ranks its sides by points. The model is that of Plackett and Luce (R. L. Plackett, "The Analysis of
Permutations", Applied Statistics 24, 1975): the first place falls to a side with a probability proportional to its
strength, then the second place among the others, and so on. For two sides that is the model of Bradley and Terry
("Rank Analysis of Incomplete Block Designs", Biometrika 39, 1952). A side's strength is the geometric mean of its
seats' (T.-K. Huang, R. C. Weng and C.-J. Lin, "Generalized Bradley-Terry Models and Multi-class Probability
Estimates", JMLR 7, 2006), so partners may differ. Sides with equal points count in all their orders equally: a draw is
half a win for each.

A small regularisation keeps everything finite: each two agents have played one more game, a draw.
"""

from collections import defaultdict
from dataclasses import dataclass
from itertools import combinations, groupby
from math import comb, log

import numpy as np
from numpy.typing import NDArray

from experiments.results import Tournament
from experiments.statistics import Floats, parts, side_points, with_opponents

ELO = 400 / log(10)  # points of a factor e in strength: 400 are odds of ten to one
MEAN = 1500.0  # of all agents
_RESAMPLES = 400

Side = tuple[int, ...]  # its agents, sorted
Choice = tuple[Side, tuple[Side, ...]]  # the side that is ahead of the others, and all of them with it
Ranking = tuple[tuple[int, Side], ...]  # places and sides, sorted


@dataclass(frozen=True)
class Rating:
    """An agent's rating with its 95 % interval, in Elo points."""

    rating: float
    low: float
    high: float


def point_ratings(tournament: Tournament) -> Floats:
    """Ratings [n] in Elo points; 1500 on average."""
    model = _Model(tournament)
    return MEAN + ELO * model.fit(np.ones(len(model.counts)))


def ratings(tournament: Tournament) -> list[Rating]:
    """Ratings with intervals by the Bayesian bootstrap over deals (D. B. Rubin, The Annals of Statistics 9, 1981).

    Each resample weights the deals by draws from an exponential distribution, and so the two halves of each
    regularising draw, without which an agent that lost every game would seem to be known exactly. The draws depend on
    the tournament's seed alone. An interval is for the differences from the mean of all agents.
    """
    model = _Model(tournament)
    best = model.fit(np.ones(len(model.counts)))
    rng = np.random.default_rng(tournament.seed)
    resamples = np.array([model.fit(rng.exponential(size=len(model.counts)), best) for _ in range(_RESAMPLES)])
    low, high = np.quantile(resamples, (0.025, 0.975), axis=0)
    return [Rating(*(float(MEAN + ELO * value) for value in row)) for row in zip(best, low, high, strict=True)]


class _Model:
    """What a tournament's games say, as choices of one side among several.

    Attributes:
        counts: how often each choice was made, float64 [units, choices]. The units are the deals, then the halves of
            the regularising draws.
    """

    def __init__(self, tournament: Tournament) -> None:
        tournament = with_opponents(tournament)
        agents = len(tournament.agents)
        deals, rows = np.unique(tournament.games.deals, return_inverse=True)
        rankings, kinds = _rankings(tournament)
        shares = [_choices(ranking) for ranking in rankings]
        pairs: list[tuple[Side, ...]] = [((a,), (b,)) for a, b in combinations(range(agents), 2)]
        found = {choice for kind in shares for choice in kind} | {(side, pair) for pair in pairs for side in pair}
        choices = {choice: column for column, choice in enumerate(sorted(found))}
        self.counts = np.zeros((len(deals) + 2 * len(pairs), len(choices)))
        # Whole numbers are counted first and fractions added in a fixed order: the order of the games is nothing.
        seen, times = np.unique(kinds * len(deals) + rows, return_counts=True)
        ends = np.searchsorted(seen, len(deals) * np.arange(1, len(rankings)))
        for kind, units, of_unit in zip(shares, np.split(seen, ends), np.split(times, ends), strict=False):
            for choice, share in kind.items():
                self.counts[units % len(deals), choices[choice]] += of_unit * share
        for number, pair in enumerate(pairs):
            for half, side in enumerate(pair):
                self.counts[len(deals) + 2 * number + half, choices[side, pair]] = 0.5
        most = max((len(sides) for _, sides in choices), default=1)
        self._sides = np.zeros((len(choices), most, agents))  # each seat's share in its side's log strength
        self._absent = np.ones((len(choices), most), np.bool_)
        self._winners = np.zeros((len(choices), agents))
        for column, (winner, sides) in enumerate(choices):
            np.add.at(self._winners[column], list(winner), 1 / len(winner))
            for place, side in enumerate(sides):
                np.add.at(self._sides[column, place], list(side), 1 / len(side))
                self._absent[column, place] = False

    def fit(self, weights: Floats, start: Floats | None = None) -> Floats:
        """The log strengths [n] of maximum likelihood, 0 on average, with weights of the units [units]."""
        from scipy.optimize import minimize

        agents = self._sides.shape[2]
        counts = weights @ self.counts
        found = minimize(
            self._loss,
            np.zeros(agents) if start is None else start,
            args=(counts, counts @ self._winners),
            jac=True,
            hess=self._hessian,
            method="trust-exact",
            options={"gtol": 1e-6},
        )
        return np.asarray(found.x - found.x.mean())

    def _probabilities(self, strengths: Floats) -> tuple[Floats, Floats]:
        """Of each side to be ahead [choices, sides], and the logarithms of the strengths' sums [choices]."""
        logs = np.where(self._absent, -np.inf, self._sides @ strengths)
        top = logs.max(axis=1, keepdims=True)
        powers = np.exp(logs - top)
        total = powers.sum(axis=1, keepdims=True)
        return powers / total, (top + np.log(total))[:, 0]

    def _loss(self, strengths: Floats, counts: Floats, won: Floats) -> tuple[float, Floats]:
        """The negative log likelihood and its gradient [n]; the square of the sum pins the scale's zero to the mean."""
        probabilities, log_totals = self._probabilities(strengths)
        total = strengths.sum()
        loss = counts @ log_totals - won @ strengths + total**2 / 2
        gradient = np.einsum("c,cs,csn->n", counts, probabilities, self._sides) - won + total
        return float(loss), np.asarray(gradient)

    def _hessian(self, strengths: Floats, counts: Floats, won: Floats) -> NDArray[np.float64]:
        probabilities, _ = self._probabilities(strengths)
        means = np.einsum("cs,csn->cn", probabilities, self._sides)
        weighted = (counts[:, None] * probabilities)[..., None] * self._sides
        agents = self._sides.shape[2]
        squares = weighted.reshape(-1, agents).T @ self._sides.reshape(-1, agents)
        return np.asarray(squares - (counts[:, None] * means).T @ means + 1.0)


def _rankings(tournament: Tournament) -> tuple[list[Ranking], NDArray[np.int64]]:
    """The different rankings that the games brought, sorted, and which of them each game brought [games]."""
    found: dict[Ranking, int] = {}
    kinds = np.empty(len(tournament.games), np.int64)
    for part in parts(tournament):
        points, seatings = side_points(tournament, part), tournament.games.seatings[part]
        places = (points[:, None, :] > points[:, :, None]).sum(axis=2)
        sides = [
            np.column_stack([places[:, side], np.sort(seatings[:, seats], axis=1)])
            for side, seats in enumerate(tournament.teams)
        ]
        rows, inverse = np.unique(np.stack(sides, axis=1), axis=0, return_inverse=True)
        numbers = [found.setdefault(_ranking(row), len(found)) for row in rows.tolist()]
        kinds[part] = np.array(numbers)[inverse.ravel()]
    rankings = sorted(found)
    order = np.empty(len(found), np.int64)
    order[[found[ranking] for ranking in rankings]] = np.arange(len(found))
    return rankings, order[kinds]


def _ranking(sides: list[list[int]]) -> Ranking:
    """From the place and the agents of each side."""
    return tuple(sorted((place, tuple(agents)) for place, *agents in sides))


def _choices(ranking: Ranking) -> dict[Choice, float]:
    """The choices that make up a ranking, with their shares where sides are tied.

    In a random order of k tied sides, the m that are left at some time are any m of them with the same probability,
    and any of those is the next.
    """
    found: dict[Choice, float] = defaultdict(float)
    groups = [[side for _, side in group] for _, group in groupby(ranking, key=lambda each: each[0])]
    for number, tied in enumerate(groups):
        below = [side for group in groups[number + 1 :] for side in group]
        for left in range(1, len(tied) + 1):
            if left + len(below) == 1:
                continue
            for some in combinations(tied, left):
                for winner in some:
                    sides = tuple(sorted([*some, *below]))
                    found[winner, sides] += 1 / comb(len(tied), left) / left
    return found
