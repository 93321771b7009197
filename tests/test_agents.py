"""Agents: specs, legality, fairness, and what `greedy` means, checked against the rules step by step."""

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from agents import agent_names, make_agent
from cardtable.cards import card_text
from cardtable.chance import lane_seeds
from cardtable.game import Game, States
from experiments.match import play_match
from piles_env import PilesGame, PilesRules
from wall_env import WallGame, WallRules

GAMES: list[Game] = [
    PilesGame(),
    PilesGame(PilesRules(num_players=2)),
    PilesGame(PilesRules(passed_cards="hidden")),
    WallGame(),
    WallGame(WallRules(num_players=4, num_decks=2)),
]
SPECS = ["random", "greedy", "careful", "pimc:playouts=30", "ismcts:playouts=30"]
PAIRS = [(game, spec) for game in GAMES for spec in SPECS if game.name == "piles-v0" or spec in SPECS[:2]]


def positions(game: Game, count: int, seed: int) -> States:
    """Unfinished positions from games of `greedy` with some random moves, at all stages."""
    greedy, random = make_agent("greedy", game), make_agent("random", game)
    states = game.new_states(lane_seeds(seed, 16))
    found: list[States] = []
    tick = 0
    while sum(map(len, found)) < count:
        views = game.view(states, game.current_player(states))
        player = random if tick % 4 == 0 else greedy
        game.step(states, player.act(views))
        over = game.terminated(states)
        states[over] = game.new_states(lane_seeds(seed + 1000 + tick, int(over.sum())))
        if tick % 3 == 0:
            found.append(states.copy())
        tick += 1
    return np.concatenate(found)[:count]


@pytest.mark.parametrize(("game", "spec"), PAIRS, ids=str)
def test_choices_are_legal_and_depend_on_the_view_alone(game: Game, spec: str) -> None:
    agent = make_agent(spec, game)
    agent.reset(11)
    states = positions(game, 120, seed=1)
    views = game.view(states, game.current_player(states))
    actions = agent.act(views)
    assert game.action_mask(states)[np.arange(len(states)), actions].all()
    # The same in any batch and order, and after other calls.
    order = np.random.default_rng(0).permutation(len(views))
    assert (agent.act(views[order]) == actions[order]).all()
    assert [int(agent.act(views[k : k + 1])[0]) for k in range(len(views))] == actions.tolist()
    # The same when what the view hides is dealt anew.
    worlds = game.determinize(views, lane_seeds(5, len(views)))
    assert (agent.act(game.view(worlds, game.current_player(worlds))) == actions).all()
    # Another seed brings other choices, but for a player without chance.
    agent.reset(12)
    assert (agent.act(views) != actions).any() or spec == "careful"


def test_random_is_uniform_over_legal_actions() -> None:
    game = PilesGame()
    state = game.new_states(lane_seeds(3, 1))
    agent = make_agent("random", game)
    view = game.view(state, game.current_player(state))
    legal = np.flatnonzero(game.action_mask(state)[0])
    counts = np.zeros(game.num_actions)
    samples = 100 * len(legal)
    for seed in range(samples):
        agent.reset(seed)
        counts[agent.act(view)[0]] += 1
    assert counts.sum() == counts[legal].sum()
    chi_square = float(((counts[legal] - 100) ** 2 / 100).sum())
    assert chi_square < len(legal) + 5 * np.sqrt(2 * len(legal))


def _piles_values(game: Game, state: NDArray[np.void]) -> dict[int, Fraction]:
    """Each legal action's margin for the mover's side if the game ended after it, by playing it."""
    seat = int(state["to_move"][0])
    sign = 1 if seat % 2 == 0 else -1

    def margin(move: Callable[[States], None]) -> Fraction:
        copy = state.copy()
        move(copy)
        scores = game.scores(copy)[0]
        return Fraction(int(scores[0] - scores[1]) * sign)

    hand = [card for card in range(52) if int(state["hand"][0][seat]) >> card & 1]
    values = {}
    for action in map(int, np.flatnonzero(game.action_mask(state)[0])):
        if action == game.num_actions - 1:
            lost = [margin(lambda copy, card=card: game.replay_move(copy, f"pass:{card_text(card)}")) for card in hand]
            values[action] = sum(lost, Fraction()) / len(hand)
        else:
            values[action] = margin(lambda copy, action=action: game.step(copy, np.array([action])))
    return values


@pytest.mark.parametrize("options", [{}, {"num_players": 2}, {"opener_may_pass": True}])
def test_piles_greedy_takes_a_best_action(options: dict[str, object]) -> None:
    game = PilesGame(PilesRules(**options))  # type: ignore[arg-type]
    agent = make_agent("greedy", game)
    seen: set[int] = set()
    for number, state in enumerate(positions(game, 60, seed=2)):
        single = state[None].copy()
        values = _piles_values(game, single)
        best = {action for action, value in values.items() if value == max(values.values())}
        chosen = set()
        for seed in range(20):
            agent.reset(seed)
            chosen.add(int(agent.act(game.view(single, game.current_player(single)))[0]))
        assert chosen <= best, (number, chosen - best)
        assert len(chosen) > 1 or len(best) < 4, "ties are broken at random"
        seen |= chosen
    assert len(seen) > 20


def _gain(game: Game, state: States, action: int) -> int:
    copy = state.copy()
    seat = int(state["to_move"][0])
    game.step(copy, np.array([action]))
    return int(game.scores(copy)[0][seat] - game.scores(state)[0][seat])


def _best_gain_in_hand(game: Game, state: States) -> int:
    return max(_gain(game, state, int(action)) for action in np.flatnonzero(game.action_mask(state)[0]))


def _wall_values(game: Game, state: States) -> dict[str, Fraction]:
    """Each legal action's points in this turn, by playing it; a draw is tried with every card of the deck."""
    values = {}
    for action in map(int, np.flatnonzero(game.action_mask(state)[0])):
        name = game.action_name(action)
        after = state.copy()
        game.step(after, np.array([action]))
        if name == "draw":
            gains = []
            for k in range(int(state["deck_top"][0]), int(state["deck_length"][0])):
                drawn = after.copy()
                drawn["in_hand"] = state["deck"][0][k]
                gains.append(_best_gain_in_hand(game, drawn))
            values[name] = Fraction(sum(gains), len(gains))
        elif name == "take":
            values[name] = Fraction(_best_gain_in_hand(game, after))
        else:
            values[name] = Fraction(_gain(game, state, action))
    return values


@pytest.mark.parametrize("options", [{}, {"num_players": 3, "num_decks": 2}])
def test_wall_greedy_takes_a_best_action(options: dict[str, object]) -> None:
    game = WallGame(WallRules(**options))  # type: ignore[arg-type]
    agent = make_agent("greedy", game)
    names: set[str] = set()
    for number, state in enumerate(positions(game, 500, seed=4)):
        single = state[None].copy()
        values = _wall_values(game, single)
        best = {name for name, value in values.items() if value == max(values.values())}
        idle = {"pass"} | ({"discard"} if len(values) > 1 else set())
        best = (best - idle) or best
        for seed in range(2):
            agent.reset(seed)
            chosen = game.action_name(int(agent.act(game.view(single, game.current_player(single)))[0]))
            assert chosen in best, (number, chosen, values)
            names.add(chosen.split(".")[0])
    assert {"draw", "take", "left", "right", "build 1", "build 2"} <= names


def test_unknown_agents_are_named_with_the_known_ones() -> None:
    game = PilesGame()
    with pytest.raises(ValueError, match=r"unknown agent 'greeedy'.*random, greedy, .*, policy; did you mean 'greedy'"):
        make_agent("greeedy", game)
    with pytest.raises(ValueError, match="random does not understand 'x'; after the colon it takes nothing"):
        make_agent("random:x", game)
    for wrong in ("playouts=0", "playouts=-1", "playouts=many", "speed=1", "playouts"):
        with pytest.raises(
            ValueError, match=f"pimc does not understand '{wrong}'; after the colon it takes playouts=N or ms=N"
        ):
            make_agent(f"pimc:{wrong}", game)
    with pytest.raises(ValueError, match="pimc plays piles-v0 only; wall-v0 is played by random, greedy, "):
        make_agent("pimc", WallGame())
    with pytest.raises(ValueError, match="policy needs "):
        make_agent("policy", game)
    with pytest.raises(ValueError, match=r"there is no file 'nowhere\.zip'"):
        make_agent("policy:nowhere.zip", game)
    assert {"random", "greedy", "careful", "pimc", "policy"} <= set(agent_names())


@pytest.mark.parametrize("spec", SPECS)
def test_views_that_an_agent_cannot_answer_are_refused(spec: str) -> None:
    piles, wall, duel = PilesGame(), WallGame(), PilesGame(PilesRules(num_players=2))
    agent = make_agent(spec, piles)
    state = piles.new_states(lane_seeds(0, 1))
    with pytest.raises(ValueError, match="views are of another game"):
        agent.act(wall.view(wall.new_states(lane_seeds(0, 1)), [0]))
    with pytest.raises(ValueError, match="made by other rules: num_players is 2, not 4"):
        agent.act(duel.view(duel.new_states(lane_seeds(0, 1)), [0]))
    with pytest.raises(ValueError, match="lane 0, where its seat is not to move"):
        agent.act(piles.view(state, [1]))
    piles.playout(state, lane_seeds(0, 1))
    with pytest.raises(ValueError, match="game in lane 0 is over"):
        agent.act(piles.view(state, [0]))


@pytest.mark.parametrize("players", [4, 2])
@pytest.mark.parametrize(
    ("spec", "opponent", "deals"),
    [
        ("careful", "greedy", 30),
        ("pimc:playouts=100", "greedy", 10),
        ("ismcts:playouts=100", "greedy", 10),
        ("pimc:playouts=300", "careful", 30),
    ],
)
def test_better_players_of_piles_win_clearly(spec: str, opponent: str, deals: int, players: int) -> None:
    game = PilesGame(PilesRules(num_players=players))
    result = play_match(game, (make_agent(spec, game), make_agent(opponent, game)), deals, seed=1)
    assert result.mean - result.half_width > 0


@pytest.mark.parametrize(
    ("game", "spec"), [(PilesGame(), "pimc"), (PilesGame(), "ismcts"), (WallGame(), "mcts")], ids=str
)
def test_a_search_may_be_given_a_time_instead(game: Game, spec: str) -> None:
    states = positions(game, 6, seed=3)
    actions = make_agent(f"{spec}:ms=20", game).act(game.view(states, game.current_player(states)))
    assert game.action_mask(states)[np.arange(len(states)), actions].all()
    with pytest.raises(ValueError, match=f"{spec} does not understand 'playouts=3,ms=20'"):
        make_agent(f"{spec}:playouts=3,ms=20", game)


def test_careful_knows_what_a_good_player_knows() -> None:
    """Choices of `careful` in positions that leave no doubt, from P8 to P14."""
    game = PilesGame()
    agent = make_agent("careful", game)
    wins = draws = 0
    states = game.new_states(lane_seeds(9, 200))
    for _ in range(39):
        game.step(states, agent.act(game.view(states, game.current_player(states))))
    views = game.view(states, game.current_player(states))
    actions = agent.act(views)
    for lane in range(len(states)):  # the last card: nothing is left to weigh but the points
        values = _piles_values(game, states[lane : lane + 1])
        wins += values[int(actions[lane])] == max(values.values())
        draws += len(set(values.values())) == 1
    assert draws < 100 and wins == 200
