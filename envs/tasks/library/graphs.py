"""Repair tasks about graphs; vertices are numbers, edges are pairs or [from, to, cost] triples."""

from __future__ import annotations

import heapq

import numpy as np

from .inputs import Generate, integer, pick


def _edges(rng: np.random.Generator, size: int, most: int) -> list[list[int]]:
    return [
        [integer(rng, 0, size - 1), integer(rng, 0, size - 1)] for _ in range(integer(rng, 0, most))
    ]


def fewest_hops(edges: list[list[int]], start: int, goal: int) -> int:
    """Return the least number of directed edges from start to goal, or -1."""
    hops = {start: 0}
    queue = [start]
    while len(queue) > 0:
        vertex = queue.pop(0)
        if vertex == goal:
            return hops[vertex]
        for source, target in edges:
            if source == vertex and target not in hops:
                hops[target] = hops[vertex] + 1
                queue.append(target)
    return -1


def _fewest_hops(rng: np.random.Generator) -> tuple[list[list[int]], int, int]:
    return _edges(rng, 5, 8), integer(rng, 0, 4), integer(rng, 0, 4)


def component_sizes(size: int, edges: list[list[int]], least: int) -> list[int]:
    """Return the sizes, from `least` up, of the connected parts, by their lowest vertex."""
    label = list(range(size))
    for left, right in edges:
        old = max(label[left], label[right])
        new = min(label[left], label[right])
        for vertex in range(size):
            if label[vertex] == old:
                label[vertex] = new
    sizes = []
    for name in range(size):
        count = label.count(name)
        if count > 0 and count >= least:
            sizes.append(count)
    return sizes


def _component_sizes(rng: np.random.Generator) -> tuple[int, list[list[int]], int]:
    size = integer(rng, 0, 6)
    return size, _edges(rng, size, 5) if size else [], integer(rng, 0, 3)


def build_order(size: int, edges: list[list[int]]) -> list[int]:
    """Order vertices so that edges point forward, lowest ready vertex first; [] for a cycle."""
    waiting = [0] * size
    for _, target in edges:
        waiting[target] += 1
    order: list[int] = []
    while len(order) < size:
        ready = [v for v in range(size) if waiting[v] == 0 and v not in order]
        if len(ready) == 0:
            return []
        vertex = ready[0]
        order.append(vertex)
        for source, target in edges:
            if source == vertex:
                waiting[target] -= 1
    return order


def _build_order(rng: np.random.Generator) -> tuple[int, list[list[int]]]:
    size = integer(rng, 1, 5)
    edges = _edges(rng, size, 6)
    if rng.random() < 0.7:
        names = [int(name) for name in rng.permutation(size)]
        edges = [[names[min(pair)], names[max(pair)]] for pair in edges if pair[0] != pair[1]]
    return size, edges


def two_colours(size: int, edges: list[list[int]]) -> list[int]:
    """Colour vertices 0 and 1 so that neighbours differ, lowest first; [] if it cannot be done."""
    colours = [-1] * size
    for root in range(size):
        if colours[root] >= 0:
            continue
        colours[root] = 0
        stack = [root]
        while len(stack) > 0:
            vertex = stack.pop()
            for pair in edges:
                if vertex in pair:
                    other = pair[0] + pair[1] - vertex
                    if colours[other] < 0:
                        colours[other] = 1 - colours[vertex]
                        stack.append(other)
                    elif colours[other] == colours[vertex]:
                        return []
    return colours


def _two_colours(rng: np.random.Generator) -> tuple[int, list[list[int]]]:
    size = integer(rng, 0, 6)
    edges = _edges(rng, size, 5) if size else []
    if rng.random() < 0.6:
        edges = [pair for pair in edges if (pair[0] + pair[1]) % 2 == 1]
    return size, edges


def cheapest_cost(roads: list[list[int]], start: int, goal: int, limit: int) -> int:
    """Return the least cost of a two-way route from start to goal, or -1 if it exceeds `limit`."""
    heap = [(0, start)]
    done: list[int] = []
    while len(heap) > 0:
        cost, town = heapq.heappop(heap)
        if town == goal:
            return cost if cost <= limit else -1
        if town in done:
            continue
        done.append(town)
        for left, right, price in roads:
            if left == town:
                heapq.heappush(heap, (cost + price, right))
            if right == town:
                heapq.heappush(heap, (cost + price, left))
    return -1


def _cheapest_cost(rng: np.random.Generator) -> tuple[list[list[int]], int, int, int]:
    roads = [[*pair, integer(rng, 1, 6)] for pair in _edges(rng, 5, 7)]
    return roads, integer(rng, 0, 4), integer(rng, 0, 4), pick(rng, [99, 5, 7, integer(rng, 0, 12)])


def count_islands(grid: list[str]) -> int:
    """Count the groups of '#' cells that touch along sides."""
    land = [(r, c) for r in range(len(grid)) for c in range(len(grid[r])) if grid[r][c] == "#"]
    islands = 0
    while len(land) > 0:
        islands += 1
        stack = [land.pop()]
        while len(stack) > 0:
            row, column = stack.pop()
            for cell in list(land):
                if abs(cell[0] - row) + abs(cell[1] - column) == 1:
                    land.remove(cell)
                    stack.append(cell)
    return islands


def _count_islands(rng: np.random.Generator) -> tuple[list[str]]:
    width = integer(rng, 1, 5)
    rows = integer(rng, 0, 4)
    return (["".join(pick(rng, ".#") for _ in range(width)) for _ in range(rows)],)


def tree_depth(parents: list[int]) -> int:
    """Return the number of levels of a tree of parent indices (-1 is a root); -1 if it loops."""
    deepest = 0
    for vertex in range(len(parents)):
        depth = 1
        above = parents[vertex]
        while above >= 0:
            above = parents[above]
            depth += 1
            if depth > len(parents):
                return -1
        deepest = max(deepest, depth)
    return deepest


def _tree_depth(rng: np.random.Generator) -> tuple[list[int]]:
    parents = [integer(rng, -1, index - 1) for index in range(integer(rng, 0, 7))]
    if parents and rng.random() < 0.3:
        parents[integer(rng, 0, len(parents) - 1)] = integer(rng, 0, len(parents) - 1)
    return (parents,)


def influencers(follows: list[list[int]], least: int) -> list[int]:
    """Return, ascending, who has at least `least` followers and follows fewer than follow them."""
    people = sorted({person for pair in follows for person in pair})
    found = []
    for person in people:
        followers = sum(1 for a, b in follows if b == person and a != person)
        following = sum(1 for a, b in follows if a == person and b != person)
        if followers >= least and following < followers:
            found.append(person)
    return found


def _influencers(rng: np.random.Generator) -> tuple[list[list[int]], int]:
    return _edges(rng, 5, 10), integer(rng, 0, 3)


FUNCTIONS: tuple[tuple[object, Generate], ...] = (
    (fewest_hops, _fewest_hops),
    (component_sizes, _component_sizes),
    (build_order, _build_order),
    (two_colours, _two_colours),
    (cheapest_cost, _cheapest_cost),
    (count_islands, _count_islands),
    (tree_depth, _tree_depth),
    (influencers, _influencers),
)
