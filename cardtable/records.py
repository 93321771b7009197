"""Game records: one line of JSON that holds all of a game, to write, read, check and replay."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cardtable.game import Game, States

FORMAT = "cardtable/1"


class RecordError(ValueError):
    """A game record that is malformed or breaks the rules; the message says where."""


@dataclass(frozen=True)
class GameRecord:
    """A game, finished or so far.

    Attributes:
        game: name with version ("piles-v0").
        rules: the options by name.
        seed: the game's seed, 0 to 2**64 - 1.
        players: who played, by seat.
        deal: how the cards lay, as the game defines it.
        moves: the moves in order, in the game's notation.
        scores: the final scores; None while the game is not over.
    """

    game: str
    rules: dict[str, Any]
    seed: int
    players: list[str]
    deal: dict[str, Any]
    moves: list[str]
    scores: list[int] | None

    def to_json(self) -> str:
        """One line of JSON."""
        return json.dumps({"format": FORMAT, **asdict(self)}, separators=(",", ":"))

    @classmethod
    def from_json(cls, line: str) -> "GameRecord":
        """Read one line of JSON.

        Raises:
            RecordError: if it is not JSON (cut off, say), of another format, or if fields are missing, unknown or of
                the wrong type. `verify` checks the game itself.
        """
        try:
            data = json.loads(line)
        except json.JSONDecodeError as error:
            raise RecordError(f"not a JSON line ({error}); the record may be cut off") from None
        if not isinstance(data, dict):
            raise RecordError(f"a record is a JSON object, not {type(data).__name__}")
        found = data.pop("format", None)
        if found != FORMAT:
            raise RecordError(f"format is {found!r}; this version reads {FORMAT!r}")
        for name, types in _FIELD_TYPES.items():
            if name not in data:
                raise RecordError(f"field {name!r} is missing; the record may be cut off")
            if not isinstance(data[name], types) or isinstance(data[name], bool):
                raise RecordError(f"field {name!r} is {data[name]!r}, which is of the wrong type")
        unknown = sorted(set(data) - set(_FIELD_TYPES))
        if unknown:
            raise RecordError(f"unknown field {unknown[0]!r}; the fields are format, {', '.join(_FIELD_TYPES)}")
        for name, item_type in (("players", str), ("moves", str), ("scores", int)):
            for item in data[name] or ():
                if type(item) is not item_type:
                    raise RecordError(f"field {name!r} holds {item!r}, which is of the wrong type")
        if not 0 <= data["seed"] < 1 << 64:
            raise RecordError(f"seed {data['seed']} is not in 0..2**64-1")
        return cls(**data)


_FIELD_TYPES: dict[str, Any] = {
    "game": str,
    "rules": dict,
    "seed": int,
    "players": list,
    "deal": dict,
    "moves": list,
    "scores": (list, type(None)),
}


def game_of(record: GameRecord) -> "Game":
    """The game by whose rules a record was played; its package must have been imported.

    Raises:
        RecordError: if the game or one of its options is unknown.
    """
    from cardtable.game import make_game

    try:
        return make_game(record.game, **record.rules)
    except ValueError as error:
        raise RecordError(str(error)) from None


def replay(record: GameRecord) -> "Iterator[States]":
    """Each position of a recorded game, from the deal to the end, as batches of one.

    Raises:
        RecordError: at a deal or move that the rules refuse; the message names the move and the clause.
    """
    game = game_of(record)
    if len(record.players) != game.num_players:
        raise RecordError(f"{len(record.players)} players are named; the rules say {game.num_players}")
    try:
        states = game.deal_state(record.deal, record.seed, record.moves)
    except ValueError as error:
        raise RecordError(f"deal: {error}") from None
    yield states.copy()
    for number, move in enumerate(record.moves, start=1):
        try:
            game.replay_move(states, move)
        except ValueError as error:
            raise RecordError(f"move {number} ({move!r}): {error}") from None
        yield states.copy()


def verify(record: GameRecord) -> "States":
    """Replay a record by the rules and check its scores; return the final position [1].

    Raises:
        RecordError: if anything in it is wrong.
    """
    *_, states = replay(record)
    game = game_of(record)
    if game.terminated(states)[0]:
        scores = game.scores(states)[0].tolist()
        if record.scores is None:
            raise RecordError(
                f"after move {len(record.moves)} the game is over with scores {scores}, but none are given"
            )
        if record.scores != scores:
            raise RecordError(
                f"after move {len(record.moves)}, the last, the scores are {scores} by {game.scoring_clause}, "
                f"not {record.scores}"
            )
    elif record.scores is not None:
        raise RecordError(
            f"scores are given, but the game is not over after move {len(record.moves)}, the last "
            f"({game.ending_clause}); moves are missing"
        )
    return states
