"""The clauses of Piles one by one (P1-P16, PD1-PD5), each test written from the clause's text."""

from collections import Counter
from typing import Any

import numpy as np
import pytest

from cardtable.game import IllegalAction, States, Views
from piles_env import PilesGame, engine
from tests.helpers import (
    JOKER,
    PILE_NAMES,
    RANKS,
    SUITS,
    assert_uniform,
    deck_of_52,
    finished_games,
    game_seeds,
    is_red,
    legal_texts,
    may_play,
    mover,
    piles_deal,
    piles_game,
    piles_weights,
    play,
    play_out,
    same_view,
    scores,
    views_of_all,
)

PASS = piles_game().num_actions - 1
TURNS = 40
SEATS = range(4)

# All Castle cards are black and high (total values from 10 up), the opener's are red and low: nothing can be placed.
HIGH_BLACK_CASTLE = "8c 9c Tc Jc Qc Kc 8s 9s Ts Js Qs Ks"
LOW_RED_HAND = "Ah 2h 3h 4h 5h Ad 2d 3d 4d 5d"

POINTS = dict.fromkeys(RANKS, 1) | {"A": 9, "K": 4, "Q": 3, "J": 2}
OTHER_COLOUR = str.maketrans("hdcs", "cshd")


def start(game: PilesGame, *, seed: int = 0, **deal: Any) -> States:
    """A new game with cards in given places; see `tests.helpers.piles_deal`."""
    return game.deal_state(piles_deal(num_players=game.num_players, **deal), seed)


def total(states: States, pile: str) -> int:
    """The total value of a pile's top card."""
    top = states[0]["top"]
    return int(engine.total_value(top, int(engine.red_piles(top)), PILE_NAMES.index(pile)))


def card_text(card: int) -> str:
    """A card id in record notation: suits in the order h c d s, ranks from the ace."""
    return RANKS[card % 13] + SUITS[card // 13]


def cards_in(cards: int) -> set[str]:
    """The cards of a set, which a record holds as bits."""
    return {card_text(card) for card in range(52) if int(cards) >> card & 1}


def hand_of(states: States, seat: int) -> set[str]:
    """The cards that a seat holds."""
    return cards_in(states[0]["hand"][seat])


def team_colours(states: States) -> tuple[str, str] | None:
    """The colours of teams 0 and 1, None while they have none."""
    red_team = int(states[0]["red_team"])
    return None if red_team < 0 else (("red", "black"), ("black", "red"))[red_team]


def centre(card: str, friends: int) -> dict[str, str]:
    """A Castle with `card` on b2, and that many of its four neighbours of its colour; hearts and clubs stay free."""
    own, other = ("d", "s") if is_red(card) else ("s", "d")
    neighbours = zip(("b1", "a2", "c2", "b3"), "2346", strict=True)
    return {"b2": card} | {
        pile: rank + (own if number < friends else other) for number, (pile, rank) in enumerate(neighbours)
    }


def adjacent(pile: str, other: str) -> bool:
    """Whether two piles lie side by side or one above the other."""
    return abs(ord(pile[0]) - ord(other[0])) + abs(int(pile[1]) - int(other[1])) == 1


def all_options() -> list[dict[str, Any]]:
    """Every combination of the options that change the play."""
    return [
        {"num_players": players, "opener_may_pass": may_pass, "passed_cards": passed}
        for players in (4, 2)
        for may_pass in (False, True)
        for passed in ("shown", "hidden")
    ]


# --- cards and deal ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("num_players", [4, 2])
def test_P1_every_deal_holds_the_52_cards_once(num_players: int) -> None:
    game = piles_game(num_players=num_players)
    for state in game.new_states(game_seeds(50)):
        deal = game.deal_to_json(state)
        cards = [card for hand in deal["hands"] for card in hand] + deal["castle"] + deal["stock"]
        assert sorted(cards) == sorted(deck_of_52())


@pytest.mark.parametrize(("wrong", "why"), [(JOKER, "joker"), ("Kd", "twice"), ("1h", "no card"), ("Tx", "no card")])
def test_P1_other_cards_are_refused(wrong: str, why: str) -> None:
    deal = piles_deal({"a1": "2c", "b1": "Kd"})
    deal["castle"][0] = wrong
    with pytest.raises(ValueError, match=why):
        piles_game().deal_state(deal, 0)


@pytest.mark.parametrize(("rank", "value"), list(zip(RANKS, range(1, 14), strict=True)))
def test_P1_ranks_go_from_ace_1_to_king_13(rank: str, value: int) -> None:
    states = start(piles_game(), castle={"a1": f"{rank}c", "b1": "2s", "a2": "2d"})  # a neighbour of each colour
    assert total(states, "a1") == value


def test_P1_hearts_and_diamonds_are_red_clubs_and_spades_black() -> None:
    game = piles_game()
    red = start(game, castle=centre("Kh", 4), hands={0: "Ah Ac Ad As"})
    assert {suit for suit in SUITS if may_play(game, red, f"A{suit}@b2")} == {"h", "d"}
    black = start(game, castle=centre("Kc", 4), hands={0: "Ah Ac Ad As"})
    assert {suit for suit in SUITS if may_play(game, black, f"A{suit}@b2")} == {"c", "s"}


def test_P2_four_players_in_two_teams_with_partners_opposite() -> None:
    game = piles_game()
    assert game.num_players == 4
    assert [tuple(seats) for seats in game.teams] == [(0, 2), (1, 3)]


def test_P2_partners_win_and_lose_together() -> None:
    game = piles_game()
    rewards = game.rewards(finished_games(game, game.new_states(game_seeds(20)), piles_weights(game), 2))
    assert rewards.any()
    assert (rewards[:, 0] == rewards[:, 2]).all()
    assert (rewards[:, 1] == rewards[:, 3]).all()
    assert (rewards[:, 0] == -rewards[:, 1]).all()


def test_P3_ten_cards_for_each_player_and_twelve_in_the_castle() -> None:
    game = piles_game()
    for state in game.new_states(game_seeds(20)):
        deal = game.deal_to_json(state)
        assert [len(hand) for hand in deal["hands"]] == [10] * 4
        assert len(deal["castle"]) == 12
        assert deal["stock"] == []


@pytest.mark.parametrize("opener", SEATS)
def test_P3_cards_are_dealt_one_by_one_from_the_dealers_left(opener: int) -> None:
    states = piles_game().reset_state(0, {"opener": opener})
    engine.start(states[0], np.arange(52, dtype=np.int8))  # a deck in the order of card ids
    for number in SEATS:
        assert hand_of(states, (opener + number) % 4) == {card_text(card) for card in range(number, 40, 4)}
    assert [card_text(card) for card in states[0]["castle"]] == [card_text(card) for card in range(40, 52)]


def test_P3_the_castle_lies_face_up() -> None:
    game = piles_game()
    states = game.new_states(game_seeds(1))
    castle = game.deal_to_json(states[0])["castle"]
    for view in views_of_all(game, states):
        assert [card_text(card) for card in view["top"]] == castle


def test_P3_a_card_is_dealt_to_every_place_with_equal_chance() -> None:
    states = piles_game().new_states(game_seeds(5200))
    ace = 0
    in_castle = Counter(int(pile) for _, pile in np.argwhere(states["castle"] == ace))
    in_hand = [int((states["hand"][:, seat] >> ace & 1).sum()) for seat in SEATS]
    assert_uniform([in_castle[pile] for pile in range(12)])
    assert_uniform(in_hand)
    share = 12 / 52  # of the deals have the card in the Castle, up to five standard deviations
    assert abs(sum(in_castle.values()) - 5200 * share) < 5 * (5200 * share * (1 - share)) ** 0.5


@pytest.mark.parametrize("opener", SEATS)
def test_P4_the_opener_begins_and_play_goes_clockwise(opener: int) -> None:
    game = piles_game()
    states = game.reset_state(5, {"opener": opener})
    movers = [mover(game, running) for running in play_out(game, states, piles_weights(game, passing=20.0), 4)]
    assert movers == [(opener + turn) % 4 for turn in range(TURNS)] + [-1]


def test_P4_a_turn_is_one_card() -> None:
    game = piles_game()
    states = start(game, castle=centre("5h", 4), hands={0: "Ah 2h"})
    held = hand_of(states, 0)
    play(game, states, "Ah@b2")
    assert hand_of(states, 0) == held - {"Ah"}
    assert mover(game, states) == 1


@pytest.mark.parametrize("opener", SEATS)
@pytest.mark.parametrize(("card", "colour"), [("Kh", "red"), ("Kd", "red"), ("Kc", "black"), ("Ks", "black")])
def test_P5_the_openers_first_card_gives_the_teams_their_colours(opener: int, card: str, colour: str) -> None:
    game = piles_game()
    states = start(game, castle={"a1": "2h", "b1": "3c", "a2": "4d"}, hands={opener: card}, opener=opener)
    assert team_colours(states) is None
    play(game, states, f"{card}@a1")
    other = "black" if colour == "red" else "red"
    assert team_colours(states) == ((colour, other) if opener % 2 == 0 else (other, colour))


def test_P5_later_cards_do_not_change_the_colours() -> None:
    game = piles_game()
    states = start(game, castle=centre("2h", 2), hands={0: "Ah Kc", 1: "Ks", 2: "Qc", 3: "3h"})
    play(game, states, "Ah@b2", "Ks@b2", "Qc@b2", "pass:3h", "Kc@b2")
    assert team_colours(states) == ("red", "black")


# --- the Castle -------------------------------------------------------------------------------------------------------


def test_P6_the_top_card_controls_the_pile() -> None:
    game = piles_game()
    states = start(game, castle=centre("2h", 4), hands={0: "Kc", 1: "Tc Ad"})
    assert total(states, "b2") == 6
    play(game, states, "Kc@b2")
    assert total(states, "b2") == 9  # the king of clubs among four red neighbours
    assert may_play(game, states, "Tc@b2")  # of the colour of the king, lower than it
    assert not may_play(game, states, "Ad@b2")  # of the colour of the two, which lies beneath


def test_P6_a_card_is_placed_on_one_of_the_twelve_piles() -> None:
    game = piles_game()
    states = start(game, castle="2h 3h 4h 5h 6h 7h 8h 9h Th Jh Qh Kh", hands={0: "Ah"})
    assert {text for text in legal_texts(game, states) if text.startswith("Ah")} == {
        f"Ah@{pile}" for pile in PILE_NAMES
    }
    for pile in PILE_NAMES:
        after = states.copy()
        play(game, after, f"Ah@{pile}")
        changed = [
            name for name, old, new in zip(PILE_NAMES, states[0]["top"], after[0]["top"], strict=True) if old != new
        ]
        assert changed == [pile]


def test_P6_a_card_must_be_in_the_hand() -> None:
    game = piles_game()
    states = start(game, castle=centre("5h", 4), hands={0: "Ah", 1: "Ad Kh Kd"})
    red_king_on_b2 = PILE_NAMES.index("b2") * 26 + 12
    with pytest.raises(IllegalAction, match="P6"):
        game.step(states, [red_king_on_b2])
    with pytest.raises(ValueError, match="P6"):
        game.replay_move(states, "Kh@b2")


@pytest.mark.parametrize("pile", PILE_NAMES)
def test_P7_neighbours_are_horizontally_or_vertically_adjacent(pile: str) -> None:
    all_black = dict(zip(PILE_NAMES, [f"{rank}c" for rank in RANKS], strict=False))
    before = total(start(piles_game(), castle=all_black), pile)
    neighbours = set()
    for other in PILE_NAMES:
        if other != pile:
            with_a_red_card = start(piles_game(), castle=all_black | {other: "Kh"})
            change = total(with_a_red_card, pile) - before
            assert change in (0, -2)
            if change:
                neighbours.add(other)
    assert neighbours == {other for other in PILE_NAMES if adjacent(pile, other)}


@pytest.mark.parametrize("pile", PILE_NAMES)
def test_P7_corners_have_two_neighbours_edges_three_and_inner_piles_four(pile: str) -> None:
    all_black = dict(zip(PILE_NAMES, [f"{rank}c" for rank in RANKS], strict=False))
    number = 2 if pile in ("a1", "d1", "a3", "d3") else 4 if pile in ("b2", "c2") else 3
    assert total(start(piles_game(), castle=all_black), pile) == PILE_NAMES.index(pile) + 1 + number


def test_P8_worked_example_a_red_10_with_three_red_and_one_black_neighbours_has_total_12() -> None:
    assert total(start(piles_game(), castle=centre("Th", 3)), "b2") == 12


@pytest.mark.parametrize("rank", RANKS)
@pytest.mark.parametrize("suit", ["h", "c"])
@pytest.mark.parametrize("friends", range(5))
def test_P8_each_neighbour_of_its_colour_adds_1_and_each_other_takes_1(rank: str, suit: str, friends: int) -> None:
    states = start(piles_game(), castle=centre(rank + suit, friends))
    assert total(states, "b2") == RANKS.index(rank) + 1 + friends - (4 - friends)


def test_P8_totals_run_from_minus_3_to_17() -> None:
    assert total(start(piles_game(), castle=centre("Ah", 0)), "b2") == -3
    assert total(start(piles_game(), castle=centre("Kh", 4)), "b2") == 17
    game = piles_game()
    for states in play_out(game, game.new_states(game_seeds(10)), piles_weights(game, passing=0.01), 8):
        assert all(
            -3 <= total(states[lane : lane + 1], pile) <= 17 for lane in range(len(states)) for pile in PILE_NAMES
        )


def test_P8_only_the_neighbours_top_cards_count() -> None:
    game = piles_game()
    states = start(game, castle=centre("Th", 3), hands={0: "Kc", 1: "Qc", 2: "Kh"})
    play(game, states, "Kc@b1")  # on the red two above the ten
    assert total(states, "b2") == 10
    play(game, states, "Qc@b1")
    assert total(states, "b2") == 10


# --- what may be placed -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("top", "suit"), [("Kh", "d"), ("Kc", "s")])
def test_P9_any_rank_may_be_placed_on_its_own_colour(top: str, suit: str) -> None:
    game = piles_game()
    castle = {"b2": top} | {
        pile: f"{rank}{top[1]}" for pile, rank in zip(("b1", "a2", "c2", "b3"), "9TJQ", strict=True)
    }
    for ranks in (RANKS[:10], RANKS[3:]):
        states = start(game, castle=castle, hands={0: " ".join(rank + suit for rank in ranks)})
        assert total(states, "b2") == 17
        assert all(may_play(game, states, f"{rank}{suit}@b2") for rank in ranks)


def test_P9_whichever_team_plays_it() -> None:
    game = piles_game()
    hands = {0: "Ah", 1: "3h Ac", 2: "2h", 3: "4h"}
    states = start(game, castle=centre("Kh", 4), hands=hands)
    play(game, states, "Ah@b2")
    assert team_colours(states) == ("red", "black")
    play(game, states, "3h@b2", "2h@b2", "4h@b2")  # red on red by the blacks, the reds and the blacks
    assert card_text(states[0]["top"][PILE_NAMES.index("b2")]) == "4h"


@pytest.mark.parametrize(
    ("top", "friends"),
    [(f"{rank}{suit}", friends) for rank in "A25TK" for suit in "hc" for friends in range(5)],
)
def test_P10_the_other_colour_needs_a_rank_strictly_above_the_total(top: str, friends: int) -> None:
    game = piles_game()
    suit = "c" if is_red(top) else "h"
    total_value = RANKS.index(top[0]) + 1 + 2 * friends - 4
    for ranks in (RANKS[:10], RANKS[3:]):
        states = start(game, castle=centre(top, friends), hands={0: " ".join(rank + suit for rank in ranks)})
        for rank in ranks:
            assert may_play(game, states, f"{rank}{suit}@b2") == (RANKS.index(rank) + 1 > total_value)


def test_P10_the_placed_cards_own_neighbours_do_not_count() -> None:
    game = piles_game()
    among_reds = start(game, castle=centre("5h", 4), hands={0: "Tc 9c"})  # total 9; a ten of clubs would have 6 there
    assert may_play(game, among_reds, "Tc@b2")
    assert not may_play(game, among_reds, "9c@b2")
    among_blacks = start(game, castle=centre("5h", 0), hands={0: "Ac 2c"})  # total 1; an ace of clubs would have 5
    assert not may_play(game, among_blacks, "Ac@b2")
    assert may_play(game, among_blacks, "2c@b2")


def test_P10_a_refused_placement_changes_nothing() -> None:
    game = piles_game()
    states = start(game, castle=centre("5h", 4), hands={0: "9c"})
    before = states.copy()
    with pytest.raises(ValueError, match="P10"):
        game.replay_move(states, "9c@b2")
    with pytest.raises(IllegalAction, match="P10"):
        game.step(states, [game.text_to_action(states[0], "9c@b2")])
    assert states.tobytes() == before.tobytes()


# --- passing ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("num_players", [4, 2])
@pytest.mark.parametrize("turn", range(6))
def test_P11_the_opponent_at_the_left_takes_a_card_of_the_passer(num_players: int, turn: int) -> None:
    game = piles_game(num_players=num_players, opener_may_pass=True)
    states = game.new_states(game_seeds(1, first=turn))
    for _ in range(turn):
        game.step(states, [PASS])
    passer, taker = turn % num_players, (turn + 1) % num_players
    held, taken = hand_of(states, passer), cards_in(states[0]["taken"][taker])
    game.step(states, [PASS])
    lost = held - hand_of(states, passer)
    assert len(lost) == 1
    assert cards_in(states[0]["taken"][taker]) == taken | lost


@pytest.mark.parametrize("passer", [1, 2])
@pytest.mark.parametrize(("opening", "reds"), [("Kh", 0), ("Kc", 1)])
@pytest.mark.parametrize(("card", "points"), [("Ad", 9), ("As", 9), ("4d", 1), ("4s", 1)])
def test_P11_the_taken_card_scores_for_the_takers_if_of_the_other_colour(
    passer: int, opening: str, reds: int, card: str, points: int
) -> None:
    game = piles_game()
    castle = {"a1": "2h", "b1": "3c", "a2": "5d"}
    states = start(game, castle=castle, hands={0: opening, passer: card})
    play(game, states, f"{opening}@a1")
    while mover(game, states) != passer:
        game.step(states, [PASS])
    before = scores(game, states)
    play(game, states, f"pass:{card}")
    takers = (passer + 1) % 2
    takers_are_red = takers == reds
    gained = points if is_red(card) != takers_are_red else 0
    assert scores(game, states)[takers] - before[takers] == gained
    assert scores(game, states)[1 - takers] == before[1 - takers]


def test_P11_the_card_is_taken_uniformly_at_random() -> None:
    game = piles_game(opener_may_pass=True)
    count = 20_000
    states = np.repeat(start(game, hands={0: "Ah 2h 3h 4h 5h 9s Ts Js Qs Ks"}), count)
    states["seed"] = game_seeds(count)
    for _ in range(5):  # all four pass, then the opener again
        game.step(states, np.full(count, PASS))
    first, second = states["history_card"][:, 0], states["history_card"][:, 4]
    assert_uniform([int((first == card).sum()) for card in np.unique(first)])
    pairs = Counter(zip(first.tolist(), second.tolist(), strict=True))
    assert len(np.unique(first)) == 10
    assert len(pairs) == 90
    assert_uniform(list(pairs.values()))


def test_P11_a_pass_leaves_the_castle_as_it_is() -> None:
    game = piles_game(opener_may_pass=True)
    states = game.new_states(game_seeds(1))
    before = states.copy()
    game.step(states, [PASS])
    assert (states["top"] == before["top"]).all()
    assert (states["under"] == before["under"]).all()
    assert mover(game, states) == 1


# --- the end ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", all_options(), ids=str)
def test_P12_every_turn_uses_up_one_card_and_the_game_ends_when_all_are_used_up(options: dict[str, Any]) -> None:
    game = piles_game(**options)
    players = game.num_players
    left = [TURNS // players] * players
    for turn, states in enumerate(
        play_out(game, game.new_states(game_seeds(1)), piles_weights(game, passing=10.0), 12)
    ):
        to_be_dealt = 10 if players == 2 and turn < 20 else 0
        assert [len(hand_of(states, seat)) + to_be_dealt for seat in range(players)] == left
        assert game.terminated(states)[0] == (left == [0] * players)
        left[mover(game, states)] -= 1
    assert turn == TURNS


def test_P12_a_finished_game_takes_no_further_turn() -> None:
    game = piles_game()
    states = finished_games(game, game.new_states(game_seeds(1)), piles_weights(game), 12)
    assert game.terminated(states).all()
    assert not game.action_mask(states).any()
    with pytest.raises(IllegalAction, match="over"):
        game.step(states, [PASS])


@pytest.mark.parametrize("opener", SEATS)
def test_P13_a_team_scores_the_other_colours_cards_in_the_piles_topped_by_its_own(opener: int) -> None:
    game = piles_game()
    cards = ("5h", "4c", "9h", "Ks")
    hands = {(opener + number) % 4: card for number, card in enumerate(cards)}
    castle = {"a1": "Ac", "b1": "2h", "a2": "3h", "c1": "6s", "b2": "7s"}
    states = start(game, castle=castle, hands=hands, opener=opener)

    def opening_and_other_side() -> tuple[int, int]:
        points = scores(game, states)
        return points[opener % 2], points[1 - opener % 2]

    play(game, states, "5h@a1")  # the opener's side is red, and captures the Castle's ace of clubs
    assert opening_and_other_side() == (9, 0)
    play(game, states, "4c@b1")  # the blacks capture the two of hearts
    assert opening_and_other_side() == (9, 1)
    play(game, states, "9h@b1")  # the reds take that pile back: the four of clubs scores, the two of hearts does not
    assert opening_and_other_side() == (10, 0)
    play(game, states, "Ks@a1")  # the blacks take the first pile: its ace is their own, the five of hearts scores
    assert opening_and_other_side() == (1, 1)


def test_P13_the_top_card_itself_is_of_the_own_colour_and_scores_nothing() -> None:
    game = piles_game()
    states = start(game, castle=centre("Kh", 4), hands={0: "Ah"})
    play(game, states, "Ah@b2")
    assert scores(game, states) == [0, 0]


@pytest.mark.parametrize(("rank", "points"), list(POINTS.items()))
@pytest.mark.parametrize("suit", SUITS)
def test_P14_ace_9_king_4_queen_3_jack_2_others_1(rank: str, suit: str, points: int) -> None:
    game = piles_game()
    # The card lies on a corner between two cards of the other colour, so a king of that colour may be placed on it.
    other_suit = "c" if suit in "hd" else "h"
    castle = {"a1": rank + suit, "b1": f"2{other_suit}", "a2": f"3{other_suit}"}
    states = start(game, castle=castle, hands={0: f"K{other_suit}"})
    play(game, states, f"K{other_suit}@a1")
    assert scores(game, states) == [points, 0]


@pytest.mark.parametrize("swap", [False, True])
def test_P14_a_colour_is_worth_54_points(swap: bool) -> None:
    # The opener has all the red cards and covers the Castle's six black ones; his opponent passes all other blacks.
    game = piles_game(num_players=2)
    deal = piles_deal(
        "Ac Ah As Ad 2h 2c 2d 2s 3c 3h 3s 3d",
        {0: "9h Th Jh Qh Kh 9d Td Jd Qd Kd", 1: "9c Tc Jc Qc Kc 9s Ts Js Qs Ks"},
        num_players=2,
        stock="4h 4c 5h 5c 6h 6c 7h 7c 8h 8c 4d 4s 5d 5s 6d 6s 7d 7s 8d 8s",
    )
    black_piles = [pile for pile, card in zip(PILE_NAMES, deal["castle"], strict=True) if not is_red(card)]
    placed = [f"{card}@{pile}" for card, pile in zip(deal["hands"][0], [*black_piles, *["b1"] * 4], strict=True)]
    placed += [f"{card}@b1" for card in deal["stock"][0::2]]
    passed = [f"pass:{card}" for card in deal["hands"][1] + deal["stock"][1::2]]
    moves = [move for turns in zip(placed, passed, strict=True) for move in turns]
    if swap:
        deal = _swap_colours(deal)
        moves = [_swap_colours_of_move(move) for move in moves]
    states = game.deal_state(deal, 0)
    play(game, states, *moves)
    assert game.terminated(states)[0]
    assert scores(game, states) == [54, 0]


def _swap_colours(deal: dict[str, Any]) -> dict[str, Any]:
    """The same deal with hearts for clubs, diamonds for spades, and the other way round."""
    swapped = {name: [card.translate(OTHER_COLOUR) for card in deal[name]] for name in ("castle", "stock")}
    hands = [[card.translate(OTHER_COLOUR) for card in hand] for hand in deal["hands"]]
    return {**deal, **swapped, "hands": hands}


def _swap_colours_of_move(move: str) -> str:
    """The same move with the other colour: the second letter of "Th@b2", the last one of "pass:Th"."""
    if move.startswith("pass:"):
        return move[:-1] + move[-1].translate(OTHER_COLOUR)
    return move[0] + move[1].translate(OTHER_COLOUR) + move[2:]


def test_P15_more_points_win_and_equal_points_are_a_draw() -> None:
    game = piles_game(reward="win")
    states = finished_games(game, game.new_states(game_seeds(400)), piles_weights(game, passing=5.0), 15)
    points, rewards = game.scores(states), game.rewards(states)
    outcomes = np.sign(points[:, 0] - points[:, 1])
    assert set(outcomes.tolist()) == {-1, 0, 1}
    assert (rewards == outcomes[:, None] * np.array([1, -1, 1, -1])).all()


# --- two players ------------------------------------------------------------------------------------------------------


def test_P16_two_players_one_a_team_ten_cards_each_and_twelve_in_the_castle() -> None:
    game = piles_game(num_players=2)
    assert [tuple(seats) for seats in game.teams] == [(0,), (1,)]
    for state in game.new_states(game_seeds(20)):
        deal = game.deal_to_json(state)
        assert [len(hand) for hand in deal["hands"]] == [10, 10]
        assert len(deal["castle"]) == 12
        assert len(deal["stock"]) == 20


@pytest.mark.parametrize("opener", [0, 1])
def test_P16_when_both_hands_are_empty_the_rest_is_dealt_one_by_one_from_the_dealers_left(opener: int) -> None:
    game = piles_game(num_players=2)
    states = game.reset_state(16, {"opener": opener})
    stock = game.deal_to_json(states[0])["stock"]
    for turn, running in enumerate(play_out(game, states, piles_weights(game, passing=5.0), 16)):
        if turn < 20:
            assert not (hand_of(running, 0) | hand_of(running, 1)) & set(stock)
        if turn == 20:
            assert hand_of(running, opener) == set(stock[0::2])
            assert hand_of(running, 1 - opener) == set(stock[1::2])
        assert mover(game, running) == ((opener + turn) % 2 if turn < TURNS else -1)
    assert turn == TURNS


def test_P16_the_castle_the_colours_and_what_was_taken_stay() -> None:
    game = piles_game(num_players=2)
    before = None
    for turn, states in enumerate(play_out(game, game.new_states(game_seeds(1)), piles_weights(game, passing=30.0), 1)):
        if turn == 19:
            before = states.copy()
        if turn == 20:
            break
    assert before is not None
    last = int(states[0]["history"][19])
    changed_pile = None if last == PASS else last // 26
    kept = [pile for pile in range(12) if pile != changed_pile]
    assert (states["top"][:, kept] == before["top"][:, kept]).all()
    assert (states["under"][:, kept] == before["under"][:, kept]).all()
    assert team_colours(states) == team_colours(before) is not None
    assert before["taken"].any()
    assert ((states["taken"] & before["taken"]) == before["taken"]).all()


def test_P16_the_same_rules_hold_for_passing_and_scoring() -> None:
    game = piles_game(num_players=2)
    castle = {"a1": "Ac", "b1": "2h", "a2": "3h"}
    states = start(game, castle=castle, hands={0: "5h Kd", 1: "Qs Jd"})
    play(game, states, "5h@a1", "pass:Qs", "pass:Kd", "pass:Jd")
    assert scores(game, states) == [9 + 3, 4]


# --- decisions --------------------------------------------------------------------------------------------------------


def test_PD1_the_openers_first_turn_must_place_a_card() -> None:
    game = piles_game()
    states = game.new_states(game_seeds(50))
    assert not game.action_mask(states)[:, PASS].any()
    with pytest.raises(IllegalAction, match="PD1"):
        game.step(states[:1], [PASS])


@pytest.mark.parametrize("may_pass", [False, True])
def test_PD1_the_opener_may_pass_if_no_placement_is_legal(may_pass: bool) -> None:
    game = piles_game(opener_may_pass=may_pass)
    states = start(game, castle=HIGH_BLACK_CASTLE, hands={0: LOW_RED_HAND})
    assert legal_texts(game, states) == {"pass"}


def test_PD1_a_single_legal_placement_forbids_the_pass() -> None:
    game = piles_game()
    states = start(game, castle=HIGH_BLACK_CASTLE, hands={0: LOW_RED_HAND.replace("5d", "Jd")})
    assert legal_texts(game, states) == {"Jd@a1"}  # the eight in the corner has total 10, the others 12 or more


def test_PD1_only_the_openers_first_turn_is_bound() -> None:
    game = piles_game()
    states = start(game, castle=centre("2h", 4), hands={0: "Ah"})
    play(game, states, "Ah@b2")
    for _ in range(4):  # the other three, and the opener in his second turn
        assert may_play(game, states, "pass")
        game.step(states, [PASS])


def test_PD1_option_opener_may_pass_allows_it_from_the_first_turn() -> None:
    game = piles_game(opener_may_pass=True)
    states = game.new_states(game_seeds(50))
    assert game.action_mask(states)[:, PASS].all()
    held = states["hand"][:, 0].copy()
    game.step(states, np.full(50, PASS))
    assert (states["hand"][:, 0] != held).all()  # P11: the card goes to the left
    assert ((states["hand"][:, 0] | states["taken"][:, 1]) == held).all()


@pytest.mark.parametrize(("card", "colours"), [("3h", ("red", "black")), ("Ks", ("black", "red"))])
def test_PD1_the_first_card_the_opener_places_fixes_the_colours_whenever_that_is(
    card: str, colours: tuple[str, str]
) -> None:
    game = piles_game(opener_may_pass=True)
    states = start(game, castle=centre("2h", 2), hands={0: "4h 3h Ks", 1: "Ah", 2: "Kc", 3: "Qc"})
    play(game, states, "pass:4h", "Ah@b2", "Kc@b2", "Qc@b2")
    assert team_colours(states) is None
    assert scores(game, states) == [0, 0]
    play(game, states, f"{card}@b1")
    assert team_colours(states) == colours


def test_PD1_a_forced_pass_does_not_fix_the_colours_either() -> None:
    game = piles_game()
    states = start(game, castle=HIGH_BLACK_CASTLE, hands={0: LOW_RED_HAND, 1: "Kh", 2: "Kd", 3: "Qh"})
    play(game, states, "pass:Ah", "Kh@a1", "Kd@a1", "Qh@a1")
    assert team_colours(states) is None
    play(game, states, "2h@a1")
    assert team_colours(states) == ("red", "black")
    assert scores(game, states) == [1, 9]  # the eight of clubs, and the passed ace of hearts


def test_PD2_if_the_opener_never_places_a_card_both_score_0() -> None:
    game = piles_game(opener_may_pass=True, reward="win")
    states = game.new_states(game_seeds(20))
    rng = np.random.default_rng(2)
    while not game.terminated(states).any():
        masks = game.action_mask(states)
        if (states["to_move"] == 0).all():
            masks[:, :PASS] = 0
        game.step(states, [int(rng.choice(np.flatnonzero(mask))) for mask in masks])
        assert (game.scores(states) == 0).all()
    assert game.terminated(states).all()
    assert (game.rewards(states) == 0).all()


def after_a_pass(game: PilesGame, passed: str) -> States:
    """Seat 1 (of four, or of two) has passed and lost a card; a few turns have followed."""
    states = start(game, castle=centre("2h", 4), hands={0: "Ah 3h", 1: "Qs Js"})
    play(game, states, "Ah@b2", f"pass:{passed}")
    return states


def knows_the_card(game: PilesGame, before: Views, after: Views) -> list[bool]:
    """By seat, whether the views of two games that differ in the passed card alone differ."""
    return [not same_view(before[seat], after[seat]) for seat in range(game.num_players)]


def test_PD3_the_card_taken_from_a_passer_is_shown_to_all() -> None:
    game = piles_game()
    queen, jack = (views_of_all(game, after_a_pass(game, card)) for card in ("Qs", "Js"))
    assert knows_the_card(game, queen, jack) == [True] * 4
    for view in queen:
        assert cards_in(view["taken"][2]) == {"Qs"}
        assert card_text(view["history_card"][1]) == "Qs"
        assert "Qs" not in cards_in(view["unseen"])


def test_PD3_hidden_only_passer_and_taker_know_the_card() -> None:
    game = piles_game(passed_cards="hidden")
    queen, jack = (views_of_all(game, after_a_pass(game, card)) for card in ("Qs", "Js"))
    assert knows_the_card(game, queen, jack) == [False, True, True, False]
    for seat in SEATS:
        assert ("Qs" in cards_in(queen[seat]["unseen"])) == (seat in (0, 3))
        assert (cards_in(queen[seat]["taken"][2]) == {"Qs"}) == (seat in (1, 2))


def test_PD3_hidden_observations_do_not_tell_the_card_either() -> None:
    game = piles_game(passed_cards="hidden")
    seats = np.arange(4)
    queen, jack = (game.observe(game.view(np.repeat(after_a_pass(game, card), 4), seats))[0] for card in ("Qs", "Js"))
    assert [not np.array_equal(one, other) for one, other in zip(queen, jack, strict=True)] == [
        False,
        True,
        True,
        False,
    ]


def test_PD3_hidden_cards_stay_hidden_in_the_turns_that_follow() -> None:
    game = piles_game(passed_cards="hidden")
    moves = ("pass:Kc", "pass:Kd", "3h@b2")
    hands = {0: "Ah 3h", 1: "Qs Js", 2: "Kc", 3: "Kd"}
    views = []
    for card in ("Qs", "Js"):
        states = start(game, castle=centre("2h", 4), hands=hands)
        play(game, states, "Ah@b2", f"pass:{card}", *moves)
        views.append(views_of_all(game, states))
    assert knows_the_card(game, views[0], views[1]) == [False, True, True, False]


def test_PD3_with_two_players_nothing_is_hidden_by_the_option() -> None:
    game = piles_game(num_players=2, passed_cards="hidden")
    queen, jack = (views_of_all(game, after_a_pass(game, card)) for card in ("Qs", "Js"))
    assert knows_the_card(game, queen, jack) == [True, True]


@pytest.mark.parametrize("passed_cards", ["shown", "hidden"])
def test_PD3_hands_and_stock_are_hidden_in_either_case(passed_cards: str) -> None:
    game = piles_game(num_players=2, passed_cards=passed_cards)
    one = start(game, castle=centre("2h", 4), hands={0: "Ah", 1: "Qs"}, stock="Js Ks")
    other = start(game, castle=centre("2h", 4), hands={0: "Ah", 1: "Js"}, stock="Qs Ks")
    assert knows_the_card(game, views_of_all(game, one), views_of_all(game, other)) == [False, True]


@pytest.mark.parametrize("num_players", [4, 2])
def test_PD4_the_opener_is_player_0_unless_the_options_say_otherwise(num_players: int) -> None:
    game = piles_game(num_players=num_players)
    assert (game.current_player(game.new_states(game_seeds(20))) == 0).all()
    assert mover(game, game.reset_state(4, {})) == 0
    for opener in range(num_players):
        assert mover(game, game.reset_state(4, {"opener": opener})) == opener
        assert (
            mover(game, game.reset_state(4, {"deal": piles_deal(num_players=num_players), "opener": opener})) == opener
        )
        assert mover(game, game.reset_state(4, {"deal": piles_deal(num_players=num_players, opener=opener)})) == opener


@pytest.mark.parametrize("opener", [-1, 4, "0", 1.5])
def test_PD4_the_opener_must_be_a_seat(opener: Any) -> None:
    with pytest.raises(ValueError, match="opener"):
        piles_game().reset_state(0, {"opener": opener})


@pytest.mark.parametrize("options", all_options(), ids=str)
def test_PD5_passing_is_always_legal_otherwise(options: dict[str, Any]) -> None:
    game = piles_game(**options)
    for states in play_out(game, game.new_states(game_seeds(20)), piles_weights(game, passing=5.0), 5):
        masks, running = game.action_mask(states), ~game.terminated(states)
        assert masks[running].any(axis=1).all()
        may_pass = masks[running, PASS].astype(bool)
        can_place = masks[running, :PASS].any(axis=1)
        bound = (states["turn"][running] == 0) & can_place & (not options["opener_may_pass"])
        assert (may_pass == ~bound).all()
