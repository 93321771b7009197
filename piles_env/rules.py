"""The options of Piles."""

from dataclasses import dataclass

from cardtable.game import check_choice, check_flag

REWARDS = ("margin", "win", "dense")
PASSED_CARDS = ("shown", "hidden")


@dataclass(frozen=True)
class PilesRules:
    """Options of a game of Piles; the defaults are the rulebook's four-player game.

    Args:
        num_players: 4 (two teams of two, P2) or 2 (P16).
        opener_may_pass: whether the opener may pass in his first turn although he could place a card (PD1).
        passed_cards: "shown": the card taken from a passer is shown to all; "hidden": only the passer and the taking
            player know it until the game is over (PD3).
        reward: "margin": own side's points minus the other side's, at the end of the game (-54..54); "win": +1, 0 or -1
            at the end; "dense": after each action the change of the margin if the game ended now. Dense rewards sum to
            the final margin; with hidden passed cards they count those cards in the last reward only, so that they tell
            nobody what he may not know.

    Raises:
        ValueError: if a value is not one of those above.
    """

    num_players: int = 4
    opener_may_pass: bool = False
    passed_cards: str = "shown"
    reward: str = "margin"

    def __post_init__(self) -> None:
        check_choice("num_players", self.num_players, (4, 2))
        check_flag("opener_may_pass", self.opener_may_pass)
        check_choice("passed_cards", self.passed_cards, PASSED_CARDS)
        check_choice("reward", self.reward, REWARDS)
