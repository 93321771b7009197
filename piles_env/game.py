"""Piles as a `cardtable.game.Game`."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cardtable import chance
from cardtable.bits import widen
from cardtable.cards import FIRST_JOKER, card_symbol, card_text, parse_card
from cardtable.game import Game, Ints, LaneBuffers, States, Views, check_choice, check_options, make_rules
from cardtable.kernel import Record, inner, kernel
from piles_env import actions, encoding, engine, policies, render
from piles_env.careful import careful_action
from piles_env.engine import NUM_ACTIONS, NUM_KINDS, PASS
from piles_env.rules import REWARDS, PilesRules
from piles_env.state import HAND_SIZE, NUM_PILES, NUM_TURNS, STATE, STOCK_SIZE, VIEW
from piles_env.view import determinize, write_view

_NUM_CARDS = 52
_WIN, _DENSE = REWARDS.index("win"), REWARDS.index("dense")


@inner
def _deal_one(s: Record, seed: np.uint64, deck: NDArray[np.int8]) -> None:
    for card in range(_NUM_CARDS):
        deck[card] = card
    chance.shuffle(deck, _NUM_CARDS, seed, chance.DEAL)
    s.seed = seed
    engine.start(s, deck)


@kernel
def _deal(states: States, seeds: NDArray[np.uint64]) -> None:
    deck = np.empty(_NUM_CARDS, np.int8)
    for lane in range(len(states)):
        _deal_one(states[lane], seeds[lane], deck)


@inner
def _refuses(s: Record, action: int) -> bool:
    return s.to_move < 0 or action < 0 or action >= NUM_ACTIONS or not engine.is_legal(s, s.hand[s.to_move], action)


@kernel
def _first_illegal(states: States, chosen: Ints, first: int, last: int) -> int:
    for lane in range(first, last):
        if _refuses(states[lane], chosen[lane]):
            return lane
    return -1


@inner
def _write_rewards(s: Record, mode: int, rewards: NDArray[np.float64]) -> None:
    reward = 0
    if mode == _DENSE:
        reward = engine.public_margin(s) - s.last_margin
    elif s.to_move < 0:
        reward = engine.public_margin(s)
        if mode == _WIN:
            reward = (reward > 0) - (reward < 0)
    for seat in range(s.num_players):
        rewards[seat] = reward if seat % 2 == 0 else -reward


@kernel
def _rewards(states: States, mode: int, rewards: NDArray[np.float64]) -> None:
    for lane in range(len(states)):
        _write_rewards(states[lane], mode, rewards[lane])


@kernel
def _try_step(states: States, chosen: Ints, mode: int, rewards: NDArray[np.float64]) -> int:
    for lane in range(len(states)):
        if _refuses(states[lane], chosen[lane]):
            return lane
    for lane in range(len(states)):
        s = states[lane]
        s.last_margin = engine.public_margin(s)
        engine.play(s, chosen[lane])
        _write_rewards(s, mode, rewards[lane])
    return -1


@kernel
def _step_lanes(
    states: States,
    chosen: Ints,
    lanes: NDArray[np.uint64],
    episodes: Ints,
    mode: int,
    observations: NDArray[np.int8],
    masks: NDArray[np.int8],
    players: NDArray[np.int8],
    rewards: NDArray[np.float64],
    acted_rewards: NDArray[np.float64],
    terminated: NDArray[np.bool_],
    final_observations: NDArray[np.int8],
    final_scores: Ints,
    first: int,
    last: int,
) -> None:
    scratch = np.zeros(1, VIEW)
    deck = np.empty(_NUM_CARDS, np.int8)
    for lane in range(first, last):
        v = scratch[0]  # in the loop, as `scratch` is freed after its last use
        s = states[lane]
        seat = widen(s.to_move)
        if mode == _DENSE:
            s.last_margin = engine.public_margin(s)
        engine.play(s, chosen[lane])
        _write_rewards(s, mode, rewards[lane])
        acted_rewards[lane] = rewards[lane, seat]
        terminated[lane] = s.to_move < 0
        if s.to_move < 0:
            write_view(s, seat, v)
            encoding.write_observation(v, final_observations[lane])
            for team in range(2):
                final_scores[lane, team] = engine.team_points(s, team, engine.taken_by(s, team))
            episodes[lane] += 1
            s.opener = 0  # PD4
            _deal_one(s, chance.draw(lanes[lane], chance.EPISODE, episodes[lane]), deck)
        players[lane] = s.to_move
        write_view(s, widen(s.to_move), v)
        encoding.write_observation(v, observations[lane])
        engine.write_mask(s, v.hand, masks[lane])


@kernel
def _scores(states: States, scores: Ints) -> None:
    for lane in range(len(states)):
        for team in range(2):
            scores[lane, team] = engine.team_points(states[lane], team, engine.taken_by(states[lane], team))


@kernel
def _masks(states: States, masks: NDArray[np.int8]) -> None:
    for lane in range(len(states)):
        s = states[lane]
        if s.to_move < 0:
            masks[lane] = 0
        else:
            engine.write_mask(s, s.hand[s.to_move], masks[lane])


@kernel
def _views(states: States, seats: Ints, views: Views) -> None:
    for lane in range(len(states)):
        write_view(states[lane], seats[lane], views[lane])


@kernel
def _observe(views: Views, observations: NDArray[np.int8], masks: NDArray[np.int8]) -> None:
    for lane in range(len(views)):
        v = views[lane]
        encoding.write_observation(v, observations[lane])
        if v.to_move == v.seat:
            engine.write_mask(v, v.hand, masks[lane])
        else:
            masks[lane] = 0


@kernel
def _show(states: States, seats: Ints, observations: NDArray[np.int8], masks: NDArray[np.int8]) -> None:
    scratch = np.zeros(1, VIEW)
    for lane in range(len(states)):
        s = states[lane]
        v = scratch[0]  # in the loop, as `scratch` is freed after its last use
        write_view(s, seats[lane], v)
        encoding.write_observation(v, observations[lane])
        if s.to_move == seats[lane]:
            engine.write_mask(s, v.hand, masks[lane])
        else:
            masks[lane] = 0


@kernel
def _determinize(views: Views, seeds: NDArray[np.uint64], states: States) -> None:
    for lane in range(len(views)):
        determinize(views[lane], seeds[lane], states[lane])


@inner
def _play_on(s: Record, action: int) -> None:
    """Carry out an action of a playout; the last one so that `rewards` tell what it brought."""
    if s.turn == NUM_TURNS - 1:
        s.last_margin = engine.public_margin(s)
    engine.play(s, action)


@kernel
def _playout_random(states: States, seeds: NDArray[np.uint64]) -> int:
    decisions = 0
    for lane in range(len(states)):
        s = states[lane]
        while s.to_move >= 0:
            _play_on(s, engine.random_action(s, s.hand[s.to_move], seeds[lane], chance.PLAYOUT, widen(s.turn)))
            decisions += 1
    return decisions


@kernel
def _playout_greedy(states: States, seeds: NDArray[np.uint64]) -> int:
    decisions = 0
    for lane in range(len(states)):
        s = states[lane]
        while s.to_move >= 0:
            _play_on(s, policies.greedy_action(s, s.hand[s.to_move], seeds[lane], chance.PLAYOUT, widen(s.turn)))
            decisions += 1
    return decisions


@kernel
def _random_actions(views: Views, seeds: NDArray[np.uint64], actions: Ints) -> None:
    for lane in range(len(views)):
        v = views[lane]
        actions[lane] = engine.random_action(v, v.hand, seeds[lane], chance.TIE, 0)


@kernel
def _greedy_actions(views: Views, seeds: NDArray[np.uint64], actions: Ints) -> None:
    for lane in range(len(views)):
        v = views[lane]
        actions[lane] = policies.greedy_action(v, v.hand, seeds[lane], chance.TIE, 0)


@kernel
def _playout_careful(states: States, seeds: NDArray[np.uint64]) -> int:
    decisions = 0
    for lane in range(len(states)):
        s = states[lane]
        while s.to_move >= 0:
            _play_on(s, careful_action(s, s.hand[s.to_move], seeds[lane], chance.PLAYOUT, widen(s.turn)))
            decisions += 1
    return decisions


@kernel
def _careful_actions(views: Views, seeds: NDArray[np.uint64], actions: Ints) -> None:
    for lane in range(len(views)):
        v = views[lane]
        actions[lane] = careful_action(v, v.hand, seeds[lane], chance.TIE, 0)


_PLAYOUTS = {"random": _playout_random, "greedy": _playout_greedy, "careful": _playout_careful}
_POLICIES = {"random": _random_actions, "greedy": _greedy_actions, "careful": _careful_actions}


class PilesGame(Game):
    """Piles by given rules (default: `PilesRules()`, four players); see `cardtable.game.Game` for the methods."""

    name = "piles-v0"
    policies = tuple(_POLICIES)
    scoring_clause = "P13 and P14"
    ending_clause = "P12: a game has 40 turns"
    state_dtype = STATE
    rule_fields = ("num_players", "opener_may_pass", "passed_hidden")
    view_dtype = VIEW

    def __init__(self, rules: PilesRules | None = None) -> None:
        self.rules: PilesRules = rules if rules is not None else PilesRules()
        self.num_players = self.rules.num_players
        self.teams = tuple(tuple(range(team, self.num_players, 2)) for team in range(2))
        self.num_actions = NUM_ACTIONS
        self.layout = encoding.layout(self.num_players)
        self.max_decisions = NUM_TURNS
        self.return_range = (-1.0, 1.0) if self.rules.reward == "win" else (-54.0, 54.0)
        self.zero_sum = True
        self._reward_mode = REWARDS.index(self.rules.reward)
        self._blank = np.zeros(1, STATE)
        self._blank["num_players"] = self.num_players
        self._blank["opener_may_pass"] = self.rules.opener_may_pass
        self._blank["passed_hidden"] = self.rules.passed_cards == "hidden"

    @property
    def symmetries(self) -> tuple[actions.Symmetry, ...]:
        """The maps of the game onto itself, the identity first; see `piles_env.actions.symmetries`."""
        return actions.symmetries(self.num_players)

    # --- playing ------------------------------------------------------------------------------------------------------

    def new_states(self, seeds: NDArray[np.uint64], out: States | None = None) -> States:
        states = self.empty_states(len(seeds)) if out is None else out
        states[:] = self._blank
        _deal(states, np.asarray(seeds, np.uint64))
        return states

    def reset_state(self, seed: int, options: Mapping[str, Any]) -> States:
        """A new game [1]. Options: `opener`, a seat (PD4); `deal`, as in a record."""
        check_options(options, ("opener", "deal"))
        opener = options.get("opener")
        if opener is not None:
            self._check_opener(opener)
        if "deal" in options:
            deal = options["deal"]
            if opener is not None and isinstance(deal, Mapping):
                deal = {**deal, "opener": opener}
            return self.deal_state(deal, seed)
        states = self._blank.copy()
        states["opener"] = opener or 0
        _deal(states, np.array([seed], np.uint64))
        return states

    def _check_opener(self, opener: Any) -> None:
        if not isinstance(opener, (int, np.integer)) or isinstance(opener, bool) or not 0 <= opener < self.num_players:
            raise ValueError(f"PD4: opener must be a seat from 0 to {self.num_players - 1}, not {opener!r}")

    def first_illegal(self, states: States, actions: Ints, first: int, last: int) -> int:
        return _first_illegal(states, actions, first, last)

    def try_step(self, states: States, actions: Ints, rewards: NDArray[np.float64]) -> int:
        return _try_step(states, actions, self._reward_mode, rewards)

    def step_lanes(self, buffers: LaneBuffers, actions: Ints, first: int, last: int) -> None:
        b = buffers
        _step_lanes(
            b.states, actions, b.lanes, b.episodes, self._reward_mode, b.observations, b.masks, b.players, b.rewards,
            b.acted_rewards, b.terminated, b.final_observations, b.final_scores, first, last,
        )  # fmt: skip

    def rewards(self, states: States, out: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
        rewards = np.empty((len(states), self.num_players)) if out is None else out
        _rewards(states, self._reward_mode, rewards)
        return rewards

    def scores(self, states: States) -> Ints:
        """Points of both teams if the games ended now, int64 [B, 2] (P13, P14)."""
        scores = np.empty((len(states), 2), np.int64)
        _scores(states, scores)
        return scores

    def action_mask(self, states: States, out: NDArray[np.int8] | None = None) -> NDArray[np.int8]:
        masks = np.empty((len(states), NUM_ACTIONS), np.int8) if out is None else out
        _masks(states, masks)
        return masks

    # --- looking ------------------------------------------------------------------------------------------------------

    def _view(self, states: States, seats: Ints, views: Views) -> None:
        _views(states, seats, views)

    def observe(
        self, views: Views, out: tuple[NDArray[np.int8], NDArray[np.int8]] | None = None
    ) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
        if out is None:
            out = np.empty((len(views), self.layout.size), np.int8), np.empty((len(views), NUM_ACTIONS), np.int8)
        _observe(views, *out)
        return out

    def show(
        self, states: States, seats: Ints, out: tuple[NDArray[np.int8], NDArray[np.int8]] | None = None
    ) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
        if out is None:
            out = np.empty((len(states), self.layout.size), np.int8), np.empty((len(states), NUM_ACTIONS), np.int8)
        _show(states, seats, *out)
        return out

    def determinize(self, views: Views, seeds: NDArray[np.uint64]) -> States:
        states = self.empty_states(len(views))
        _determinize(views, np.asarray(seeds, np.uint64), states)
        return states

    def playout(self, states: States, seeds: NDArray[np.uint64], policy: str = "random") -> int:
        check_choice("policy", policy, self.policies)
        return _PLAYOUTS[policy](states, np.asarray(seeds, np.uint64))

    def policy_actions(self, views: Views, seeds: NDArray[np.uint64], policy: str) -> Ints:
        check_choice("policy", policy, self.policies)
        actions = np.empty(len(views), np.int64)
        _POLICIES[policy](views, np.asarray(seeds, np.uint64), actions)
        return actions

    # --- text ---------------------------------------------------------------------------------------------------------

    def action_name(self, action: int) -> str:
        return actions.action_name(action)

    def explain(self, state: np.void, action: int) -> str:
        seat = int(state["to_move"])
        hand = int(state["hand"][seat])
        if action == PASS:
            return "PD1: the opener's first turn must place a card when he can (option opener_may_pass)"
        pile, kind = divmod(action, NUM_KINDS)
        if not engine.kinds_in(hand) >> kind & 1:
            return f"P6: player_{seat} holds no {actions.KIND_NAMES[kind]}; he holds {render.card_list(hand)}"
        top = int(state["top"][pile])
        total = engine.total_value(state["top"], engine.red_piles(state["top"]), pile)
        return (
            f"P10: rank {kind % 13 + 1} is not higher than {total}, the total value of {card_symbol(top)} "
            f"on {actions.PILE_NAMES[pile]}, which is of the other colour"
        )

    def action_to_text(self, state: np.void, action: int) -> str:
        if action == PASS:
            return "pass"
        pile, kind = divmod(int(action), NUM_KINDS)
        card = engine.card_of_kind(int(state["hand"][state["to_move"]]), kind)
        return f"{card_text(card)}@{actions.PILE_NAMES[pile]}"

    def text_to_action(self, state: np.void, text: str) -> int:
        if text == "pass":
            return PASS
        card, pile = self._parse_placement(state, text)
        return actions.encode(pile, engine.kind_of(card))

    def _parse_placement(self, state: np.void, text: str) -> tuple[int, int]:
        card_name, at, pile_name = text.partition("@")
        if not at or pile_name not in actions.PILE_NAMES:
            raise ValueError(
                f"P6: {text!r} is no move; write a card, @ and a pile, as in 'Th@b2' (piles are a1 to d3), or 'pass'"
            )
        card = parse_card(card_name)
        seat = int(state["to_move"])
        if seat < 0:
            raise ValueError("P12: the game is over")
        hand = int(state["hand"][seat])
        if card == FIRST_JOKER or not hand >> card & 1:
            raise ValueError(f"P6: player_{seat} does not hold {card_name}; he holds {render.card_list(hand)}")
        return card, actions.PILE_NAMES.index(pile_name)

    def render(self, state: np.void) -> str:
        return render.render(state, viewer=None)

    def render_view(self, view: np.void) -> str:
        return render.render(view, viewer=int(view["seat"]))

    # --- records ------------------------------------------------------------------------------------------------------

    def deal_to_json(self, state: np.void) -> dict[str, Any]:
        opener = int(state["opener"])
        hands: list[list[str]] = [[] for _ in range(self.num_players)]
        stock = [int(card) for card in state["stock"] if card >= 0]
        for card in range(_NUM_CARDS):
            owner = self._dealt_to(state, card)
            if owner is not None and card not in stock:
                hands[owner].append(card_text(card))
        return {
            "opener": opener,
            "hands": hands,
            "castle": [card_text(card) for card in state["castle"]],
            "stock": [card_text(card) for card in stock],
        }

    def _dealt_to(self, state: np.void, card: int) -> int | None:
        """The seat that holds a card, placed it or lost it in a pass."""
        for seat in range(self.num_players):
            if (int(state["hand"][seat]) | int(state["played"][seat])) >> card & 1:
                return seat
            if int(state["taken"][seat]) >> card & 1:
                return (seat - 1) % self.num_players
        return None

    def moves_to_text(self, state: np.void) -> list[str]:
        moves = []
        for action, card in zip(state["history"], state["history_card"], strict=True):
            if action < 0:
                break
            name = card_text(int(card))
            moves.append(f"pass:{name}" if action == PASS else f"{name}@{actions.PILE_NAMES[action // NUM_KINDS]}")
        return moves

    def deal_state(self, deal: Any, seed: int, moves: Sequence[str] = ()) -> States:
        if not isinstance(deal, Mapping) or set(deal) != {"opener", "hands", "castle", "stock"}:
            raise ValueError("P3: a deal of Piles has opener, hands, castle and stock")
        self._check_opener(deal["opener"])
        sizes = {
            "hands": [HAND_SIZE] * self.num_players,
            "castle": [NUM_PILES],
            "stock": [STOCK_SIZE if self.num_players == 2 else 0],
        }
        groups: dict[str, list[list[int]]] = {}
        for name, expected in sizes.items():
            given = deal[name] if name == "hands" else [deal[name]]
            if not isinstance(given, Sequence) or not all(isinstance(cards, (list, tuple)) for cards in given):
                raise ValueError(f"P3: {name} must be given as lists of cards")
            if [len(cards) for cards in given] != expected:
                raise ValueError(f"P3: {name}: {[len(cards) for cards in given]} cards are given, {expected} are dealt")
            groups[name] = [[parse_card(card) for card in cards] for cards in given]
        (castle,), (stock,) = groups["castle"], groups["stock"]
        _check_deck([card for hand in groups["hands"] for card in hand] + castle + stock)
        # The order in which `engine.start` deals: one by one, from the opener on.
        opener = int(deal["opener"])
        dealt = [
            groups["hands"][(opener + k) % self.num_players][k // self.num_players]
            for k in range(HAND_SIZE * self.num_players)
        ]
        states = self._blank.copy()
        states["seed"] = seed
        states["opener"] = opener
        _start(states, np.array(dealt + castle + stock, np.int8))
        return states

    def replay_move(self, states: States, move: str) -> None:
        state = states[0]
        if state["to_move"] < 0:
            raise ValueError("P12: the game is over")
        name, _, taken = move.partition(":")
        if name == "pass":
            hand = int(state["hand"][state["to_move"]])
            card = parse_card(taken) if taken else None
            if card is None or card == FIRST_JOKER or not hand >> card & 1:
                raise ValueError(
                    f"P11: after 'pass:' stands the card taken from the passer, one of {render.card_list(hand)}"
                )
            action = PASS
        else:
            card, pile = self._parse_placement(state, move)
            action = actions.encode(pile, engine.kind_of(card))
        if not engine.is_legal(state, int(state["hand"][state["to_move"]]), action):
            raise ValueError(self.explain(state, action))
        _replay(states, action, card)


@kernel
def _start(states: States, deck: NDArray[np.int8]) -> None:
    engine.start(states[0], deck)


@kernel
def _replay(states: States, action: int, card: int) -> None:
    s = states[0]
    s.last_margin = engine.public_margin(s)
    if action == PASS:
        engine.take_from_passer(s, card)
    else:
        engine.place(s, card, action // NUM_KINDS)


def _check_deck(cards: Sequence[int]) -> None:
    """P1: every card once, no joker."""
    for card in cards:
        if card == FIRST_JOKER:
            raise ValueError("P1: Piles has no jokers")
        if cards.count(card) > 1:
            raise ValueError(f"P1: {card_text(card)} is dealt twice")


def make_game(**options: Any) -> PilesGame:
    """`PilesGame` with options by name; see `PilesRules`.

    Raises:
        ValueError: if an option is unknown or its value is not allowed.
    """
    return PilesGame(make_rules(PilesRules, options))
