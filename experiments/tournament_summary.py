"""What a tournament comes down to: the ranking, the pairs, and the matrices, ready to be shown."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import nan

import numpy as np

from experiments.ratings import Rating, point_ratings, ratings
from experiments.results import Tournament
from experiments.statistics import (
    Comparisons,
    Estimate,
    Floats,
    compare,
    decisions,
    margin_estimate,
    mean_over_deals,
    overall,
    partner_margins,
    share_estimate,
)


@dataclass(frozen=True)
class Standing:
    """An agent's place.

    Attributes:
        agent: its index in the tournament.
        name: its name, unlike all others.
        rating: in Elo points.
        margin: mean margin per deal in points over the agents that it met, each counting the same.
        wins: likewise the share of wins; NaN if it met none.
        seconds: thinking time per move; NaN if it did not move.
        faults: games that it lost by a crash, an illegal move or slowness.
        games: games in which it sat at the table.
    """

    agent: int
    name: str
    rating: Rating
    margin: Estimate
    wins: float
    seconds: float
    faults: int
    games: int


@dataclass(frozen=True)
class Pair:
    """Two agents that met.

    Attributes:
        first, second: names; the first has the higher rating.
        margin: of the first per deal, in points.
        wins: the share of games that the first won, a draw being half a win.
        decided: number of deals after which the sequential test told them apart (see `statistics.decisions`); None if
            it did not.
    """

    first: str
    second: str
    margin: Estimate
    wins: Estimate
    decided: int | None


@dataclass(frozen=True)
class Summary:
    """A tournament's results.

    Attributes:
        tournament: all of it.
        standings: the agents, the best first.
        pairs: the pairs that met, in the order of the standings.
        margins: mean margins per deal by agent, in the order of the standings, each float64 [deals].
        payoffs: mean margin of the agent of the row against that of the column, float64 [n, n] in the order of the
            standings; NaN where they did not meet.
        partners: likewise the mean margin of the two as partners; None if no two were.
    """

    tournament: Tournament
    standings: Sequence[Standing]
    pairs: Sequence[Pair]
    margins: Sequence[Floats]
    payoffs: Floats
    partners: Floats | None


def summarize(tournament: Tournament) -> Summary:
    """Rank the agents of a tournament and compare them."""
    comparisons = compare(tournament)
    standings = _standings(tournament, comparisons, ratings(tournament))
    order = [standing.agent for standing in standings]
    names = {standing.agent: standing.name for standing in standings}
    partners = mean_over_deals(partner_margins(tournament))[np.ix_(order, order)]
    mixed = ~np.isnan(partners) & ~np.eye(len(order), dtype=bool)
    decided = decisions(comparisons)
    return Summary(
        tournament,
        standings,
        [
            Pair(
                names[a],
                names[b],
                margin_estimate(comparisons.pair_margins(a, b)),
                share_estimate(comparisons.pair_wins(a, b)),
                decided[min(a, b), max(a, b)],
            )
            for a, b in combinations(order, 2)
            if (min(a, b), max(a, b)) in decided
        ],
        [comparisons.agent_margins(agent) for agent in order],
        mean_over_deals(comparisons.margins)[np.ix_(order, order)],
        partners if mixed.any() else None,
    )


def quick_standings(tournament: Tournament) -> list[Standing]:
    """The agents so far, the best first, with ratings that have no interval: quick enough to be shown while it runs."""
    without_intervals = [Rating(float(value), nan, nan) for value in point_ratings(tournament)]
    return _standings(tournament, compare(tournament), without_intervals)


def unique_names(agents: Sequence[str]) -> list[str]:
    """The agents' names, with numbers behind those that are there more than once."""
    counts, seen = Counter(agents), Counter[str]()
    names = []
    for agent in agents:
        seen[agent] += 1
        names.append(f"{agent} #{seen[agent]}" if counts[agent] > 1 else agent)
    return names


def _standings(tournament: Tournament, comparisons: Comparisons, rated: Sequence[Rating]) -> list[Standing]:
    games = tournament.games
    wins = overall(mean_over_deals(comparisons.wins))
    faults = np.bincount(games.faults[games.faults >= 0], minlength=len(tournament.agents))
    return sorted(
        (
            Standing(
                agent,
                name,
                rated[agent],
                margin_estimate(comparisons.agent_margins(agent)),
                float(wins[agent]),
                float(games.seconds[agent] / games.decisions[agent]) if games.decisions[agent] else nan,
                int(faults[agent]),
                int((games.seatings == agent).any(axis=1).sum()),
            )
            for agent, name in enumerate(unique_names(tournament.agents))
        ),
        key=lambda standing: (-standing.rating.rating, standing.agent),
    )
