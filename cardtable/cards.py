"""Card ids and their text: rank A23456789TJQK and suit hcds ("Th"), joker "XX".

Within a deck a card's id is suit * 13 + rank - 1, with the suits in the order hearts, clubs, diamonds, spades; a second
deck's ids start at 52, jokers' at 104.
"""

from cardtable.kernel import kernel

RANKS = "A23456789TJQK"
SUITS = "hcds"
SYMBOLS = "♥♣♦♠"
DECK_SIZE = 52
FIRST_JOKER = 104
JOKER_TEXT = "XX"
NO_CARD = -1


def card_text(card: int) -> str:
    """Text of a card id ("Th", "XX"); two decks' copies of a card read the same."""
    if card >= FIRST_JOKER:
        return JOKER_TEXT
    return RANKS[card % 13] + SUITS[card % DECK_SIZE // 13]


def card_symbol(card: int) -> str:
    """A card for the eye: rank and suit symbol ("10♥"), "★" for a joker."""
    if card >= FIRST_JOKER:
        return "★"
    rank = card % 13 + 1
    return ("10" if rank == 10 else RANKS[rank - 1]) + SYMBOLS[card % DECK_SIZE // 13]


def parse_card(text: object) -> int:
    """Id of a card's text, in the first deck; `FIRST_JOKER` for a joker.

    Raises:
        ValueError: if the text is no card.
    """
    if text == JOKER_TEXT:
        return FIRST_JOKER
    if isinstance(text, str) and len(text) == 2 and text[0] in RANKS and text[1] in SUITS:
        return SUITS.index(text[1]) * 13 + RANKS.index(text[0])
    raise ValueError(
        f"{text!r} is no card: write a rank of {RANKS} and a suit of {SUITS}, as in 'Th', or 'XX' for a joker"
    )


@kernel
def rank_of(card: int) -> int:
    """Rank 1 (ace) to 13 (king) of a card that is no joker."""
    return card % 13 + 1
