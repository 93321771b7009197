"""The parts of documents that are generated from the code; `python -m tests.readme` writes them anew."""

import re
from collections.abc import Callable
from dataclasses import MISSING, fields
from pathlib import Path

from docstring_parser import parse

from agents import agent_names, make_agent
from cardtable.chance import lane_seeds
from cardtable.game import Game
from experiments import curves
from experiments.train import Config
from piles_env import PilesGame
from piles_env.actions import KIND_NAMES, PILE_NAMES, action_name, encode
from wall_env import WallGame
from wall_env.actions import encode_build

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
TRAINING = ROOT / "docs" / "training.md"
LEADERBOARD = ROOT / "docs" / "leaderboard.md"


def picture(game: Game, decisions: int, seed: int) -> str:
    """A position between greedy players, as the player to move sees it."""
    state = game.new_states(lane_seeds(seed, 1))
    agent = make_agent("greedy", game)
    for _ in range(decisions):
        view = game.view(state, game.current_player(state))
        game.step(state, agent.act(view))
    view = game.view(state, game.current_player(state))
    return f"```text\n{game.render_view(view[0])}\n```"


def piles_actions() -> str:
    """The action table of Piles."""
    game = PilesGame()
    example = encode(PILE_NAMES.index("b2"), KIND_NAMES.index("red T"))
    return "\n".join(
        [
            "| action | meaning |",
            "|---|---|",
            f"| 0-{game.num_actions - 2} | `pile * 26 + kind`: place a card of that kind on that pile |",
            f"| {game.num_actions - 1} | pass |",
            "",
            f"Piles: {', '.join(f'{k} {name}' for k, name in enumerate(PILE_NAMES))}. "
            f"Kinds: 0 {KIND_NAMES[0]} to 12 {KIND_NAMES[12]}, 13 {KIND_NAMES[13]} to 25 {KIND_NAMES[25]}. "
            f"For example {example} is {action_name(example)}.",
        ]
    )


def wall_actions() -> str:
    """The action table of Wall."""
    game = WallGame()
    rows = ["| action | meaning |", "|---|---|", "| 0-5 | choose a start card of rank 2-7 |"]
    meanings = {
        "draw": "draw the top card of the deck",
        "take": "take the top card of the discard pile",
        "pass": "pass",
        "discard": "discard the card in hand",
        "left": "widen the base at its left end",
        "right": "widen the base at its right end",
    }
    names = {game.action_name(action): action for action in range(6, 12)}
    rows += [f"| {names[name]} | {meaning} |" for name, meaning in meanings.items()]
    rules = game.rules
    for level in range(1, rules.num_levels + 1):
        first = encode_build(rules, level, 0)
        last = encode_build(rules, level, rules.width_limit - level - 1)
        rows.append(f"| {first}-{last} | build up on level {level}, at positions 0-{last - first} from the left |")
    return "\n".join(rows)


def observation(game: Game) -> str:
    """The observation table of a game."""
    return f"{game.layout.size} numbers, int8:\n\n{game.layout.table()}"


def agents() -> str:
    """The table of agents."""
    rows = ["| spec | player |", "|---|---|"]
    return "\n".join(rows + [f"| `{name}` | {text} |" for name, text in agent_names().items()])


def config() -> str:
    """The table of a training run's options."""
    meanings = {
        each.arg_name: " ".join((each.description or "").split()) for each in parse(Config.__doc__ or "").params
    }
    rows = ["| field | default | meaning |", "|---|---|---|"]
    for field in fields(Config):
        assert field.default is not MISSING
        default = " ".join(map(str, field.default)) if isinstance(field.default, tuple) else field.default
        rows.append(f"| `{field.name}` | {'' if default is None else default} | {meanings[field.name]} |")
    return "\n".join(rows)


def metrics() -> str:
    """The table of what is measured during training."""
    known = curves.METRICS | curves.evaluation_metrics(["NAME"])
    rows = ["| metric | meaning |", "|---|---|"]
    return "\n".join(rows + [f"| `{name}` | {meaning} |" for name, meaning in known.items()])


def leaderboard() -> str:
    """The rankings of docs/leaderboard.md: what stands first below each heading, if it is a table with ratings."""
    parts = []
    for section in LEADERBOARD.read_text(encoding="utf-8").split("\n## ")[1:]:
        title, *blocks = section.split("\n\n")
        if "| rating " in blocks[0]:
            ranking, note = blocks[:2]
            parts.append(f"**{title}**\n\n{ranking}\n\n{note}")
    return "\n\n".join(parts)


SECTIONS: dict[Path, dict[str, Callable[[], str]]] = {
    README: {
        "picture of piles": lambda: picture(PilesGame(), 26, 8),
        "picture of wall": lambda: picture(WallGame(), 90, 23),
        "actions of piles": piles_actions,
        "observation of piles": lambda: observation(PilesGame()),
        "actions of wall": wall_actions,
        "observation of wall": lambda: observation(WallGame()),
        "agents": agents,
        "leaderboard": leaderboard,
    },
    TRAINING: {"config": config, "metrics": metrics},
}


def with_sections(document: Path) -> str:
    """A document with all generated parts as they should be.

    Raises:
        ValueError: if a part has no place in it.
    """
    text = document.read_text(encoding="utf-8")
    for name, make in SECTIONS[document].items():
        pattern = re.compile(rf"(<!-- begin {name} -->\n).*?(<!-- end {name} -->)", re.DOTALL)
        if not pattern.search(text):
            raise ValueError(f"{document.name} has no place '<!-- begin {name} --> ... <!-- end {name} -->'")
        made = make()
        text = pattern.sub(lambda found, made=made: f"{found[1]}\n{made}\n\n{found[2]}", text)
    return text


if __name__ == "__main__":
    for path in SECTIONS:
        path.write_text(with_sections(path), encoding="utf-8")
