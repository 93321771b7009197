"""A position of Piles as text."""

import numpy as np

from cardtable.cards import card_symbol
from piles_env import engine
from piles_env.actions import PILE_NAMES
from piles_env.engine import COLUMNS, NUM_KINDS, PASS, ROWS
from piles_env.state import NUM_TURNS

_CELL = 18
_COLOUR_NAMES = {True: "Red", False: "Black"}


def _cards(cards: int) -> list[int]:
    """A set of cards by colour, then rank."""
    return sorted((card for card in range(52) if cards >> card & 1), key=lambda card: (card % 26, card))


def card_list(cards: int) -> str:
    """A set of cards for the eye: "3♥ 10♥ K♠"; "nothing" if it is empty."""
    return " ".join(map(card_symbol, _cards(cards))) or "nothing"


def render(record: np.void, viewer: int | None) -> str:
    """A game's record (viewer None, all cards shown) or a seat's view of it (what is hidden shown as such)."""
    num_players = int(record["num_players"])
    lines = [_headline(record), "", *_castle(record), ""]
    for seat in range(num_players):
        lines.append(_seat_line(record, seat, viewer))
    stock = "stock" in (record.dtype.names or ())
    if num_players == 2 and record["turn"] < NUM_TURNS // 2:
        cards = " ".join(card_symbol(int(card)) for card in record["stock"]) if stock else "20 cards, hidden"
        lines.append(f"  stock     {cards}")
    taken = _taken_lines(record)
    return "\n".join(lines + taken)


def _headline(record: np.void) -> str:
    scores = [engine.team_points(record, team, engine.taken_by(record, team)) for team in range(2)]
    if record["red_team"] < 0:
        score = "no colours yet"
    else:
        score = ", ".join(f"{_colour_of(record, team)} {scores[team]}" for team in range(2))
    if record["to_move"] < 0:
        return f"Piles, game over: {score}"
    return f"Piles, turn {int(record['turn']) + 1} of {NUM_TURNS}, player_{int(record['to_move'])} to move; {score}"


def _colour_of(record: np.void, team: int) -> str:
    return _COLOUR_NAMES[int(record["red_team"]) == team]


def _castle(record: np.void) -> list[str]:
    """The Castle as a grid: each top with its total value, and beneath it what lies under it."""
    top, under = record["top"], record["under"]
    reds = engine.red_piles(top)
    bar = "   +" + ("-" * _CELL + "+") * COLUMNS
    lines = ["    " + " ".join("abcd"[column].center(_CELL) for column in range(COLUMNS)), bar]
    for row in range(ROWS):
        piles = range(row * COLUMNS, (row + 1) * COLUMNS)
        heads = [f"{card_symbol(int(top[p]))} = {engine.total_value(top, reds, p)}".center(_CELL) for p in piles]
        bodies = [_wrap([card_symbol(card) for card in _cards(int(under[p]))]) for p in piles]
        height = max(1, *map(len, bodies))
        lines.append(f" {row + 1} |" + "|".join(heads) + "|")
        for k in range(height):
            texts = [body[k] if k < len(body) else "" for body in bodies]
            lines.append("   |" + "|".join(text.center(_CELL) for text in texts) + "|")
        lines.append(bar)
    return lines


def _wrap(words: list[str]) -> list[str]:
    lines: list[str] = []
    for word in words:
        if lines and len(lines[-1]) + 1 + len(word) <= _CELL - 2:
            lines[-1] += " " + word
        else:
            lines.append(word)
    return lines


def _seat_line(record: np.void, seat: int, viewer: int | None) -> str:
    mark = ">" if seat == record["to_move"] else " "
    if viewer is None:
        cards = card_list(int(record["hand"][seat]))
    elif seat == viewer:
        cards = card_list(int(record["hand"]))
    else:
        cards = " ".join(["??"] * int(record["hand_size"][seat])) or "nothing"
    colour = "" if record["red_team"] < 0 else f"  ({_colour_of(record, seat % 2)})"
    last = _last_action(record, seat)
    return f"{mark} player_{seat}{' (you)' if seat == viewer else ''}  {cards}{colour}{last}"


def _last_action(record: np.void, seat: int) -> str:
    for turn in range(int(record["turn"]) - 1, -1, -1):
        if (int(record["opener"]) + turn) % int(record["num_players"]) == seat:
            action, card = int(record["history"][turn]), int(record["history_card"][turn])
            name = card_symbol(card) if card >= 0 else "a card"
            return f"  last: passed, lost {name}" if action == PASS else f"  last: {name} on {_pile_of(action)}"
    return ""


def _pile_of(action: int) -> str:
    return PILE_NAMES[action // NUM_KINDS]


def _taken_lines(record: np.void) -> list[str]:
    lines = []
    hidden = record["num_hidden_taken"] if "num_hidden_taken" in (record.dtype.names or ()) else None
    for seat in range(int(record["num_players"])):
        cards = [card_symbol(card) for card in _cards(int(record["taken"][seat]))]
        if hidden is not None:
            cards += ["??"] * int(hidden[seat])
        if cards:
            lines.append(f"  player_{seat} took from passes: {' '.join(cards)}")
    return lines
