"""The command line: `python -m experiments COMMAND`."""

import argparse
import importlib
import sys

_COMMANDS = {
    "train": "train a network by self-play and measure it",
    "exploit": "train against one agent, to see how much can be won from it",
    "label": "make positions with values of their actions, by search",
    "imitate": "fit a network to labelled positions and measure it",
    "benchmark": "measure how fast everything is, beside what else is installed",
    "evaluate": "play two agents against each other on duplicate deals",
    "tournament": "play many agents on duplicate deals, in many processes, and rate them",
    "leaderboard": "play all players of both games against each other, for one page of results",
    "play": "play in the terminal, or watch agents play",
    "replay": "show a recorded game, position by position",
    "positions": "test agents on positions with an obvious move",
}


def main(words: list[str] | None = None) -> int:
    """Run one command; return the exit status."""
    words = sys.argv[1:] if words is None else words
    parser = argparse.ArgumentParser(prog="python -m experiments", description="Play, train and measure players.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    parsers = {
        name: commands.add_parser(name, help=text, description=text.capitalize() + ".")
        for name, text in _COMMANDS.items()
    }
    chosen = words[0] if words and words[0] in _COMMANDS else None
    if chosen is None:
        parser.parse_args(words)  # shows help, or what is wrong, and exits
    assert chosen is not None
    try:  # modules load torch and the like, so only the one that is wanted is imported
        module = importlib.import_module(f"experiments.{chosen}")
    except ModuleNotFoundError as error:
        extra = "tournament" if chosen in ("tournament", "leaderboard") else "train"
        print(f"`{chosen}` needs packages that are not installed ({error}): pip install 'piles-wall[{extra}]'")
        return 1
    try:
        if hasattr(module, "main"):  # its options are the fields of a dataclass, which tyro reads
            module.main(words[1:])
        else:
            module.add_arguments(parsers[chosen])
            module.run(parser.parse_args(words))
    except (ValueError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
