"""The strong players of Wall, `builder` and `mcts`: fair, legal, reproducible, and good where that can be seen."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from agents import make_agent
from cardtable.chance import lane_seeds
from cardtable.game import Game, States
from cardtable.kernel import kernel
from experiments.match import play_match
from wall_env import WallGame, WallRules
from wall_env.actions import encode_build, mirrors
from wall_env.encoding import read_observation, write_observation
from wall_env.engine import LEFT, LOWEST_START, RIGHT
from wall_env.state import PLACE, TURN

SPECS = ["builder", "mcts:playouts=20"]
OPTIONS: list[dict[str, Any]] = [
    {"num_players": 1},
    {"num_players": 1, "num_decks": 2, "jokers_per_deck": 4},
    {},
    {"jokers_per_deck": 0, "ends": "deck"},
    {"num_decks": 2, "max_width": 4},
    {"num_players": 3, "max_width": 1},
    {"num_players": 4, "ends": "deck", "jokers_per_deck": 4},
    {"num_players": 5, "max_width": 7},
    {"num_players": 6, "num_decks": 2},
]
ALL_OPTIONS = pytest.mark.parametrize("options", OPTIONS, ids=lambda options: ",".join(map(str, options.values())))
BOTH = pytest.mark.parametrize("spec", SPECS)


def positions(game: Game, count: int, seed: int) -> States:
    """Positions of games of `builder` with some random moves, from all stages, among them all kinds of decisions."""
    builder, random = make_agent("builder", game), make_agent("random", game)
    states = game.new_states(lane_seeds(seed, 8))
    found: list[States] = []
    tick = 0
    while sum(map(len, found)) < count:
        player = random if tick % 5 == 0 else builder
        if tick % 7 == 0:
            found.append(states.copy())
        game.step(states, player.act(game.view(states, game.current_player(states))))
        over = game.terminated(states)
        states[over] = game.new_states(lane_seeds(seed + 1000 + tick, int(over.sum())))
        tick += 1
    return np.concatenate(found)[:count]


@kernel
def _read_and_write(observations: np.ndarray, views: np.ndarray, out: np.ndarray) -> None:
    for row in range(len(observations)):
        read_observation(observations[row], views[row])
        write_observation(views[row], out[row])


@ALL_OPTIONS
def test_a_view_that_is_read_from_an_observation_has_the_same_observation(options: dict[str, Any]) -> None:
    game = WallGame(WallRules(**options))
    states = positions(game, 64, seed=3)
    for seat in range(game.num_players):
        expected, _ = game.show(states, np.full(len(states), seat))
        views = game.empty_views(len(states))
        for name in ("num_players", "num_decks", "jokers_per_deck", "width_limit", "num_levels"):
            views[name] = getattr(game.rules, name)
        found = np.empty_like(expected)
        _read_and_write(expected, views, found)
        assert (found == expected).all()


@BOTH
@ALL_OPTIONS
def test_choices_are_legal_and_depend_on_the_view_alone(options: dict[str, Any], spec: str) -> None:
    game = WallGame(WallRules(**options))
    states = positions(game, 64, seed=1)
    views = game.view(states, game.current_player(states))
    agent = make_agent(spec, game)
    agent.reset(11)
    actions = agent.act(views)
    assert game.action_mask(states)[np.arange(len(states)), actions].all()
    # The same for an agent made anew, in any batch and order.
    again = make_agent(spec, game)
    again.reset(11)
    order = np.random.default_rng(0).permutation(len(views))
    assert (again.act(views[order]) == actions[order]).all()
    assert [int(agent.act(views[k : k + 1])[0]) for k in range(len(views))] == actions.tolist()
    # The same when what the view hides is dealt anew.
    for seed in range(3):
        worlds = game.determinize(views, lane_seeds(seed, len(views)))
        assert (agent.act(game.view(worlds, game.current_player(worlds))) == actions).all()


@ALL_OPTIONS
def test_playouts_of_builder_are_the_games_that_its_agents_play(options: dict[str, Any]) -> None:
    """So in a playout, too, it uses nothing but what a seat may know."""
    game = WallGame(WallRules(**options))
    states = game.new_states(lane_seeds(3, 4))
    played = states.copy()
    decisions = game.playout(played, lane_seeds(0, 4), "builder")
    assert game.terminated(played).all()
    builder = make_agent("builder", game)
    number = 0
    while not game.terminated(states).all():
        going = np.flatnonzero(~game.terminated(states))
        moving = states[going]
        game.step(moving, builder.act(game.view(moving, game.current_player(moving))))
        states[going] = moving
        number += len(going)
    assert number == decisions
    assert (states == played).all()


def test_mcts_chooses_by_its_seed() -> None:
    game = WallGame()
    states = positions(game, 64, seed=2)
    views = game.view(states, game.current_player(states))
    agent = make_agent("mcts:playouts=4", game)
    choices = []
    for seed in (1, 2):
        agent.reset(seed)
        choices.append(agent.act(views))
    assert (choices[0] != choices[1]).any()


def test_mcts_keeps_to_its_time() -> None:
    game = WallGame(WallRules(num_players=3))
    states = positions(game, 20, seed=2)
    actions = make_agent("mcts:ms=5", game).act(game.view(states, game.current_player(states)))
    assert game.action_mask(states)[np.arange(len(states)), actions].all()


@pytest.mark.parametrize(("spec", "deals"), [("builder", 300), ("mcts:playouts=100", 30)])
@pytest.mark.parametrize("players", [2, 4])
def test_both_beat_greedy_clearly(players: int, spec: str, deals: int) -> None:
    """They lead by far more than twice the half-width of the interval, so that it holds for any seed."""
    game = WallGame(WallRules(num_players=players))
    result = play_match(game, (make_agent(spec, game), make_agent("greedy", game)), deals=deals, seed=1)
    assert result.mean > 2 * result.half_width


# --- positions whose right action is plain ----------------------------------------------------------------------------


def table(
    game: Game,
    bases: Sequence[Sequence[str]],
    deck: Sequence[str],
    discards: Sequence[str] = (),
    in_hand: str | None = None,
) -> States:
    """A position [1] in which seat 0 is to move; ranks as in "A23456789TJQK", "X" for a joker.

    Each seat's base is given, to which nothing is built yet; suits do not matter.
    """
    states = game.new_states(lane_seeds(0, 1))
    state = states[0]
    ids = {rank: k for k, rank in enumerate("A23456789TJQK")} | {"X": 104}
    for seat, base in enumerate(bases):
        state["wall"][seat, 0, : len(base)] = [ids[rank] + 1 for rank in base]
        state["width"][seat], state["height"][seat] = len(base), 1
    state["deck"], state["discard"] = -1, -1
    state["deck"][: len(deck)] = [ids[rank] for rank in deck]
    state["deck_length"] = len(deck)
    state["discard"][: len(discards)] = [ids[rank] for rank in discards]
    state["discard_size"] = len(discards)
    state["to_move"], state["phase"], state["num_decisions"] = 0, TURN, -1
    if in_hand is not None:
        state["phase"], state["in_hand"] = PLACE, ids[in_hand]
    return states


def choice(spec: str, states: States) -> str:
    game = WallGame()
    return game.action_name(int(make_agent(spec, game).act(game.view(states, [0]))[0]))


STRONG = pytest.mark.parametrize("spec", ["builder", "mcts:playouts=400"])


@STRONG
def test_the_last_card_of_the_deck_is_built_for_points(spec: str) -> None:
    states = table(WallGame(), [["2", "6"], ["5"]], deck=["K"], in_hand="8")
    assert choice(spec, states) == "build 1.0"


@STRONG
def test_a_discard_that_scores_is_taken_when_the_deck_is_empty(spec: str) -> None:
    states = table(WallGame(), [["2", "6"], ["K"]], deck=[], discards=["8"])
    assert choice(spec, states) == "take"


@STRONG
def test_a_joker_goes_where_no_other_card_can_come(spec: str) -> None:
    """2 + 6 wants an 8, of which the deck is full; 6 + 5 a jack, of which there is none."""
    states = table(WallGame(), [["2", "6", "5"], ["K"]], deck=["8"] * 4 + ["Q"] * 4, in_hand="X")
    assert choice(spec, states) == "build 1.1"


@STRONG
def test_a_low_card_widens_a_base(spec: str) -> None:
    states = table(WallGame(), [["3"], ["5"]], deck=list("A3456789TJQK") * 3, in_hand="2")
    assert choice(spec, states) in ("left", "right")


@STRONG
def test_the_turn_is_passed_when_the_only_card_is_of_no_use(spec: str) -> None:
    states = table(WallGame(), [["5", "7"], ["6"]], deck=[], discards=["K"])
    assert choice(spec, states) == "pass"


@STRONG
def test_the_start_is_a_low_card(spec: str) -> None:
    game = WallGame()
    states = game.new_states(lane_seeds(5, 1))
    seat = game.current_player(states)
    assert LOWEST_START + int(make_agent(spec, game).act(game.view(states, seat))[0]) in (2, 3, 4)


def test_builder_does_not_leave_the_next_player_what_he_wants() -> None:
    """An 8 that is worth a little to me and a row of three levels to him is not thrown away."""
    states = table(WallGame(), [["K"], ["7", "A", "7"]], deck=["9"] * 4, in_hand="A")
    wall: NDArray[np.int8] = states["wall"][0]
    wall[1, 1, 0] = 8
    states["height"][0, 1] = 2
    states["score"][0, 1] = 1
    assert choice("builder", states) in ("left", "right")


def test_mirroring_a_wall_is_a_symmetry() -> None:
    """Checked on walls that are mirrored card by card, not by `mirrors`."""
    game = WallGame()
    observation, action = mirrors(game.rules)
    states = game.new_states(lane_seeds(4, 60))
    seen = set()
    for _ in range(40):
        states = states[~game.terminated(states)]
        movers = game.current_player(states).astype(np.int64)
        image = states.copy()
        for lane, seat in enumerate(movers):
            width = states["width"][lane, seat]
            for level in range(width):
                row = states["wall"][lane, seat, level, : width - level]
                image["wall"][lane, seat, level, : width - level] = row[::-1]
        before, masks = game.show(states, movers)
        after, masks_after = game.show(image, movers)
        widths = states["width"][np.arange(len(states)), movers]
        assert (np.take_along_axis(before, observation[widths], axis=1) == after).all()
        assert (np.take_along_axis(masks, action[widths], axis=1) == masks_after).all()
        seen |= {int(chosen) for chosen in np.flatnonzero(masks.any(axis=0))}
        game.step(states, make_agent("builder", game).act(game.view(states, movers)))
    assert {LEFT, RIGHT, encode_build(game.rules, 2, 0)} <= seen
    assert (np.take_along_axis(observation, observation, axis=1) == np.arange(game.layout.size)).all()
    assert (np.take_along_axis(action, action, axis=1) == np.arange(game.num_actions)).all()
