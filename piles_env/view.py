"""What a seat may know: the only way from a game's record to an agent, and the way back to games that fit."""

import numpy as np

from cardtable import chance
from cardtable.bits import lowest, popcount, singleton
from cardtable.kernel import Record, inner
from piles_env.engine import PASS, kind_of, placeable_anywhere, public_margin, seat_after
from piles_env.state import HIDDEN, MAX_PLAYERS, NUM_PILES, NUM_TURNS, STOCK_SIZE


@inner
def _copy_public(source: Record, target: Record) -> None:
    """Copy what lies open: the fields that a game's record and a view have in common, but for hands and taken cards."""
    for seat in range(MAX_PLAYERS):
        target.played[seat] = source.played[seat]
    for pile in range(NUM_PILES):
        target.under[pile] = source.under[pile]
        target.top[pile] = source.top[pile]
        target.castle[pile] = source.castle[pile]
    for turn in range(NUM_TURNS):
        target.history[turn] = source.history[turn]
    target.num_players = source.num_players
    target.opener_may_pass = source.opener_may_pass
    target.passed_hidden = source.passed_hidden
    target.opener = source.opener
    target.to_move = source.to_move
    target.turn = source.turn
    target.red_team = source.red_team


@inner
def write_view(s: Record, seat: int, v: Record) -> None:
    """Write into `v` all that `seat` may know of the game `s`, and nothing else.

    Hidden are the other hands, the stock, the seed and, with `passed_hidden`, the cards taken from passers: those are
    known to the passer and the taking player only (PD3), until the game is over and they are counted.
    """
    _copy_public(s, v)
    v.seat = seat
    v.hand = s.hand[seat]
    v.unseen = 0
    for other in range(MAX_PLAYERS):
        if other != seat:
            v.unseen |= s.hand[other]
        v.hand_size[other] = popcount(s.hand[other])
        v.taken[other] = s.taken[other]
        v.num_hidden_taken[other] = 0
    v.stock_size = 0
    if s.num_players == 2 and s.turn < NUM_TURNS // 2:
        v.stock_size = STOCK_SIZE
        for k in range(STOCK_SIZE):
            v.unseen |= singleton(s.stock[k])
    for turn in range(NUM_TURNS):
        v.history_card[turn] = s.history_card[turn]
    if s.passed_hidden and s.to_move >= 0:
        for turn in range(s.turn):
            passer = seat_after(s, s.opener, turn)
            taker = seat_after(s, passer, 1)
            if s.history[turn] == PASS and seat != passer and seat != taker:
                card = singleton(s.history_card[turn])
                v.history_card[turn] = HIDDEN
                v.taken[taker] &= ~card
                v.num_hidden_taken[taker] += 1
                v.unseen |= card


@inner
def determinize(v: Record, seed: np.uint64, s: Record) -> None:
    """Write into `s` a game that fits the view: the unseen cards on the hidden places, uniformly at random.

    One fact about hidden cards follows from the rules: if the opener passed in his first turn although he had to place
    a card if he could (PD1), no card that he held then could be placed. His places are then filled with such cards.
    The game gets `seed`, so its draws to come are not those of the game that was seen.
    """
    _copy_public(v, s)
    s.seed = seed
    for seat in range(MAX_PLAYERS):
        s.hand[seat] = 0
        s.taken[seat] = v.taken[seat]
    s.hand[v.seat] = v.hand
    for turn in range(NUM_TURNS):
        s.history_card[turn] = v.history_card[turn]

    unseen = np.empty(52, np.int8)
    count = 0
    cards = v.unseen
    while cards:
        unseen[count] = lowest(cards)
        cards &= cards - 1
        count += 1
    chance.shuffle(unseen, count, seed, chance.WORLD)

    # Cards are dealt from the end of `unseen`, to the opener first.
    first_hand = v.num_players == MAX_PLAYERS or v.turn < NUM_TURNS // 2
    could_not_place = (
        v.turn > 0 and v.history[0] == PASS and not v.opener_may_pass and v.seat != v.opener and first_hand
    )
    if could_not_place:
        _move_to_end(unseen, count, ~placeable_anywhere(v.castle))
    count = _fill_places(v, s, v.opener, unseen, count)
    if could_not_place:
        chance.shuffle(unseen, count, seed, chance.DEAL)
    for k in range(1, v.num_players):
        count = _fill_places(v, s, seat_after(v, v.opener, k), unseen, count)
    _fill_stock(v, s, unseen)
    s.last_margin = public_margin(s)  # no action has been taken in this game yet, so it has brought nothing


@inner
def _move_to_end(cards: np.ndarray, count: int, kinds: int) -> None:
    """Move the cards of some kinds behind the others, keeping the order within both groups."""
    moved = np.empty(count, np.int8)
    kept, num_moved = 0, 0
    for k in range(count):
        if kinds >> kind_of(cards[k]) & 1:
            moved[num_moved] = cards[k]
            num_moved += 1
        else:
            cards[kept] = cards[k]
            kept += 1
    for k in range(num_moved):
        cards[kept + k] = moved[k]


@inner
def _fill_places(v: Record, s: Record, seat: int, cards: np.ndarray, count: int) -> int:
    """Give `seat` cards from the end for what he holds and has lost out of sight; return how many cards are left."""
    for turn in range(v.turn):
        if v.history_card[turn] == HIDDEN and seat_after(v, v.opener, turn) == seat:
            count -= 1
            s.history_card[turn] = cards[count]
            s.taken[seat_after(v, seat, 1)] |= singleton(cards[count])
    if seat != v.seat:
        for _ in range(v.hand_size[seat]):
            count -= 1
            s.hand[seat] |= singleton(cards[count])
    return count


@inner
def _fill_stock(v: Record, s: Record, cards: np.ndarray) -> None:
    """The stock is what is left over, or, once it has been dealt, what both players have got from it."""
    s.stock[:] = -1
    if v.stock_size > 0:
        for k in range(STOCK_SIZE):
            s.stock[k] = cards[k]
    elif v.num_players == 2:
        for first in range(2):
            seat = seat_after(v, v.opener, first)
            dealt = s.hand[seat]
            for turn in range(NUM_TURNS // 2, v.turn):
                if seat_after(v, v.opener, turn) == seat:
                    dealt |= singleton(s.history_card[turn])
            for k in range(first, STOCK_SIZE, 2):
                s.stock[k] = lowest(dealt)
                dealt &= dealt - 1
