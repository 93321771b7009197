"""The command line: `python -m experiments COMMAND`."""

import argparse
import importlib
import sys

_COMMANDS = {
    "train": "train a network by self-play and measure it",
    "label": "make positions with values of their actions, by search",
    "imitate": "fit a network to labelled positions and measure it",
    "benchmark": "measure how fast everything is, beside what else is installed",
    "evaluate": "play two agents against each other on duplicate deals",
    "tournament": "play many agents on duplicate deals, in many processes, and rate them",
    "play": "play in the terminal, or watch agents play",
    "replay": "show a recorded game, position by position",
    "positions": "test agents on positions with an obvious move",
}


def main(words: list[str] | None = None) -> int:
    """Run one command; return the exit status."""
    words = sys.argv[1:] if words is None else words
    parser = argparse.ArgumentParser(prog="python -m experiments", description="Play, train and measure players.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    chosen = next((word for word in words if word in _COMMANDS), None)
    run = None
    for name, text in _COMMANDS.items():
        command = commands.add_parser(name, help=text, description=text.capitalize() + ".")
        if name == chosen:  # modules load torch and the like, so only the one that is wanted is imported
            try:
                module = importlib.import_module(f"experiments.{name}")
            except ModuleNotFoundError as error:
                extra = "tournament" if name == "tournament" else "train"
                print(f"`{name}` needs packages that are not installed ({error}): pip install 'piles-wall[{extra}]'")
                return 1
            module.add_arguments(command)
            run = module.run
    arguments = parser.parse_args(words)
    assert run is not None
    try:
        run(arguments)
    except (ValueError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
