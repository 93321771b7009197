"""Schedules: who plays whom, how often, and on which seats."""

from collections import Counter

import pytest

from experiments.schedule import Schedule

PILES = ((0, 2), (1, 3))
TWO = ((0,), (1,))


def wall(players: int) -> tuple[tuple[int, ...], ...]:
    return tuple((seat,) for seat in range(players))


def seatings(schedule: Schedule, deals: int = 1) -> list[tuple[int, ...]]:
    return [game.seating for game in schedule.games(0, deals * schedule.games_per_deal)]


def test_each_pair_plays_each_deal_on_both_sides() -> None:
    assert seatings(Schedule("round-robin", PILES, 3, 1)) == [
        (0, 1, 0, 1),
        (1, 0, 1, 0),
        (0, 2, 0, 2),
        (2, 0, 2, 0),
        (1, 2, 1, 2),
        (2, 1, 2, 1),
    ]
    assert seatings(Schedule("round-robin", TWO, 2, 1)) == [(0, 1), (1, 0)]


def test_gauntlet_is_the_first_against_each_other() -> None:
    assert seatings(Schedule("gauntlet", PILES, 3, 1)) == [(0, 1, 0, 1), (1, 0, 1, 0), (0, 2, 0, 2), (2, 0, 2, 0)]
    at_three = seatings(Schedule("gauntlet", wall(3), 2, 1))
    assert sorted(at_three) == [(0, 1, 1), (1, 0, 1), (1, 1, 0)]


def test_cross_play_is_each_ordered_pair_against_two_of_the_last() -> None:
    found = seatings(Schedule("cross-play", PILES, 3, 1))
    assert found == [(a, 2, b, 2) if side == 0 else (2, a, 2, b) for a in (0, 1) for b in (0, 1) for side in (0, 1)]


@pytest.mark.parametrize("players", [3, 4])
def test_full_tables_are_played_in_all_rotations(players: int) -> None:
    schedule = Schedule("round-robin", wall(players), players, 5)
    assert schedule.games_per_deal == players
    orders = set()
    for deal in range(40):
        first = deal * players
        games = list(schedule.games(first, first + players))
        for seat in range(players):
            assert sorted(game.seating[seat] for game in games) == list(range(players)), "each agent on each seat"
        start = games[0].seating.index(0)
        orders.add(games[0].seating[start:] + games[0].seating[:start])
    assert len(orders) == {3: 2, 4: 6}[players], "everybody sits next to everybody in some deals"


@pytest.mark.parametrize("players", [5, 6])
def test_large_tables_are_played_in_a_sample_of_rotations(players: int) -> None:
    schedule = Schedule("round-robin", wall(players), players, 5)
    assert schedule.games_per_deal == 4
    seats: Counter[int] = Counter()
    for deal in range(600):
        games = list(schedule.games(deal * 4, deal * 4 + 4))
        assert len({game.seating for game in games}) == 4
        seats.update(game.seating.index(0) for game in games)
    assert min(seats.values()) > 0.8 * 2400 / players
    assert len(seats) == players


def test_fewer_agents_than_seats_play_alone_among_each_other() -> None:
    found = seatings(Schedule("round-robin", wall(4), 2, 1))
    assert Counter(map(sum, found)) == {1: 4, 3: 4}
    assert len(set(found)) == 8


def test_one_player_plays_alone() -> None:
    assert seatings(Schedule("round-robin", wall(1), 3, 1)) == [(0,), (1,), (2,)]


@pytest.mark.parametrize("teams", [PILES, wall(3), wall(6)])
def test_parts_are_those_of_the_whole_and_more_deals_come_at_the_end(teams: tuple[tuple[int, ...], ...]) -> None:
    schedule = Schedule("round-robin", teams, 3, 9)
    whole = list(schedule.games(0, 100))
    assert [game.number for game in whole] == list(range(100))
    assert [game.deal for game in whole] == [number // schedule.games_per_deal for number in range(100)]
    for first, last in ((0, 1), (7, 50), (99, 100), (30, 30)):
        assert list(schedule.games(first, last)) == whole[first:last]


@pytest.mark.parametrize(
    ("kind", "teams", "agents", "seed", "message"),
    [
        ("swiss", PILES, 2, 0, "unknown schedule 'swiss'"),
        ("cross-play", TWO, 3, 0, "four players"),
        ("round-robin", PILES, 1, 0, "at least 2 agents"),
        ("gauntlet", PILES, 2, -1, "seed must be at least 0"),
    ],
)
def test_what_cannot_be_is_refused(
    kind: str, teams: tuple[tuple[int, ...], ...], agents: int, seed: int, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        Schedule(kind, teams, agents, seed)
