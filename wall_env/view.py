"""What a seat may know: the only way from a game's record to an agent, and the way back to games that fit."""

import numpy as np

from cardtable import chance
from cardtable.cards import DECK_SIZE, FIRST_JOKER
from cardtable.kernel import Record, inner
from wall_env.engine import deck_size, is_joker
from wall_env.state import HIDDEN, MAX_CARDS, MAX_PLAYERS, NUM_IDENTITIES, PLACE


@inner
def identity(card: int) -> int:
    """What can be told of a card by looking: suit * 13 + rank - 1, or 52 for a joker, whichever deck it is from."""
    return NUM_IDENTITIES - 1 if is_joker(card) else card % DECK_SIZE


@inner
def _same_for_all(card: int) -> int:
    """The first id of the cards that look like this one."""
    return FIRST_JOKER if is_joker(card) else card % DECK_SIZE


@inner
def _copy_public(source: Record, target: Record) -> None:
    """Copy what lies open: walls, scores, the discard pile and whose turn it is.

    Places that are empty in both records are not touched: a record is large, a wall seldom. The target is a fresh
    record or one of a game with as many players.
    """
    for seat in range(source.num_players):
        for level in range(max(source.height[seat], target.height[seat])):
            for position in range(max(source.width[seat], target.width[seat])):
                target.wall[seat, level, position] = source.wall[seat, level, position]
    for seat in range(MAX_PLAYERS):
        target.score[seat] = source.score[seat]
        target.width[seat] = source.width[seat]
        target.height[seat] = source.height[seat]
    for k in range(MAX_CARDS):
        target.discard[k] = source.discard[k]
    target.discard_size = source.discard_size
    target.num_players = source.num_players
    target.num_decks = source.num_decks
    target.jokers_per_deck = source.jokers_per_deck
    target.width_limit = source.width_limit
    target.num_levels = source.num_levels
    target.ends_with_deck = source.ends_with_deck
    target.starting_player = source.starting_player
    target.to_move = source.to_move
    target.phase = source.phase
    target.in_hand = source.in_hand
    target.from_discard = source.from_discard
    target.idle = source.idle


@inner
def write_view(s: Record, seat: int, v: Record) -> None:
    """Write into `v` all that `seat` may know of the game `s`, and nothing else.

    Hidden are the order of the deck, the seed, and a card that another player has drawn and not yet placed. Two decks'
    copies of a card look the same. `v` is a fresh record, or one that this
    function has written for the same rules.
    """
    _copy_public(s, v)
    v.seat = seat
    for k in range(s.discard_size):
        v.discard[k] = _same_for_all(s.discard[k])
    v.unseen[:] = 0
    for k in range(s.deck_top, s.deck_length):
        v.unseen[identity(s.deck[k])] += 1
    v.deck_size = deck_size(s)
    if s.phase == PLACE:
        if seat != s.to_move and not s.from_discard:
            v.unseen[identity(s.in_hand)] += 1
            v.in_hand = HIDDEN
        else:
            v.in_hand = _same_for_all(s.in_hand)


@inner
def determinize(v: Record, seed: np.uint64, s: Record) -> None:
    """Write into `s`, a fresh record, a game that fits the view: the unseen cards in a uniformly random order.

    The game gets `seed` and has no history, so it cannot be written as a game record.
    """
    _copy_public(v, s)
    s.seed = seed
    s.last_seat = -1
    s.last_gain = 0
    s.num_decisions = -1
    s.history[:] = -1
    s.deck[:] = -1
    count = 0
    for card in range(NUM_IDENTITIES):
        for copy in range(v.unseen[card]):
            if card == NUM_IDENTITIES - 1:
                s.deck[count] = FIRST_JOKER
            else:  # the highest ids are left, as start cards are the lowest ones (WD4)
                s.deck[count] = card + DECK_SIZE * (v.num_decks - 1 - copy)
            count += 1
    chance.shuffle(s.deck, count, seed, chance.WORLD)
    if v.in_hand == HIDDEN:
        count -= 1
        s.in_hand = s.deck[count]
        s.deck[count] = -1
    s.deck_top = 0
    s.deck_length = count
