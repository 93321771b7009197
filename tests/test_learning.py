"""Labels, imitation and networks without torch."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch

from agents import make_agent, wall_mcts, wall_network_mcts
from agents.network import Network
from agents.network_agent import NetworkAgent, load_network
from agents.piles_pimc import action_values
from agents.place_network import PlaceNetwork
from agents.torch_networks import Module, new_module, to_module, to_network
from cardtable.chance import lane_seeds
from cardtable.game import Game
from experiments import label
from experiments.__main__ import main as command
from piles_env import PilesGame, PilesRules
from wall_env import WallGame, WallRules
from wall_env.advice import advise
from wall_env.engine import LEFT, RIGHT
from wall_env.state import CHOOSE, PLACE


@pytest.fixture(scope="module")
def labels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("labels")
    assert command(["label", "piles", "--positions", "3000", "--playouts", "1", "--out", str(folder)]) == 0
    return folder


GAMES = (PilesGame(), PilesGame(PilesRules(num_players=2)), WallGame(), WallGame(WallRules(num_players=4)))


def random_module(game: Game, widths: Sequence[int] = (24, 16, 20), scale: float = 20.0) -> Module:
    torch.manual_seed(1)
    module = new_module(game, widths, scale)
    for parameter in module.parameters():
        if not parameter.any():  # Wall's last layers are 0 at first
            torch.nn.init.normal_(parameter, std=0.3)
    return module


def random_network(game: Game) -> Network:
    return to_network(game, random_module(game), {"method": "none"})


def observations(game: Game, count: int) -> np.ndarray:
    """Positions at the beginning, of which Wall's first ones have no wall yet, and some moves later."""
    states = game.new_states(lane_seeds(7, count))
    seen = []
    for _ in range(10):
        seen.append(game.show(states, game.current_player(states).astype(np.int64))[0][:10])
        game.step(states, make_agent("random", game).act(game.view(states, game.current_player(states))))
        states = states[~game.terminated(states)]
    return np.concatenate(seen)[-count:]


@pytest.mark.parametrize("widths", [(24, 16), (24, 16, 20)], ids=str)
@pytest.mark.parametrize("game", GAMES, ids=repr)
def test_a_network_computes_what_torch_does_and_the_same_in_any_batch(game: Game, widths: tuple[int, ...]) -> None:
    module = random_module(game, widths)
    network = to_network(game, module, {})
    seen = observations(game, 100)
    with torch.no_grad():
        expected = module(torch.tensor(seen)).numpy()
        again = to_module(game, network)(torch.tensor(seen)).numpy()
    found = network.values(seen)
    assert np.abs(found - expected).max() <= 1e-5 * max(1, np.abs(expected).max())
    assert (again == expected).all()
    assert len(np.unique(found, axis=0)) == len(np.unique(seen, axis=0)) > 1
    for row in range(len(seen)):
        assert (network.values(seen[row : row + 1])[0] == found[row]).all()


def test_mirroring_the_castle_mirrors_the_values_of_a_place_network() -> None:
    game = PilesGame()
    network = random_network(game)
    seen = observations(game, 10)
    values = network.values(seen)
    for symmetry in game.symmetries:
        turned = network.values(seen[:, symmetry.observation])
        same = np.allclose(turned, values[:, symmetry.action], atol=1e-4)
        assert same == ("swap colours" not in symmetry.name)  # kinds have weights of their own


@pytest.mark.parametrize(
    "options", [{}, {"num_players": 4}, {"num_players": 1, "num_decks": 2, "max_width": 9}], ids=str
)
def test_a_fresh_place_network_values_the_actions_of_wall_as_builder_does(options: dict[str, int]) -> None:
    game = WallGame(WallRules(**options))
    network = to_network(game, new_module(game, (8, 8, 8)), {})
    random = np.random.default_rng(0)
    states = game.new_states(lane_seeds(3, 30))
    decisions = 0
    while len(states):
        seats = game.current_player(states).astype(np.int64)
        views = game.view(states, seats)
        seen, masks = game.observe(views)
        values = np.where(masks, network.values(seen), -np.inf)
        chosen = game.policy_actions(views, lane_seeds(1, len(states)), "builder")
        assert (values[np.arange(len(states)), chosen] > values.max(axis=1) - 1e-5).all()
        decisions += len(states)
        others = game.policy_actions(views, lane_seeds(decisions, len(states)), "random")
        game.step(states, np.where(random.random(len(states)) < 0.2, others, chosen))
        states = states[~game.terminated(states)]
    assert decisions > 500


def test_a_place_network_takes_any_numbers_of_the_observation_space() -> None:
    game = WallGame()
    random = np.random.default_rng(0)
    low, high = game.layout.low.astype(int), game.layout.high.astype(int)
    values = random_network(game).values(random.integers(low, high, (50, len(low)), endpoint=True).astype(np.int8))
    assert np.isfinite(values).all()


def test_builder_has_no_advice_for_those_who_are_not_to_move() -> None:
    game = WallGame()
    states = game.new_states(lane_seeds(3, 5))
    for _ in range(9):
        game.step(
            states, game.policy_actions(game.view(states, game.current_player(states)), lane_seeds(1, 5), "builder")
        )
    waiting = 1 - game.current_player(states).astype(np.int64)
    seen, _ = game.show(states, waiting)
    assert not any(part.any() for part in advise(game.rules, seen))
    assert all(part.any() for part in advise(game.rules, game.show(states, 1 - waiting)[0]))


@pytest.mark.parametrize("wrong", [[], [16, 0, 16]], ids=str)
def test_widths_that_make_no_network_are_refused(wrong: list[int]) -> None:
    with pytest.raises(ValueError, match="widths"):
        new_module(PilesGame(), wrong)


def test_a_network_survives_its_file(tmp_path: Path) -> None:
    game = PilesGame()
    network = random_network(game)
    path = tmp_path / "net.npz"
    network.save(path)
    again = load_network(path, game)
    assert again.about == network.about
    seen = observations(game, 5)
    assert (again.values(seen) == network.values(seen)).all()
    agent = make_agent(f"policy:{path}", game)
    assert isinstance(agent, NetworkAgent)


def test_a_search_with_a_policy_tries_what_the_policy_proposes(tmp_path: Path) -> None:
    game = PilesGame()
    states = game.new_states(lane_seeds(3, 20))
    views = game.view(states, game.current_player(states))
    masks = game.action_mask(states)
    chosen = []
    for scale in (1e-6, 1e6):  # of its preferences, in points
        path = tmp_path / f"{scale}.npz"
        to_network(game, random_module(game, scale=scale), {}).save(path)
        policy = make_agent(f"policy:{path}", game)
        assert isinstance(policy, NetworkAgent)
        agent = make_agent(f"pimc:playouts=50,policy={path}", game)
        actions = agent.act(views)
        assert (actions == agent.act(views)).all() and masks[np.arange(20), actions].all()
        ranks = (policy.values(views) > policy.values(views)[np.arange(20), actions][:, None]).sum(axis=1)
        chosen.append(ranks)
    assert chosen[0].max() == 7 and len(set(chosen[0])) > 4, "any of the best eight, by playouts"
    assert (chosen[1] == 0).all(), "the best by far"
    with pytest.raises(ValueError, match=r"playouts=N or ms=N; policy=NAME, N at least 1"):
        make_agent(f"pimc:policy={path},policy={path}", game)
    with pytest.raises(ValueError, match="policy needs"):
        make_agent("pimc:policy=nobody", game)


def test_networks_for_something_else_are_refused(tmp_path: Path) -> None:
    game, duel = PilesGame(), PilesGame(PilesRules(num_players=2))
    path = tmp_path / "net.npz"
    random_network(game).save(path)
    with pytest.raises(ValueError, match=r"it was made for rules .*'num_players': 4"):
        make_agent(f"policy:{path}", duel)
    assert make_agent(f"policy:{path}", PilesGame(PilesRules(reward="win")))  # the reward changes nothing
    with pytest.raises(ValueError, match="there is no file"):
        make_agent(f"policy:{tmp_path / 'other.npz'}", game)
    narrow = dict(random_network(game).parameters)
    narrow["body.own.weight"] = narrow["body.own.weight"][:, 1:]
    with pytest.raises(ValueError, match="numbers about a place"):
        PlaceNetwork(game, narrow, {})
    path.write_bytes(b"nonsense")
    with pytest.raises(ValueError, match="is no network"):
        make_agent(f"policy:{path}", game)


def test_action_values_are_the_margin_when_all_is_known() -> None:
    game = PilesGame()
    states = game.new_states(lane_seeds(1, 30))
    agent = make_agent("greedy", game)
    for _ in range(39):
        game.step(states, agent.act(game.view(states, game.current_player(states))))
    views = game.view(states, game.current_player(states))
    values = action_values(game, views, 1, lane_seeds(2, 30))
    masks = game.action_mask(states)
    assert (np.isnan(values) == (masks == 0)).all()
    for lane in range(len(states)):
        for action in np.flatnonzero(masks[lane]):
            end = states[lane : lane + 1].copy()
            game.step(end, np.array([action]))
            scores = game.scores(end)[0]
            own = int(views["seat"][lane]) % 2
            assert values[lane, action] == scores[own] - scores[1 - own]


def test_action_values_of_wall_are_those_of_its_search() -> None:
    game = WallGame()
    states = game.new_states(lane_seeds(1, 40))
    builder, search = make_agent("builder", game), make_agent("mcts:playouts=300", game)
    agree = compared = 0
    for tick in range(14):
        views = game.view(states, game.current_player(states))
        values = wall_mcts.action_values(game, views, 300, lane_seeds(tick, len(states)))
        assert (np.isnan(values) == (game.action_mask(states) == 0)).all()
        choosing = views["phase"] == CHOOSE
        best = np.nanargmax(values, axis=1)
        assert (best[choosing] == builder.act(views)[choosing]).all()
        apart = np.sort(np.where(np.isnan(values), -np.inf, values), axis=1)
        clear = ~choosing & (apart[:, -1] - apart[:, -2] > 1.0)
        agree += int((best == search.act(views))[clear].sum())
        compared += int(clear.sum())
        game.step(states, builder.act(views))
        states = states[~game.terminated(states)]
    assert compared > 20 and agree > 0.9 * compared


def test_trials_by_a_network_that_plays_as_builder_are_the_trials_of_the_search() -> None:
    game = WallGame(WallRules(num_players=3))
    states = game.new_states(lane_seeds(1, 8))
    policy = NetworkAgent(game, to_network(game, new_module(game, (8, 8, 8)), {}))
    for tick in range(60):
        views = game.view(states, game.current_player(states))
        if tick % 10 == 9:
            seeds = lane_seeds(tick, len(states))
            expected = wall_mcts.action_values(game, views, 20, seeds)
            found = wall_network_mcts.values_by_policy(game, views, 20, seeds, policy)
            assert np.allclose(found, expected, atol=1e-4, equal_nan=True)
        game.step(states, game.policy_actions(views, lane_seeds(2, len(states)), "builder"))
        states = states[~game.terminated(states)]
    dealt = game.new_states(lane_seeds(3, 1))
    opening = game.view(dealt, game.current_player(dealt))
    values = wall_network_mcts.values_by_policy(game, opening, 20, lane_seeds(0, 1), policy)
    assert np.nanargmax(values) == 1  # a 3 (W4)


def test_a_critic_values_what_the_viewer_sees_at_the_end_of_a_trial() -> None:
    game = WallGame(WallRules(num_players=3))
    states = game.new_states(lane_seeds(1, 8))
    width = game.layout.slices["width"].start  # of the viewer's own base
    seen: list[np.ndarray] = []

    def critic(observations: np.ndarray) -> np.ndarray:
        seen.append(observations)
        return np.full(len(observations), 7, np.float32)

    early = late = 0
    for tick in range(130):
        views = game.view(states, game.current_player(states))
        if tick % 10 == 9 and len(states):
            seeds = lane_seeds(tick, len(states))
            expected = wall_mcts.action_values(game, views, 20, seeds)
            found = wall_network_mcts.values_by_critic(game, views, 20, seeds, critic)
            without = wall_network_mcts.values_by_critic(game, views, 20, seeds, lambda seen: 0 * critic(seen))
            added = found - without
            assert (np.isnan(found) == np.isnan(expected)).all()
            assert (np.isnan(added) | ((added > -1e-3) & (added < 7 + 1e-3))).all()
            few = (views["deck_size"] < 8) & (views["phase"] != CHOOSE)
            assert np.allclose(found[few], expected[few], atol=1e-4, equal_nan=True), "trials go to the end"
            many = views["deck_size"] > 20
            assert (np.isnan(added[many]) | (np.abs(added[many] - 7) < 1e-3)).all()
            early, late = early + many.sum(), late + few.sum()
            least = views["width"][np.arange(len(views)), views["seat"]].min()
            assert all((observations[:, width] >= least).all() for observations in seen)
        seen.clear()
        game.step(states, game.policy_actions(views, lane_seeds(2, len(states)), "builder"))
        states = states[~game.terminated(states)]
    assert early > 10 and late > 10
    dealt = game.new_states(lane_seeds(3, 1))
    opening = game.view(dealt, game.current_player(dealt))
    values = wall_network_mcts.values_by_critic(game, opening, 20, lane_seeds(0, 1), critic)
    assert np.nanargmax(values) == 1 and not seen  # a 3 (W4)


def test_the_critic_of_a_run_makes_labels_and_its_policy_is_fitted_further(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["train", "wall", "--decisions", "100", "--lanes", "10", "--steps", "10", "--batch-size", "50"]
    words += ["--widths", "8", "8", "8", "--deals", "2", "--evaluation-deals", "2", "--opponents", "random"]
    assert command([*words, "--critic-updates", "1", "--threads", "1", "--out", str(tmp_path)]) == 0
    folder = tmp_path / "wall-2p"
    words = ["label", "wall", "--positions", "2000", "--playouts", "1", "--out", str(tmp_path / "labels")]
    assert command([*words, "--critic", str(folder), "--policy", "wall-2p"]) == 1
    assert "not both" in capsys.readouterr().err
    assert command([*words, "--players", "3", "--critic", str(folder)]) == 1
    assert "needs a run in Wall for 3 players" in capsys.readouterr().err
    assert command([*words, "--critic", str(folder)]) == 0
    start = folder / "policy.npz"
    words = ["imitate", str(tmp_path / "labels"), "--epochs", "1", "--deals", "2", "--out", str(tmp_path), "--keep"]
    assert command([*words, "0.5"]) == 1
    assert "needs --from" in capsys.readouterr().err
    game = WallGame()
    weights = {}
    for name, keep in (("wall-2p-imitate", "0"), ("wall-2p-imitate-2", "0.5")):
        assert command([*words, keep, "--from", str(start)]) == 0
        weights[keep] = load_network(tmp_path / name / "policy.npz", game).parameters
    begun = load_network(start, game).parameters
    assert np.allclose(weights["0"]["head.scale"], begun["head.scale"] * 0.1), "logits are points by the temperature"
    assert np.abs(weights["0"]["body.own.weight"] - begun["body.own.weight"]).max() > 2e-5
    for name, array in weights["0.5"].items():
        if name.startswith("body.") and name.endswith("weight"):
            assert np.allclose(array, (weights["0"][name] + begun[name]) / 2, rtol=0, atol=1e-6)


def test_labels_of_wall_go_on_through_many_games(tmp_path: Path) -> None:
    words = ["label", "wall", "--positions", "2000", "--playouts", "1", "--out", str(tmp_path)]
    assert command(words) == 0
    found = label.load(tmp_path)
    game, files = found.game, found.files
    assert game == WallGame() and len(files) == 1 and (found.playouts, found.seed) == (1, 0)
    with np.load(files[0]) as file:
        views = file["views"].view(game.view_dtype)
        assert (np.isnan(file["values"]) == (game.observe(views)[1] == 0)).all()
    assert (views["seat"] == views["to_move"]).all() and len(views) == 2000
    first = views["phase"] == CHOOSE
    assert first.sum() > 2 * 10, "more games than lanes: each begins with a start card for both players"
    assert command(["imitate", str(tmp_path), "--epochs", "1", "--deals", "2", "--out", str(tmp_path / "runs")]) == 0
    path = tmp_path / "runs" / "wall-2p-imitate" / "policy.npz"
    assert isinstance(make_agent(f"policy:{path}", game), NetworkAgent)
    further = [*words[:-1], str(tmp_path / "further"), "--policy", str(path)]
    assert command(further) == 0
    assert command(further[:-2]) == 1, "other labels"
    words = ["imitate", str(tmp_path / "further"), "--from", str(path), "--epochs", "1", "--deals", "2"]
    assert command([*words, "--out", str(tmp_path / "runs")]) == 0
    again = load_network(tmp_path / "runs" / "wall-2p-imitate-2" / "policy.npz", game)
    assert again.about["training"]["start"] == load_network(path, game).about["training"]


def test_an_agent_can_play_the_games_that_are_labelled(tmp_path: Path) -> None:
    words = ["label", "wall", "--positions", "2000", "--playouts", "1", "--out", str(tmp_path)]
    assert command([*words, "--player", "builder"]) == 0
    assert command([*words, "--player", "greedy"]) == 1
    found = label.load(tmp_path)
    game, files = found.game, found.files
    with np.load(files[0]) as file:
        views = file["views"].view(game.view_dtype)
    # Ten games side by side: each position follows from that ten places before it by builder's choice or a random one.
    as_played = 0
    for k in range(len(views) - 10):
        if views["phase"][k] == PLACE and views["to_move"][k + 10] != views["to_move"][k]:
            action = game.policy_actions(views[k : k + 1], lane_seeds(0, 1), "builder")[0]
            grown = views["width"][k + 10][views["seat"][k]] - views["width"][k][views["seat"][k]]
            as_played += grown == (action in (LEFT, RIGHT))
        elif views["phase"][k] == PLACE:
            as_played += 1
    assert as_played > 0.85 * (views["phase"][:-10] == PLACE).sum()


def test_wrong_starts_and_policies_are_refused(
    labels: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "net.npz"
    random_network(PilesGame()).save(path)
    assert command(["imitate", str(labels), "--from", str(path), "--out", str(tmp_path)]) == 1
    assert "no points" in capsys.readouterr().err
    words = ["label", "piles", "--positions", "10", "--out", str(tmp_path / "new"), "--policy"]
    assert command([*words, "piles-4p"]) == 1
    assert "Wall only" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


def test_labels_are_reproducible_and_an_interrupted_run_goes_on(labels: Path, tmp_path: Path) -> None:
    found = label.load(labels)
    game, files = found.game, found.files
    assert game == PilesGame()
    assert [file.name for file in files] == ["00000.npz", "00001.npz"]
    before = files[0].read_bytes()
    with np.load(files[1]) as file:
        expected = {name: file[name] for name in file.files}
    files[1].unlink()
    assert command(["label", "piles", "--positions", "3000", "--playouts", "1", "--out", str(labels)]) == 0
    assert files[0].read_bytes() == before
    with np.load(files[1]) as file:
        for name, array in expected.items():
            assert np.array_equal(file[name], array, equal_nan=name == "values")
    views = expected["views"].view(game.view_dtype)
    assert (views["seat"] == views["to_move"]).all() and len(views) == 2000
    assert (np.isnan(expected["values"]) == (game.observe(views)[1] == 0)).all()


def test_labels_of_other_settings_are_not_mixed(labels: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command(["label", "piles", "--positions", "3000", "--playouts", "2", "--out", str(labels)]) == 1
    assert "holds labels with playouts 1, not 2" in capsys.readouterr().err
    assert command(["imitate", str(labels / "nowhere")]) == 1
    assert "there are no labels in" in capsys.readouterr().err


def test_imitation_ends_in_a_network_that_plays(
    labels: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [
        "imitate",
        str(labels),
        "--epochs",
        "8",
        "--widths",
        "16",
        "16",
        "16",
        "--deals",
        "20",
        "--out",
        str(tmp_path),
    ]
    assert command(words) == 0
    printed = capsys.readouterr().out
    folder = tmp_path / "piles-4p-imitate"
    assert str(folder / "policy.npz") in printed and "| network | random" in printed
    about = load_network(folder / "policy.npz", PilesGame()).about["training"]
    assert about["positions"] == 2000 and about["epochs"] == 8
    assert about["loss"] < 1.5
