"""Information-set Monte Carlo tree search for Piles: one tree of what all can see, searched in sampled games.

Single-observer ISMCTS (Cowling, Powley and Whitehouse, "Information Set Monte Carlo Tree Search", IEEE TCIAIG 2012)
with progressive widening (Coulom 2007; Chaslot and others 2008), as a seat has up to 120 legal actions.
"""

import numpy as np
from numpy.typing import NDArray

from agents.piles_playout import play_out
from agents.search import SearchAgent
from cardtable import chance
from cardtable.bits import widen
from cardtable.dtypes import record_dtype
from cardtable.game import Ints, States, Views
from cardtable.kernel import Record, inner, kernel
from piles_env import engine
from piles_env.careful import careful_action
from piles_env.state import NUM_PILES, NUM_TURNS
from piles_env.view import determinize

# A node stands for a sequence of actions from the position at hand, which all can see; the cards taken from passers are
# left open. Node 0 is the position itself.
_NODE = record_dtype(
    [
        ("total", np.float64),  # sum of the final margins for the side that chose the action, in points
        ("visits", np.int32),
        ("available", np.int32),  # how often the action was legal when its parent was visited
        ("action", np.int32),
        ("children", np.int32),
        ("first_child", np.int32),  # -1 for none
        ("sibling", np.int32),  # the next child of the same parent, -1 for none
    ]
)
_EXPLORATION = 10.0  # in points: final margins vary by about 20
_CAREFUL_TURNS = 1  # after the decision; the tree finds good replies by itself
_WIDENING = 2.0  # a node has at most this many children times the square root of its visits


@inner
def _child(nodes: NDArray[np.void], node: int, action: int) -> int:
    """The child of a node for an action; -1 if there is none."""
    child = widen(nodes[node].first_child)
    while child >= 0 and nodes[child].action != action:
        child = widen(nodes[child].sibling)
    return child


@inner
def _best_child(nodes: NDArray[np.void], node: int, s: Record, hand: int) -> int:
    """The child with the highest UCB1 bound among those whose action is legal in this game; -1 for none."""
    kinds, reds = engine.kinds_in(hand), engine.red_piles(s.top)
    placeable = np.empty(NUM_PILES, np.int64)
    for pile in range(NUM_PILES):
        placeable[pile] = engine.placeable_kinds(s.top, reds, pile) & kinds
    best, highest = -1, -1e18
    child = widen(nodes[node].first_child)
    while child >= 0:
        c = nodes[child]
        action = widen(c.action)
        if action == engine.PASS:
            legal = not engine.must_place(s, hand)
        else:
            legal = placeable[action // engine.NUM_KINDS] >> (action % engine.NUM_KINDS) & 1 == 1
        if legal:
            c.available += 1
            bound = c.total / c.visits + _EXPLORATION * np.sqrt(np.log(float(c.available)) / c.visits)
            if bound > highest:
                best, highest = child, bound
        child = widen(c.sibling)
    return best


@inner
def _descend(nodes: NDArray[np.void], count: int, s: Record, seed: np.uint64, path: Ints) -> int:
    """Play from the root along the tree until a new node has been added or the game is over.

    What "careful" does in this game is a node's first child, then come actions at random, as the widening allows.

    Returns:
        How many nodes lie on `path` [<= turns + 1], the root included; a new node has the number `count`.
    """
    length, node, fresh = 1, 0, False
    path[0] = 0
    while s.to_move >= 0 and not fresh:
        hand, turn = s.hand[s.to_move], widen(s.turn)
        child = -1
        children = nodes[node].children
        if children < _WIDENING * np.sqrt(float(nodes[node].visits)) + 1:
            if children == 0:
                action = careful_action(s, hand, seed, chance.TIE, turn)
            else:
                action = engine.random_action(s, hand, seed, chance.TIE, turn)
            fresh = _child(nodes, node, action) < 0
        if not fresh:
            child = _best_child(nodes, node, s, hand)
            if child < 0:  # nothing in the tree is legal in this game
                action = careful_action(s, hand, seed, chance.TIE, turn)
                fresh = True
        if fresh:
            child = count
            _add_child(nodes, node, child, action)
        engine.play(s, widen(nodes[child].action))
        node = child
        path[length] = node
        length += 1
    return length


@inner
def _add_child(nodes: NDArray[np.void], parent: int, child: int, action: int) -> None:
    c = nodes[child]
    c.total = 0.0
    c.visits = 0
    c.available = 1
    c.action = action
    c.children = 0
    c.first_child = -1
    c.sibling = nodes[parent].first_child
    nodes[parent].first_child = child
    nodes[parent].children += 1


@inner
def _search(v: Record, playouts: int, seed: np.uint64, worlds: States, nodes: NDArray[np.void], path: Ints) -> int:
    root = nodes[0]
    root.visits = 0
    root.children = 0
    root.first_child = -1
    count = 1
    for number in range(playouts):
        s = worlds[0]
        world_seed = chance.draw(seed, chance.WORLD, number)
        determinize(v, world_seed, s)
        first = widen(v.turn)
        length = _descend(nodes, count, s, world_seed, path)
        if path[length - 1] == count:
            count += 1
        margin = play_out(s, first + 1 + _CAREFUL_TURNS, world_seed)
        for step in range(length):
            c = nodes[path[step]]
            c.visits += 1
            if step > 0:
                chooser = engine.seat_after(v, v.opener, first + step - 1)
                c.total += margin if chooser % 2 == 0 else -margin
    best = widen(nodes[0].first_child)
    child = best
    while child >= 0:
        if nodes[child].visits > nodes[best].visits:
            best = child
        child = widen(nodes[child].sibling)
    return widen(nodes[best].action)


@kernel
def _act(
    views: Views, playouts: int, seeds: NDArray[np.uint64], worlds: States, nodes: NDArray[np.void], out: Ints
) -> None:
    path = np.empty(NUM_TURNS + 1, np.int64)
    for lane in range(len(views)):
        out[lane] = _search(views[lane], playouts, seeds[lane], worlds, nodes, path)


class PilesIsmctsAgent(SearchAgent):
    """Searches one tree of all seats' actions, each playout in another game that fits the view."""

    def _search(self, views: Views, seeds: NDArray[np.uint64], playouts: int, actions: Ints) -> None:
        _act(views, playouts, seeds, self.game.empty_states(1), np.zeros(playouts + 1, _NODE), actions)
