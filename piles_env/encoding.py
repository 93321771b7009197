"""What a network sees: a seat's view as a flat vector of int8."""

from functools import cache

import numpy as np

from cardtable.bits import widen
from cardtable.kernel import Record, inner
from cardtable.layout import Layout, Piece
from piles_env.engine import (
    NUM_KINDS,
    PASS,
    kind_of,
    red_piles,
    seat_after,
    taken_by,
    team_points,
    total_value,
    write_kinds,
)
from piles_env.state import HAND_SIZE, NUM_PILES, NUM_TURNS, STOCK_SIZE

_ACTION_SIZE = NUM_KINDS + NUM_PILES + 1


@cache
def layout(num_players: int) -> Layout:
    """The pieces of an observation; `write_observation` fills them in this order.

    Seats count from the viewer: 0 is he himself, 1 the player at his left, and so on; with four players 2 is his
    partner. Kinds are colour * 13 + rank - 1, red first; piles row * 4 + column.
    """
    seats = num_players
    kinds, piles = NUM_KINDS, NUM_PILES
    return Layout(
        (
            Piece("hand", (kinds,), 0, 2, "cards of each kind in my hand"),
            Piece("unseen", (kinds,), 0, 2, "cards of each kind of which I do not know where they are"),
            Piece("top", (piles, kinds), 0, 1, "kind of each pile's top card, one-hot"),
            Piece("under", (piles, kinds), 0, 2, "cards of each kind beneath each top"),
            Piece("total", (piles,), -3, 17, "total value of each pile's top card (P8)"),
            Piece("taken", (2, kinds), 0, 2, "cards of each kind taken from passers, by my side and by the other, as far as I know them"),
            Piece("hidden_taken", (2,), 0, NUM_TURNS, "number of such cards that I do not know, by my side and by the other"),
            Piece("played", (seats, kinds), 0, 2, "cards of each kind placed by each seat"),
            Piece("last_action", (seats - 1, _ACTION_SIZE), 0, 1, "last action of each other seat: kind of the card placed or taken (26), pile (12), passed (1), each one-hot"),
            Piece("hand_size", (seats,), 0, HAND_SIZE, "cards in each hand"),
            Piece("stock_size", (1,), 0, STOCK_SIZE, "cards still to be dealt"),
            Piece("to_move", (seats,), 0, 1, "seat to move, one-hot; zeros when the game is over"),
            Piece("colour", (3,), 0, 1, "my side's colour: none yet, red, black, one-hot"),
            Piece("turns_left", (1,), 0, NUM_TURNS, "turns of all seats to come"),
            Piece("points", (2,), 0, 54, "points of my side and of the other if the game ended now, as far as I know"),
        )
    )  # fmt: skip


@inner
def write_observation(v: Record, row: np.ndarray) -> None:
    """Write a view's observation into `row`, int8 [D] as `layout` says."""
    me, num_players = widen(v.seat), v.num_players
    my_team = me % 2
    row[:] = 0
    at = widen(0)
    at = write_kinds(v.hand, row, at)
    at = write_kinds(v.unseen, row, at)
    for pile in range(NUM_PILES):
        row[at + kind_of(v.top[pile])] = 1
        at += NUM_KINDS
    for pile in range(NUM_PILES):
        at = write_kinds(v.under[pile], row, at)
    reds = red_piles(v.top)
    for pile in range(NUM_PILES):
        row[at] = total_value(v.top, reds, pile)
        at += 1
    for side in range(2):
        team = (my_team + side) % 2
        at = write_kinds(taken_by(v, team), row, at)
    for side in range(2):
        team = (my_team + side) % 2
        row[at] = v.num_hidden_taken[team] + v.num_hidden_taken[team + 2]
        at += 1
    for k in range(num_players):
        at = write_kinds(v.played[seat_after(v, me, k)], row, at)
    for k in range(1, num_players):
        _write_last_action(v, seat_after(v, me, k), row, at)
        at += _ACTION_SIZE
    for k in range(num_players):
        row[at] = v.hand_size[seat_after(v, me, k)]
        at += 1
    row[at] = v.stock_size
    at += 1
    if v.to_move >= 0:
        row[at + seat_after(v, v.to_move, -me)] = 1
    at += num_players
    if v.red_team < 0:
        row[at] = 1
    else:
        row[at + (1 if v.red_team == my_team else 2)] = 1
    at += 3
    row[at] = NUM_TURNS - v.turn
    at += 1
    for side in range(2):
        team = (my_team + side) % 2
        row[at] = team_points(v, team, taken_by(v, team))
        at += 1


@inner
def _write_last_action(v: Record, seat: int, row: np.ndarray, at: int) -> None:
    turns_since = seat_after(v, v.opener - seat, v.turn - 1)
    turn = v.turn - 1 - turns_since
    if turn < 0:
        return
    if v.history_card[turn] >= 0:
        row[at + kind_of(v.history_card[turn])] = 1
    if v.history[turn] == PASS:
        row[at + NUM_KINDS + NUM_PILES] = 1
    else:
        row[at + NUM_KINDS + v.history[turn] // NUM_KINDS] = 1
