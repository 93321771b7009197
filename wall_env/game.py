"""Wall as a `cardtable.game.Game`."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cardtable import chance
from cardtable.bits import prefetch, widen
from cardtable.cards import DECK_SIZE, FIRST_JOKER, RANKS, card_symbol, card_text, parse_card
from cardtable.game import Game, Ints, LaneBuffers, States, Views, check_choice, check_options, make_rules
from cardtable.kernel import Record, inner, kernel
from wall_env import actions, encoding, engine, policies, render
from wall_env.builder import WORK, builder_action
from wall_env.engine import DISCARD, DRAW, LEFT, LOWEST_START, RIGHT, TAKE
from wall_env.rules import REWARDS, WallRules
from wall_env.state import CHOOSE, MAX_LEVELS, MAX_WIDTH, RULE_FIELDS, STATE, TURN, VALUE, VIEW
from wall_env.view import determinize, write_view

_MARGIN, _WIN, _SCORE, _DENSE = range(4)
assert REWARDS == ("margin", "win", "score", "dense")


# With many lanes a step waits for memory: records are large, and what it reads of one is scattered over some lines of
# 64 bytes. So these are fetched some lanes ahead: the small fields, and the lowest levels of the first two walls.
_AHEAD = 4
_FIELD_START, _WALL_START = (STATE.fields[name][1] for name in ("width", "wall"))  # type: ignore[index]
_OFTEN_READ = np.array(
    [
        0,
        *range(_FIELD_START, _WALL_START, 64),
        *(_WALL_START + seat * MAX_LEVELS * MAX_WIDTH + byte for seat in range(2) for byte in range(0, 256, 64)),
    ]
)


@inner
def _deal_one(s: Record, seed: np.uint64) -> None:
    """W3: a shuffled deck and a random starting player."""
    count = 0
    for card in range(DECK_SIZE * s.num_decks):
        s.deck[count] = card
        count += 1
    for joker in range(s.jokers_per_deck * s.num_decks):
        s.deck[count] = FIRST_JOKER + joker
        count += 1
    chance.shuffle(s.deck, count, seed, chance.DEAL)
    s.deck_length = count
    s.seed = seed
    s.starting_player = chance.below(seed, chance.STARTING_PLAYER, count, widen(s.num_players))
    engine.start(s)


@kernel
def _deal(states: States, seeds: NDArray[np.uint64]) -> None:
    for lane in range(len(states)):
        _deal_one(states[lane], seeds[lane])


@inner
def _refuses(s: Record, action: int, num_actions: int) -> bool:
    return s.to_move < 0 or action < 0 or action >= num_actions or not engine.is_legal(s, engine.deck_size(s), action)


@kernel
def _first_illegal(states: States, chosen: Ints, num_actions: int, first: int, last: int) -> int:
    for lane in range(first, last):
        if _refuses(states[lane], chosen[lane], num_actions):
            return lane
    return -1


@inner
def _write_rewards(s: Record, mode: int, rewards: NDArray[np.float64]) -> None:
    num_players = s.num_players
    others = max(1, num_players - 1)
    rewards[:] = 0.0
    if mode == _DENSE:
        if s.last_gain > 0:
            for seat in range(num_players):
                rewards[seat] = s.last_gain if seat == s.last_seat else -s.last_gain / others
        return
    if s.to_move >= 0:
        return
    total, best, winners = 0, 0, 0
    for seat in range(num_players):
        total += s.score[seat]
        if s.score[seat] > best:
            best, winners = s.score[seat], 0
        winners += s.score[seat] == best
    for seat in range(num_players):
        score = s.score[seat]
        if mode == _SCORE:
            rewards[seat] = score
        elif mode == _MARGIN:
            rewards[seat] = score - (total - score) / others
        elif winners < num_players:  # W13: the winners share +1, the others -1
            rewards[seat] = 1.0 / winners if score == best else -1.0 / (num_players - winners)


@kernel
def _rewards(states: States, mode: int, rewards: NDArray[np.float64]) -> None:
    for lane in range(len(states)):
        _write_rewards(states[lane], mode, rewards[lane])


@inner
def _write_mask(r: Record, deck_size: int, buffer: Ints, mask: NDArray[np.int8]) -> None:
    mask[:] = 0
    for k in range(engine.legal_actions(r, deck_size, buffer)):
        mask[buffer[k]] = 1


@kernel
def _try_step(states: States, chosen: Ints, num_actions: int, mode: int, rewards: NDArray[np.float64]) -> int:
    for lane in range(len(states)):
        if _refuses(states[lane], chosen[lane], num_actions):
            return lane
    for lane in range(len(states)):
        engine.play(states[lane], chosen[lane])
        _write_rewards(states[lane], mode, rewards[lane])
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
    buffer = np.empty(masks.shape[1], np.int64)
    for lane in range(first, last):
        if lane + _AHEAD < last:
            for line in range(len(_OFTEN_READ)):
                prefetch(states, lane + _AHEAD, _OFTEN_READ[line])
        v = scratch[0]  # in the loop, as `scratch` is freed after its last use
        s = states[lane]
        seat = widen(s.to_move)
        engine.play(s, chosen[lane])
        _write_rewards(s, mode, rewards[lane])
        acted_rewards[lane] = rewards[lane, seat]
        terminated[lane] = s.to_move < 0
        if s.to_move < 0:
            write_view(s, seat, v)
            encoding.write_observation(v, final_observations[lane])
            for player in range(s.num_players):
                final_scores[lane, player] = s.score[player]
            episodes[lane] += 1
            _deal_one(s, chance.draw(lanes[lane], chance.EPISODE, episodes[lane]))
        players[lane] = s.to_move
        write_view(s, widen(s.to_move), v)
        encoding.write_observation(v, observations[lane])
        _write_mask(s, engine.deck_size(s), buffer, masks[lane])


@kernel
def _masks(states: States, masks: NDArray[np.int8]) -> None:
    buffer = np.empty(masks.shape[1], np.int64)
    for lane in range(len(states)):
        s = states[lane]
        if s.to_move < 0:
            masks[lane] = 0
        else:
            _write_mask(s, engine.deck_size(s), buffer, masks[lane])


@kernel
def _views(states: States, seats: Ints, views: Views) -> None:
    for lane in range(len(states)):
        write_view(states[lane], seats[lane], views[lane])


@kernel
def _observe(views: Views, observations: NDArray[np.int8], masks: NDArray[np.int8]) -> None:
    buffer = np.empty(masks.shape[1], np.int64)
    for lane in range(len(views)):
        v = views[lane]
        encoding.write_observation(v, observations[lane])
        if v.to_move == v.seat:
            _write_mask(v, v.deck_size, buffer, masks[lane])
        else:
            masks[lane] = 0


@kernel
def _show(states: States, seats: Ints, observations: NDArray[np.int8], masks: NDArray[np.int8]) -> None:
    scratch = np.zeros(1, VIEW)
    buffer = np.empty(masks.shape[1], np.int64)
    for lane in range(len(states)):
        s = states[lane]
        v = scratch[0]  # in the loop, as `scratch` is freed after its last use
        write_view(s, seats[lane], v)
        encoding.write_observation(v, observations[lane])
        if s.to_move == seats[lane]:
            _write_mask(s, engine.deck_size(s), buffer, masks[lane])
        else:
            masks[lane] = 0


@kernel
def _determinize(views: Views, seeds: NDArray[np.uint64], states: States) -> None:
    for lane in range(len(views)):
        determinize(views[lane], seeds[lane], states[lane])


@kernel
def _playout_random(states: States, seeds: NDArray[np.uint64], num_actions: int) -> int:
    buffer = np.empty(num_actions, np.int64)
    decisions = 0
    for lane in range(len(states)):
        s, k = states[lane], widen(0)
        while s.to_move >= 0:
            engine.play(s, engine.random_action(s, widen(engine.deck_size(s)), buffer, seeds[lane], chance.PLAYOUT, k))
            k += 1
        decisions += k
    return decisions


@kernel
def _playout_greedy(states: States, seeds: NDArray[np.uint64], num_actions: int) -> int:
    buffer = np.empty(num_actions, np.int64)
    unseen = np.empty(encoding.NUM_RANKS, np.int64)
    decisions = 0
    for lane in range(len(states)):
        s, k = states[lane], widen(0)
        while s.to_move >= 0:
            policies.count_deck(s, unseen)
            engine.play(s, policies.greedy_action(s, unseen, buffer, seeds[lane], chance.PLAYOUT, k))
            k += 1
        decisions += k
    return decisions


@kernel
def _random_actions(views: Views, seeds: NDArray[np.uint64], num_actions: int, actions: Ints) -> None:
    buffer = np.empty(num_actions, np.int64)
    for lane in range(len(views)):
        v = views[lane]
        actions[lane] = engine.random_action(v, widen(v.deck_size), buffer, seeds[lane], chance.TIE, 0)


@kernel
def _greedy_actions(views: Views, seeds: NDArray[np.uint64], num_actions: int, actions: Ints) -> None:
    buffer = np.empty(num_actions, np.int64)
    unseen = np.empty(encoding.NUM_RANKS, np.int64)
    for lane in range(len(views)):
        policies.count_unseen(views[lane], unseen)
        actions[lane] = policies.greedy_action(views[lane], unseen, buffer, seeds[lane], chance.TIE, 0)


@kernel
def _playout_builder(states: States, seeds: NDArray[np.uint64], num_actions: int) -> int:
    scratch = np.zeros(1, WORK)
    unseen = np.empty(encoding.NUM_RANKS, np.int64)
    decisions = 0
    for lane in range(len(states)):
        s, w = states[lane], scratch[0]
        while s.to_move >= 0:
            policies.count_deck(s, unseen)
            engine.play(s, builder_action(s, unseen, w))
            decisions += 1
    return decisions


@kernel
def _builder_actions(views: Views, seeds: NDArray[np.uint64], num_actions: int, actions: Ints) -> None:
    scratch = np.zeros(1, WORK)
    unseen = np.empty(encoding.NUM_RANKS, np.int64)
    for lane in range(len(views)):
        policies.count_unseen(views[lane], unseen)
        actions[lane] = builder_action(views[lane], unseen, scratch[0])


@kernel
def _play(states: States, action: int) -> None:
    engine.play(states[0], action)


_PLAYOUTS = {"random": _playout_random, "greedy": _playout_greedy, "builder": _playout_builder}
_POLICIES = {"random": _random_actions, "greedy": _greedy_actions, "builder": _builder_actions}


class WallGame(Game):
    """Wall by given rules (default: `WallRules()`, two players); see `cardtable.game.Game` for the methods."""

    name = "wall-v0"
    policies = tuple(_POLICIES)
    scoring_clause = "W2"
    ending_clause = "WD1"
    state_dtype = STATE
    rule_fields = RULE_FIELDS
    view_dtype = VIEW

    def __init__(self, rules: WallRules | None = None) -> None:
        self.rules: WallRules = rules if rules is not None else WallRules()
        rules = self.rules
        self.num_players = rules.num_players
        self.teams = tuple((seat,) for seat in range(rules.num_players))
        self.num_actions = actions.num_actions(rules)
        self.layout = encoding.layout(rules)
        self.max_decisions = rules.max_decisions
        best = float(rules.max_score)
        alone = rules.num_players == 1
        self.return_range = (
            (-1.0, 1.0) if rules.reward == "win" else (0.0 if alone or rules.reward == "score" else -best, best)
        )
        self.zero_sum = not alone and rules.reward != "score"
        self._reward_mode = REWARDS.index(rules.reward)
        self._blank = np.zeros(1, STATE)
        self._blank["history"] = -1
        self._blank["deck"] = -1
        for name, value in zip(
            RULE_FIELDS,
            (
                rules.num_players,
                rules.num_decks,
                rules.jokers_per_deck,
                rules.width_limit,
                rules.num_levels,
                rules.ends == "deck",
            ),
            strict=True,
        ):
            self._blank[name] = value

    # --- playing ------------------------------------------------------------------------------------------------------

    def new_states(self, seeds: NDArray[np.uint64], out: States | None = None) -> States:
        states = self.empty_states(len(seeds)) if out is None else out
        states[:] = self._blank
        _deal(states, np.asarray(seeds, np.uint64))
        return states

    def reset_state(self, seed: int, options: Mapping[str, Any]) -> States:
        """A new game [1]. Options: `starting_player`, a seat; `deal`, as in a record, with all cards in the deck."""
        check_options(options, ("starting_player", "deal"))
        starting_player = options.get("starting_player")
        if starting_player is not None:
            self._check_seat(starting_player)
        if "deal" in options:
            deal = options["deal"]
            if starting_player is not None and isinstance(deal, Mapping):
                deal = {**deal, "starting_player": starting_player}
            return self.deal_state(deal, seed)
        states = self._blank.copy()
        _deal(states, np.array([seed], np.uint64))
        if starting_player is not None:
            states["starting_player"] = states["to_move"] = starting_player
        return states

    def _check_seat(self, seat: Any) -> None:
        if not isinstance(seat, (int, np.integer)) or isinstance(seat, bool) or not 0 <= seat < self.num_players:
            raise ValueError(f"W3: starting_player must be a seat from 0 to {self.num_players - 1}, not {seat!r}")

    def first_illegal(self, states: States, actions: Ints, first: int, last: int) -> int:
        return _first_illegal(states, actions, self.num_actions, first, last)

    def try_step(self, states: States, actions: Ints, rewards: NDArray[np.float64]) -> int:
        return _try_step(states, actions, self.num_actions, self._reward_mode, rewards)

    def step_lanes(self, buffers: LaneBuffers, actions: Ints, first: int, last: int) -> None:
        b = buffers
        _step_lanes(
            b.states, actions, b.lanes, b.episodes, self._reward_mode, b.observations, b.masks,
            b.players, b.rewards, b.acted_rewards, b.terminated, b.final_observations, b.final_scores, first, last,
        )  # fmt: skip

    def rewards(self, states: States, out: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
        rewards = np.empty((len(states), self.num_players)) if out is None else out
        _rewards(states, self._reward_mode, rewards)
        return rewards

    def scores(self, states: States) -> Ints:
        """Points of each wall as it stands, int64 [B, P] (W2)."""
        return states["score"][:, : self.num_players].astype(np.int64)

    def action_mask(self, states: States, out: NDArray[np.int8] | None = None) -> NDArray[np.int8]:
        masks = np.empty((len(states), self.num_actions), np.int8) if out is None else out
        _masks(states, masks)
        return masks

    # --- looking ------------------------------------------------------------------------------------------------------

    def _view(self, states: States, seats: Ints, views: Views) -> None:
        _views(states, seats, views)

    def observe(
        self, views: Views, out: tuple[NDArray[np.int8], NDArray[np.int8]] | None = None
    ) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
        if out is None:
            out = np.empty((len(views), self.layout.size), np.int8), np.empty((len(views), self.num_actions), np.int8)
        _observe(views, *out)
        return out

    def show(
        self, states: States, seats: Ints, out: tuple[NDArray[np.int8], NDArray[np.int8]] | None = None
    ) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
        if out is None:
            out = np.empty((len(states), self.layout.size), np.int8), np.empty((len(states), self.num_actions), np.int8)
        _show(states, seats, *out)
        return out

    def determinize(self, views: Views, seeds: NDArray[np.uint64]) -> States:
        states = self.empty_states(len(views))
        _determinize(views, np.asarray(seeds, np.uint64), states)
        return states

    def playout(self, states: States, seeds: NDArray[np.uint64], policy: str = "random") -> int:
        check_choice("policy", policy, self.policies)
        return _PLAYOUTS[policy](states, np.asarray(seeds, np.uint64), self.num_actions)

    def policy_actions(self, views: Views, seeds: NDArray[np.uint64], policy: str) -> Ints:
        check_choice("policy", policy, self.policies)
        actions = np.empty(len(views), np.int64)
        _POLICIES[policy](views, np.asarray(seeds, np.uint64), self.num_actions, actions)
        return actions

    # --- text ---------------------------------------------------------------------------------------------------------

    def action_name(self, action: int) -> str:
        return actions.action_name(self.rules, action)

    def explain(self, state: np.void, action: int) -> str:
        seat, phase = int(state["to_move"]), int(state["phase"])
        if phase == CHOOSE:
            if action >= DRAW:
                return f"W4: player_{seat} first chooses a start card of rank 2 to 7"
            return f"W4: the deck holds no {action + LOWEST_START} any more"
        if phase == TURN:
            if action == DRAW:
                return "WD3: the deck is empty"
            if action == TAKE:
                return "WD3: the discard pile is empty"
            return f"W5: player_{seat} first draws, takes the top discard or passes"
        if action < DISCARD:
            return f"W6: player_{seat} has taken {card_symbol(int(state['in_hand']))}, which must be built or discarded"
        return self._explain_building(state, action)

    def _explain_building(self, state: np.void, action: int) -> str:
        seat, card = int(state["to_move"]), int(state["in_hand"])
        width, wall = int(state["width"][seat]), state["wall"][seat]
        if action in (LEFT, RIGHT):
            if engine.is_joker(card):
                return "W9: a joker may not widen the base"
            if width == state["width_limit"]:
                return f"WD2: the base is {width} cards wide, the most that max_width or the cards allow"
            end = int(wall[0][0 if action == LEFT else width - 1]) & VALUE
            return f"W9: {card_symbol(card)} and the end card's value {end} make more than 14"
        place = actions.decode_build(self.rules, action)
        assert place is not None
        level, position = place
        name = f"place {level}.{position}"
        if position < engine.places_on(state, seat, level):
            if wall[level][position]:
                return f"W10: {name} is taken"
            left, right = (int(wall[level - 1][p]) & VALUE for p in (position, position + 1))
            if left and right:
                if left + right > engine.HIGHEST_SUM:
                    return f"W10: the two cards below {name} make {left + right}, which no card equals"
                wanted = RANKS[engine.rank_for_sum(left + right) - 1]
                return (
                    f"W10: {card_symbol(card)} does not equal {left} + {right}, the cards below {name}; {wanted} does"
                )
        return f"W10: {name} does not lie above two adjacent cards"

    def action_to_text(self, state: np.void, action: int) -> str:
        if action < DRAW:
            where = engine.start_card(state["deck"], int(state["deck_length"]), LOWEST_START + int(action))
            return f"start {card_text(int(state['deck'][where]))}"
        return actions.action_name(self.rules, int(action))

    def text_to_action(self, state: np.void, text: str) -> int:
        word, _, rest = text.partition(" ")
        if word == "start" and rest[:1] in set("234567"):
            action = int(rest[0]) - LOWEST_START
            if len(rest) > 1 and not (state["phase"] == CHOOSE and self._start_text(state, action) == text):
                raise ValueError(
                    f"WD4: {text!r}: the start card is the copy of its rank with the lowest id in the deck"
                )
            return action
        if word == "build":
            level, _, position = rest.partition(".")
            if level.isdecimal() and position.isdecimal():
                return actions.encode_build(self.rules, int(level), int(position))
        for action, name in actions.NAMES.items():
            if text == name:
                return action
        raise ValueError(
            f"W5: {text!r} is no move; moves are 'start 5h' (ranks 2 to 7), "
            f"{', '.join(map(repr, actions.NAMES.values()))} and 'build 1.3' (level.position)"
        )

    def _start_text(self, state: np.void, action: int) -> str | None:
        if engine.start_card(state["deck"], int(state["deck_length"]), LOWEST_START + action) < 0:
            return None
        return self.action_to_text(state, action)

    def render(self, state: np.void) -> str:
        return render.render(state, viewer=None)

    def render_view(self, view: np.void) -> str:
        return render.render(view, viewer=int(view["seat"]))

    # --- records ------------------------------------------------------------------------------------------------------

    def deal_to_json(self, state: np.void) -> dict[str, Any]:
        if state["num_decisions"] < 0:
            raise ValueError("a game made from a view has no history, so it cannot be recorded")
        deck = [card_text(int(card)) for card in state["deck"][: state["deck_length"]]]
        return {"starting_player": int(state["starting_player"]), "deck": deck}

    def moves_to_text(self, state: np.void) -> list[str]:
        moves: list[str] = []
        chosen: Counter[int] = Counter()
        for action in map(int, state["history"][: state["num_decisions"]]):
            if action < DRAW:  # WD4: the copies of a rank go in the order of their ids
                card = action + LOWEST_START - 1 + 13 * chosen[action]
                chosen[action] += 1
                moves.append(f"start {card_text(card)}")
            else:
                moves.append(actions.action_name(self.rules, action))
        return moves

    def deal_state(self, deal: Any, seed: int, moves: Sequence[str] = ()) -> States:
        if not isinstance(deal, Mapping) or set(deal) != {"starting_player", "deck"}:
            raise ValueError("W3: a deal of Wall has starting_player and deck")
        self._check_seat(deal["starting_player"])
        if not isinstance(deal["deck"], (list, tuple)):
            raise ValueError("W1: the deck must be given as a list of cards")
        starts = [move.removeprefix("start ") for move in moves if move.startswith("start ")]
        cards = self._number([parse_card(card) for card in (*starts, *deal["deck"])])
        states = self._blank.copy()
        states["seed"] = seed
        states["starting_player"] = deal["starting_player"]
        states["deck"] = -1
        states["deck"][0, : len(cards)] = cards[len(starts) :] + cards[: len(starts)]
        states["deck_length"] = len(cards)
        _begin(states)
        return states

    def _number(self, looks: list[int]) -> list[int]:
        """Give cards of one look different ids, the lowest to the first; check that each is there as often as in W1."""
        seen: Counter[int] = Counter()
        ids = []
        for look in looks:
            copy = seen[look]
            seen[look] += 1
            ids.append(look + copy if look == FIRST_JOKER else look + DECK_SIZE * copy)
        expected = dict.fromkeys(range(DECK_SIZE), self.rules.num_decks)
        expected[FIRST_JOKER] = self.rules.jokers_per_deck * self.rules.num_decks
        for card, number in expected.items():
            if seen[card] != number:
                raise ValueError(
                    f"W1: {card_text(card)} is in the deck and the start cards {seen[card]} times, not {number}"
                )
        return ids

    def replay_move(self, states: States, move: str) -> None:
        state = states[0]
        if state["to_move"] < 0:
            raise ValueError("WD1: the game is over")
        action = self.text_to_action(state, move)
        if not engine.is_legal(state, int(engine.deck_size(state)), action):
            raise ValueError(self.explain(state, action))
        _play(states, action)


@kernel
def _begin(states: States) -> None:
    engine.start(states[0])


def make_game(**options: Any) -> WallGame:
    """`WallGame` with options by name; see `WallRules`.

    Raises:
        ValueError: if an option is unknown or its value is not allowed.
    """
    return WallGame(make_rules(WallRules, options))
