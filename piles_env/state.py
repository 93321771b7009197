"""The record of one game of Piles, and of what one seat may know of it.

Cards are ids 0..51 (`cardtable.cards`), sets of cards the bits of an int64. Fields are signed, as compiled arithmetic
on mixed signedness would turn to floating point.
"""

import numpy as np

from cardtable.dtypes import record_dtype

NUM_PILES = 12
HAND_SIZE = 10
STOCK_SIZE = 20
NUM_TURNS = 40  # 4 players x 10 cards, 2 players x 20 (P12)
MAX_PLAYERS = 4

_PUBLIC = [
    ("played", np.int64, (MAX_PLAYERS,)),  # by seat: the cards he placed, as a set
    ("under", np.int64, (NUM_PILES,)),  # by pile: the cards beneath the top, as a set
    ("history", np.int16, (NUM_TURNS,)),  # by turn: the action, -1 for turns to come
    ("top", np.int8, (NUM_PILES,)),  # by pile: the top card
    ("castle", np.int8, (NUM_PILES,)),  # by pile: the card dealt there
    ("num_players", np.int8),
    ("opener_may_pass", np.int8),
    ("passed_hidden", np.int8),
    ("opener", np.int8),
    ("to_move", np.int8),  # seat, -1 when the game is over
    ("turn", np.int8),  # turns played
    ("red_team", np.int8),  # 0 or 1, -1 while no team has a colour
]

STATE = record_dtype(
    [
        ("seed", np.uint64),
        ("hand", np.int64, (MAX_PLAYERS,)),  # by seat, as a set
        ("taken", np.int64, (MAX_PLAYERS,)),  # by the seat that took them from passers, as a set
        *_PUBLIC,
        ("history_card", np.int8, (NUM_TURNS,)),  # by turn: the card placed, or taken from the passer; -1 to come
        ("stock", np.int8, (STOCK_SIZE,)),  # two players: what is dealt when both hands are empty, in dealing order
        ("last_margin", np.int16),  # team 0's margin in public before the last action, for dense rewards
    ]
)

VIEW = record_dtype(
    [
        ("hand", np.int64),  # the seat's own
        ("unseen", np.int64),  # cards of which the seat does not know where they are, as a set
        ("taken", np.int64, (MAX_PLAYERS,)),  # as in STATE, without what is hidden from this seat
        *_PUBLIC,
        ("history_card", np.int8, (NUM_TURNS,)),  # as in STATE; HIDDEN where this seat may not know the card
        ("hand_size", np.int8, (MAX_PLAYERS,)),
        ("num_hidden_taken", np.int8, (MAX_PLAYERS,)),  # by taking seat: cards that are hidden from this seat
        ("stock_size", np.int8),
        ("seat", np.int8),  # whose view it is
    ]
)

HIDDEN = -2  # in a view's history_card: a card that the seat may not know
