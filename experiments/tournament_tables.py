"""What a tournament comes down to as tables, Markdown that reads well in a terminal, too."""

import numpy as np

from experiments.evaluate import table
from experiments.results import Tournament
from experiments.statistics import ERROR, Estimate
from experiments.tournament_summary import Pair, Standing, Summary, quick_standings

METHODS = (
    "The deal is the sample: all games of a deal count as one observation, and the intervals (95 %) are over deals. "
    "A margin is an agent's points less its opponent's on the same deal; a draw is half a win; margin and wins are "
    "means over its opponents, each counting the same. An agent at fault (a crash, an illegal move, slowness) loses by "
    "the widest margin that the rules allow. Ratings are by maximum likelihood in the model of Bradley and Terry, or "
    "of Plackett and Luce at tables with more than two sides, on Elo's scale with a mean of 1500, with one draw more "
    "between each two agents than was played; a team's rating is its members' mean. Their intervals are by the "
    "Bayesian bootstrap over deals. Margins have intervals by Student's t, and so have wins, with two wins and two "
    "losses more than there were."
)
DECIDED = (
    '"Decided" is the deal at which a mixture sequential probability ratio test told a pair apart, with an error of '
    f"{100 * ERROR:.0f} % for all pairs together; where a tournament was stopped by that test, the other intervals are "
    "a little too narrow."
)


def ranking(summary: Summary) -> list[list[str]]:
    """A row for each agent, the best first, below a header; nothing in it depends on the machine."""
    header = ["", "agent", "rating", "95 % interval", "margin per deal", "95 % interval", "wins", "faults", "games"]
    return [header, *(_standing_row(place, each) for place, each in enumerate(summary.standings, start=1))]


def _standing_row(place: int, standing: Standing) -> list[str]:
    rating = standing.rating
    return [
        str(place),
        standing.name,
        f"{rating.rating:.0f}",
        f"{rating.low:.0f} to {rating.high:.0f}",
        _points(standing.margin.mean),
        _interval(standing.margin),
        _share(standing.wins),
        str(standing.faults),
        str(standing.games),
    ]


def pairs(summary: Summary) -> list[list[str]]:
    """A row for each pair that met, below a header."""
    header = ["agent", "against", "margin per deal", "95 % interval", "wins", "95 % interval", "deals", "decided"]
    return [header, *map(_pair_row, summary.pairs)]


def _pair_row(pair: Pair) -> list[str]:
    margin, wins = pair.margin, pair.wins
    return [
        pair.first,
        pair.second,
        _points(margin.mean),
        _interval(margin),
        _share(wins.mean),
        f"{100 * wins.low:.1f} to {100 * wins.high:.1f} %",
        str(margin.deals),
        "no" if pair.decided is None else f"deal {pair.decided}",
    ]


def payoffs(summary: Summary) -> list[list[str]]:
    """The mean margin per deal of the agent of each row against that of each column; columns are named by place."""
    places = range(1, len(summary.standings) + 1)
    rows = zip(places, summary.standings, summary.payoffs, strict=True)
    return [
        ["", "agent", *(f"against {place}" for place in places)],
        *([str(place), standing.name, *map(_points, margins)] for place, standing, margins in rows),
    ]


def times(summary: Summary) -> list[list[str]]:
    """The thinking time per move of each agent, below a header. It depends on the machine, and on what else it did."""
    return [["agent", "time per move"], *([each.name, duration(each.seconds)] for each in summary.standings)]


def running_table(tournament: Tournament) -> str:
    """The ranking so far, a line for each agent, quick enough to be shown while the tournament runs."""
    rows = [
        [each.name, f"{each.rating.rating:.0f}", _points(each.margin.mean), _share(each.wins), str(each.faults)]
        for each in quick_standings(tournament)
    ]
    return table([["agent", "rating", "margin", "wins", "faults"], *rows])


def note(tournament: Tournament) -> str:
    """What was played, in one line."""
    players = "1 player" if tournament.players == 1 else f"{tournament.players} players"
    return (
        f"{tournament.game}, {players}; {tournament.schedule}, {tournament.deals} deals (seed {tournament.seed}), "
        f"{len(tournament.games)} games; margins in points, ratings in Elo points."
    )


def duration(seconds: float) -> str:
    """A time in a unit that suits it, as "1.2 ms"."""
    if np.isnan(seconds):
        return "–"
    unit, size = next(((u, s) for u, s in (("s", 1.0), ("ms", 1e-3)) if seconds >= s), ("µs", 1e-6))
    value = seconds / size
    return f"{value:.0f} {unit}" if value >= 10 else f"{value:.2g} {unit}"


def _points(value: float) -> str:
    return "–" if np.isnan(value) else f"{value:+z.2f}"


def _interval(margin: Estimate) -> str:
    return f"{_points(margin.low)} to {_points(margin.high)}" if np.isfinite(margin.low) else "–"


def _share(value: float) -> str:
    return "–" if np.isnan(value) else f"{100 * value:.1f} %"
