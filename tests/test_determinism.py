"""The same seed and the same actions give the same game, wherever and however it is played; and chance is fair."""

import copy
import hashlib
import itertools
import os
import pickle
import random
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from cardtable import chance, records
from cardtable.game import Game, States
from tests.playing import (
    CASES,
    ROOT,
    Case,
    Env,
    contents,
    fingerprint,
    is_uniform,
    observe_all,
    over,
    pick,
    play_episode,
    play_steps,
    positions,
    rows,
    saved,
    trajectory_digest,
    walk,
)

# --- same seed, same game ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("hash_seed", ["0", "12345"])
def test_another_process_plays_the_same_games(hash_seed: str) -> None:
    script = "from tests.playing import trajectory_digest; print(trajectory_digest(3))"
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    result = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == trajectory_digest(3)
    assert result.stdout.strip() != trajectory_digest(4)


def play_batch(game: Game, seeds: list[int]) -> list[str]:
    """Play a batch, the actions of each lane by its own seed alone; return a hash of each lane's actions and end."""
    states = game.new_states(np.array(seeds, np.uint64))
    generators = [np.random.default_rng(seed) for seed in seeds]
    hashes = [hashlib.sha256() for _ in seeds]
    lanes = np.arange(len(seeds))
    while len(lanes):
        draws = np.array([generators[lane].random() for lane in lanes])
        moving = states[lanes]
        actions = pick(game, game.action_mask(moving), draws)
        game.step(moving, actions)
        states[lanes] = moving
        for lane, action in zip(lanes, actions, strict=True):
            hashes[lane].update(int(action).to_bytes(2, "big"))
        lanes = lanes[~game.terminated(moving)]
    for lane, each in enumerate(hashes):
        each.update(contents(states[lane : lane + 1]))
    return [each.hexdigest() for each in hashes]


@over(CASES)
def test_batch_size_and_lane_order_do_not_matter(case: Case) -> None:
    game, seeds = case.game, list(range(100, 164))
    together = dict(zip(seeds, play_batch(game, seeds), strict=True))
    backwards = dict(zip(seeds[::-1], play_batch(game, seeds[::-1]), strict=True))
    assert together == backwards
    assert len(set(together.values())) == 64
    for seed in (100, 131, 163):
        assert play_batch(game, [seed]) == [together[seed]]


@over(CASES)
def test_playouts_do_not_depend_on_the_batch(case: Case) -> None:
    game, seeds = case.game, np.arange(64, dtype=np.uint64)
    starts = positions(game, 64, seed=1)
    order = np.random.default_rng(1).permutation(64)
    together, shuffled, single = starts.copy(), starts[order], starts[7:8].copy()
    decisions = game.playout(together, seeds)
    assert game.terminated(together).all()
    assert game.playout(shuffled, seeds[order]) == decisions > 64 - 1
    assert game.playout(single, seeds[7:8]) <= decisions
    assert contents(together[order]) == contents(shuffled)
    assert contents(together[7:8]) == contents(single)
    again = starts.copy()
    game.playout(again, seeds + np.uint64(64))
    assert contents(again) != contents(together), "another seed, other actions"


@over(CASES)
def test_rewards_after_a_playout_are_those_of_its_last_action(case: Case) -> None:
    game = case.game
    ends = positions(game, 12, seed=2)
    game.playout(ends, np.arange(12, dtype=np.uint64))
    for states in rows(ends):
        *_, replayed = records.replay(game.to_record(states[0]))
        assert game.rewards(states).tolist() == game.rewards(replayed).tolist()


@over(CASES)
def test_environment_and_batch_play_the_same_game(case: Case) -> None:
    env, game = case.env(), case.game
    env.reset(seed=2)
    start = saved(env).clone_state().states
    walked = walk(game, 2, start)
    for states, action in zip(walked.states, walked.actions, strict=False):
        assert contents(saved(env).clone_state().states) == contents(states)
        seen = [env.observe(agent) for agent in env.possible_agents]
        observations, masks = observe_all(game, states)
        assert (np.stack([each["observation"] for each in seen]) == observations).all()
        assert (np.stack([each["action_mask"] for each in seen]) == masks).all()
        env.step(action)
        assert list(env.rewards.values()) == game.rewards(saved(env).clone_state().states)[0].tolist()


# --- resets -----------------------------------------------------------------------------------------------------------


def three_deals(env: Env, seed: int | None) -> list[bytes]:
    deals = []
    env.reset(seed=seed)
    for _ in range(3):
        deals.append(contents(saved(env).clone_state().states))
        play_steps(env, 3, seed=0)
        env.reset()
    return deals


@over(CASES)
def test_a_seeded_reset_starts_a_stream_of_deals(case: Case) -> None:
    env = case.env()
    first = three_deals(env, 5)
    assert len(set(first)) == 3
    assert three_deals(env, 5) == first
    assert three_deals(case.env(), 5) == first
    assert three_deals(case.raw_env(), 5) == first
    assert not set(three_deals(env, 6)) & set(first)
    assert not set(three_deals(case.env(), None)) & set(three_deals(case.env(), None)), "unseeded games differ"


@over(CASES)
def test_a_seeded_reset_keeps_all_options(case: Case) -> None:
    env = case.env()
    expected = case.game
    for seed, options in ((7, None), (None, None), (8, {}), (None, None)):
        env.reset(seed=seed, options=options)
        assert saved(env).game == expected
        expected.check_state(saved(env).clone_state().states)
        play_episode(env, 9)
        expected.check_state(saved(env).clone_state().states)
    first = "opener" if case.is_piles else "starting_player"
    for seat in range(expected.num_players):
        env.reset(seed=10, options={first: seat})
        assert saved(env).clone_state().states[first] == seat
        assert env.agent_selection == f"player_{seat}"


# --- copies -----------------------------------------------------------------------------------------------------------


def by_clone(env: Env, case: Case) -> Env:
    other = case.env()
    other.reset(seed=0)
    saved(other).restore_state(saved(env).clone_state())
    return other


def by_pickled_clone(env: Env, case: Case) -> Env:
    other = case.env()
    other.reset(seed=0)
    saved(other).restore_state(pickle.loads(pickle.dumps(saved(env).clone_state())))
    return other


def by_state_option(env: Env, case: Case) -> Env:
    other = case.env()
    other.reset(seed=0, options={"state": saved(env).clone_state().states})
    return other


def by_bytes(env: Env, case: Case) -> Env:
    states = saved(env).clone_state().states
    other = case.env()
    other.reset(seed=0, options={"state": np.frombuffer(states.tobytes(), states.dtype)})
    return other


def by_record(env: Env, case: Case) -> Env:
    record = records.GameRecord.from_json(saved(env).record().to_json())
    other = case.env()
    other.reset(seed=0, options={"state": records.verify(record)})
    return other


COPIES: dict[str, Callable[[Env, Case], Env]] = {
    "deepcopy": lambda env, case: copy.deepcopy(env),
    "pickle": lambda env, case: pickle.loads(pickle.dumps(env)),
    "clone": by_clone,
    "pickled clone": by_pickled_clone,
    "state option": by_state_option,
    "bytes": by_bytes,
    "record": by_record,
}


@pytest.mark.parametrize("name", COPIES)
@over(CASES)
def test_a_copy_goes_on_as_its_original(case: Case, name: str) -> None:
    env = case.env()
    env.reset(seed=11)
    play_steps(env, 2 * case.game.num_players + 5, seed=11)
    duplicate = COPIES[name](env, case)
    assert duplicate.agent_selection == env.agent_selection
    if name in ("deepcopy", "pickle", "clone", "pickled clone"):  # the others are positions without rewards to come
        assert fingerprint(duplicate) == fingerprint(env)
    histories: list[list[bytes]] = []
    for each in (env, duplicate):
        history: list[bytes] = []
        play_episode(each, 12, lambda _, seen, done, history=history: history.append(seen["observation"].tobytes()))
        histories.append(history)
    assert histories[0] == histories[1]
    game = case.game
    ends = [saved(each).clone_state().states for each in (env, duplicate)]
    assert (game.scores(ends[0]) == game.scores(ends[1])).all()
    assert (ends[0]["seed"] == ends[1]["seed"]).all()


@over(CASES)
def test_a_position_of_other_rules_is_refused(case: Case) -> None:
    env = case.env()
    env.reset(seed=12)
    before, refused = fingerprint(env), 0
    for other in CASES:
        if other.is_piles != case.is_piles or replace(other.game.rules, reward="win") == replace(
            case.game.rules, reward="win"
        ):
            continue  # rewards are worked out anew from each position
        foreign = other.raw_env()
        foreign.reset(seed=12)
        clone = foreign.clone_state()
        with pytest.raises(ValueError, match="made by other rules"):
            saved(env).restore_state(clone)
        with pytest.raises(ValueError, match="made by other rules"):
            env.reset(options={"state": clone.states})
        assert fingerprint(env) == before
        refused += 1
    assert refused >= 3


@pytest.mark.parametrize("copy_name", ["deepcopy", "pickle"])
@over(CASES)
def test_a_copied_environment_has_the_same_games_to_come(case: Case, copy_name: str) -> None:
    env = case.env()
    env.reset(seed=13)
    env.reset()
    duplicate = COPIES[copy_name](env, case)
    for _ in range(2):
        env.reset()
        duplicate.reset()
        assert fingerprint(env) == fingerprint(duplicate)


@over(CASES)
def test_rewards_not_yet_handed_out_are_in_a_clone(case: Case) -> None:
    env = case.env()
    for seed in range(6):
        env.reset(seed=seed)
        play_steps(env, 6 * case.game.num_players, seed)
        clone = saved(env).clone_state()
        ends = []
        for _ in range(2):
            saved(env).restore_state(clone)
            ends.append(play_episode(env, seed))
        assert ends[0] == ends[1]


@over(CASES)
def test_stepping_a_copy_never_changes_an_earlier_one(case: Case) -> None:
    env = case.env()
    env.reset(seed=14)
    kept: list[tuple[Env, tuple[object, ...]]] = []
    for step in range(12):
        kept.append((env, fingerprint(env)))
        env = copy.deepcopy(env) if step % 2 else pickle.loads(pickle.dumps(env))
        play_steps(env, 1, seed=step)
    play_episode(env, 15)
    env.reset()
    assert len({before[0] for _, before in kept}) > 1
    for earlier, before in kept:
        assert fingerprint(earlier) == before


@over(CASES)
def test_a_clone_stays_as_it_is_while_the_game_goes_on(case: Case) -> None:
    env = case.raw_env()
    env.reset(seed=16)
    kept = [(env.clone_state(), fingerprint(env))]
    while env.agents:  # to the end, and until the last agent has left
        done = env.terminations[env.agent_selection]
        mask = env.observe(env.agent_selection)["action_mask"]
        env.step(None if done else int(mask.argmax()))
        kept.append((env.clone_state(), fingerprint(env)))
    env.reset()
    assert len({before[1] for _, before in kept}) == case.game.num_players + 1, "agents have left one by one"
    for clone, before in kept[:: len(kept) // 20 + 1] + kept[-3:]:
        env.restore_state(clone)
        assert fingerprint(env) == before


@over(CASES)
def test_a_record_has_no_bytes_between_its_fields(case: Case) -> None:
    """numpy does not copy such bytes, so copies of one position would differ in `tobytes()`, and so in their hash."""
    game = case.game
    for dtype in (game.state_dtype, game.view_dtype):
        fields = sum(dtype[name].itemsize for name in dtype.names or ())
        assert fields == dtype.itemsize
    states = positions(game, 20, seed=16)
    assert states.copy().tobytes() == states[np.arange(20)].tobytes() == states.tobytes()
    copied = pickle.loads(pickle.dumps(game)).new_states(np.arange(9, dtype=np.uint64))
    assert copied.tobytes() == game.new_states(np.arange(9, dtype=np.uint64)).tobytes()


# --- chance -----------------------------------------------------------------------------------------------------------


def test_global_random_state_is_neither_used_nor_changed() -> None:
    digests = set()
    for seed in (1, 2):
        random.seed(seed)
        np.random.seed(seed)  # noqa: NPY002  # the global generator is what is tested
        before = random.getstate(), repr(np.random.get_state())  # noqa: NPY002
        digests.add(trajectory_digest(17))
        for case in CASES:
            env = case.env()
            env.reset()
            env.reset(seed=17)
            digest = fingerprint(env)[0]
            play_episode(env, 17)
            env.reset(seed=17)
            assert fingerprint(env)[0] == digest
            game = case.game
            states = positions(game, 2, seed=17)
            game.determinize(game.view(states, game.current_player(states)), np.arange(2, dtype=np.uint64))
            game.playout(states, np.arange(2, dtype=np.uint64))
        assert (random.getstate(), repr(np.random.get_state())) == before  # noqa: NPY002
    assert len(digests) == 1


def test_neighbouring_base_seeds_have_no_game_in_common() -> None:
    lanes = np.concatenate([chance.lane_seeds(base, 64) for base in range(100)])
    assert len(set(lanes.tolist())) == 6_400
    games = [chance.episode_seeds(lanes, np.full(6_400, episode)) for episode in range(4)]
    assert len(set(np.concatenate([lanes, *games]).tolist())) == 5 * 6_400


def test_a_lane_does_not_depend_on_the_number_of_lanes() -> None:
    assert (chance.lane_seeds(5, 64)[:8] == chance.lane_seeds(5, 8)).all()
    assert (chance.lane_seeds(5, 8) != chance.lane_seeds(None, 8)).any()
    episodes = np.array([3, 1, 4])
    seeds = chance.episode_seeds(chance.lane_seeds(5, 3), episodes)
    for lane in range(3):
        assert seeds[lane] == chance.episode_seeds(chance.lane_seeds(5, 8)[lane : lane + 1], episodes[lane : lane + 1])


@pytest.mark.parametrize("size", [2, 3, 6, 10, 52, 313])
@pytest.mark.parametrize("vary", ["seed", "draw"])
def test_below_is_uniform(size: int, vary: str) -> None:
    numbers = range(20_000)
    if vary == "seed":
        values = [chance.below(np.uint64(number), chance.DEAL, 0, size) for number in numbers]
    else:
        values = [chance.below(np.uint64(18), chance.DEAL, number, size) for number in numbers]
    assert min(values) >= 0 and max(values) < size
    assert is_uniform(np.bincount(values, minlength=size))
    if size < 50:
        pairs = [size * first + second for first, second in zip(values[::2], values[1::2], strict=True)]
        assert is_uniform(np.bincount(pairs, minlength=size * size))


def test_purposes_and_seeds_have_streams_of_their_own() -> None:
    purposes = [value for name, value in vars(chance).items() if name.isupper() and not name.startswith("_")]
    assert len(purposes) == len(set(purposes)) >= 7
    words = {
        int(chance.draw(np.uint64(seed), purpose, k)) for seed in range(50) for purpose in purposes for k in range(50)
    }
    assert len(words) == 50 * 50 * len(purposes)


def test_shuffle_gives_all_permutations_alike() -> None:
    places = {order: index for index, order in enumerate(itertools.permutations(range(4)))}
    counts = np.zeros(24, np.int64)
    for seed in range(24_000):
        cards = np.arange(4, dtype=np.int8)
        chance.shuffle(cards, 4, np.uint64(seed), chance.DEAL)
        counts[places[tuple(cards.tolist())]] += 1
    assert is_uniform(counts)


@over(CASES)
def test_deals_are_uniform(case: Case) -> None:
    """Each place of the deal gets each card, and each seat starts, equally often."""
    game = case.game
    states = game.new_states(np.arange(20_000, dtype=np.uint64))
    if case.is_piles:
        for pile in (0, 5, 11):
            assert is_uniform(np.bincount(states["castle"][:, pile], minlength=52))
        for seat in range(game.num_players):
            held = [int((states["hand"][:, seat] >> card & 1).sum()) for card in range(52)]
            assert sum(held) == 200_000
            assert max(abs(count - 200_000 / 52) for count in held) < 250  # 4.5 standard deviations of 56
        return
    first, last = states["deck"][:, 0], states["deck"][np.arange(20_000), states["deck_length"] - 1]
    cards = np.unique(first)
    assert len(cards) == game.rules.num_cards
    for place in (first, last):
        assert is_uniform(np.bincount(np.searchsorted(cards, place), minlength=len(cards)))
    if game.num_players > 1:
        assert is_uniform(np.bincount(states["starting_player"], minlength=game.num_players))


def test_the_card_lost_in_a_pass_is_uniform() -> None:
    """P11."""
    game = CASES[4].game
    assert game.rules.opener_may_pass
    start = game.new_states(np.array([19], np.uint64))
    states: States = np.repeat(start, 20_000)
    states["seed"] = np.arange(20_000)
    game.step(states, np.full(20_000, 312))
    hand = [card for card in range(52) if int(start["hand"][0, 0]) >> card & 1]
    lost = states["history_card"][:, 0]
    assert is_uniform(np.array([(lost == card).sum() for card in hand]))
    assert set(lost.tolist()) == set(hand)
