"""The contract between a card game and everything that plays it.

A game is a numpy structured array [B] of records plus compiled rules. All methods take and return batches; a single
game is a batch of one. The only way from a game's record to an agent is `view`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any, ClassVar, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from cardtable.layout import Layout
from cardtable.records import GameRecord

States = NDArray[np.void]  # [B], of a game's state_dtype
Views = NDArray[np.void]  # [B], of a game's view_dtype
Ints = NDArray[np.int64]

RulesType = TypeVar("RulesType")


class IllegalAction(ValueError):
    """An action that the rules refuse; no state has changed.

    Attributes:
        lane: index of the first refused action in its batch.
        action: the action as given.
        reason: why it was refused, with the clause of the rules.
    """

    def __init__(self, lane: int, action: object, words: str, reason: str) -> None:
        super().__init__(f"lane {lane}: action {action!r}{words} is not legal: {reason}")
        self.lane = lane
        self.action = action
        self.reason = reason

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore_illegal_action, (self.args, self.lane, self.action, self.reason)


def _restore_illegal_action(args: tuple[str], lane: int, action: object, reason: str) -> IllegalAction:
    error = IllegalAction(lane, action, "", reason)
    error.args = args
    return error


def check_choice(name: str, value: object, choices: Sequence[object]) -> None:
    """Raise a ValueError unless `value` is one of `choices`, of the same type."""
    if not any(value == choice and type(value) is type(choice) for choice in choices):
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, not {value!r}")


def check_flag(name: str, value: object) -> None:
    """Raise a ValueError unless `value` is True or False."""
    check_choice(name, value, (True, False))


def make_rules(rules_type: type[RulesType], options: Mapping[str, Any]) -> RulesType:
    """The rules with these options.

    Raises:
        ValueError: if an option is unknown (the message lists the known ones) or its value is not allowed.
    """
    known = [field.name for field in fields(cast(Any, rules_type))]
    unknown = [name for name in options if name not in known]
    if unknown:
        raise ValueError(f"unknown option {unknown[0]!r}; the options are {', '.join(known)}")
    return rules_type(**options)


class LaneBuffers:
    """Games side by side, and what a vector environment shows of them, written in place by `Game.step_lanes`.

    Attributes:
        states: records [B].
        lanes, episodes: uint64 [B], int64 [B]: each lane's stream of games, and the number of the present one.
        observations, masks, players: int8 [B, D], [B, A], [B]: the present decisions.
        rewards, acted_rewards, terminated: float64 [B, P], [B], bool [B]: what the last step brought each seat, what it
            brought the seat that acted, and whether it ended a game.
        final_observations, final_scores: int8 [B, D], int64 [B, sides]: of games that the last step ended.
    """

    def __init__(self, game: "Game", count: int) -> None:
        self.states = game.empty_states(count)
        self.lanes = np.zeros(count, np.uint64)
        self.episodes = np.zeros(count, np.int64)
        self.observations = np.zeros((count, game.layout.size), np.int8)
        self.masks = np.zeros((count, game.num_actions), np.int8)
        self.players = np.zeros(count, np.int8)
        self.rewards = np.zeros((count, game.num_players))
        self.acted_rewards = np.zeros(count)
        self.terminated = np.zeros(count, np.bool_)
        self.final_observations = np.zeros((count, game.layout.size), np.int8)
        self.final_scores = np.zeros((count, len(game.teams)), np.int64)


class Game(ABC):
    """One game with its options: the rules, and what is the same in every game played by them.

    Attributes:
        name: name with version, as in game records ("piles-v0").
        rules: the options, a frozen dataclass.
        num_players: number P of seats.
        teams: the seats of each side that shares a score.
        num_actions: number A of action ids.
        layout: the named pieces of an observation; `layout.size` is its length D.
        max_decisions: no game has more decisions than this.
        return_range: lowest and highest sum of a seat's rewards in a game.
        zero_sum: whether the rewards of all seats sum to 0.
        policies: the players in compiled code, which `policy_actions` and `playout` know by name.
        scoring_clause, ending_clause: the clauses of the rules that say how a game is scored and when it ends.
        state_dtype: dtype of a game's record.
        rule_fields: the fields of `state_dtype` that hold the rules' options.
        view_dtype: dtype of what a seat may know.
    """

    policies: ClassVar[tuple[str, ...]]
    name: ClassVar[str]
    scoring_clause: ClassVar[str]
    ending_clause: ClassVar[str]
    state_dtype: ClassVar[np.dtype[np.void]]
    rule_fields: ClassVar[tuple[str, ...]]
    view_dtype: ClassVar[np.dtype[np.void]]
    rules: Any
    num_players: int
    teams: tuple[tuple[int, ...], ...]
    num_actions: int
    layout: Layout
    max_decisions: int
    return_range: tuple[float, float]
    zero_sum: bool
    _blank: States  # a record [1] with the options, and nothing else, filled in

    @property
    def observation_shape(self) -> tuple[int]:
        """Shape (D,) of an observation."""
        return (self.layout.size,)

    def team_of(self, seat: int) -> int:
        """The index in `teams` of a seat's side."""
        return next(team for team, seats in enumerate(self.teams) if seat in seats)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.rules!r})"

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.rules == self.rules

    def __hash__(self) -> int:
        return hash((type(self), self.rules))

    # --- playing ------------------------------------------------------------------------------------------------------

    def empty_states(self, count: int) -> States:
        """Room for `count` records."""
        return np.zeros(count, self.state_dtype)

    def empty_views(self, count: int) -> Views:
        """Room for `count` views."""
        return np.zeros(count, self.view_dtype)

    @abstractmethod
    def new_states(self, seeds: NDArray[np.uint64], out: States | None = None) -> States:
        """Deal a game for each seed [B]; a game's chance depends on its seed alone."""

    @abstractmethod
    def reset_state(self, seed: int, options: Mapping[str, Any]) -> States:
        """One new game [1] with options for this game alone, as `env.reset(options=...)` takes them.

        Raises:
            ValueError: if an option is unknown or its value is not possible.
        """

    def check_state(self, states: States | Views) -> None:
        """Raise a ValueError if a record or a view was made by other rules than these."""
        for name in self.rule_fields:
            found, expected = states[name], self._blank[name][0]
            if (found != expected).any():
                raise ValueError(f"the position was made by other rules: {name} is {found[0]}, not {expected}")

    def step(self, states: States, actions: Any) -> NDArray[np.float64]:
        """Carry out one action for the player to move in each game, in place.

        Args:
            states: records [B].
            actions: integers [B].

        Returns:
            What the actions brought each seat, float64 [B, P], by the rules' `reward`.

        Raises:
            IllegalAction: if an action is not a legal one or a game is over; no state has changed then.
        """
        chosen = self.check_actions(states, actions)
        rewards = np.empty((len(states), self.num_players))
        lane = self.try_step(states, chosen, rewards)
        if lane >= 0:
            raise self.illegal_action(states[lane], chosen[lane], lane)
        return rewards

    @abstractmethod
    def try_step(self, states: States, actions: Ints, rewards: NDArray[np.float64]) -> int:
        """`step` without checks of types and shapes, into a buffer for the rewards.

        Returns:
            The first lane whose action is refused, in which case nothing has changed; otherwise -1.
        """

    def illegal_action(self, state: np.void, action: Any, lane: int = 0) -> IllegalAction:
        """The error that says why an action is refused."""
        if self._is_over(state):
            return IllegalAction(lane, _plain(action), "", "the game is over; reset it or start a new one")
        if not 0 <= action < self.num_actions:
            return IllegalAction(lane, _plain(action), "", f"action ids are 0 to {self.num_actions - 1}")
        return IllegalAction(lane, _plain(action), f" ({self.action_name(action)})", self.explain(state, int(action)))

    @abstractmethod
    def first_illegal(self, states: States, actions: Ints, first: int, last: int) -> int:
        """The first of the lanes first..last-1 whose action is not legal, -1 if all are."""

    @abstractmethod
    def step_lanes(self, buffers: LaneBuffers, actions: Ints, first: int, last: int) -> None:
        """Carry out legal actions in the lanes first..last-1, start new games where one ends, and write all buffers."""

    def refresh(self, buffers: LaneBuffers) -> None:
        """Write what the lanes show now: observations, masks and players."""
        buffers.players[:] = self.current_player(buffers.states)
        self.show(buffers.states, buffers.players.astype(np.int64), (buffers.observations, buffers.masks))

    def check_actions(self, states: States, actions: Any) -> Ints:
        """Actions as int64 [B].

        Raises:
            IllegalAction: if they are no integers.
            ValueError: if there is not one for each game.
        """
        array = np.asarray(actions)
        if array.shape != states.shape:
            raise ValueError(f"one action is needed for each of the {len(states)} games: got shape {array.shape}")
        if array.dtype.kind not in "iu" or not isinstance(actions, np.ndarray):
            array = np.array([self.check_action(action, lane) for lane, action in enumerate(actions)], np.int64)
        return array.astype(np.int64, copy=False)

    def check_action(self, action: Any, lane: int = 0) -> int:
        """One action as an int, which may not be legal.

        Raises:
            IllegalAction: if it is no integer, or no action id of this game.
        """
        if isinstance(action, np.ndarray) and action.ndim == 0:
            action = action[()]
        if not isinstance(action, (int, np.integer)) or isinstance(action, bool):
            raise IllegalAction(lane, action, "", f"an action is an integer from 0 to {self.num_actions - 1}")
        if not 0 <= action < self.num_actions:
            raise IllegalAction(lane, _plain(action), "", f"action ids are 0 to {self.num_actions - 1}")
        return int(action)

    def _is_over(self, state: np.void) -> bool:
        return bool(state["to_move"] < 0)

    def current_player(self, states: States) -> NDArray[np.int8]:
        """The seat to move, int8 [B]; -1 where the game is over."""
        return states["to_move"].copy()

    def terminated(self, states: States) -> NDArray[np.bool_]:
        """Whether each game is over, bool [B]."""
        return np.asarray(states["to_move"] < 0)

    @abstractmethod
    def rewards(self, states: States, out: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
        """What the last action of each game brought each seat, float64 [B, P], by the rules' `reward`."""

    @abstractmethod
    def scores(self, states: States) -> Ints:
        """Points if the games ended now, int64 [B, sides]: by team in Piles, by seat in Wall."""

    @abstractmethod
    def action_mask(self, states: States, out: NDArray[np.int8] | None = None) -> NDArray[np.int8]:
        """Which actions are legal for the player to move, int8 [B, A] of 0 and 1; zeros where a game is over."""

    # --- looking ------------------------------------------------------------------------------------------------------

    def view(self, states: States, seats: Any, out: Views | None = None) -> Views:
        """What each seat [B] may know of each game [B]. The only way from a record to an agent."""
        seats = np.asarray(seats, np.int64)
        if seats.shape != states.shape or (len(seats) and not 0 <= seats.min() <= seats.max() < self.num_players):
            raise ValueError(f"one seat from 0 to {self.num_players - 1} is needed for each game: got {seats!r}")
        views = self.empty_views(len(states)) if out is None else out
        self._view(states, seats, views)
        return views

    @abstractmethod
    def _view(self, states: States, seats: Ints, views: Views) -> None: ...

    @abstractmethod
    def observe(
        self, views: Views, out: tuple[NDArray[np.int8], NDArray[np.int8]] | None = None
    ) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
        """Observations int8 [B, D] and action masks int8 [B, A]; a mask is zeros where the viewer is not to move."""

    @abstractmethod
    def show(
        self, states: States, seats: Ints, out: tuple[NDArray[np.int8], NDArray[np.int8]] | None = None
    ) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
        """`observe(view(states, seats))` in one go."""

    @abstractmethod
    def determinize(self, views: Views, seeds: NDArray[np.uint64]) -> States:
        """Games that fit the views: what a view hides is drawn anew, uniformly, with these seeds [B]."""

    @abstractmethod
    def playout(self, states: States, seeds: NDArray[np.uint64], policy: str = "random") -> int:
        """Play the games to their ends in place, all seats by one of `policies`; return the number of decisions.

        The policy sees the game itself, so this is for games that are made up: search, and measuring.
        """

    @abstractmethod
    def policy_actions(self, views: Views, seeds: NDArray[np.uint64], policy: str) -> Ints:
        """What one of `policies` chooses for each view [B], whose seat is to move; these seeds [B] settle ties."""

    # --- text ---------------------------------------------------------------------------------------------------------

    @abstractmethod
    def action_name(self, action: int) -> str:
        """An action id in words, without a position."""

    @abstractmethod
    def explain(self, state: np.void, action: int) -> str:
        """Why a position's player to move may not choose an action id; starts with the clause of the rules."""

    @abstractmethod
    def action_to_text(self, state: np.void, action: int) -> str:
        """A legal action in the notation of game records ("Th@b2"), without what chance adds to it."""

    @abstractmethod
    def text_to_action(self, state: np.void, text: str) -> int:
        """The action id of a move in record notation.

        Raises:
            ValueError: if the text is no move, or not possible for the player to move.
        """

    @abstractmethod
    def render(self, state: np.void) -> str:
        """A game as text, with all cards shown."""

    @abstractmethod
    def render_view(self, view: np.void) -> str:
        """A seat's view as text, with hidden cards hidden."""

    # --- records ------------------------------------------------------------------------------------------------------

    @abstractmethod
    def deal_to_json(self, state: np.void) -> dict[str, Any]:
        """How the cards lay at the start of a game, as in its record."""

    @abstractmethod
    def moves_to_text(self, state: np.void) -> list[str]:
        """The moves of a game so far, in record notation."""

    @abstractmethod
    def deal_state(self, deal: Any, seed: int, moves: Sequence[str] = ()) -> States:
        """The start [1] of a game with a given deal.

        Args:
            deal: as in a record.
            seed: for what chance still decides.
            moves: the moves that will follow, where they say something about the deal (Wall's start cards).

        Raises:
            ValueError: if cards are missing or doubled, or the deal is malformed.
        """

    @abstractmethod
    def replay_move(self, states: States, move: str) -> None:
        """Carry out a record's move, what chance did included, in a batch of one.

        Raises:
            ValueError: if the move is malformed or not legal; the message starts with the clause.
        """

    def to_record(self, state: np.void, players: Sequence[str] | None = None) -> GameRecord:
        """The record of a game so far."""
        over = self._is_over(state)
        return GameRecord(
            game=self.name,
            rules=asdict(self.rules),
            seed=int(state["seed"]),
            players=list(players) if players is not None else [f"player_{seat}" for seat in range(self.num_players)],
            deal=self.deal_to_json(state),
            moves=self.moves_to_text(state),
            scores=self.scores(_row(state))[0].tolist() if over else None,
        )

    def from_record(self, record: GameRecord) -> States:
        """The position [1] at the end of a record; see `cardtable.records.replay` for all positions on the way."""
        states = self.deal_state(record.deal, record.seed, record.moves)
        for move in record.moves:
            self.replay_move(states, move)
        return states


def _row(state: np.void) -> States:
    states = np.zeros(1, state.dtype)
    states[0] = state
    return states


def _plain(action: Any) -> Any:
    return action.item() if isinstance(action, np.generic) else action


_FACTORIES: dict[str, Callable[..., Game]] = {}


def register_game(name: str, factory: Callable[..., Game]) -> None:
    """Make a game known by name; `factory(**rules)` makes it. Game packages call this when they are imported."""
    _FACTORIES[name] = factory


def make_game(name: str, /, **rules: Any) -> Game:
    """A registered game by name with version ("piles-v0") and options.

    Raises:
        ValueError: if no imported package has registered the name; the message lists the known ones.
    """
    if name not in _FACTORIES:
        raise ValueError(
            f"unknown game {name!r}; the games are {', '.join(sorted(_FACTORIES)) or 'none (import a game package)'}"
        )
    return _FACTORIES[name](**rules)


def check_options(options: Mapping[str, Any], known: Iterable[str]) -> None:
    """Raise a ValueError for reset options that do not exist."""
    for name in options:
        if name not in known:
            raise ValueError(f"unknown reset option {name!r}; the options are {', '.join(known)}")
