"""The options of Wall, and the bounds that follow from them."""

from dataclasses import dataclass

from cardtable.cards import DECK_SIZE
from cardtable.game import check_choice

REWARDS = ("margin", "win", "score", "dense")
ENDS = ("idle", "deck")


@dataclass(frozen=True)
class WallRules:
    """Options of a game of Wall; the defaults are two players and one deck.

    Args:
        num_players: 1 to 6 (W1).
        num_decks: 1 or 2 (W1).
        jokers_per_deck: 0 to 4 (W1).
        max_width: None, or the greatest width of a base (at least 1): widening past it is then not legal (WD2).
        ends: "idle": the game ends when a whole round goes by in which nobody drew from the deck or built (WD1);
            "deck": it also ends as soon as the turn that emptied the deck is over.
        reward: "margin": own score minus the mean of the others', at the end of the game (with one player the score);
            "win": at the end the winners share +1 and the others -1, 0 if all are equal; "score": own score, at the
            end; "dense": after each action the change of the margin if the game ended now, which sums to "margin".

    Raises:
        ValueError: if a value is not one of those above.
    """

    num_players: int = 2
    num_decks: int = 1
    jokers_per_deck: int = 2
    max_width: int | None = None
    ends: str = "idle"
    reward: str = "margin"

    def __post_init__(self) -> None:
        check_choice("num_players", self.num_players, range(1, 7))
        check_choice("num_decks", self.num_decks, (1, 2))
        check_choice("jokers_per_deck", self.jokers_per_deck, range(5))
        width = self.max_width
        if width is not None and (not isinstance(width, int) or isinstance(width, bool) or width < 1):
            raise ValueError(f"max_width must be None or an integer of at least 1, not {width!r}")
        check_choice("ends", self.ends, ENDS)
        check_choice("reward", self.reward, REWARDS)

    @property
    def num_cards(self) -> int:
        """All cards of the game, jokers included."""
        return (DECK_SIZE + self.jokers_per_deck) * self.num_decks

    @property
    def width_limit(self) -> int:
        """The greatest width W of a base (WD2): all cards but jokers and the others' start cards, or `max_width`."""
        by_cards = DECK_SIZE * self.num_decks - (self.num_players - 1)
        return by_cards if self.max_width is None else min(by_cards, self.max_width)

    @property
    def num_levels(self) -> int:
        """Levels above the base (WD2): a card on level k tops a triangle of (k+1)(k+2)/2 cards."""
        level = 0
        while (level + 2) * (level + 3) // 2 <= self.num_cards and level + 1 < self.width_limit:
            level += 1
        return level

    @property
    def num_cells(self) -> int:
        """Places of one seat's wall: W - k on each level k."""
        return sum(self.width_limit - level for level in range(self.num_levels + 1))

    @property
    def max_turns(self) -> int:
        """No game has more turns than this.

        Apart from the P start cards there are M cards. A turn that is not idle draws a card (at most M times) or builds
        a card taken from the discard pile, which had been drawn before (at most M times). Fewer than P idle turns lie
        before each of them, and P idle turns end the game (WD1).
        """
        moving = self.num_cards - self.num_players
        return 2 * moving * self.num_players + self.num_players

    @property
    def max_decisions(self) -> int:
        """No game has more decisions than this: a start card each, then at most two a turn."""
        return self.num_players + 2 * self.max_turns

    @property
    def max_score(self) -> int:
        """No wall scores more than this.

        n cards on a level need n + 1 on the level below, so a wall is a pile of diagonals, each with one card on each
        level from the base up to some level j, which scores 2^j - 1 (W2); to reach level h it needs one for each
        j <= h.
        """
        best = 0
        for top in range(self.num_levels + 1):
            spare = self.num_cards - (top + 1) * (top + 2) // 2
            if spare < 0:
                break
            more = [0] * (spare + 1)
            for cards in range(1, spare + 1):
                more[cards] = max(
                    more[max(0, cards - level - 1)] + 2**level - 1 for level in range(min(top, cards - 1) + 1)
                )
            best = max(best, sum(2**level - 1 for level in range(top + 1)) + more[spare])
        return best
