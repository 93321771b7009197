"""Moves as people read and type them: lists, lenient notation, and what happened in words."""

import re

import numpy as np

from cardtable.cards import RANKS, SUITS, SYMBOLS, card_symbol
from cardtable.game import Game, States
from piles_env import PilesGame
from piles_env.actions import PILE_NAMES
from piles_env.actions import decode as decode_piles
from piles_env.state import HIDDEN
from wall_env import WallGame
from wall_env.actions import decode_build
from wall_env.engine import DISCARD, DRAW, LEFT, PASS, RIGHT, TAKE
from wall_env.state import VALUE

_TO_LETTERS = str.maketrans(SYMBOLS, SUITS)
_PLACEMENT = re.compile(r"(10|[a2-9tjqk])([hcds]) ?[@ ] ?([a-d][1-3])")


def legal_moves(game: Game, states: States) -> list[int]:
    """The legal action ids of a batch of one in the order of `listing`, where the first is number 1."""
    actions: list[int] = np.flatnonzero(game.action_mask(states)[0]).tolist()
    return sorted(actions, key=_by_card) if isinstance(game, PilesGame) else actions


def _by_card(action: int) -> tuple[int, int]:
    """Piles: a pass first, then by kind of card, then by pile."""
    place = decode_piles(action)
    return (-1, 0) if place is None else (place[1], place[0])


def listing(game: Game, states: States) -> str:
    """The legal moves of a batch of one with their numbers: Piles a line for each card, Wall a line for each move."""
    numbered = enumerate(legal_moves(game, states), start=1)
    if isinstance(game, WallGame):
        return "\n".join(
            f"{number:5}  {game.action_to_text(states[0], action):<12}{_wall_remark(game, states[0], action)}".rstrip()
            for number, action in numbered
        )
    lines: dict[str, str] = {}
    for number, action in numbered:
        card, _, pile = game.action_to_text(states[0], action).partition("@")
        lines[card] = lines.get(card, f"  {card}@" if pile else "") + f" {number:2}:{pile or card}"
    return "\n".join(lines.values())


def _wall_remark(game: WallGame, state: np.void, action: int) -> str:
    """What a move of Wall is about, as far as its name does not tell."""
    if action == TAKE:
        return card_symbol(int(state["discard"][state["discard_size"] - 1]))
    place = decode_build(game.rules, action)
    if place is None:
        return ""
    level, position = place
    below = state["wall"][state["to_move"]][level - 1][position : position + 2]
    left, right = (RANKS[(int(cell) & VALUE) - 1] for cell in below)
    return f"above {left} and {right}, {_points(level)}"


def _points(level: int) -> str:
    return "1 point" if level == 1 else f"{1 << (level - 1)} points"


def parse_move(game: Game, states: States, text: str) -> int:
    """The legal action id that a person means, in a batch of one.

    Args:
        game: the game.
        states: the position.
        text: a move in record notation, in capitals or not, with "10" or a suit's symbol if he likes; or its number.

    Raises:
        ValueError: if it is none, or not legal; the message says why.
    """
    if text.isdecimal():
        actions = legal_moves(game, states)
        if not 1 <= int(text) <= len(actions):
            raise ValueError(f"there is no move number {text}; the numbers are 1 to {len(actions)}")
        return actions[int(text) - 1]
    notation = " ".join(text.translate(_TO_LETTERS).lower().split())
    placed = _PLACEMENT.fullmatch(notation)
    if isinstance(game, PilesGame) and placed:
        rank, suit, pile = placed.groups()
        notation = f"{'T' if rank == '10' else rank.upper()}{suit}@{pile}"
    action = game.text_to_action(states[0], notation)
    if not game.action_mask(states)[0, action]:
        raise ValueError(f"{notation!r} is not legal: {game.explain(states[0], action)}")
    return action


def tell(game: Game, before: States, after: States, viewer: int | None) -> str:
    """What happened between two positions [1] of a game, in words, as far as a seat may know it (None: all of it)."""
    seat = int(game.current_player(before)[0])
    who = "you" if seat == viewer else f"player_{seat}"
    if isinstance(game, WallGame):
        return f"{who} {_tell_wall(game, before[0], after[0])}"
    known = (after if viewer is None else game.view(after, np.array([viewer])))[0]
    turn = int(before["turn"][0])
    card = int(known["history_card"][turn])
    name = "a card" if card == HIDDEN else card_symbol(card)
    place = decode_piles(int(known["history"][turn]))
    if place is None:
        taker = (seat + 1) % game.num_players
        return f"{who} passed and lost {name} to {'you' if taker == viewer else f'player_{taker}'}"
    pile = place[0]
    return f"{who} placed {name} on {PILE_NAMES[pile]}, over {card_symbol(int(before['top'][0, pile]))}"


def _tell_wall(game: WallGame, before: np.void, after: np.void) -> str:
    """A move of Wall. A card that was drawn has no name before it is placed, and then all see it."""
    action = int(after["history"][before["num_decisions"]])
    if action < DRAW:
        return f"started with {card_symbol(_start_card(before, after))}"
    if action == PASS:
        return "passed"
    if action == DRAW:
        return "drew a card"
    if action == TAKE:
        return f"took {card_symbol(int(before['discard'][before['discard_size'] - 1]))} from the discard pile"
    card = card_symbol(int(before["in_hand"]))
    if action == DISCARD:
        return f"discarded {card}"
    if action in (LEFT, RIGHT):
        return f"widened the base with {card} at the {'left' if action == LEFT else 'right'} end"
    place = decode_build(game.rules, action)
    assert place is not None
    level, position = place
    return f"built {card} at {level}.{position}: {_points(level)}"


def _start_card(before: np.void, after: np.void) -> int:
    """The card that has left the deck."""
    left = after["deck"][: after["deck_length"]].tolist()
    return next(int(card) for card in before["deck"][: before["deck_length"]] if card not in left)
