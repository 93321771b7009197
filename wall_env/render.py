"""A position of Wall as text."""

import numpy as np

from cardtable.cards import FIRST_JOKER, NO_CARD, RANKS, SYMBOLS, card_symbol
from wall_env.state import CHOOSE, HIDDEN, JOKER, PLACE, SUIT_SHIFT, VALUE

_CELL = 4


def render(record: np.void, viewer: int | None) -> str:
    """A game's record (viewer None) or a seat's view of it (what is hidden shown as such)."""
    lines = [_headline(record)]
    for seat in range(int(record["num_players"])):
        lines += ["", _seat_line(record, seat, viewer), *_pyramid(record, seat)]
    pile = [card_symbol(int(card)) for card in record["discard"][: record["discard_size"]]][::-1]
    lines += ["", f"discard pile from the top: {' '.join(pile) or 'empty'}", f"deck: {_deck_text(record)}"]
    return "\n".join(lines)


def _deck_text(record: np.void) -> str:
    if "deck" not in (record.dtype.names or ()):
        return f"{int(record['deck_size'])} cards"
    cards = [card_symbol(int(card)) for card in record["deck"][record["deck_top"] : record["deck_length"]]]
    return f"{len(cards)} cards, from the top: {' '.join(cards)}" if cards else "0 cards"


def _headline(record: np.void) -> str:
    scores = ", ".join(f"player_{seat} {int(record['score'][seat])}" for seat in range(int(record["num_players"])))
    if record["to_move"] < 0:
        return f"Wall, game over: {scores}"
    doing = "to choose a start card" if record["phase"] == CHOOSE else "to move"
    if record["phase"] == PLACE:
        card = "a card" if record["in_hand"] == HIDDEN else card_symbol(int(record["in_hand"]))
        source = "the discard pile" if record["from_discard"] else "the deck"
        doing = f"to place {card} from {source}"
    return f"Wall, player_{int(record['to_move'])} {doing}; {scores}"


def _seat_line(record: np.void, seat: int, viewer: int | None) -> str:
    mark = ">" if seat == record["to_move"] else " "
    you = " (you)" if seat == viewer else ""
    held = ""
    if seat == record["to_move"] and record["in_hand"] != NO_CARD:
        held = "  in hand: " + ("??" if record["in_hand"] == HIDDEN else card_symbol(int(record["in_hand"])))
    return f"{mark} player_{seat}{you}  {int(record['score'][seat])} points{held}"


def _pyramid(record: np.void, seat: int) -> list[str]:
    """A wall from its top level down to the base; each card stands above the gap between the two that carry it."""
    width, lines = int(record["width"][seat]), []
    for level in range(int(record["height"][seat]) - 1, -1, -1):
        cells = [_cell_text(int(cell)) for cell in record["wall"][seat][level][: width - level]]
        text = " " * (4 + level * _CELL // 2) + "".join(cell.ljust(_CELL) for cell in cells)
        lines.append(text.rstrip())
    return lines or ["    no wall yet"]


def _cell_text(cell: int) -> str:
    """A place of a wall: "10♥"; a joker with what it stands for, "★8"; "·" for an empty one."""
    if cell == 0:
        return "·"
    if cell & JOKER:
        return card_symbol(FIRST_JOKER) + _rank_text(cell & VALUE)
    return _rank_text(cell & VALUE) + SYMBOLS[cell >> SUIT_SHIFT]


def _rank_text(rank: int) -> str:
    return "10" if rank == 10 else RANKS[rank - 1]
