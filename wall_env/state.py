"""The record of one game of Wall, and of what one seat may know of it.

Cards are ids (`cardtable.cards`). Fields are signed, as compiled arithmetic on mixed signedness would turn to floating
point. One dtype serves all options, so compiled code serves them too; a record is sized for six players and two decks.
"""

import numpy as np

from cardtable.dtypes import record_dtype
from wall_env.rules import WallRules

MAX_PLAYERS = 6
_LARGEST = WallRules(num_players=6, num_decks=2, jokers_per_deck=4)
MAX_CARDS = _LARGEST.num_cards
MAX_WIDTH = WallRules(num_players=1, num_decks=2).width_limit
MAX_LEVELS = 1 + WallRules(num_players=1, num_decks=2, jokers_per_deck=4).num_levels  # the base included
MAX_DECISIONS = _LARGEST.max_decisions
NUM_IDENTITIES = 53  # 52 cards and the joker: copies in two decks cannot be told apart

# Phases: what the player to move has to decide.
CHOOSE = 0  # his start card (W4)
TURN = 1  # draw, take or pass (W5)
PLACE = 2  # where the card goes that he has taken (W6)

# A place of a wall holds 0, or the value of its card as a support in the low four bits (1..13: an ace counts 1, a joker
# what it stands for), the joker's mark, and the suit.
VALUE = 0b0001111
JOKER = 0b0010000
SUIT_SHIFT = 5

_PUBLIC = [
    ("score", np.int32, (MAX_PLAYERS,)),
    ("width", np.int8, (MAX_PLAYERS,)),  # cards in the base
    ("height", np.int8, (MAX_PLAYERS,)),  # levels that hold a card, the base included
    ("discard", np.int8, (MAX_CARDS,)),  # bottom first; -1 above the top
    ("discard_size", np.int8),
    ("num_players", np.int8),
    ("num_decks", np.int8),
    ("jokers_per_deck", np.int8),
    ("width_limit", np.int8),
    ("num_levels", np.int8),
    ("ends_with_deck", np.int8),
    ("starting_player", np.int8),
    ("to_move", np.int8),  # seat, -1 when the game is over
    ("phase", np.int8),
    ("in_hand", np.int8),  # the card taken this turn, -1 for none; HIDDEN in the view of a seat that may not see it
    ("from_discard", np.int8),  # whether it was taken from the discard pile
    ("idle", np.int8),  # consecutive finished turns in which nobody drew or built
]

# Last in a record, so that what every step reads lies together.
_WALLS = ("wall", np.int8, (MAX_PLAYERS, MAX_LEVELS, MAX_WIDTH))  # by seat, level and position from the left end

RULE_FIELDS = ("num_players", "num_decks", "jokers_per_deck", "width_limit", "num_levels", "ends_with_deck")

STATE = record_dtype(
    [
        ("seed", np.uint64),
        *_PUBLIC,
        ("deck", np.int8, (MAX_CARDS,)),  # in the order of drawing, start cards removed
        ("deck_length", np.int8),
        ("deck_top", np.int8),  # cards drawn so far; deck[deck_top] is the top card
        ("last_seat", np.int8),  # who acted last, and
        ("last_gain", np.int32),  # what it added to his score
        ("num_decisions", np.int16),  # -1 in a game made from a view, which has no history
        ("history", np.int16, (MAX_DECISIONS,)),  # action ids
        _WALLS,
    ]
)

VIEW = record_dtype(
    [
        *_PUBLIC,
        ("unseen", np.int8, (NUM_IDENTITIES,)),  # by card (suit * 13 + rank - 1, joker last): copies not seen
        ("deck_size", np.int8),
        ("seat", np.int8),  # whose view it is
        _WALLS,
    ]
)

HIDDEN = -2
