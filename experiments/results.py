"""What a tournament brings forth: its games, and what they were played with."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


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
        results: the games in the order of the schedule.
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
    results: Sequence[GameResult]
    provenance: Mapping[str, str]
    return_range: tuple[float, float]
