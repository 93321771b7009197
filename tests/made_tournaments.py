"""Tournaments made up for tests: a game is its seating and its scores."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from experiments.results import GameResult, Games, Tournament

PILES = ((0, 2), (1, 3))
DUEL = ((0,), (1,))


def result(
    deal: int, seating: Sequence[int], scores: Sequence[int], agents: int = 2, fault: int = -1, seconds: float = 0.5
) -> GameResult:
    """A game in which each agent at the table thought for `seconds` over ten decisions."""
    played = [int(agent in seating) for agent in range(agents)]
    return GameResult(
        deal,
        tuple(seating),
        tuple(scores),
        fault,
        "ok" if fault < 0 else "crashed: ValueError: no <idea> & no move",
        tuple(10 * each for each in played),
        tuple(seconds * each for each in played),
    )


def tournament(
    results: Sequence[GameResult],
    teams: tuple[tuple[int, ...], ...] = DUEL,
    agents: Sequence[str] = ("a", "b"),
    schedule: str = "round-robin",
    width: float = 54.0,
) -> Tournament:
    """A tournament with these results."""
    return Tournament(
        game="piles-v0" if len(teams) == 2 else "wall-v0",
        players=sum(map(len, teams)),
        teams=teams,
        schedule=schedule,
        seed=7,
        deals=len({each.deal for each in results}),
        agents=tuple(agents),
        games=Games.collect(results, sum(map(len, teams)), len(teams), len(agents)),
        provenance={"command": "python -m experiments tournament <piles> & more", "machine": "x86_64"},
        return_range=(-width, width),
    )


def duels(strengths: Sequence[float], deals: int, seed: int = 0) -> Tournament:
    """A round-robin of two-player games with results by Bradley and Terry (strengths as natural logarithms).

    Each pair plays a deal from both sides; the winner's margin is 1 to 10 points.
    """
    rng = np.random.default_rng(seed)
    results = []
    for deal in range(deals):
        for a in range(len(strengths)):
            for b in range(a):
                for seating in ((a, b), (b, a)):
                    wins = rng.random() < 1 / (1 + np.exp(strengths[seating[1]] - strengths[seating[0]]))
                    margin = int(rng.integers(1, 11))
                    scores = (margin, 0) if wins else (0, margin)
                    results.append(result(deal, seating, scores, len(strengths)))
    return tournament(results, agents=[f"agent {number}" for number in range(len(strengths))])


def reordered(made: Tournament, order: Sequence[int]) -> Tournament:
    """A tournament without faults with its games in another order."""
    games, rows = made.games, np.asarray(order)
    assert not len(games.statuses)
    columns = {name: getattr(games, name)[rows] for name in ("deals", "seatings", "scores", "faults")}
    return replace(made, games=replace(games, **columns))
