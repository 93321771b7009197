"""A slow, plain reference implementation of the card game Wall (Wallbuilder).

It is written from the rules text alone (clauses W1-W13 and WD1-WD4) and shares no code with the fast engine it is
compared with. Each method names the clauses it carries out.

A card is a pair (text, deck index). The text is a rank A23456789TJQK and a suit h, c, d, s ("Th"), or "XX" for a joker.
"""

from __future__ import annotations

from collections import Counter

Card = tuple[str, int]
Level = dict[int, Card]
Wall = list[Level]

RANKS = "A23456789TJQK"
SUITS = "hcds"  # in the order of the card ids (WD4)
JOKER = "XX"
START_RANKS = "234567"  # W4
HIGHEST_VALUE = 14  # W8, W9, W11

# W8: the value or values of each rank; with an ace the player chooses between the two each time it matters.
VALUES_OF_RANK: dict[str, set[int]] = {
    "A": {1, 14},
    "2": {2},
    "3": {3},
    "4": {4},
    "5": {5},
    "6": {6},
    "7": {7},
    "8": {8},
    "9": {9},
    "T": {10},
    "J": {11},
    "Q": {12},
    "K": {13},
}


def is_joker(card: Card) -> bool:
    """W1: the jokers are the cards without rank and suit."""
    text, _ = card
    return text == JOKER


def rank_of(card: Card) -> str:
    """The rank letter of a card that is no joker."""
    text, _ = card
    return text[0]


def card_id_order(card: Card) -> tuple[int, int]:
    """WD4: among cards of one rank, the ids order by deck index first, then by suit in the order h, c, d, s."""
    text, deck_index = card
    return deck_index, SUITS.index(text[1])


def complete_deck(num_decks: int, jokers_per_deck: int) -> list[Card]:
    """W1: all cards of a game, in no particular order."""
    cards: list[Card] = []
    for deck_index in range(num_decks):
        for rank in RANKS:
            for suit in SUITS:
                cards.append((rank + suit, deck_index))
        for _ in range(jokers_per_deck):
            cards.append((JOKER, deck_index))
    return cards


class WallReference:
    """One game of Wall, played move by move.

    A game begins with one move "start <rank>" of each player (W4). After that a turn is either the single move "pass",
    or two moves of the same player: "draw" or "take", and then where the taken card goes: "left", "right",
    "build <level>.<position>" or "discard" (W5, W6).

    The attributes `turns` and `idle_turns` change when a turn is over, not in the middle of one.
    """

    to_move: int | None  # the seat to move, None when the game is finished
    finished: bool
    deck: list[Card]  # what is left of the deck, top first
    discard: list[Card]  # the discard pile, top first
    in_hand: Card | None  # the card taken this turn and not yet placed
    walls: list[Wall]  # by seat; a wall is a list of levels, a level maps positions to cards
    idle_turns: int  # how many turns in a row, up to the last finished one, were idle (WD1)
    turns: int  # how many turns were finished since the start cards

    def __init__(
        self,
        *,
        num_players: int,
        starting_player: int,
        deck: list[tuple[str, int]],
        num_decks: int = 1,
        jokers_per_deck: int = 2,
        max_width: int | None = None,
        ends: str = "idle",
    ) -> None:
        """W1, W3, WD1, WD2: check the options and set up. The caller has chosen starting player and deck order."""
        if num_players not in (1, 2, 3, 4, 5, 6):
            raise ValueError(f"num_players must be 1 to 6, not {num_players!r}")
        if starting_player not in range(num_players):
            raise ValueError(f"starting_player must be 0 to {num_players - 1}, not {starting_player!r}")
        if num_decks not in (1, 2):
            raise ValueError(f"num_decks must be 1 or 2, not {num_decks!r}")
        if jokers_per_deck not in (0, 1, 2, 3, 4):
            raise ValueError(f"jokers_per_deck must be 0 to 4, not {jokers_per_deck!r}")
        if max_width is not None and max_width < 1:
            raise ValueError(f"max_width must be None or at least 1, not {max_width!r}")
        if ends not in ("idle", "deck"):
            raise ValueError(f'ends must be "idle" or "deck", not {ends!r}')
        if Counter(deck) != Counter(complete_deck(num_decks, jokers_per_deck)):
            raise ValueError(f"deck must hold the cards of {num_decks} deck(s) with {jokers_per_deck} joker(s) each")

        self.num_players = num_players
        self.max_width = max_width
        self.ends = ends

        self.to_move = starting_player  # W4: the starting player chooses first
        self.finished = False
        self.deck = list(deck)
        self.discard = []
        self.in_hand = None
        self.walls = [[] for _ in range(num_players)]  # nobody has a wall before the start cards
        self.idle_turns = 0
        self.turns = 0

        # Where the card in hand comes from: the deck (True) or the discard pile (False). It matters for WD1 only.
        self._drew_from_deck = False

    # -------------------------------------------------------------------------------------------------- values of cards

    def _values_in_wall(self, seat: int, level: int, position: int) -> set[int]:
        """W8, W11: the values which the card at this place can have, as a plain choice of numbers."""
        card = self._card_at(seat, level, position)
        if not is_joker(card):
            return VALUES_OF_RANK[rank_of(card)]
        # W11: the value of a joker is the sum of the two cards below it, which may not exceed 14 ...
        values = {total for total in self._sums_below(seat, level, position) if total <= HIGHEST_VALUE}
        # ... and if that sum is 14 the joker is an ace: 14 and 1.
        if HIGHEST_VALUE in values:
            values = {1, 14}
        return values

    def _sums_below(self, seat: int, level: int, position: int) -> set[int]:
        """W8, W10: the sums which the two cards below this place can have; an ace below may be taken as 1 or as 14."""
        left_values = self._values_in_wall(seat, level - 1, position)
        right_values = self._values_in_wall(seat, level - 1, position + 1)
        return {left + right for left in left_values for right in right_values}

    def _card_at(self, seat: int, level: int, position: int) -> Card:
        """The card at this place; ValueError if there is none."""
        if not self._is_occupied(seat, level, position):
            raise ValueError(f"seat {seat} has no card at level {level}, position {position}")
        return self.walls[seat][level][position]

    def _is_occupied(self, seat: int, level: int, position: int) -> bool:
        """Is there a card at this place?"""
        if seat not in range(self.num_players):
            return False
        if level not in range(len(self.walls[seat])):
            return False
        return position in self.walls[seat][level]

    def support_value(self, seat: int, level: int, position: int) -> int:
        """W8, W11: what the card at this place counts when something is built above it or beside it.

        Every sum is limited to 14 and every other card counts at least 1, so an ace, or a joker that is an ace, can
        only ever count 1 here: the lower of its two values. Any other card has one value.
        """
        return min(self._values_in_wall(seat, level, position))

    # ------------------------------------------------------------------------------------------ where a card may be put

    def _may_widen_at(self, seat: int, card: Card, end_position: int) -> bool:
        """W8, W9, WD2: may this card be put beside the end card of the base at end_position?"""
        if is_joker(card):
            return False
        width = len(self.walls[seat][0])
        if self.max_width is not None and width + 1 > self.max_width:
            return False
        return any(
            value + end_value <= HIGHEST_VALUE
            for value in VALUES_OF_RANK[rank_of(card)]
            for end_value in self._values_in_wall(seat, 0, end_position)
        )

    def _may_build_at(self, seat: int, card: Card, level: int, position: int) -> bool:
        """W8, W10, W11: may this card be built up at this place?"""
        if level < 1:
            return False
        if self._is_occupied(seat, level, position):
            return False
        if not self._is_occupied(seat, level - 1, position):
            return False
        if not self._is_occupied(seat, level - 1, position + 1):
            return False
        sums = self._sums_below(seat, level, position)
        if is_joker(card):
            return any(total <= HIGHEST_VALUE for total in sums)
        return any(value in sums for value in VALUES_OF_RANK[rank_of(card)])

    # ------------------------------------------------------------------------------------------------------ legal moves

    def legal_moves(self) -> set[str]:
        """W4-W6: all moves of the player to move; none when the game is finished."""
        if self.to_move is None:
            return set()
        if not self.walls[self.to_move]:
            return self._legal_starts()
        if self.in_hand is None:
            return self._legal_ways_to_take()
        return self._legal_placements(self.to_move, self.in_hand)

    def _legal_starts(self) -> set[str]:
        """W4: any rank from 2 to 7 of which the deck still holds a card."""
        return {f"start {rank}" for rank in START_RANKS if self._copies_in_deck(rank)}

    def _copies_in_deck(self, rank: str) -> list[Card]:
        """W4: the cards of this rank that are still in the deck."""
        return [card for card in self.deck if not is_joker(card) and rank_of(card) == rank]

    def _legal_ways_to_take(self) -> set[str]:
        """W5, WD3: the top card of the deck, the top card of the discard pile, if there is one, or neither."""
        moves = {"pass"}
        if self.deck:
            moves.add("draw")
        if self.discard:
            moves.add("take")
        return moves

    def _legal_placements(self, seat: int, card: Card) -> set[str]:
        """W6, W9, W10: discarding the taken card is always legal, also if it was taken from the discard pile."""
        moves = {"discard"}
        wall = self.walls[seat]
        leftmost = min(wall[0])
        rightmost = max(wall[0])
        if self._may_widen_at(seat, card, leftmost):
            moves.add("left")
        if self._may_widen_at(seat, card, rightmost):
            moves.add("right")
        for level in range(1, len(wall) + 1):
            for position in range(leftmost, rightmost + 1):
                if self._may_build_at(seat, card, level, position):
                    moves.add(f"build {level}.{position}")
        return moves

    # ---------------------------------------------------------------------------------------------------------- playing

    def play(self, move: str) -> None:
        """W4-W6: make one move of the player to move. If it is illegal: ValueError, and nothing changes."""
        if self.to_move is None or move not in self.legal_moves():
            raise ValueError(f"illegal move: {move!r}")
        seat = self.to_move

        if move.startswith("start "):
            self._place_start_card(seat, rank=move.removeprefix("start "))
        elif move == "pass":
            self._finish_turn(seat, idle=True)
        elif move == "draw":
            self.in_hand = self.deck.pop(0)
            self._drew_from_deck = True
        elif move == "take":
            self.in_hand = self.discard.pop(0)
            self._drew_from_deck = False
        else:
            assert self.in_hand is not None
            card = self.in_hand
            self.in_hand = None
            if move == "discard":
                self.discard.insert(0, card)
                # WD1: a card from the pile put straight back is an idle turn, a card from the deck discarded is not.
                self._finish_turn(seat, idle=not self._drew_from_deck)
            else:
                self._build(seat, card, move)
                self._finish_turn(seat, idle=False)

    def _place_start_card(self, seat: int, rank: str) -> None:
        """W4, WD4: the copy with the lowest id becomes the base; the order of the other cards is untouched."""
        card = min(self._copies_in_deck(rank), key=card_id_order)
        self.deck.remove(card)
        self.walls[seat] = [{0: card}]
        # W4, W5: clockwise; after the last start card the next seat is the starting player again.
        self.to_move = self._seat_after(seat)

    def _build(self, seat: int, card: Card, move: str) -> None:
        """W9, W10: put a card on the wall by one of the moves "left", "right" and "build level.position"."""
        wall = self.walls[seat]
        if move == "left":
            # Position 0 is always the leftmost card of the base, so all other cards move up by one position.
            shifted = [{position + 1: old for position, old in level.items()} for level in wall]
            shifted[0][0] = card
            self.walls[seat] = shifted
        elif move == "right":
            wall[0][max(wall[0]) + 1] = card
        else:
            level_text, position_text = move.removeprefix("build ").split(".")
            level, position = int(level_text), int(position_text)
            if level == len(wall):
                wall.append({})
            wall[level][position] = card

    def _finish_turn(self, seat: int, *, idle: bool) -> None:
        """W5, WD1: count the turn, see whether the game is over, and if not let the next player move."""
        self.turns += 1
        self.idle_turns = self.idle_turns + 1 if idle else 0

        a_whole_round_was_idle = self.idle_turns == self.num_players
        the_deck_ended_the_game = self.ends == "deck" and not self.deck
        if a_whole_round_was_idle or the_deck_ended_the_game:
            self.finished = True
            self.to_move = None
        else:
            self.to_move = self._seat_after(seat)

    def _seat_after(self, seat: int) -> int:
        """W5: clockwise is ascending by seat."""
        return (seat + 1) % self.num_players

    # ---------------------------------------------------------------------------------------------------------- scoring

    def scores(self) -> list[int]:
        """W2: by seat, of the walls as they stand: a card on level k >= 1 scores 2^(k-1), the base nothing."""
        return [self._score_of(wall) for wall in self.walls]

    def _score_of(self, wall: Wall) -> int:
        """W2: 1 for each card on level 1, 2 on level 2, 4 on level 3, 8 on level 4, and so on."""
        total = 0
        for level, cards in enumerate(wall):
            if level >= 1:
                points_per_card = 1
                for _ in range(level - 1):
                    points_per_card *= 2
                total += points_per_card * len(cards)
        return total

    def winners(self) -> set[int]:
        """W13: all seats with the highest score. ValueError while the game is not finished."""
        if not self.finished:
            raise ValueError("the game is not finished")
        scores = self.scores()
        return {seat for seat in range(self.num_players) if scores[seat] == max(scores)}
