"""What a seat may know, and nothing else: views, observations, possible worlds, rewards; and what observations mean."""

import itertools
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from cardtable import records
from cardtable.cards import card_symbol, card_text, parse_card
from cardtable.game import Game, States
from cardtable.records import GameRecord
from tests.playing import (
    CASES,
    PILES_CASES,
    WALL_CASES,
    Case,
    contents,
    is_uniform,
    observe_all,
    over,
    play_games,
    positions,
    rows,
    walk,
)
from tests.reference.wall import WallReference, complete_deck, is_joker

PASS = 312
SAMPLES = 20_000
HIDDEN_PASS_CASES = [case for case in PILES_CASES if case.options.get("passed_cards") == "hidden"]
FOUR_SEATS_HIDDEN = Case(PILES_CASES[0].package, {"passed_cards": "hidden"})
TEAMS_OF_TWO = Case(PILES_CASES[0].package, {})


# --- where hidden cards lie -------------------------------------------------------------------------------------------


def members(cards: Any) -> list[int]:
    """The cards of a set that is stored as bits."""
    return [card for card in range(52) if int(cards) >> card & 1]


def as_bits(cards: Any) -> int:
    return sum(1 << int(card) for card in cards)


Place = tuple[str, int]  # ("hand", seat), ("stock", k), ("lost", turn), ("deck", k) or ("taken", 0)


def passes(state: np.void) -> Iterator[tuple[int, int, int]]:
    """The passes of a game of Piles: turn, passer and the player who took a card from him."""
    num_players = int(state["num_players"])
    for turn in range(int(state["turn"])):
        if state["history"][turn] == PASS:
            passer = (int(state["opener"]) + turn) % num_players
            yield turn, passer, (passer + 1) % num_players


def hidden_places(state: np.void, seat: int) -> list[tuple[Place, int]]:
    """By the rules: each place whose card a seat does not know, with that card."""
    return _hidden_in_wall(state, seat) if "deck" in (state.dtype.names or ()) else _hidden_in_piles(state, seat)


def _hidden_in_piles(state: np.void, seat: int) -> list[tuple[Place, int]]:
    places: list[tuple[Place, int]] = []
    for other in range(int(state["num_players"])):
        if other != seat:
            places += [(("hand", other), card) for card in members(state["hand"][other])]
    if state["num_players"] == 2 and state["turn"] < 20:
        places += [(("stock", k), int(card)) for k, card in enumerate(state["stock"])]
    if state["passed_hidden"] and state["to_move"] >= 0:
        for turn, passer, taker in passes(state):
            if seat not in (passer, taker):
                places.append((("lost", turn), int(state["history_card"][turn])))
    return places


def _hidden_in_wall(state: np.void, seat: int) -> list[tuple[Place, int]]:
    deck = range(int(state["deck_top"]), int(state["deck_length"]))
    places: list[tuple[Place, int]] = [(("deck", k), int(state["deck"][k])) for k in deck]
    if state["phase"] == 2 and not state["from_discard"] and state["to_move"] != seat:
        places.append((("taken", 0), int(state["in_hand"])))
    return places


def with_hidden_cards(states: States, places: list[Place], cards: list[int]) -> States:
    """A copy of a position [1] with other cards on hidden places."""
    changed = states.copy()
    state = changed[0]
    lost = {number for kind, number in places if kind == "lost"}
    for turn, _, taker in passes(state) if lost else ():
        if turn in lost:
            state["taken"][taker] &= ~(1 << int(state["history_card"][turn]))
    for other in {number for kind, number in places if kind == "hand"}:
        state["hand"][other] = 0
    for (kind, number), card in zip(places, cards, strict=True):
        if kind == "hand":
            state["hand"][number] |= 1 << card
        elif kind == "lost":
            state["history_card"][number] = card
        elif kind == "taken":
            state["in_hand"] = card
        else:
            state[kind][number] = card
    for turn, _, taker in passes(state) if lost else ():
        if turn in lost:
            state["taken"][taker] |= 1 << int(state["history_card"][turn])
    return changed


def permuted(states: States, seat: int, rng: np.random.Generator) -> States:
    """A position [1] that looks the same to a seat: hidden cards, seed and what is past and was never seen changed."""
    hidden = hidden_places(states[0], seat)
    cards = rng.permutation(np.array([card for _, card in hidden], np.int64)).tolist()
    changed = with_hidden_cards(states, [place for place, _ in hidden], cards)
    changed["seed"] = rng.integers(1 << 63)
    if "deck" in (states.dtype.names or ()):
        _swap_copies(changed[0], rng)
    elif changed[0]["num_players"] == 2 and changed[0]["turn"] >= 20:
        for first in range(2):  # the order in which a player was dealt the cards of the stock
            changed[0]["stock"][first::2] = rng.permutation(changed[0]["stock"][first::2])
    return changed


def _swap_copies(state: np.void, rng: np.random.Generator) -> None:
    """Exchange the copies of each card in two decks, and the jokers, wherever they lie."""
    new_id = np.arange(112)
    for card in range(52):
        if state["num_decks"] == 2 and rng.random() < 0.5:
            new_id[[card, card + 52]] = new_id[[card + 52, card]]
    jokers = 104 + np.arange(int(state["jokers_per_deck"]) * int(state["num_decks"]))
    new_id[jokers] = rng.permutation(jokers)
    for pile in (state["deck"], state["discard"]):
        pile[pile >= 0] = new_id[pile[pile >= 0]]
    if state["in_hand"] >= 0:
        state["in_hand"] = new_id[int(state["in_hand"])]


def check_cards(game: Game, states: States) -> None:
    """P1, W1: all cards of the game are there, each once, where its history says."""
    if game.name == "piles-v0":
        record = game.to_record(states[0])
        again = records.verify(GameRecord.from_json(record.to_json()))
        for name in again.dtype.names or ():
            assert name == "last_margin" or (again[name] == states[name]).all(), (
                f"{name} does not follow from the moves"
            )
        return
    assert Counter(looks_in_wall(states[0])) == Counter(text for text, _ in full_deck(game))


def full_deck(game: Game) -> list[tuple[str, int]]:
    return complete_deck(game.rules.num_decks, game.rules.jokers_per_deck)


def looks_in_wall(state: np.void) -> Iterator[str]:
    """All cards of a game of Wall: in the deck, the discard pile, the hand and the walls."""
    yield from (card_text(int(card)) for card in state["deck"][state["deck_top"] : state["deck_length"]])
    yield from (card_text(int(card)) for card in state["discard"][: state["discard_size"]])
    if state["in_hand"] >= 0:
        yield card_text(int(state["in_hand"]))
    for cell in state["wall"][state["wall"] != 0].tolist():
        yield "XX" if cell & 16 else card_text((cell >> 5) * 13 + (cell & 15) - 1)


# --- nothing hidden shows ---------------------------------------------------------------------------------------------


def look(game: Game, states: States, seat: int) -> tuple[bytes, bytes, bytes]:
    """All that a seat gets of a position [1]: view, observation and mask."""
    view = game.view(states, [seat])
    observation, mask = game.observe(view)
    return view.tobytes(), observation.tobytes(), mask.tobytes()


@over(CASES)
def test_hidden_cards_do_not_show(case: Case) -> None:
    game, rng = case.game, np.random.default_rng(1)
    moved = shown_to_others = 0
    for states in itertools.chain(rows(positions(game, 24, seed=1)), rows(play_games(game, 3, seed=2).end)):
        for seat in range(game.num_players):
            changed = permuted(states, seat, rng)
            check_cards(game, changed)
            assert look(game, changed, seat) == look(game, states, seat)
            if not game.terminated(states)[0]:
                assert (game.rewards(changed) == game.rewards(states)).all()
            new_seed_alone = states.copy()
            new_seed_alone["seed"] = changed["seed"]
            moved += contents(changed) != contents(new_seed_alone)
            shown_to_others += any(
                look(game, changed, other) != look(game, states, other) for other in range(game.num_players)
            )
    assert moved > 12 * game.num_players, "the permuter does nothing"
    if case.is_piles or game.num_players > 1:
        assert shown_to_others > 0, "the comparison cannot fail"


@over(CASES)
def test_the_seed_does_not_show(case: Case) -> None:
    """Two games that differ in their seed alone look the same to everybody."""
    game = case.game
    states = positions(game, 32, seed=3)
    changed = states.copy()
    changed["seed"] += np.uint64(1)
    for seat in range(game.num_players):
        seats = np.full(32, seat)
        assert game.view(states, seats).tobytes() == game.view(changed, seats).tobytes()
    assert "seed" not in (game.view_dtype.names or ())


def test_PD3_who_knows_the_card_lost_in_a_pass() -> None:
    for case in PILES_CASES:
        game, kept_secret = case.game, 0
        for states in itertools.chain(rows(positions(game, 20, seed=4)), rows(play_games(game, 2, seed=4).end)):
            state, over_now = states[0], bool(game.terminated(states)[0])
            for turn, passer, taker in passes(state):
                card = int(state["history_card"][turn])
                for seat in range(game.num_players):
                    view = game.view(states, [seat])[0]
                    open_to_all = game.rules.passed_cards == "shown" or over_now
                    knows = open_to_all or seat in (passer, taker)
                    kept_secret += not knows
                    assert view["history_card"][turn] == (card if knows else -2)
                    assert bool(int(view["taken"][taker]) >> card & 1) == knows
                    assert bool(int(view["unseen"]) >> card & 1) == (not knows)
        assert bool(kept_secret) == (game.rules.passed_cards == "hidden" and game.num_players == 4)


@over(HIDDEN_PASS_CASES)
def test_rewards_say_nothing_of_hidden_passed_cards(case: Case) -> None:
    """Whoever moves: a game with other cards lost out of his sight gives the same rewards for the same action."""
    game, rng, exchanged = case.game, np.random.default_rng(5), 0
    for states in rows(positions(game, 150, seed=5)):
        seat = int(game.current_player(states)[0])
        changed = permuted(states, seat, rng)
        lost = [place for place, _ in hidden_places(states[0], seat) if place[0] == "lost"]
        differs = [k for _, k in lost if states["history_card"][0, k] != changed["history_card"][0, k]]
        action = int(rng.choice(np.flatnonzero(game.action_mask(states)[0])))
        for each in (states, changed):
            game.step(each, [action])
        if not game.terminated(states)[0]:
            assert (game.rewards(states) == game.rewards(changed)).all()
            exchanged += bool(differs)
    assert bool(exchanged) == (game.num_players == 4)


def test_hidden_passed_cards_count_in_the_last_reward_only() -> None:
    """The dense rewards before the last one are those of a game in which nobody had taken anything."""
    game = Case(PILES_CASES[0].package, {"passed_cards": "hidden", "reward": "dense"}).game
    counted = 0
    for seed in range(20):
        walked = walk(game, seed)
        rewards = [float(game.rewards(states)[0, 0]) for states in walked.states[1:]]
        unpaid = walked.states[-2].copy()
        unpaid["taken"] = 0
        before_the_last = game.scores(unpaid)[0]
        assert sum(rewards[:-1]) == before_the_last[0] - before_the_last[1]
        final = game.scores(walked.states[-1])[0]
        assert sum(rewards) == final[0] - final[1]
        counted += abs(rewards[-1]) > 3
    assert counted


# --- possible worlds --------------------------------------------------------------------------------------------------


def worlds_of(game: Game, states: States, seat: int, count: int, first_seed: int = 0) -> States:
    """Possible games [count] as a seat sees a position [1]."""
    views = np.repeat(game.view(states, [seat]), count)
    return game.determinize(views, np.arange(first_seed, first_seed + count, dtype=np.uint64))


@over(CASES)
def test_a_possible_world_claims_no_reward_that_was_not_given(case: Case) -> None:
    """Its `rewards` before it is played on: what the last action brought in truth, or nothing."""
    game = case.game
    for states in rows(positions(game, 20, seed=11)):
        worlds = worlds_of(game, states, int(game.current_player(states)[0]), 2)
        given = game.rewards(worlds)
        assert not given.any() or (given == game.rewards(states)).all()


def looks_the_same(game: Game, worlds: States, states: States, seat: int) -> bool:
    """Whether a seat sees the same in all these games as in a position [1]."""
    views = game.view(worlds, np.full(len(worlds), seat))
    return views.tobytes() == game.view(states, [seat]).tobytes() * len(worlds)


@over(CASES)
def test_a_possible_world_looks_the_same_and_can_be_played(case: Case) -> None:
    game, samples, varied = case.game, 6, 0
    for states in rows(positions(game, 16, seed=6)):
        for seat in range(game.num_players):
            worlds = worlds_of(game, states, seat, samples, first_seed=9)
            assert looks_the_same(game, worlds, states, seat)
            assert worlds["seed"].tolist() == list(range(9, 9 + samples))
            game.check_state(worlds)
            for world in rows(worlds):
                check_cards(game, world)
            assert contents(worlds_of(game, states, seat, 1, first_seed=9)) == contents(worlds[:1])
            hidden = {hidden_key(world, seat) for world in worlds}
            many = len(hidden_places(states[0], seat)) >= 12
            assert len(hidden) > samples // 2 or not many, "the same world again and again"
            varied += many
            assert game.playout(worlds, np.arange(samples, dtype=np.uint64)) >= samples
            assert game.terminated(worlds).all()
    assert varied >= game.num_players


def hidden_key(state: np.void, seat: int) -> tuple[Any, ...]:
    """What is hidden from a seat, in a form that is the same for the same world."""
    hands: dict[int, int] = {}
    others = []
    for (kind, number), card in hidden_places(state, seat):
        if kind == "hand":
            hands[number] = hands.get(number, 0) | 1 << card
        else:
            others.append((kind, card_text(card)))
    return (*sorted(hands.items()), *others)


# --- the distribution of possible worlds ------------------------------------------------------------------------------


def every_world(game: Game, states: States, seat: int) -> list[tuple[Any, ...]]:
    """The keys of all worlds that fit what a seat sees, by trying all orders of the hidden cards."""
    places, cards = zip(*hidden_places(states[0], seat), strict=True)
    looks = sorted(range(len(cards)), key=lambda k: card_text(cards[k]))
    found = set()
    for order in itertools.permutations(looks):
        world = with_hidden_cards(states, list(places), [cards[k] for k in order])
        if game.name == "wall-v0" or fits_the_first_turn(game, world[0]):
            found.add(hidden_key(world[0], seat))
    return sorted(found, key=repr)


def fits_the_first_turn(game: Game, state: np.void) -> bool:
    """PD1: whether the opener, if he passed in his first turn, could place none of the cards that he held then."""
    if game.rules.opener_may_pass or state["history"][0] != PASS:
        return True
    opener = int(state["opener"])
    held = int(state["hand"][opener]) | int(state["played"][opener])
    lost = [int(state["history_card"][turn]) for turn, passer, _ in passes(state) if passer == opener]
    return set(members(held) + lost) <= unplaceable(tuple(state["castle"].tolist()))


def is_red(card: int) -> bool:
    return card_text(card)[1] in "hd"


def rank(card: int) -> int:
    return "A23456789TJQK".index(card_text(card)[0]) + 1


def neighbours(pile: int) -> list[int]:
    """P7."""
    return [other for other in range(12) if abs(other // 4 - pile // 4) + abs(other % 4 - pile % 4) == 1]


def total(tops: Sequence[int], pile: int) -> int:
    """P8."""
    return rank(tops[pile]) + sum(1 if is_red(tops[n]) == is_red(tops[pile]) else -1 for n in neighbours(pile))


@cache
def unplaceable(tops: tuple[int, ...]) -> set[int]:
    """P9, P10: the cards that cannot be placed on any pile."""
    return {
        card
        for card in range(52)
        if not any(is_red(card) == is_red(tops[pile]) or rank(card) > total(tops, pile) for pile in range(12))
    }


def small_positions(case: Case, most: int, seat_of: Callable[[np.void], int]) -> Iterator[tuple[States, int]]:
    """Positions of many games in which a seat does not know a few cards."""
    for seed in itertools.count():
        for states in walk(case.game, seed).states[-14:-1]:
            seat = seat_of(states[0])
            if 3 <= len(hidden_places(states[0], seat)) <= most:
                yield states, seat
                break


def check_distribution(game: Game, states: States, seat: int) -> int:
    """Possible worlds must be drawn alike; return how many there are."""
    expected = every_world(game, states, seat)
    drawn: Counter[bytes] = Counter()
    for first in range(0, SAMPLES, 1_000):
        worlds = worlds_of(game, states, seat, 1_000, first)
        worlds["seed"] = 0
        drawn.update(world.tobytes() for world in worlds)
    samples: Counter[Any] = Counter()
    for data, number in drawn.items():
        samples[hidden_key(np.frombuffer(data, game.state_dtype)[0], seat)] += number
    assert set(samples) == set(expected)
    assert is_uniform(np.array([samples[key] for key in expected]))
    return len(expected)


@pytest.mark.parametrize("ahead", [0, 1, 2, 3])
@over([TEAMS_OF_TWO, FOUR_SEATS_HIDDEN])
def test_possible_worlds_of_piles_are_equally_likely(case: Case, ahead: int) -> None:
    found = small_positions(case, 6, lambda state: (int(state["to_move"]) + ahead) % 4)
    counts = [check_distribution(case.game, *next(found)) for _ in range(2)]
    assert max(counts) > 5


@pytest.mark.parametrize("mover", [True, False])
@over([WALL_CASES[0], WALL_CASES[6], WALL_CASES[10]])
def test_possible_worlds_of_wall_are_equally_likely(case: Case, mover: bool) -> None:
    num_players = case.game.num_players
    found = (
        (states, seat)
        for states, seat in small_positions(case, 5, lambda state: (int(state["to_move"]) + (not mover)) % num_players)
        if mover or (states["phase"][0] == 2 and not states["from_discard"][0])
    )
    assert check_distribution(case.game, *next(found)) > 5


@over(CASES)
def test_hidden_cards_are_equally_likely_everywhere(case: Case) -> None:
    """In large positions: each hidden card lies on each hidden place equally often."""
    game = case.game
    for states in rows(positions(game, 1, seed=7)):
        seat = (int(game.current_player(states)[0]) + 1) % game.num_players
        places = hidden_places(states[0], seat)
        if len(places) < 3:
            continue
        where: dict[str, Counter[Place]] = {}
        kinds = Counter(card_text(card) for _, card in places)
        for world in worlds_of(game, states, seat, 1_000):
            start = int(states["deck_top"][0]) if game.name == "wall-v0" else 0
            for (kind, number), card in hidden_places(world, seat):
                at = (kind, number + start if kind == "deck" else number)
                where.setdefault(card_text(card), Counter())[at] += 1
        sizes = Counter(place for place, _ in places)
        assert set(where) == set(kinds)
        for text, counts in where.items():
            assert set(counts) <= set(sizes)
            if len(sizes) > 1:
                found = np.array([counts[place] for place in sizes])
                assert found.sum() == 1_000 * kinds[text]
                assert is_uniform(found, np.array([float(size) for size in sizes.values()]), sigmas=5)


# --- PD1: an opener who could place nothing ---------------------------------------------------------------------------


def deal_without_a_first_placement(opener: int, num_players: int) -> dict[str, Any]:
    """A Castle of high red cards; the opener holds low black ones."""
    cards = [rank + suit for rank in "A23456789TJQK" for suit in "hdcs"]
    castle = [card for card in cards if card[1] in "hd" and card[0] in "89TJQK"]
    low = [card for card in cards if card[1] in "cs" and card[0] in "A2345"]
    rest = [card for card in cards if card not in castle + low]
    hands = [rest[10 * k : 10 * k + 10] for k in range(num_players - 1)]
    hands.insert(opener, low)
    return {"opener": opener, "hands": hands, "castle": castle, "stock": rest[10 * num_players - 10 :]}


def after_a_forced_pass(game: Game, opener: int, seed: int) -> States:
    states = game.deal_state(deal_without_a_first_placement(opener, game.num_players), seed)
    if not game.rules.opener_may_pass:
        assert np.flatnonzero(game.action_mask(states)[0]).tolist() == [PASS]
    game.step(states, [PASS])
    return states


@over([case for case in PILES_CASES if not case.game.rules.opener_may_pass])
def test_PD1_cards_of_an_opener_who_could_place_nothing(case: Case) -> None:
    game, count = case.game, 50
    opener = len(case.options) % 2
    walked = walk(game, 1, after_a_forced_pass(game, opener, seed=1))
    for states in walked.states[0:20:6]:
        could_not = unplaceable(tuple(states["castle"][0].tolist()))
        assert len(could_not) == 20
        for seat in range(game.num_players):
            worlds = worlds_of(game, states, seat, count)
            assert all(fits_the_first_turn(game, world) for world in worlds)
            assert looks_the_same(game, worlds, states, seat)
            check_cards(game, worlds[:1])
            if seat != opener:
                likely = likely_cards(worlds, opener)
                assert set(likely) <= could_not
                if states["turn"][0] < 10:
                    unseen = members(game.view(states, [seat])["unseen"][0])
                    assert set(likely) == could_not & set(unseen), "all that he may hold turn up"
                    assert len({int(world["hand"][opener]) for world in worlds}) > count // 2


def likely_cards(worlds: States, seat: int) -> Counter[int]:
    return Counter(card for world in worlds for card in members(world["hand"][seat]))


@over([TEAMS_OF_TWO, FOUR_SEATS_HIDDEN, Case(PILES_CASES[0].package, {"opener_may_pass": True})])
def test_PD1_possible_worlds_are_equally_likely(case: Case) -> None:
    """Near the end of a game in which the opener could place nothing at first, where that excludes something."""
    game, checked = case.game, 0
    unrestricted = Case(case.package, {**case.options, "opener_may_pass": True}).game
    for seed in range(1_000):
        walked = walk(game, seed, after_a_forced_pass(game, 0, seed))
        states = walked.states[-7 if game.rules.passed_cards == "shown" else -5]
        seat = 1 + seed % 3
        if not 3 <= len(hidden_places(states[0], seat)) <= 6:
            continue
        some, all_worlds = (len(every_world(each, states, seat)) for each in (game, unrestricted))
        if 1 < some < all_worlds or (game == unrestricted and some > 5):
            assert check_distribution(game, states, seat) == some
            checked += 1
        if checked == 2:
            return
    raise AssertionError("no position was found")


# --- the symmetries of Piles ------------------------------------------------------------------------------------------

OTHER_COLOUR = str.maketrans("hcds", "chsd")
PILES = [column + row for row in "123" for column in "abcd"]


@dataclass(frozen=True)
class Map:
    """A map of Piles onto itself, carried out on a record."""

    swap_colours: bool = False
    mirror_columns: bool = False
    mirror_rows: bool = False
    seats: int = 0  # by how many seats everybody moves on

    def card(self, text: str) -> str:
        return text[0] + text[1].translate(OTHER_COLOUR) if self.swap_colours else text

    def pile(self, name: str) -> str:
        column = "dcba"["abcd".index(name[0])] if self.mirror_columns else name[0]
        return column + ("321"["123".index(name[1])] if self.mirror_rows else name[1])

    def move(self, text: str) -> str:
        if text.startswith("pass:"):
            return "pass:" + self.card(text[5:])
        card, pile = text.split("@")
        return f"{self.card(card)}@{self.pile(pile)}"

    def record(self, record: GameRecord) -> GameRecord:
        deal = record.deal
        num_players = len(deal["hands"])
        castle = {self.pile(pile): self.card(card) for pile, card in zip(PILES, deal["castle"], strict=True)}
        hands = [[self.card(card) for card in deal["hands"][seat - self.seats]] for seat in range(num_players)]
        mapped = {
            "opener": (deal["opener"] + self.seats) % num_players,
            "hands": hands,
            "castle": [castle[pile] for pile in PILES],
            "stock": [self.card(card) for card in deal["stock"]],
        }
        return replace(record, deal=mapped, moves=[self.move(move) for move in record.moves], scores=None)


def mapped_games(game: Game, mapping: Map) -> Iterator[tuple[States, States]]:
    """Positions of random games and what they are mapped onto; the last of each game is its end."""
    for seed in range(3):
        record = game.to_record(walk(game, seed).states[-1][0])
        yield from zip(records.replay(record), records.replay(mapping.record(record)), strict=True)


def returned(game: Game, states: States) -> list[float]:
    return [float(reward) for reward in game.rewards(states)[0]]


@pytest.mark.parametrize("seats", [1, 2, 3])
@over(PILES_CASES)
def test_moving_all_seats_on_changes_nothing_that_they_see(case: Case, seats: int) -> None:
    game = case.game
    if seats >= game.num_players:
        seats = 1
    for states, moved in mapped_games(game, Map(seats=seats)):
        for before, after in zip(observe_all(game, states), observe_all(game, moved), strict=True):
            assert (np.roll(before, seats, axis=0) == after).all()
        assert game.current_player(moved)[0] == (game.current_player(states)[0] + seats) % game.num_players or (
            game.terminated(states)[0] and game.terminated(moved)[0]
        )
        assert returned(game, moved) == np.roll(returned(game, states), seats).tolist()


@over(WALL_CASES)
def test_moving_all_seats_of_wall_on_changes_nothing_that_they_see(case: Case) -> None:
    game = case.game
    record = game.to_record(walk(game, 1).states[-1][0])
    for seats in range(1, game.num_players):
        starting_player = (record.deal["starting_player"] + seats) % game.num_players
        moved_record = replace(record, deal={**record.deal, "starting_player": starting_player}, scores=None)
        positions_of_both = zip(records.replay(record), records.replay(moved_record), strict=True)
        for states, moved in itertools.islice(positions_of_both, 0, None, 5):
            for before, after in zip(observe_all(game, states), observe_all(game, moved), strict=True):
                assert (np.roll(before, seats, axis=0) == after).all()
            assert returned(game, moved) == np.roll(returned(game, states), seats).tolist()


@over(PILES_CASES)
def test_swapping_colours_swaps_kinds_and_nothing_else(case: Case) -> None:
    """Checked piece by piece, not by `symmetries`."""
    game = case.game
    for states, swapped in mapped_games(game, Map(swap_colours=True)):
        seen, masks = observe_all(game, states)
        after, masks_after = observe_all(game, swapped)
        expected = game.layout.split(seen.copy())
        for name in ("hand", "unseen", "top", "under", "taken", "played"):
            expected[name][:] = np.roll(expected[name], 13, axis=-1)
        expected["last_action"][..., :26] = np.roll(expected["last_action"][..., :26], 13, axis=-1)
        expected["colour"][:] = expected["colour"][..., [0, 2, 1]]
        for name, piece in game.layout.split(after).items():
            assert (piece == expected[name]).all(), name
        by_pile = masks[:, :PASS].reshape(-1, 12, 26)
        assert (np.roll(by_pile, 13, axis=2) == masks_after[:, :PASS].reshape(-1, 12, 26)).all()
        assert (masks[:, PASS] == masks_after[:, PASS]).all()
        assert returned(game, swapped) == returned(game, states)


@over(PILES_CASES)
def test_symmetries_are_those_of_the_game(case: Case) -> None:
    game: Any = case.game
    found = set()
    for symmetry in game.symmetries:
        for permutation, size in ((symmetry.observation, game.layout.size), (symmetry.action, game.num_actions)):
            assert sorted(permutation.tolist()) == list(range(size))
        words = [name in symmetry.name for name in ("swap colours", "mirror columns", "mirror rows")]
        found.add(tuple(words))
        mapping = Map(*words)
        for states, mapped in itertools.islice(mapped_games(game, mapping), 0, None, 4):
            (seen, masks), (seen_after, masks_after) = observe_all(game, states), observe_all(game, mapped)
            assert (seen[:, symmetry.observation] == seen_after).all()
            assert (masks[:, symmetry.action] == masks_after).all()
            assert returned(game, mapped) == returned(game, states)
            for action in np.flatnonzero(game.action_mask(states)[0])[::9]:
                text, image = game.action_to_text(states[0], action), int(symmetry.inverse_action[action])
                assert symmetry.action[image] == action
                if action != PASS:  # of two cards of a kind the record names the one with the lowest id
                    assert game.action_name(image) == game.action_name(
                        game.text_to_action(mapped[0], mapping.move(text))
                    )
                else:
                    assert image == PASS
    assert len(found) == len(game.symmetries) == 8
    assert game.symmetries[0].name == "identity"
    assert (game.symmetries[0].action == np.arange(PASS + 1)).all()


# --- what an observation means: Piles ---------------------------------------------------------------------------------


def kind(text: str) -> int:
    """Colour * 13 + rank - 1, red first."""
    return (0 if text[1] in "hd" else 13) + "A23456789TJQK".index(text[0])


def counts(cards: Sequence[str]) -> NDArray[np.int64]:
    return np.bincount([kind(card) for card in cards], minlength=26)


def one_hot(size: int, *indices: int) -> NDArray[np.int64]:
    vector = np.zeros(size, np.int64)
    vector[list(indices)] = 1
    return vector


@dataclass
class Table:
    """A game of Piles laid out from its record, without rules."""

    hands: list[list[str]]
    piles: list[list[str]]
    turns: list[tuple[int, str, str]]  # seat, the card that left his hand, and a pile's name or ""
    stock: list[str]
    opener: int

    @classmethod
    def of(cls, record: GameRecord) -> "Table":
        deal = json.loads(record.to_json())["deal"]
        table = cls(deal["hands"], [[card] for card in deal["castle"]], [], deal["stock"], deal["opener"])
        for number, move in enumerate(record.moves):
            seat = (table.opener + number) % len(table.hands)
            card, pile = (move[5:], "") if move.startswith("pass:") else move.split("@")
            table.hands[seat].remove(card)
            table.turns.append((seat, card, pile))
            if pile:
                table.piles[PILES.index(pile)].append(card)
            if number == 19 and table.stock:
                for k in range(2):
                    table.hands[(table.opener + k) % 2] = table.stock[k::2]
                table.stock = []
        return table

    @property
    def tops(self) -> list[str]:
        return [pile[-1] for pile in self.piles]

    def taken_by(self, side: int) -> list[tuple[int, str]]:
        """What a team (0, 1) took from passers: the passer and the card."""
        return [(seat, card) for seat, card, pile in self.turns if not pile and (seat + 1) % 2 == side]

    def colour_of(self, side: int) -> str:
        """P5, PD1: "red", "black", or "" before the opener has placed a card."""
        first = next((card for seat, card, pile in self.turns if pile and seat == self.opener), None)
        if first is None:
            return ""
        return "red" if (first[1] in "hd") == (self.opener % 2 == side) else "black"

    def points_of(self, side: int, taken: list[str]) -> int:
        """P13, P14."""
        own = self.colour_of(side)
        if not own:
            return 0
        is_own = {card: (card[1] in "hd") == (own == "red") for pile in self.piles for card in pile}
        won = [card for pile in self.piles if is_own[pile[-1]] for card in pile]
        scoring = [card for card in won + taken if (card[1] in "hd") != (own == "red")]
        return sum({"A": 9, "K": 4, "Q": 3, "J": 2}.get(card[0], 1) for card in scoring)


def piles_pieces(game: Game, states: States, me: int) -> dict[str, NDArray[np.int64]]:
    """Every piece of an observation, from the moves alone."""
    table = Table.of(game.to_record(states[0]))
    seats = [(me + k) % game.num_players for k in range(game.num_players)]
    over_now = len(table.turns) == 40
    open_to_me = game.rules.passed_cards == "shown" or over_now or game.num_players == 2

    def known(passer: int) -> bool:
        return open_to_me or me in (passer, (passer + 1) % game.num_players)

    sides = (me % 2, 1 - me % 2)
    taken = [[card for passer, card in table.taken_by(side) if known(passer)] for side in sides]
    hidden = [sum(not known(passer) for passer, _ in table.taken_by(side)) for side in sides]
    seen = table.hands[me] + [card for pile in table.piles for card in pile] + taken[0] + taken[1]
    last = []
    for seat in seats[1:]:
        row = np.zeros(39, np.int64)
        turn = next((turn for turn in reversed(table.turns) if turn[0] == seat), None)
        if turn is not None:
            _, card, pile = turn
            row[26 + (PILES.index(pile) if pile else 12)] = 1
            if pile or known(seat):
                row[kind(card)] = 1
        last.append(row)
    tops = [parse_card(card) for card in table.tops]
    to_move = (table.opener + len(table.turns)) % game.num_players
    return {
        "hand": counts(table.hands[me]),
        "unseen": 2 - counts(seen),
        "top": np.array([one_hot(26, kind(card)) for card in table.tops]),
        "under": np.array([counts(pile[:-1]) for pile in table.piles]),
        "total": np.array([total(tops, pile) for pile in range(12)]),
        "taken": np.array([counts(cards) for cards in taken]),
        "hidden_taken": np.array(hidden),
        "played": np.array(
            [counts([card for who, card, pile in table.turns if pile and who == seat]) for seat in seats]
        ),
        "last_action": np.array(last),
        "hand_size": np.array([len(table.hands[seat]) for seat in seats]),
        "stock_size": np.array([len(table.stock)]),
        "to_move": one_hot(len(seats), *([] if over_now else [seats.index(to_move)])),
        "colour": one_hot(3, ["", "red", "black"].index(table.colour_of(me % 2))),
        "turns_left": np.array([40 - len(table.turns)]),
        "points": np.array([table.points_of(side, cards) for side, cards in zip(sides, taken, strict=True)]),
    }


@over(PILES_CASES)
def test_pieces_of_a_piles_observation(case: Case) -> None:
    game = case.game
    deals = game.new_states(np.arange(2, dtype=np.uint64))
    check_pieces(game, [*rows(positions(game, 40, seed=8)), *rows(play_games(game, 3, seed=8).end), *rows(deals)])


def check_pieces(game: Game, many: list[States]) -> None:
    pieces = piles_pieces if game.name == "piles-v0" else wall_pieces
    varied: dict[str, set[bytes]] = {piece.name: set() for piece in game.layout.pieces}
    for states in many:
        observations = observe_all(game, states)[0]
        for seat in range(game.num_players):
            expected = pieces(game, states, seat)
            found = game.layout.split(observations[seat])
            assert list(found) == list(expected)
            for name, values in expected.items():
                assert found[name].shape == values.shape, name
                assert (found[name] == values).all(), f"{name} of seat {seat}: {found[name]}, not {values}"
                varied[name].add(values.tobytes())
    constant = {name for name, values in varied.items() if len(values) < 2}
    may_be = {"hidden_taken", "stock_size", "to_move"}
    if getattr(game.rules, "max_width", None) == 1:
        may_be |= {"wanted", "score"}
    assert constant <= may_be, f"{constant} are always the same"


def test_cells_of_the_rendered_castle() -> None:
    """Pile row * 4 + column stands in that row and column of the board, and so do its total and what lies beneath."""
    for case in (PILES_CASES[0], PILES_CASES[1]):
        game = case.game
        for states in rows(positions(game, 15, seed=9)):
            for text in (game.render(states[0]), game.render_view(game.view(states, [1])[0])):
                cells = board_cells(text)
                assert list(cells) == PILES
                table = Table.of(game.to_record(states[0]))
                observed = game.layout.split(observe_all(game, states)[0][0])
                for pile, name in enumerate(PILES):
                    head, beneath = cells[name]
                    assert head == f"{card_symbol(parse_card(table.tops[pile]))} = {observed['total'][pile]}"
                    assert observed["top"][pile, kind(table.tops[pile])] == 1
                    expected = sorted(card_symbol(parse_card(card)) for card in table.piles[pile][:-1])
                    assert sorted(beneath) == expected


def board_cells(text: str) -> dict[str, tuple[str, list[str]]]:
    """Read a board: by pile name what stands in the head of its cell, and the words beneath."""
    cells: dict[str, tuple[str, list[str]]] = {}
    row = ""
    for line in text.splitlines():
        found = re.fullmatch(r" ([123 ]) \|(.*)\|", line)
        if found is None:
            continue
        columns = [part.strip() for part in found[2].split("|")]
        assert len(columns) == 4
        row = found[1].strip() or row
        for column, part in zip("abcd", columns, strict=True):
            if found[1].strip():
                cells[column + row] = (part, [])
            else:
                cells[column + row][1].extend(part.split())
    return cells


# --- what an observation means: Wall ----------------------------------------------------------------------------------


def wall_table(game: Game, states: States) -> WallReference:
    """The slow reference, brought to the same position by the record's moves."""
    record = game.to_record(states[0])
    starts = [move.removeprefix("start ") for move in record.moves if move.startswith("start ")]
    copies: Counter[str] = Counter()
    deck = []
    for text in (*starts, *record.deal["deck"]):
        deck.append((text, copies[text] % game.rules.num_decks))
        copies[text] += 1
    rules = game.rules
    table = WallReference(
        num_players=rules.num_players,
        starting_player=record.deal["starting_player"],
        deck=deck,
        num_decks=rules.num_decks,
        jokers_per_deck=rules.jokers_per_deck,
        max_width=rules.max_width,
        ends=rules.ends,
    )
    for move in record.moves:
        table.play(move[:7] if move.startswith("start ") else move)
    return table


def rank_index(card: tuple[str, int]) -> int:
    return 13 if is_joker(card) else "A23456789TJQK".index(card[0][0])


def level_cells(game: Game, table: WallReference, seat: int) -> list[NDArray[np.int64]]:
    """By level: what each place counts as a support, 0 for no card."""
    width = game.rules.width_limit
    levels = [np.zeros(width - level, np.int64) for level in range(game.rules.num_levels + 1)]
    for level, cards in enumerate(table.walls[seat]):
        for position in cards:
            levels[level][position] = table.support_value(seat, level, position)
    return levels


def wanted_ranks(game: Game, levels: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    """W9, W10: by level and rank, at how many places a card fits."""
    wanted = np.zeros((len(levels), 13), np.int64)
    width = int((levels[0] > 0).sum())
    if 0 < width < game.rules.width_limit:
        for end in (levels[0][0], levels[0][width - 1]):
            wanted[0, : 14 - end] += 1
    for level in range(1, len(levels)):
        for position, (left, right) in enumerate(itertools.pairwise(levels[level - 1].tolist())):
            if left and right and left + right <= 14 and not levels[level][position]:
                wanted[level, (left + right - 1) % 13] += 1  # 14 is an ace
    return wanted


def wall_pieces(game: Game, states: States, me: int) -> dict[str, NDArray[np.int64]]:
    """Every piece of an observation, from the slow reference."""
    table, num_players, num_cards = wall_table(game, states), game.num_players, game.rules.num_cards
    seats = [(me + k) % num_players for k in range(num_players)]
    choosing = not all(table.walls)
    from_discard = table.in_hand is not None and game.moves_to_text(states[0])[-1] == "take"
    hidden = table.in_hand is not None and table.to_move != me and not from_discard
    unseen = [*table.deck, *([table.in_hand] if hidden else [])]
    pile = [rank_index(card) for card in table.discard]
    walls = [level_cells(game, table, seat) for seat in seats]
    return {
        "phase": one_hot(3, 0 if choosing else 1 if table.in_hand is None else 2),
        "to_move": one_hot(num_players, *([] if table.to_move is None else [seats.index(table.to_move)])),
        "in_hand": one_hot(14, *(rank_index(card) for card in [table.in_hand] if card is not None and not hidden)),
        "from_discard": np.array([from_discard], np.int64),
        "wall": np.array([np.concatenate(levels) for levels in walls]),
        "wanted": np.array([wanted_ranks(game, levels) for levels in walls]),
        "unseen": np.bincount([rank_index(card) for card in unseen], minlength=14),
        "discard": np.array([number + 1 for number in pile] + [0] * (num_cards - len(pile))),
        "discard_top": np.array([one_hot(14, *pile[k : k + 1]) for k in range(4)]),
        "score": np.array([min(127, table.scores()[seat]) for seat in seats]),
        "idle": np.array([table.idle_turns]),
        "deck_size": np.array([len(table.deck)]),
        "discard_size": np.array([len(pile)]),
        "width": np.array([len(table.walls[seat][0]) if table.walls[seat] else 0 for seat in seats]),
    }


@over(WALL_CASES)
def test_pieces_of_a_wall_observation(case: Case) -> None:
    game = case.game
    deals = game.new_states(np.arange(2, dtype=np.uint64))
    check_pieces(game, [*rows(positions(game, 18, seed=10)), *rows(play_games(game, 3, seed=10).end), *rows(deals)])


@pytest.mark.parametrize(("score", "shown"), [(126, 126), (127, 127), (128, 127), (757, 127)])
def test_scores_above_127_are_shown_as_127(score: int, shown: int) -> None:
    game = WALL_CASES[1].game
    states = game.new_states(np.zeros(1, np.uint64))
    states["score"][0, 0] = score
    assert game.layout.split(observe_all(game, states)[0][0])["score"].tolist() == [shown]
    assert game.scores(states).tolist() == [[score]]


@over(CASES)
def test_the_layout_describes_the_observation(case: Case) -> None:
    game = case.game
    layout = game.layout
    assert layout.size == sum(piece.size for piece in layout.pieces) == game.observation_shape[0]
    flat: Any = np.arange(2 * layout.size).reshape(2, -1)
    parts = layout.split(flat)
    assert np.concatenate([part.reshape(2, -1) for part in parts.values()], axis=1).tolist() == flat.tolist()
    for piece in layout.pieces:
        assert parts[piece.name].shape == (2, *piece.shape)
        assert layout.low[layout.slices[piece.name]].tolist() == [piece.low] * piece.size
        assert layout.high[layout.slices[piece.name]].tolist() == [piece.high] * piece.size
        assert f"`{piece.name}`" in layout.table() and piece.meaning in layout.table()
    assert len(layout.table().splitlines()) == len(layout.pieces) + 2
    with pytest.raises(ValueError, match=f"{layout.size} numbers, not 3"):
        layout.split(np.zeros(3, np.int8))
