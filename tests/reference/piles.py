"""A slow and plain reference implementation of the card game *Piles*.

It was written from the rules text alone (``RULES.md``, clauses P1-P16 and PD1-PD5) and shares no code with the engine
it is compared with. Every method names the clauses it implements. Nothing is cached: colours, ranks, neighbours, totals
and scores are worked out afresh from the cards on the table whenever somebody asks.

Cards are text, rank then suit: ``"Th"`` is the ten of hearts. The Castle looks like this (pile indices in brackets)::

    a1 [0]   b1 [1]   c1 [2]   d1 [3]
    a2 [4]   b2 [5]   c2 [6]   d2 [7]
    a3 [8]   b3 [9]   c3 [10]  d3 [11]

A move is ``"<card>@<pile>"`` or ``"pass"``.
"""

# P1: thirteen ranks from Ace = 1 to King = 13; hearts and diamonds are red, clubs and spades black.
RANKS: str = "A23456789TJQK"
SUIT_COLOURS: dict[str, str] = {"h": "red", "d": "red", "c": "black", "s": "black"}
DECK: list[str] = [rank + suit for suit in SUIT_COLOURS for rank in RANKS]

# P3: the Castle is a rectangle of 4 columns and 3 rows; each player is dealt 10 cards.
COLUMNS: str = "abcd"
ROWS: str = "123"
PILE_NAMES: list[str] = [column + row for row in ROWS for column in COLUMNS]
HAND_SIZE: int = 10

# P14: what a captured card is worth; every rank that is not named here is worth 1.
SPECIAL_POINTS: dict[str, int] = {"A": 9, "K": 4, "Q": 3, "J": 2}

# P11: the move that places nothing.
PASS: str = "pass"


def colour_of(card: str) -> str:
    """P1: the colour of a card, by its suit."""
    return SUIT_COLOURS[card[1]]


def rank_of(card: str) -> int:
    """P1: the rank of a card, Ace = 1 to King = 13."""
    return RANKS.index(card[0]) + 1


def points_of(card: str) -> int:
    """P14: Ace 9, King 4, Queen 3, Jack 2, every other card 1."""
    return SPECIAL_POINTS.get(card[0], 1)


def other_colour(colour: str) -> str:
    """P1: there are two colours."""
    return "black" if colour == "red" else "red"


def team_of(seat: int) -> int:
    """P2, P16: partners sit opposite (seats 0 + 2 against 1 + 3); with two players each is a team."""
    return seat % 2


def neighbours_of(pile: int) -> list[int]:
    """P7: the piles that are horizontally or vertically adjacent, so exactly one step away."""
    row, column = divmod(pile, len(COLUMNS))
    result: list[int] = []
    for other in range(len(PILE_NAMES)):
        other_row, other_column = divmod(other, len(COLUMNS))
        if abs(row - other_row) + abs(column - other_column) == 1:
            result.append(other)
    return result


def _check_deal(num_players: int, opener: int, hands: list[list[str]], castle: list[str], stock: list[str]) -> None:
    """P1, P3, P16, PD4: raise ValueError unless this is a complete and proper deal."""
    if num_players not in (2, 4):
        raise ValueError(f"Piles is played by 2 or 4 players, not {num_players}")
    if opener not in range(num_players):
        raise ValueError(f"the opener must be a seat from 0 to {num_players - 1}, not {opener}")
    if len(hands) != num_players:
        raise ValueError(f"expected {num_players} hands, got {len(hands)}")
    for seat, hand in enumerate(hands):
        if len(hand) != HAND_SIZE:
            raise ValueError(f"seat {seat} must be dealt {HAND_SIZE} cards, not {len(hand)}")
    if len(castle) != len(PILE_NAMES):
        raise ValueError(f"the Castle must have {len(PILE_NAMES)} cards, not {len(castle)}")
    stock_size = len(DECK) - len(PILE_NAMES) - HAND_SIZE * num_players
    if len(stock) != stock_size:
        raise ValueError(f"with {num_players} players the stock must have {stock_size} cards, not {len(stock)}")
    cards = [card for hand in hands for card in hand] + castle + stock
    if sorted(cards) != sorted(DECK):
        raise ValueError("hands, Castle and stock together must be the 52 cards of the deck, each once")


class PilesReference:
    """One game of Piles: it starts from a given deal, and is told every move and every card that chance takes."""

    num_players: int
    opener: int
    opener_may_pass: bool
    turns_played: int  # by all seats together
    hands: list[set[str]]  # by seat, the cards held now
    stock: list[str]  # the cards not yet dealt, the next one first
    piles: list[list[str]]  # by pile index, the bottom card (the Castle's) first
    team_colours: list[str | None]  # by team, "red" or "black"; None until the opener places a card
    taken: list[set[str]]  # by team, the cards it took when opponents passed

    def __init__(
        self,
        *,
        num_players: int,
        opener: int,
        hands: list[list[str]],
        castle: list[str],
        stock: list[str],
        opener_may_pass: bool = False,
    ) -> None:
        """P3, P16, PD1, PD4: lay out the deal. Raises ValueError if it is not a proper one."""
        _check_deal(num_players, opener, hands, castle, stock)
        self.num_players = num_players
        self.opener = opener
        self.opener_may_pass = opener_may_pass
        self.turns_played = 0
        self.hands = [set(hand) for hand in hands]
        self.stock = list(stock)
        self.piles = [[card] for card in castle]
        self.team_colours = [None, None]
        self.taken = [set(), set()]

    # ---- whose turn it is

    @property
    def finished(self) -> bool:
        """P12: the game ends when all hands and the stock are empty."""
        return all(len(hand) == 0 for hand in self.hands) and len(self.stock) == 0

    @property
    def to_move(self) -> int | None:
        """P4: the opener starts, then play goes clockwise (ascending seat), one card a turn. None when finished."""
        if self.finished:
            return None
        return (self.opener + self.turns_played) % self.num_players

    # ---- the Castle

    def top(self, pile: int) -> str:
        """P6: the card that controls a pile."""
        return self.piles[pile][-1]

    def total(self, pile: int) -> int:
        """P7, P8: the rank of the top card, +1 for each neighbouring top card of its colour, -1 for each other."""
        card = self.top(pile)
        total = rank_of(card)
        for neighbour in neighbours_of(pile):
            if colour_of(self.top(neighbour)) == colour_of(card):
                total += 1
            else:
                total -= 1
        return total

    def totals(self) -> list[int]:
        """P8: the total value of each pile's top card, by pile index."""
        return [self.total(pile) for pile in range(len(self.piles))]

    # ---- the moves

    def may_be_placed(self, card: str, pile: int) -> bool:
        """P9, P10: whether the rules allow this card on top of this pile (whoever plays it)."""
        if colour_of(card) == colour_of(self.top(pile)):
            return True  # P9: the same colour, whatever the ranks
        return rank_of(card) > self.total(pile)  # P10: the other colour, only if strictly higher than the total value

    def legal_placements(self) -> set[str]:
        """P6, P9, P10: every placement open to the seat to move."""
        seat = self.to_move
        if seat is None:
            return set()
        return {
            f"{card}@{PILE_NAMES[pile]}"
            for card in self.hands[seat]
            for pile in range(len(self.piles))
            if self.may_be_placed(card, pile)
        }

    def may_pass(self) -> bool:
        """P11, PD1, PD5: passing is always legal, except that the opener's first turn places a card if it can."""
        if self.finished:
            return False
        is_openers_first_turn = self.turns_played == 0
        if is_openers_first_turn and not self.opener_may_pass:
            return len(self.legal_placements()) == 0
        return True

    def legal_moves(self) -> set[str]:
        """P6, P9-P11, PD1, PD5: all legal moves of the seat to move; the empty set when finished."""
        moves = self.legal_placements()
        if self.may_pass():
            moves.add(PASS)
        return moves

    def play(self, move: str, taken: str | None = None) -> None:
        """P6, P11, P12: play one turn.

        With ``"pass"``, ``taken`` is the card that chance took from the passer's hand; with a placement it must be
        None. Anything illegal raises ValueError and changes nothing.
        """
        seat = self.to_move
        if seat is None:
            raise ValueError("the game is finished")
        if move not in self.legal_moves():
            raise ValueError(f"illegal move {move!r} for seat {seat}")
        if move == PASS:
            if taken is None or taken not in self.hands[seat]:
                raise ValueError(f"a pass needs a card taken from the hand of seat {seat}, not {taken!r}")
            self._pass(seat, taken)
        else:
            if taken is not None:
                raise ValueError(f"no card is taken when a card is placed, but got {taken!r}")
            card, pile_name = move.split("@")
            self._place(seat, card, PILE_NAMES.index(pile_name))
        self.turns_played += 1
        self._deal_the_stock_if_hands_are_empty()

    def _pass(self, seat: int, taken: str) -> None:
        """P11: the opponent at the passer's left takes a card from his hand, for what his team picks up at the end."""
        seat_at_the_left = (seat + 1) % self.num_players
        self.hands[seat].remove(taken)
        self.taken[team_of(seat_at_the_left)].add(taken)

    def _place(self, seat: int, card: str, pile: int) -> None:
        """P6: a card from the hand goes on top of a pile. P5, PD1: the first card the opener places fixes the colours.

        Only the opener's own cards count for that: if he had to pass, the others place cards before any team has a
        colour.
        """
        self.hands[seat].remove(card)
        self.piles[pile].append(card)
        if seat == self.opener and self.team_colours == [None, None]:
            openers_team = team_of(self.opener)
            self.team_colours[openers_team] = colour_of(card)
            self.team_colours[1 - openers_team] = other_colour(colour_of(card))

    def _deal_the_stock_if_hands_are_empty(self) -> None:
        """P16: when both hands are empty the rest is dealt one by one, alternately, starting with the opener.

        With four players there is no stock, so nothing happens.
        """
        if any(len(hand) > 0 for hand in self.hands):
            return
        seat = self.opener
        while len(self.stock) > 0:
            self.hands[seat].add(self.stock.pop(0))
            seat = (seat + 1) % self.num_players

    # ---- scoring

    def score_of(self, team: int) -> int:
        """P13, P14, PD2: the points of one team, if the game ended now; 0 while it has no colour."""
        own_colour = self.team_colours[team]
        if own_colour is None:
            return 0  # PD2
        collected: list[str] = []
        for pile in range(len(self.piles)):
            if colour_of(self.top(pile)) == own_colour:
                collected.extend(self.piles[pile])  # P13: the whole pile, the Castle's card included
        collected.extend(self.taken[team])  # P11, P13
        return sum(points_of(card) for card in collected if colour_of(card) != own_colour)

    def scores(self) -> list[int]:
        """P13, P14, PD2: by team, if the game ended now; [0, 0] while no team has a colour."""
        return [self.score_of(0), self.score_of(1)]

    def outcome(self) -> int | None:
        """P15, PD2: the winning team of a finished game, or None for a draw. ValueError before the end."""
        if not self.finished:
            raise ValueError("the game is not finished")
        score_0, score_1 = self.scores()
        if score_0 > score_1:
            return 0
        if score_1 > score_0:
            return 1
        return None
