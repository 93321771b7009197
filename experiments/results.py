"""What a tournament brings forth: its games, and what they were played with."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

_AT_ONCE = 10_000  # results that are in memory one by one


@dataclass(frozen=True)
class GameResult:
    """One game of a tournament.

    Attributes:
        deal: index of the deal. All games of a deal meet the same chance; the deal is the sample.
        seating: agent index by seat.
        scores: points by side (team in Piles, seat in Wall). Where an agent is at fault the game was broken off, and
            they say nothing.
        fault: index of the agent that lost the game by crashing, an illegal move or slowness; -1 for none.
        status: "ok", "crashed: ...", "illegal: ..." or "slow".
        decisions: number of decisions by agent index.
        seconds: thinking time by agent index, in seconds (each game's share of its batch).
    """

    deal: int
    seating: tuple[int, ...]
    scores: tuple[int, ...]
    fault: int
    status: str
    decisions: tuple[int, ...]
    seconds: tuple[float, ...]


@dataclass(frozen=True)
class Games:
    """Many games in columns, a few bytes each, so that a tournament of a million fits into little memory.

    Attributes:
        deals: index of each game's deal, int32 [games].
        seatings: agent index by seat, int16 [games, seats].
        scores: points by side, int32 [games, sides]; where an agent is at fault they say nothing.
        faults: index of the agent that lost the game by a fault, int16 [games]; -1 for none.
        statuses: what happened in each game with a fault, in their order.
        decisions: number of decisions by agent in all games, int64 [agents].
        seconds: thinking time by agent in all games, float64 [agents].
    """

    deals: NDArray[np.int32]
    seatings: NDArray[np.int16]
    scores: NDArray[np.int32]
    faults: NDArray[np.int16]
    statuses: Sequence[str]
    decisions: NDArray[np.int64]
    seconds: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.deals)

    @classmethod
    def collect(cls, results: Iterable[GameResult], seats: int, sides: int, agents: int) -> "Games":
        """Put results into columns, of which only a part is in memory at a time.

        Args:
            results: the games, in the order of the schedule.
            seats, sides, agents: numbers of these.
        """
        deals, seatings = [np.empty(0, np.int32)], [np.empty((0, seats), np.int16)]
        scores, faults = [np.empty((0, sides), np.int32)], [np.empty(0, np.int16)]
        statuses: list[str] = []
        decisions, seconds = np.zeros(agents, np.int64), np.zeros(agents)
        remaining = iter(results)
        while part := list(islice(remaining, _AT_ONCE)):
            deals.append(np.array([each.deal for each in part], np.int32))
            seatings.append(np.array([each.seating for each in part], np.int16))
            scores.append(np.array([each.scores for each in part], np.int32))
            faults.append(np.array([each.fault for each in part], np.int16))
            statuses += [sys.intern(each.status) for each in part if each.fault >= 0]  # most are the same few
            decisions += np.array([each.decisions for each in part], np.int64).sum(axis=0)
            seconds += np.array([each.seconds for each in part], np.float64).sum(axis=0)
        return cls(
            np.concatenate(deals),
            np.concatenate(seatings),
            np.concatenate(scores),
            np.concatenate(faults),
            statuses,
            decisions,
            seconds,
        )


@dataclass(frozen=True)
class Tournament:
    """All games of a tournament, so far.

    Attributes:
        game: name with version ("piles-v0").
        players: number of seats.
        teams: the seats of each side that shares a score.
        schedule: "round-robin", "gauntlet" or "cross-play".
        seed: seed of the deals and of the agents.
        deals: number of deals.
        agents: the agents as the command line names them.
        games: the games in the order of the schedule.
        provenance: what produced them (versions, rules, hashes of files, machine, command line).
        return_range: lowest and highest return of a seat; a faulty agent's side loses by the widest margin.
    """

    game: str
    players: int
    teams: tuple[tuple[int, ...], ...]
    schedule: str
    seed: int
    deals: int
    agents: tuple[str, ...]
    games: Games
    provenance: Mapping[str, str]
    return_range: tuple[float, float]
