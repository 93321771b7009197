"""Who plays whom: schedules of tournaments on duplicate deals.

All games of a deal meet the same chance, and in them the agents change places, so that neither cards nor seats favour
anyone. A schedule lists its games deal by deal; more deals only add games at the end.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np

SCHEDULES = ("round-robin", "gauntlet", "cross-play")
_ALL_ROTATIONS = 4  # up to so many players each table is played in all rotations, above that in so many of them

Seating = tuple[int, ...]  # agent index by seat


@dataclass(frozen=True)
class ScheduledGame:
    """A game to play.

    Attributes:
        number: its place in the schedule, from 0.
        deal: index of the deal, from 0.
        seating: agent index by seat.
    """

    number: int
    deal: int
    seating: Seating


@dataclass(frozen=True)
class Schedule:
    """The games of a tournament.

    Two sides (Piles, Wall for two players): in "round-robin" each pair of agents plays each deal twice, with sides
    swapped; in "gauntlet" only the pairs with the first agent do.

    Wall for three and more players: in "round-robin" each set of as many agents as there are seats shares a table.
    Where there are fewer agents than seats, each agent plays alone among copies of each other one, as the first agent
    always does in "gauntlet". Each table is played in all rotations of its seats (in 4, drawn for each deal, with five
    and more players). The order around the table is drawn for each deal, so that nobody always follows the same player.

    Wall for one player: each agent plays each deal by itself.

    "cross-play" (Piles for four): the last agent plays on both seats of the fixed side, and each ordered pair of the
    others (an agent with itself, too) partner against it, once on each side.

    Attributes:
        kind: one of `SCHEDULES`.
        teams: the seats of each side, as in `Game.teams`.
        agents: number of agents.
        seed: for what is drawn.

    Raises:
        ValueError: if the schedule is unknown, is not for such a game, or has too few agents.
    """

    kind: str
    teams: tuple[Seating, ...]
    agents: int
    seed: int

    def __post_init__(self) -> None:
        if self.kind not in SCHEDULES:
            raise ValueError(f"unknown schedule {self.kind!r}; the schedules are {', '.join(SCHEDULES)}")
        if self.kind == "cross-play" and [len(team) for team in self.teams] != [2, 2]:
            raise ValueError("cross-play needs partners: it is for piles with four players")
        least = 1 if len(self.teams) == 1 else 2
        if self.agents < least:
            raise ValueError(f"{self.kind} needs at least {least} agents, not {self.agents}")
        if self.seed < 0:
            raise ValueError(f"the seed must be at least 0, not {self.seed}")

    @property
    def games_per_deal(self) -> int:
        """Number of games that are played with each deal."""
        return len(self._tables()) * self._rotations

    def games(self, first: int, last: int) -> Iterator[ScheduledGame]:
        """The games with the numbers first..last-1."""
        per_deal = self.games_per_deal
        for deal in range(first // per_deal, -(-last // per_deal)):
            for index, seating in enumerate(self._seatings(deal)):
                number = deal * per_deal + index
                if first <= number < last:
                    yield ScheduledGame(number, deal, seating)

    @property
    def _rotations(self) -> int:
        return min(len(self.teams), _ALL_ROTATIONS)

    def _tables(self) -> list[tuple[Seating, ...]]:
        """Which agents meet: for each side the agents on its seats."""
        sides, everyone = len(self.teams), range(self.agents)
        if self.kind == "cross-play":
            fixed = (self.agents - 1,) * 2
            return [(pair, fixed) for pair in product(everyone[:-1], repeat=2)]
        if sides == 1:
            meetings: list[Seating] = [(agent,) for agent in everyone]
        elif self.kind == "gauntlet":
            meetings = [(0,) + (other,) * (sides - 1) for other in everyone[1:]]
        elif self.agents >= sides:
            meetings = list(combinations(everyone, sides))
        else:
            meetings = [(one,) + (other,) * (sides - 1) for one, other in product(everyone, repeat=2) if one != other]
        return [
            tuple((agent,) * len(team) for agent, team in zip(meeting, self.teams, strict=True)) for meeting in meetings
        ]

    def _seatings(self, deal: int) -> Iterator[Seating]:
        sides = len(self.teams)
        order, rotations = list(range(sides)), list(range(sides))
        if sides > 2:
            rng = np.random.default_rng((self.seed, deal))
            order = rng.permutation(sides).tolist()
            rotations = sorted(rng.permutation(sides)[: self._rotations].tolist())
        for table in self._tables():
            for rotation in rotations:
                seating = [0] * sum(map(len, self.teams))
                for place, side in enumerate(order):
                    for seat, agent in zip(self.teams[(place + rotation) % sides], table[side], strict=True):
                        seating[seat] = agent
                yield tuple(seating)
