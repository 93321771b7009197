"""`python -m experiments replay`: show a recorded game, position by position, with all cards."""

import argparse
import time
from pathlib import Path

from cardtable.records import GameRecord, game_of, replay, verify
from experiments.games import GAMES


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, help=f"file with game records ({', '.join(GAMES)}), one on each line")
    parser.add_argument("--pause", type=float, default=0.0, help="seconds between positions (default 0)")


def run(arguments: argparse.Namespace) -> None:
    if not arguments.pause >= 0:
        raise ValueError(f"--pause must be at least 0, not {arguments.pause}")
    for line in arguments.file.read_text(encoding="utf-8").splitlines():
        record = GameRecord.from_json(line)
        verify(record)
        game = game_of(record)
        seat = -1
        for number, states in enumerate(replay(record)):
            if number:
                print(f"\nmove {number}, player_{seat} ({record.players[seat]}): {record.moves[number - 1]}\n")
            print(game.render(states[0]))
            seat = int(game.current_player(states)[0])
            time.sleep(arguments.pause)
        if record.scores is not None:
            print(f"\nscores: {', '.join(map(str, record.scores))}")
