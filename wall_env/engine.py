"""The rules of Wall as compiled code: what is legal, what a move does.

`r` stands for a game's record or for a seat's view of it: rules that need public facts and the card in hand work on
both.
"""

import numpy as np

from cardtable import chance
from cardtable.bits import widen
from cardtable.cards import FIRST_JOKER, NO_CARD, rank_of
from cardtable.kernel import Record, inner, kernel, tiny
from wall_env.state import CHOOSE, JOKER, PLACE, SUIT_SHIFT, TURN, VALUE

# Action ids. 0..5 choose a start card of rank 2..7.
LOWEST_START, HIGHEST_START = 2, 7
DRAW, TAKE, PASS, DISCARD, LEFT, RIGHT = range(6, 12)
FIRST_BUILD = 12  # then the places above the base, level by level, each from the left
HIGHEST_SUM = 14


@inner
def level_start(width_limit: int, level: int) -> int:
    """How many places lie on the levels 1..level-1; a place of level k is one of `width_limit - k`."""
    return (level - 1) * width_limit - (level - 1) * level // 2


@inner
def build_action(width_limit: int, level: int, position: int) -> int:
    """The action id of building up at (level, position)."""
    return FIRST_BUILD + level_start(width_limit, level) + position


@inner
def build_level(width_limit: int, action: int) -> int:
    """The level of a building action; its position is `action - build_action(width_limit, level, 0)`."""
    level = 1
    while action >= build_action(width_limit, level + 1, 0):
        level += 1
    return level


# --- values -----------------------------------------------------------------------------------------------------------


@tiny
def is_joker(card: int) -> bool:
    """Whether a card is a joker."""
    return card >= FIRST_JOKER


@kernel
def rank_for_sum(total: int) -> int:
    """The rank of the card that equals a sum of two cards: ace (1) for 14, 0 where no card does (W8, W10)."""
    if total > HIGHEST_SUM:
        return 0
    return 1 if total == HIGHEST_SUM else total


@inner
def wanted_rank(r: Record, seat: int, level: int, position: int) -> int:
    """W10: the rank that may be built at a place; 0 if it is taken, lacks a card below, or the sum exceeds 14."""
    row = r.wall[seat, level - 1]
    left, right = row[position] & VALUE, row[position + 1] & VALUE
    if left == 0 or right == 0 or r.wall[seat, level, position] != 0:
        return 0
    return rank_for_sum(left + right)


@tiny
def places_on(r: Record, seat: int, level: int) -> int:
    """How many places a level has over the present base: positions 0 .. n-1 (none if n < 1)."""
    return r.width[seat] - level if level <= r.num_levels else 0


# --- what is legal ----------------------------------------------------------------------------------------------------


@inner
def may_widen(r: Record, seat: int, card: int, at_left: bool) -> bool:
    """W9: no joker, and value plus end card's value are 14 or less, an ace counting 1; WD2: the width."""
    if is_joker(card) or r.width[seat] == r.width_limit:
        return False
    end = r.wall[seat, 0, 0] if at_left else r.wall[seat, 0, r.width[seat] - 1]
    return rank_of(card) + (end & VALUE) <= HIGHEST_SUM


@inner
def may_build(r: Record, seat: int, card: int, level: int, position: int) -> bool:
    """W10, W11: the card equals the sum of the two below; a joker equals any sum up to 14."""
    if level > r.height[seat] or position >= places_on(r, seat, level):
        return False
    rank = wanted_rank(r, seat, level, position)
    return rank > 0 and (is_joker(card) or rank_of(card) == rank)


@kernel
def start_card(deck: np.ndarray, length: int, rank: int) -> int:
    """WD4: where in the deck the copy of a rank with the lowest card id lies; -1 if there is none (W4)."""
    found = -1
    for k in range(length):
        if not is_joker(deck[k]) and rank_of(deck[k]) == rank and (found < 0 or deck[k] < deck[found]):
            found = k
    return found


@inner
def copies_of_rank_left(r: Record, rank: int) -> int:
    """While start cards are chosen: how many cards of a rank the deck holds; the bases show which are gone."""
    left = 4 * r.num_decks
    for seat in range(r.num_players):
        if r.width[seat] == 1 and r.wall[seat, 0, 0] & VALUE == rank:
            left -= 1
    return left


@kernel
def is_legal(r: Record, deck_size: int, action: int) -> bool:
    """Whether the player to move may choose an action id."""
    seat = r.to_move
    if r.phase == CHOOSE:
        return action < DRAW and copies_of_rank_left(r, LOWEST_START + action) > 0
    if r.phase == TURN:
        if action == DRAW:
            return deck_size > 0  # WD3
        if action == TAKE:
            return r.discard_size > 0  # WD3
        return action == PASS
    if action < DISCARD:
        return False
    if action == DISCARD:
        return True
    if action in (LEFT, RIGHT):
        return may_widen(r, seat, r.in_hand, action == LEFT)
    level = build_level(r.width_limit, action)
    return may_build(r, seat, r.in_hand, level, action - build_action(r.width_limit, level, 0))


@kernel
def legal_actions(r: Record, deck_size: int, actions: np.ndarray) -> int:
    """Write the legal action ids of the player to move into `actions` (room for all of them); return how many."""
    seat, count = r.to_move, 0
    if r.phase == PLACE:
        card = r.in_hand
        for action in range(DISCARD, FIRST_BUILD):
            if is_legal(r, deck_size, action):
                actions[count] = action
                count += 1
        for level in range(1, r.height[seat] + 1):
            first = build_action(r.width_limit, level, 0)
            for position in range(places_on(r, seat, level)):
                rank = wanted_rank(r, seat, level, position)
                if rank > 0 and (is_joker(card) or rank_of(card) == rank):
                    actions[count] = first + position
                    count += 1
        return count
    for action in range(0, DISCARD):
        if is_legal(r, deck_size, action):
            actions[count] = action
            count += 1
    return count


# --- playing ----------------------------------------------------------------------------------------------------------


@kernel
def deck_size(s: Record) -> int:
    """Cards left in the deck."""
    return s.deck_length - s.deck_top


@inner
def start(s: Record) -> None:
    """W3, W4: an empty table; deck, starting player and options stand in the record already.

    A record is large and a game uses little of it, so only what the game before has written is cleared.
    """
    for seat in range(s.num_players):
        for level in range(s.height[seat]):
            for position in range(s.width[seat]):
                s.wall[seat, level, position] = 0
    for k in range(s.num_decisions):
        s.history[k] = -1
    s.width[:] = 0
    s.height[:] = 0
    s.score[:] = 0
    s.discard[:] = -1
    s.discard_size = 0
    s.deck_top = 0
    s.to_move = s.starting_player
    s.phase = CHOOSE
    s.in_hand = NO_CARD
    s.from_discard = 0
    s.idle = 0
    s.last_seat = -1
    s.last_gain = 0
    s.num_decisions = 0


@kernel
def play(s: Record, action: int) -> None:
    """Carry out a legal action."""
    if s.num_decisions >= 0:
        s.history[s.num_decisions] = action
        s.num_decisions += 1
    s.last_seat = s.to_move
    s.last_gain = 0
    turn_ends, idle = True, False
    if s.phase == CHOOSE:
        _choose(s, LOWEST_START + action)
        turn_ends = False
    elif s.phase == TURN:
        if action == PASS:
            idle = True
        else:
            _take(s, action)
            turn_ends = False
    elif action == DISCARD:  # W6
        s.discard[s.discard_size] = s.in_hand
        s.discard_size += 1
        idle = s.from_discard == 1
    else:
        _build(s, action)
    if turn_ends:
        _end_turn(s, idle)


@inner
def _take(s: Record, action: int) -> None:
    """W5: take the top card of the deck or of the discard pile."""
    if action == DRAW:
        s.in_hand = s.deck[s.deck_top]
        s.deck_top += 1
        s.from_discard = 0
    else:
        s.discard_size -= 1
        s.in_hand = s.discard[s.discard_size]
        s.discard[s.discard_size] = -1
        s.from_discard = 1
    s.phase = PLACE


@inner
def _build(s: Record, action: int) -> None:
    """W9, W10: put the card in hand at an end of the base or above two cards; W2: what that scores."""
    seat, level, position = s.to_move, widen(0), widen(0)
    if action == LEFT:
        shift_right(s, seat)
    elif action == RIGHT:
        position += s.width[seat]
    else:
        level = build_level(s.width_limit, action)
        position = action - build_action(s.width_limit, level, 0)
    _put(s, seat, level, position, s.in_hand)
    if level == 0:
        s.width[seat] += 1
    else:
        s.last_gain = 1 << (level - 1)
        s.score[seat] += s.last_gain


@inner
def _choose(s: Record, rank: int) -> None:
    """W4: in turn order each player places a start card; then the starting player has the first turn (W5)."""
    seat = s.to_move
    where = start_card(s.deck, s.deck_length, rank)
    _put(s, seat, widen(0), widen(0), s.deck[where])
    s.width[seat] = 1
    for k in range(where, s.deck_length - 1):
        s.deck[k] = s.deck[k + 1]
    s.deck_length -= 1
    s.deck[s.deck_length] = -1
    s.to_move = (seat + 1) % s.num_players
    if s.to_move == s.starting_player:
        s.phase = TURN


@inner
def _put(s: Record, seat: int, level: int, position: int, card: int) -> None:
    if is_joker(card):
        s.wall[seat, level, position] = wanted_rank(s, seat, level, position) | JOKER  # W11
    else:
        s.wall[seat, level, position] = rank_of(card) | (card % 52 // 13) << SUIT_SHIFT
    if s.height[seat] == level:
        s.height[seat] += 1


@inner
def shift_right(s: Record, seat: int) -> None:
    """Positions count from the left end, so a card added there moves all others up by one."""
    for level in range(s.height[seat]):
        for position in range(s.width[seat] - level, 0, -1):
            s.wall[seat, level, position] = s.wall[seat, level, position - 1]
        s.wall[seat, level, 0] = 0


@inner
def _end_turn(s: Record, idle: bool) -> None:
    """WD1: a whole round of idle turns ends the game; with `ends_with_deck` also the turn that emptied the deck."""
    s.in_hand = NO_CARD
    s.from_discard = 0
    s.phase = TURN
    s.idle = s.idle + 1 if idle else 0
    if s.idle == s.num_players or (s.ends_with_deck and deck_size(s) == 0):
        s.to_move = -1
    else:
        s.to_move = (s.to_move + 1) % s.num_players


@inner
def random_action(r: Record, deck_size: int, buffer: np.ndarray, seed: np.uint64, purpose: int, k: int) -> int:
    """A uniformly random legal action of the player to move; `buffer` has room for all action ids."""
    count = legal_actions(r, deck_size, buffer)
    return buffer[chance.below(seed, purpose, k, count)]
