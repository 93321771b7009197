"""Games of a tournament, many at once: an agent that crashes, breaks the rules or is too slow loses its own games only.

A batch is played in lock-step. If an agent fails in it, the whole batch is played again, game by game; choices depend
on an agent's seed and its view alone, so the other games end as they would have.
"""

import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import TypeVar

import numpy as np

from agents.agent import Agent
from cardtable.game import Game, Ints, States, Views
from experiments.entrants import make_entrant
from experiments.results import GameResult
from experiments.schedule import ScheduledGame

Answer = TypeVar("Answer")

_WARM_UP_SECONDS = 60.0  # for a first move: it may load or compile something
_LONGEST_STATUS = 200


@dataclass(frozen=True)
class Contest:
    """What all games of a tournament share.

    Attributes:
        game: the game.
        agents: the agents as text.
        agent_seeds: a seed for each.
        seconds_per_move: who takes longer loses; None for no limit. With a limit games are played one at a time, since
            the time of a single move cannot be told in a batch.
        records: whether to keep the moves of each game.
    """

    game: Game
    agents: tuple[str, ...]
    agent_seeds: tuple[int, ...]
    seconds_per_move: float | None = None
    records: bool = False


@dataclass(frozen=True)
class Batch:
    """Games to play together, and the seed of each."""

    games: tuple[ScheduledGame, ...]
    seeds: tuple[int, ...]

    def single(self) -> "Iterator[Batch]":
        """The games as batches of one."""
        for game, seed in zip(self.games, self.seeds, strict=True):
            yield Batch((game,), (seed,))


@dataclass(frozen=True)
class Played:
    """A game that was played.

    Attributes:
        game: the game as scheduled.
        seed: of the deal, 0 to 2**64 - 1.
        result: how it ended.
        record: one line of JSON, if the contest keeps records.
    """

    game: ScheduledGame
    seed: int
    result: GameResult
    record: str | None


class _Fault(Exception):
    """An agent has lost a game, or one of the games of a batch."""

    def __init__(self, agent: int, status: str) -> None:
        super().__init__(status)
        self.agent = agent
        self.status = status


class _TooSlow(BaseException):
    """Raised by the clock in the midst of an agent's move. No Exception, so that agents do not catch it by mistake."""


def play(contest: Contest, batch: Batch, marker: Path | None = None) -> list[Played]:
    """Play a batch of games; return them in order.

    Args:
        contest: what the games share.
        batch: the games.
        marker: a file to write the index of the agent to move into, before each move: should the process die with it,
            the file says whose fault it was.
    """
    _agents(contest)
    if contest.seconds_per_move is None and len(batch.games) > 1:
        table = _Table(contest, batch, marker)
        try:
            table.play()
        except _Fault:
            pass  # by whom and in which game shows when they are played one by one
        else:
            return table.played()
    return [_play_one(contest, single, marker) for single in batch.single()]


def _play_one(contest: Contest, batch: Batch, marker: Path | None) -> Played:
    table = _Table(contest, batch, marker)
    try:
        table.play()
    except _Fault as fault:
        # Who has crashed may be in disorder.
        _agents(contest)[fault.agent] = make_entrant(contest.agents[fault.agent], contest.game)
        return table.played(fault.agent, fault.status)[0]
    return table.played()[0]


def lost_with_process(contest: Contest, batch: Batch, agent: int) -> Played:
    """The result of a batch of one in which an agent has brought down the process that it ran in."""
    (game,), (seed,) = batch.games, batch.seeds
    zeros = (0,) * len(contest.agents)
    scores = (0,) * len(contest.game.teams)
    status = "crashed: its process ended"
    result = GameResult(game.deal, game.seating, scores, agent, status, zeros, tuple(map(float, zeros)))
    return Played(game, seed, result, None)


@lru_cache(maxsize=1)
def _agents(contest: Contest) -> list[Agent]:
    """The agents of a contest, made once in each process."""
    agents = [make_entrant(spec, contest.game) for spec in contest.agents]
    if "torch" in sys.modules:
        # One thread: the processes share the cores, and the order of sums does not depend on their number.
        import torch

        torch.set_num_threads(1)
    return agents


@lru_cache(maxsize=1)
def _warm(contest: Contest) -> set[int]:
    """The agents that have loaded and compiled what they need in this process."""
    return set()


def _warm_up(game: Game, agent: Agent, seed: int) -> None:
    """Let an agent load and compile what it needs before its time counts."""
    states = game.new_states(np.zeros(1, np.uint64))
    try:
        with _clock(_WARM_UP_SECONDS):
            agent.reset(seed)
            for _ in range(game.num_players):
                views = game.view(states, game.current_player(states))
                game.step(states, np.asarray(agent.act(views)))
    except (Exception, SystemExit, _TooSlow):
        pass  # the games will show it


class _Table:
    """A batch of games in play."""

    def __init__(self, contest: Contest, batch: Batch, marker: Path | None) -> None:
        self._contest = contest
        self._batch = batch
        self._marker = marker
        self._states = contest.game.new_states(np.array(batch.seeds, np.uint64))
        self._seating: Ints = np.array([game.seating for game in batch.games], np.int64)
        self._decisions = np.zeros((len(batch.games), len(contest.agents)), np.int64)
        self._seconds = np.zeros((len(batch.games), len(contest.agents)))

    def play(self) -> None:
        """Play to the end.

        Raises:
            _Fault: if an agent fails.
        """
        game, states = self._contest.game, self._states
        agents, warm = _agents(self._contest), _warm(self._contest)
        for index in {int(agent) for agent in np.unique(self._seating)} - warm:
            self._mark(index)
            _warm_up(game, agents[index], self._contest.agent_seeds[index])
            warm.add(index)
        for index, seed in enumerate(self._contest.agent_seeds):
            # Anew for each batch: should an agent remember games, they are the same ones whichever process plays.
            self._guard(index, partial(agents[index].reset, seed))
        playing = np.flatnonzero(~game.terminated(states))
        rewards = np.empty((len(states), game.num_players))
        while len(playing):
            moving = states[playing]
            movers = game.current_player(moving).astype(np.int64)
            views = game.view(moving, movers)
            acting = self._seating[playing, movers]
            actions = np.empty(len(playing), np.int64)
            for index in np.unique(acting):
                lanes = np.flatnonzero(acting == index)
                actions[lanes] = self._choose(agents[index], int(index), playing[lanes], moving[lanes], views[lanes])
            refused = game.try_step(moving, actions, rewards[: len(playing)])
            if refused >= 0:
                reason = game.illegal_action(moving[refused], actions[refused]).args[0]
                raise _Fault(int(acting[refused]), _status("illegal", reason.removeprefix("lane 0: ")))
            states[playing] = moving
            playing = playing[~game.terminated(moving)]

    def _choose(self, agent: Agent, index: int, lanes: Ints, states: States, views: Views) -> Ints:
        self._mark(index)
        self._decisions[lanes, index] += 1
        began = time.perf_counter()
        try:
            answer = self._guard(index, partial(agent.act, views))
        finally:
            spent = time.perf_counter() - began
            self._seconds[lanes, index] += spent / len(lanes)
        limit = self._contest.seconds_per_move
        if limit is not None and spent > limit:
            raise _Fault(index, "slow")
        try:
            return self._contest.game.check_actions(states, answer)
        except (ValueError, TypeError, OverflowError) as error:
            raise _Fault(index, _status("illegal", str(error).removeprefix("lane 0: "))) from error

    def _mark(self, index: int) -> None:
        if self._marker is not None:
            self._marker.write_text(str(index), encoding="utf-8")

    def _guard(self, index: int, call: Callable[[], Answer]) -> Answer:
        """What an agent answers; whatever it raises is its fault."""
        try:
            with _clock(self._contest.seconds_per_move):
                return call()
        except _TooSlow:
            raise _Fault(index, "slow") from None
        except (Exception, SystemExit) as error:
            raise _Fault(index, _status("crashed", f"{type(error).__name__}: {error}")) from error

    def played(self, fault: int = -1, status: str = "ok") -> list[Played]:
        """The games as they stand."""
        game, contest = self._contest.game, self._contest
        scores = game.scores(self._states).tolist()
        decisions, seconds = self._decisions.tolist(), self._seconds.tolist()
        found = []
        for lane, (scheduled, seed) in enumerate(zip(self._batch.games, self._batch.seeds, strict=True)):
            record = None
            if contest.records:
                players = [contest.agents[agent] for agent in scheduled.seating]
                record = game.to_record(self._states[lane], players).to_json()
            result = GameResult(
                scheduled.deal,
                scheduled.seating,
                tuple(scores[lane]),
                fault,
                status,
                tuple(decisions[lane]),
                tuple(seconds[lane]),
            )
            found.append(Played(scheduled, seed, result, record))
        return found


@contextmanager
def _clock(seconds: float | None) -> Iterator[None]:
    """Raise `_TooSlow` in here after so many seconds.

    That works in the main thread of Unix systems, where workers play; elsewhere, and within compiled code, the move
    ends when it ends, and is measured then.
    """
    if seconds is None or not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def ring(number: int, frame: object) -> None:
        raise _TooSlow

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _status(kind: str, text: str) -> str:
    """One line of moderate length."""
    return f"{kind}: {' '.join(text.split())}"[:_LONGEST_STATUS]
