"""The rules of Piles as compiled code: what is legal, what a move does, what a position is worth.

`r` stands for a game's record or for a seat's view of it: rules that need public facts alone work on both.
"""

import numpy as np

from cardtable import chance
from cardtable.bits import nth, popcount, singleton, spread, store_word, widen
from cardtable.cards import rank_of
from cardtable.kernel import Record, inner, kernel, tiny
from piles_env.state import HAND_SIZE, NUM_PILES, NUM_TURNS, STOCK_SIZE

NUM_KINDS = 26  # colour * 13 + rank - 1, red first: the two cards of a kind are equal in all rules
PASS = NUM_PILES * NUM_KINDS  # action = pile * 26 + kind of the placed card, or PASS
NUM_ACTIONS = PASS + 1
COLUMNS, ROWS = 4, 3


def _cards_of(wanted_kinds: range, *more: range) -> int:
    kinds = {kind for kinds in (wanted_kinds, *more) for kind in kinds}
    return sum(1 << card for card in range(52) if card % NUM_KINDS in kinds)


RED_CARDS = _cards_of(range(0, 13))
BLACK_CARDS = _cards_of(range(13, 26))
ACES, JACKS, QUEENS, KINGS = (_cards_of(range(rank - 1, rank), range(rank + 12, rank + 13)) for rank in (1, 11, 12, 13))
_ALL_RANKS = (1 << 13) - 1
ALL_KINDS = (1 << NUM_KINDS) - 1


def _neighbours_of(pile: int) -> int:
    """P7: the horizontally or vertically adjacent piles, as a set."""
    row, column = divmod(pile, COLUMNS)
    beside = [(row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)]
    return sum(1 << (r * COLUMNS + c) for r, c in beside if 0 <= r < ROWS and 0 <= c < COLUMNS)


NEIGHBOURS = np.array([_neighbours_of(pile) for pile in range(NUM_PILES)], np.int64)
NUM_NEIGHBOURS = np.array([_neighbours_of(pile).bit_count() for pile in range(NUM_PILES)], np.int64)


# --- cards ------------------------------------------------------------------------------------------------------------


@tiny
def kind_of(card: int) -> int:
    """Suits never matter: a card counts by its colour and rank."""
    return card if card < NUM_KINDS else card - NUM_KINDS


@tiny
def is_red(card: int) -> bool:
    """P1: hearts and diamonds are red."""
    return RED_CARDS >> card & 1 == 1


@kernel
def kinds_in(cards: int) -> int:
    """The kinds of which a set of cards holds at least one, as a set."""
    return (cards | (cards >> NUM_KINDS)) & ALL_KINDS


@inner
def write_kinds(cards: int, row: np.ndarray, at: int) -> int:
    """Write how often each kind is in a set of cards (0, 1 or 2) into `row` from `at` on; return where it ends."""
    kinds, more = cards & ALL_KINDS, cards >> NUM_KINDS
    for byte in range(3):
        store_word(row, at + 8 * byte, spread(kinds >> 8 * byte & 255) + spread(more >> 8 * byte & 255))
    for kind in range(24, NUM_KINDS):
        row[at + kind] = (kinds >> kind & 1) + (more >> kind & 1)
    return at + NUM_KINDS


@kernel
def card_of_kind(cards: int, kind: int) -> int:
    """The card of that kind with the lowest id in a set that holds one."""
    return kind if cards >> kind & 1 else kind + NUM_KINDS


@kernel
def points(cards: int) -> int:
    """P14: ace 9, king 4, queen 3, jack 2, every other card 1."""
    return (
        popcount(cards)
        + 8 * popcount(cards & ACES)
        + 3 * popcount(cards & KINGS)
        + 2 * popcount(cards & QUEENS)
        + popcount(cards & JACKS)
    )


@tiny
def seat_after(r: Record, seat: int, turns: int) -> int:
    """P4: the seat that moves so many turns after a seat; the number of players is 2 or 4, so its bits suffice."""
    return (seat + turns) & (r.num_players - 1)


# --- the Castle -------------------------------------------------------------------------------------------------------


@kernel
def red_piles(top: np.ndarray) -> int:
    """The piles topped by a red card, as a set."""
    reds = 0
    for pile in range(NUM_PILES):
        if is_red(top[pile]):
            reds |= 1 << pile
    return reds


@kernel
def total_value(top: np.ndarray, reds: int, pile: int) -> int:
    """P8: the top card's rank, +1 for each neighbouring top of its colour, -1 for each of the other colour."""
    friends = reds if reds >> pile & 1 else ~reds
    return rank_of(top[pile]) + 2 * popcount(friends & NEIGHBOURS[pile]) - NUM_NEIGHBOURS[pile]


@tiny
def ranks_above(total: int) -> int:
    """The ranks higher than a total value, as a set of rank - 1."""
    return _ALL_RANKS & ~(singleton(min(max(total, 0), 13)) - 1)


@inner
def placeable_kinds(top: np.ndarray, reds: int, pile: int) -> int:
    """The kinds that may be placed on a pile, as a set.

    P9: any card of the top card's colour. P10: a card of the other colour whose rank is higher than the total value.
    """
    higher = ranks_above(total_value(top, reds, pile))
    return _ALL_RANKS | higher << 13 if reds >> pile & 1 else _ALL_RANKS << 13 | higher


@inner
def placeable_anywhere(top: np.ndarray) -> int:
    """The kinds that may be placed on at least one pile, as a set."""
    reds, kinds = red_piles(top), 0
    for pile in range(NUM_PILES):
        kinds |= placeable_kinds(top, reds, pile)
    return kinds


# --- what is legal ----------------------------------------------------------------------------------------------------


@inner
def must_place(r: Record, hand: int) -> bool:
    """PD1: the opener's first turn must place a card if any placement is legal, unless the option lets him pass."""
    if r.turn > 0 or r.opener_may_pass:
        return False
    return placeable_anywhere(r.top) & kinds_in(hand) != 0


@kernel
def is_legal(r: Record, hand: int, action: int) -> bool:
    """Whether the player to move, who holds `hand`, may choose an action (0..312)."""
    if action == PASS:
        return not must_place(r, hand)
    pile, kind = action // NUM_KINDS, action % NUM_KINDS
    return (placeable_kinds(r.top, red_piles(r.top), pile) & kinds_in(hand)) >> kind & 1 == 1


@inner
def write_mask(r: Record, hand: int, mask: np.ndarray) -> None:
    """Mark the legal actions of the player to move, who holds `hand`."""
    reds, kinds = red_piles(r.top), kinds_in(hand)
    for pile in range(NUM_PILES):
        write_kinds(placeable_kinds(r.top, reds, pile) & kinds, mask, pile * NUM_KINDS)
    mask[PASS] = not must_place(r, hand)


@inner
def random_action(r: Record, hand: int, seed: np.uint64, purpose: int, k: int) -> int:
    """A uniformly random legal action of the player to move, who holds `hand`."""
    reds, kinds = red_piles(r.top), kinds_in(hand)
    count = 0 if must_place(r, hand) else 1
    for pile in range(NUM_PILES):
        count += popcount(placeable_kinds(r.top, reds, pile) & kinds)
    choice = chance.below(seed, purpose, k, count)
    for pile in range(NUM_PILES):
        legal = placeable_kinds(r.top, reds, pile) & kinds
        if choice < popcount(legal):
            return pile * NUM_KINDS + nth(legal, choice)
        choice -= popcount(legal)
    return PASS


# --- playing ----------------------------------------------------------------------------------------------------------


@inner
def next_hands(s: Record) -> None:
    """P16: when both hands are empty the dealer deals the remaining 20 cards, one by one, starting at his left."""
    for k in range(STOCK_SIZE):
        s.hand[seat_after(s, s.opener, k)] |= singleton(s.stock[k])


@kernel
def start(s: Record, deck: np.ndarray) -> None:
    """P3, P16: deal a shuffled deck; `num_players`, `opener` and the options stand in the record already."""
    s.hand[:] = 0
    s.taken[:] = 0
    s.played[:] = 0
    s.under[:] = 0
    s.history[:] = -1
    s.history_card[:] = -1
    s.stock[:] = -1
    s.turn = 0
    s.to_move = s.opener  # P4, PD4
    s.red_team = -1
    s.last_margin = 0
    dealt = s.num_players * HAND_SIZE
    for k in range(dealt):
        s.hand[seat_after(s, s.opener, k)] |= singleton(deck[k])
    for pile in range(NUM_PILES):
        s.castle[pile] = deck[dealt + pile]
        s.top[pile] = deck[dealt + pile]
    for k in range(52 - dealt - NUM_PILES):
        s.stock[k] = deck[dealt + NUM_PILES + k]


@kernel
def place(s: Record, card: int, pile: int) -> None:
    """P6: put a card of the player to move on top of a pile."""
    seat = s.to_move
    if s.red_team < 0 and seat == s.opener:  # P5, PD1: the first card that the opener places
        s.red_team = seat % 2 if is_red(card) else 1 - seat % 2
    s.hand[seat] &= ~singleton(card)
    s.played[seat] |= singleton(card)
    s.under[pile] |= singleton(s.top[pile])
    s.top[pile] = card
    _end_turn(s, pile * NUM_KINDS + kind_of(card), card)


@inner
def take_from_passer(s: Record, card: int) -> None:
    """P11: the opponent at the passer's left takes a card from the hand of the player to move."""
    s.hand[s.to_move] &= ~singleton(card)
    s.taken[seat_after(s, s.to_move, 1)] |= singleton(card)
    _end_turn(s, PASS, card)


@inner
def _end_turn(s: Record, action: int, card: int) -> None:
    """P12: every turn uses up one card; the game is over when all hands and the stock are empty."""
    s.history[s.turn] = action
    s.history_card[s.turn] = card
    s.turn += 1
    if s.turn == NUM_TURNS:
        s.to_move = -1
        return
    if s.num_players == 2 and s.turn == NUM_TURNS // 2:
        next_hands(s)
    s.to_move = seat_after(s, s.opener, s.turn)


@kernel
def play(s: Record, action: int) -> None:
    """Carry out a legal action; chance picks the card that is taken from a passer (P11)."""
    hand = s.hand[s.to_move]
    if action == PASS:
        take_from_passer(s, nth(hand, chance.below(s.seed, chance.HIDDEN_CARD, widen(s.turn), popcount(hand))))
    else:
        place(s, card_of_kind(hand, action % NUM_KINDS), action // NUM_KINDS)


# --- scoring ----------------------------------------------------------------------------------------------------------


@tiny
def taken_by(r: Record, team: int) -> int:
    """The cards that a team took from passers, as a set."""
    return r.taken[team] | r.taken[team + 2]


@kernel
def team_points(r: Record, team: int, taken: int) -> int:
    """P13: what a team would score if the game ended now; 0 while no team has a colour (PD2).

    The cards of the other colour in the piles topped by the team's colour, and in `taken`.
    """
    if r.red_team < 0:
        return 0
    red = r.red_team == team
    cards = taken
    for pile in range(NUM_PILES):
        if is_red(r.top[pile]) == red:
            cards |= r.under[pile]
    return points(cards & (BLACK_CARDS if red else RED_CARDS))


@kernel
def public_margin(s: Record) -> int:
    """Team 0's points minus team 1's if the game ended now, as everybody may know it."""
    margin = 0
    for team in range(2):
        taken = taken_by(s, team)
        if s.passed_hidden and s.to_move >= 0:
            taken &= 0
        margin += (1 - 2 * team) * team_points(s, team, taken)
    return margin
