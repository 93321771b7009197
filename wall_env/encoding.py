"""What a network sees: a seat's view as a flat vector of int8."""

from functools import cache

import numpy as np

from cardtable.cards import FIRST_JOKER, NO_CARD, rank_of
from cardtable.kernel import Record, inner, kernel, tiny
from cardtable.layout import Layout, Piece
from wall_env.engine import HIGHEST_SUM, is_joker, places_on, wanted_rank
from wall_env.rules import WallRules
from wall_env.state import HIDDEN, NUM_IDENTITIES, PLACE, VALUE

NUM_RANKS = 14  # ace to king, and the joker last
DISCARD_DEPTH = 4  # discards from the top that are also shown one-hot
_SATURATION = 127


@cache
def layout(rules: WallRules) -> Layout:
    """The pieces of an observation; `write_observation` fills them in this order.

    Seats count from the viewer: 0 is he himself, 1 the player at his left, and so on. Ranks are ace to king, then joker.
    """
    seats, cards, levels = rules.num_players, rules.num_cards, rules.num_levels
    return Layout(
        (
            Piece("phase", (3,), 0, 1, "what is to be decided: start card, turn (draw, take or pass), place of the card taken; one-hot"),
            Piece("to_move", (seats,), 0, 1, "seat to move, one-hot; zeros when the game is over"),
            Piece("in_hand", (NUM_RANKS,), 0, 1, "rank of the card taken this turn, one-hot; zeros if there is none or I may not see it"),
            Piece("from_discard", (1,), 0, 1, "1 if it was taken from the discard pile"),
            Piece("wall", (seats, rules.num_cells), 0, 13, "each seat's wall, level by level from the base, each from its left end: value of each card as a support, 0 for no card"),
            Piece("wanted", (seats, levels + 1, 13), 0, _SATURATION, "by seat and level: at how many places a card of each rank fits (level 0: at how many ends of the base)"),
            Piece("unseen", (NUM_RANKS,), 0, 8, "cards of each rank that I have not seen"),
            Piece("discard", (cards,), 0, NUM_RANKS, "the discard pile from the top: rank 1..13, joker 14, 0 below its bottom"),
            Piece("discard_top", (DISCARD_DEPTH, NUM_RANKS), 0, 1, "the discard pile's first cards from the top, one-hot"),
            Piece("score", (seats,), 0, _SATURATION, "scores, at most 127"),
            Piece("idle", (1,), 0, rules.num_players, "turns since somebody drew or built"),
            Piece("deck_size", (1,), 0, cards, "cards in the deck"),
            Piece("discard_size", (1,), 0, cards, "cards in the discard pile"),
            Piece("width", (seats,), 0, rules.width_limit, "cards in each base"),
        )
    )  # fmt: skip


@kernel
def rank_index(card: int) -> int:
    """0..12 for ace to king, 13 for a joker."""
    return NUM_RANKS - 1 if is_joker(card) else rank_of(card) - 1


@inner
def write_observation(v: Record, row: np.ndarray) -> None:
    """Write a view's observation into `row`, int8 [D] as `layout` says."""
    me, num_players, width_limit, num_levels = v.seat, v.num_players, v.width_limit, v.num_levels
    row[:] = 0
    row[v.phase] = 1
    at = 3
    if v.to_move >= 0:
        row[at + (v.to_move - me) % num_players] = 1
    at += num_players
    if v.in_hand != NO_CARD and v.in_hand != HIDDEN:
        row[at + rank_index(v.in_hand)] = 1
    at += NUM_RANKS
    row[at] = v.from_discard
    at += 1
    for k in range(num_players):
        seat = (me + k) % num_players
        for level in range(num_levels + 1):
            if level < v.height[seat]:
                for position in range(v.width[seat] - level):
                    row[at + position] = v.wall[seat, level, position] & VALUE
            at += width_limit - level
    for k in range(num_players):
        _write_wanted(v, (me + k) % num_players, row, at)
        at += 13 * (num_levels + 1)
    for card in range(NUM_IDENTITIES):
        row[at + (NUM_RANKS - 1 if card == NUM_IDENTITIES - 1 else card % 13)] += v.unseen[card]
    at += NUM_RANKS
    num_cards = v.num_decks * (52 + v.jokers_per_deck)
    for k in range(v.discard_size):
        rank = rank_index(v.discard[v.discard_size - 1 - k])
        row[at + k] = rank + 1
        if k < DISCARD_DEPTH:
            row[at + num_cards + k * NUM_RANKS + rank] = 1
    at += num_cards + DISCARD_DEPTH * NUM_RANKS
    for k in range(num_players):
        row[at + k] = min(v.score[(me + k) % num_players], _SATURATION)
    at += num_players
    row[at] = v.idle
    row[at + 1] = v.deck_size
    row[at + 2] = v.discard_size
    at += 3
    for k in range(num_players):
        row[at + k] = v.width[(me + k) % num_players]


@inner
def read_observation(row: np.ndarray, v: Record) -> None:
    """Write into `v` the view that an observation came from, as far as it tells: without suits, the viewer as seat 0.

    The fields that hold the rules are not touched. All that `write_observation` writes of it is `row` again.
    """
    num_players = v.num_players
    v.seat = 0
    for phase in range(3):
        if row[phase] != 0:
            v.phase = phase
    at = 3
    v.to_move = -1
    for seat in range(num_players):
        if row[at + seat] != 0:
            v.to_move = seat
    at += num_players
    v.in_hand = NO_CARD if v.phase != PLACE else HIDDEN
    for rank in range(NUM_RANKS):
        if row[at + rank] != 0:
            v.in_hand = _card_of(rank)
    at += NUM_RANKS
    v.from_discard = row[at]
    at += 1
    for seat in range(num_players):
        v.height[seat] = 0
        for level in range(v.num_levels + 1):
            for position in range(v.width_limit - level):
                v.wall[seat, level, position] = row[at + position]
                if row[at + position] != 0:
                    v.height[seat] = level + 1
            at += v.width_limit - level
    at += num_players * 13 * (v.num_levels + 1)
    v.unseen[:] = 0
    for rank in range(NUM_RANKS - 1):
        v.unseen[rank] = row[at + rank]
    v.unseen[NUM_IDENTITIES - 1] = row[at + NUM_RANKS - 1]
    at += NUM_RANKS
    discard = at
    at += v.num_decks * (52 + v.jokers_per_deck) + DISCARD_DEPTH * NUM_RANKS
    for seat in range(num_players):
        v.score[seat] = row[at + seat]
    at += num_players
    v.idle, v.deck_size, v.discard_size = row[at], row[at + 1], row[at + 2]
    for seat in range(num_players):
        v.width[seat] = row[at + 3 + seat]
    for k in range(v.discard_size):
        v.discard[v.discard_size - 1 - k] = _card_of(row[discard + k] - 1)


@tiny
def _card_of(rank: int) -> int:
    return FIRST_JOKER if rank == NUM_RANKS - 1 else rank


@inner
def _write_wanted(v: Record, seat: int, row: np.ndarray, at: int) -> None:
    width = v.width[seat]
    if 0 < width < v.width_limit:
        for end in (0, width - 1):
            for rank in range(1, HIGHEST_SUM - (v.wall[seat, 0, end] & VALUE) + 1):
                row[at + rank - 1] += 1
    for level in range(1, v.height[seat] + 1):
        for position in range(places_on(v, seat, level)):
            rank = wanted_rank(v, seat, level, position)
            if rank > 0:
                row[at + 13 * level + rank - 1] += 1
