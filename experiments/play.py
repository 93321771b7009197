"""`python -m experiments play`: a game in the terminal, with people and agents at one table."""

import argparse
import secrets
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np

from agents import agent_names, make_agent
from agents.agent import Agent
from cardtable.chance import agent_seeds, lane_seeds
from cardtable.game import Game, States
from experiments import games
from experiments.files import write_atomically
from experiments.moves import legal_moves, listing, parse_move, tell

HUMAN = "human"
_HINTS = {"piles-v0": "pimc", "wall-v0": "mcts"}  # the strongest that answer at once
_SCREEN = 60  # lines that push one person's cards out of the next one's sight
_EXAMPLES = {"piles-v0": "10h@b2 or pass", "wall-v0": "draw, take, left or build 1.3 (level.position)"}
_HELP = """\
  a move     as in {examples}, or its number in the list
  ?, moves   list the legal moves
  Enter      show the board again
  undo       go back to the last decision that a person made
  hint       ask {hint}
  save FILE  write the game so far as a line of JSON
  quit       leave the game"""


class _Leave(Exception):
    """A person wants to end the game before it is over."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    games.add_arguments(parser)
    parser.add_argument(
        "--seats",
        metavar="A,B,...",
        help=f"who sits where, one name for each player: {HUMAN} or an agent ({', '.join(agent_names())}); default: "
        f"you first, then greedy. With agents alone you watch",
    )
    parser.add_argument("--seed", type=int, help="seed of the deal and of the agents (default: another each time)")
    parser.add_argument("--record", type=Path, metavar="FILE", help="new file for the game's record, a line of JSON")
    parser.add_argument("--hint", metavar="AGENT", help="the agent that gives hints (default: piles pimc, wall mcts)")
    parser.add_argument("--pause", type=float, default=0.0, help="seconds between boards when you watch (default 0)")


def run(arguments: argparse.Namespace) -> None:
    game = games.make(arguments.game, arguments.players)
    names = seat_names(game, arguments.seats)
    if not arguments.pause >= 0:
        raise ValueError(f"--pause must be at least 0, not {arguments.pause}")
    if arguments.record is not None:
        _check_new(arguments.record)
    seed = secrets.randbelow(1 << 32) if arguments.seed is None else arguments.seed
    table = Table(game, names, arguments.hint or _HINTS[game.name], seed, arguments.pause)
    print(f"{game.name}, {game.num_players} players, seed {seed}: {table.who()}")
    try:
        table.play()
    except (_Leave, EOFError, KeyboardInterrupt):
        print("\nThe game ends here, before it is over.")
    line = game.to_record(table.states[0], names).to_json()
    if arguments.record is not None:
        try:
            _save(arguments.record, line)
            return
        except OSError as error:
            print(f"{arguments.record} cannot be written: {error.strerror}")
    if game.terminated(table.states)[0]:
        print(f"\nThe record:\n{line}")


def seat_names(game: Game, text: str | None) -> list[str]:
    """The names of --seats, one for each player.

    Raises:
        ValueError: if there are more or fewer names than players.
    """
    if text is None:
        return [HUMAN, *["greedy"] * (game.num_players - 1)]
    names = [name.strip() for name in text.split(",")]
    if len(names) != game.num_players:
        example = ",".join([*names, *[names[-1]] * game.num_players][: game.num_players])
        raise ValueError(
            f"--seats names {len(names)} ({', '.join(names)}), but there are {game.num_players} players, and each "
            f"needs a name: --seats {example}, or another number of --players"
        )
    return names


def _check_new(path: Path) -> None:
    """Raise a ValueError if a file exists, or its folder does not."""
    if path.exists():
        raise ValueError(f"{path} exists already; name a new file for the record")
    if not path.parent.is_dir():
        raise ValueError(f"there is no folder {path.parent} for the record {path.name}")


def _save(path: Path, line: str) -> None:
    write_atomically(path, lambda file: file.write_text(line + "\n", encoding="utf-8"))
    print(f"The record is in {path}.")


class Table:
    """A game with someone on each seat.

    Args:
        game: the game.
        names: by seat, "human" or the spec of an agent.
        hint: the spec of the agent that gives hints.
        seed: seed of the deal and of the agents.
        pause: seconds between boards when no person plays.

    Raises:
        ValueError: if an agent is unknown or does not play this game.

    Attributes:
        states: the position [1].
    """

    def __init__(self, game: Game, names: Sequence[str], hint: str, seed: int, pause: float) -> None:
        self._game = game
        self._names = names
        self._agents = [None if name == HUMAN else _seated(name, game) for name in names]
        self._hint_name = hint
        self._hint = make_agent(hint, game)
        self._pause = pause
        deal = lane_seeds(seed, 1)
        *seeds, hint_seed = agent_seeds(deal[0], len(names) + 1)
        for agent, agent_seed in zip([*self._agents, self._hint], [*seeds, hint_seed], strict=True):
            if agent is not None:
                agent.reset(agent_seed)
        self.states = game.new_states(deal)
        self._past: list[States] = []  # the position before each action; agents and chance depend on it alone
        self._looking: int | None = None  # the person who has seen the board last
        self._saved: set[Path] = set()

    def who(self) -> str:
        """Who sits where."""
        return ", ".join(f"player_{seat} {name}" for seat, name in enumerate(self._names))

    def play(self) -> None:
        """Play to the end and say who won.

        Raises:
            _Leave, EOFError, KeyboardInterrupt: if a person ends the game.
        """
        alone = None not in self._agents
        if alone:
            print(f"\n{self._game.render(self.states[0])}")
        while (seat := self._mover(self.states)) >= 0:
            agent = self._agents[seat]
            if agent is None:
                self._ask(seat)
                continue
            self._act(int(agent.act(self._view(seat))[0]))
            if alone:
                time.sleep(self._pause)
                print(f"\n{tell(self._game, self._past[-1], self.states, viewer=None)}\n")
                print(self._game.render(self.states[0]))
        if not alone:
            self._show_news(next(seat for seat in map(self._mover, reversed(self._past)) if self._agents[seat] is None))
            print(f"\n{self._game.render(self.states[0])}")
        print(f"\n{self._result()}")

    def _mover(self, states: States) -> int:
        return int(self._game.current_player(states)[0])

    def _view(self, seat: int) -> States:
        return self._game.view(self.states, np.array([seat]))

    def _act(self, action: int) -> None:
        self._past.append(self.states.copy())
        self._game.step(self.states, [action])

    # --- a person's turn ----------------------------------------------------------------------------------------------

    def _ask(self, seat: int) -> None:
        """Let a person decide; the game has gone on or back when it returns."""
        if self._looking not in (None, seat):
            print("\n" * _SCREEN)
        if self._agents.count(None) > 1 and self._looking != seat:
            input(f"player_{seat}, press Enter ")
        self._looking = seat
        self._show_news(seat)
        self._show_board(seat)
        here = len(self._past)
        while len(self._past) == here:
            text = input(f"\nplayer_{seat} (? lists moves, help)> ").strip()
            try:
                self._obey(seat, text)
            except ValueError as error:
                print(f"{error}. Type ? for the legal moves, help for all else.")

    def _obey(self, seat: int, text: str) -> None:
        """Do what a person has typed.

        Raises:
            ValueError: if it is nothing that can be done.
        """
        command, _, rest = text.partition(" ")
        match command.lower():
            case "":
                self._show_board(seat)
            case "?" | "moves":
                print(listing(self._game, self.states))
            case "help":
                print(_HELP.format(examples=_EXAMPLES[self._game.name], hint=self._hint_name))
            case "undo":
                self._undo()
            case "hint":
                self._give_hint(seat)
            case "save":
                self._save(rest.strip())
            case "quit":
                raise _Leave
            case _:
                self._act(parse_move(self._game, self.states, text))

    def _undo(self) -> None:
        for number in reversed(range(len(self._past))):
            if self._agents[self._mover(self._past[number])] is None:
                self.states = self._past[number]
                del self._past[number:]
                return
        raise ValueError("there is nothing to undo: no person has decided anything yet")

    def _give_hint(self, seat: int) -> None:
        action = int(self._hint.act(self._view(seat))[0])
        number = legal_moves(self._game, self.states).index(action) + 1
        print(f"{self._hint_name} would choose {self._game.action_to_text(self.states[0], action)} (number {number})")

    def _save(self, name: str) -> None:
        if not name:
            raise ValueError("save needs the name of a file, as in 'save game.json'")
        path = Path(name).expanduser()
        if path not in self._saved:
            _check_new(path)
        try:
            _save(path, self._game.to_record(self.states[0], self._names).to_json())
        except OSError as error:
            raise ValueError(f"{path} cannot be written: {error.strerror}") from None
        self._saved.add(path)

    # --- what is shown ------------------------------------------------------------------------------------------------

    def _show_board(self, seat: int) -> None:
        print(f"\n{self._game.render_view(self._view(seat)[0])}")

    def _show_news(self, seat: int) -> None:
        """Tell a person what happened since his last decision, his own action included."""
        positions = [*self._past, self.states]
        movers = [self._mover(states) for states in self._past]
        first = len(movers) - 1 - movers[::-1].index(seat) if seat in movers else 0
        pairs = list(pairwise(positions))[first:]
        if pairs:
            print("\n" + "\n".join(f"  {tell(self._game, before, after, seat)}" for before, after in pairs))

    def _result(self) -> str:
        scores: list[int] = self._game.scores(self.states)[0].tolist()
        sides = [" and ".join(f"player_{seat} ({self._names[seat]})" for seat in seats) for seats in self._game.teams]
        lines = [f"  {score:3}  {side}" for score, side in zip(scores, sides, strict=True)]
        best = [side for side, score in zip(sides, scores, strict=True) if score == max(scores)]
        if len(sides) > 1:
            lines.append("A draw." if len(best) == len(sides) else f"Won by {'; and by '.join(best)}.")
        return "\n".join(["Points:", *lines])


def _seated(name: str, game: Game) -> Agent:
    try:
        return make_agent(name, game)
    except ValueError as error:
        raise ValueError(f"--seats: {error} (or {HUMAN!r})") from None
