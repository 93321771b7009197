"""Counter-based random numbers: draw k of a game is a hash of its seed, of what is drawn, and of k.

No generator is carried along, so what chance does in a game depends neither on batch size, lane or order nor on the
API that plays it, and two games with one seed meet the same chance. The hash is the finaliser of splitmix64 (Steele,
Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014), applied once for each word.
"""

import numpy as np
from numpy.typing import NDArray

from cardtable.kernel import inner, kernel

# What is drawn. Each purpose has a stream of its own.
EPISODE = 1  # the seed of a lane's k-th game
DEAL = 2  # the k-th swap of the shuffle
HIDDEN_CARD = 3  # the card that is taken from a passer's hand
STARTING_PLAYER = 4
WORLD = 5  # a guess at what a view hides
PLAYOUT = 6  # the k-th action of a random playout
TIE = 7  # an agent's choice between actions that look equally good
SAMPLE = 8  # an agent's draw from its action probabilities
LEARNER_SIDE = 9  # which side a learner plays
OPPONENT = 10  # who plays the other side
AGENT = 11  # the seed of a match's k-th agent
LABEL = 12  # games and searches whose positions are to be learnt from
PARTNER = 13  # who plays the learner's partners
LEARNER_SEAT = 14  # which seat a learner with partners plays

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)


@inner
def _mix(word: np.uint64) -> np.uint64:
    word = (word ^ (word >> np.uint64(30))) * _MIX_1
    word = (word ^ (word >> np.uint64(27))) * _MIX_2
    return word ^ (word >> np.uint64(31))


@kernel
def draw(seed: np.uint64, purpose: int, k: int) -> np.uint64:
    """Word number k of a purpose's stream: 64 uniform bits."""
    stream = _mix(seed + _GOLDEN * np.uint64(purpose))
    return _mix(stream + _GOLDEN * np.uint64(k + 1))


@kernel
def below(seed: np.uint64, purpose: int, k: int, n: int) -> int:
    """A uniform integer in 0..n-1, n < 2**32 (Lemire, "Fast random integer generation in an interval", 2019)."""
    low_half = np.uint64(0xFFFFFFFF)
    size = np.uint64(n)
    word = draw(seed, purpose, k)
    product = (word >> np.uint64(32)) * size
    if (product & low_half) < size:
        threshold = (np.uint64(1 << 32) - size) % size
        while (product & low_half) < threshold:
            word = _mix(word + _GOLDEN)
            product = (word >> np.uint64(32)) * size
    return np.int64(product >> np.uint64(32))  # type: ignore[return-value]  # compiled: an int


@kernel
def shuffle(cards: NDArray[np.int8], count: int, seed: np.uint64, purpose: int) -> None:
    """Shuffle the first `count` cards in place (Fisher and Yates)."""
    for last in range(count - 1, 0, -1):
        other = below(seed, purpose, last, last + 1)
        held = cards[last]
        cards[last] = cards[other]
        cards[other] = held


@kernel
def _draw_each(seeds: NDArray[np.uint64], purpose: int, k: NDArray[np.int64], out: NDArray[np.uint64]) -> None:
    for lane in range(len(seeds)):
        out[lane] = draw(seeds[lane], purpose, k[lane])


def draw_each(seeds: NDArray[np.uint64], purpose: int, k: NDArray[np.int64]) -> NDArray[np.uint64]:
    """`draw` for batches: word number k[i] of a purpose's stream under seeds[i], uint64 [B]."""
    words = np.empty(len(seeds), np.uint64)
    _draw_each(seeds, purpose, np.asarray(k, np.int64), words)
    return words


@kernel
def _keyed_seeds(seed: np.uint64, rows: NDArray[np.uint64], out: NDArray[np.uint64]) -> None:
    for lane in range(len(rows)):
        key = _mix(seed + _GOLDEN)
        for word in rows[lane]:
            key = (key ^ word) * _MIX_1
            key ^= key >> np.uint64(29)
        out[lane] = _mix(key)


def keyed_seeds(seed: int, views: NDArray[np.void]) -> NDArray[np.uint64]:
    """Seeds [B] for an agent's choices: each depends on the agent's seed and on the content of its own view alone.

    So a choice depends neither on the batch nor on earlier calls, nor on anything that the view does not show.
    """
    rows = np.ascontiguousarray(views).view(np.uint64).reshape(len(views), -1)
    seeds = np.empty(len(views), np.uint64)
    _keyed_seeds(np.uint64(seed), rows, seeds)
    return seeds


def lane_seeds(seed: int | None, num_lanes: int) -> NDArray[np.uint64]:
    """The seeds [num_lanes] of independent lanes, from one base seed (None: from the operating system).

    Lane i's seed does not depend on the number of lanes, and neighbouring base seeds share none
    (`numpy.random.SeedSequence`).
    """
    return np.random.SeedSequence(seed).generate_state(num_lanes, np.uint64).astype(np.uint64)


def episode_seeds(lanes: NDArray[np.uint64], episodes: NDArray[np.int64]) -> NDArray[np.uint64]:
    """The game seeds [B] of each lane's episode number `episodes[lane]`, counted from 0."""
    return draw_each(lanes, EPISODE, episodes)


def agent_seeds(seed: np.uint64, count: int) -> list[int]:
    """Seeds for the agents of a match, apart from all that happens in its games."""
    return [int(word) for word in draw_each(np.full(count, seed), AGENT, np.arange(count))]


def uniform_each(seeds: NDArray[np.uint64], purpose: int) -> NDArray[np.float64]:
    """One uniform number in [0, 1) for each seed, float64 [B]."""
    words = draw_each(seeds, purpose, np.zeros(len(seeds), np.int64))
    return np.asarray((words >> np.uint64(11)).astype(np.float64) * 2.0**-53)
