"""Repair tasks about lists, heaps, caches and counts."""

from __future__ import annotations

from typing import Any

import numpy as np

from .inputs import Generate, integer, integers, pick, picks


def merge_unique(left: list[int], right: list[int]) -> list[int]:
    """Merge two ascending lists into one without repeats."""
    merged: list[int] = []
    i = 0
    j = 0
    while i < len(left) or j < len(right):
        if j == len(right) or (i < len(left) and left[i] <= right[j]):
            value = left[i]
            i += 1
        else:
            value = right[j]
            j += 1
        if len(merged) == 0 or merged[-1] != value:
            merged.append(value)
    return merged


def _merge_unique(rng: np.random.Generator) -> tuple[list[int], list[int]]:
    return sorted(integers(rng, 0, 9, 5)), sorted(integers(rng, 0, 9, 5))


def cache_hits(keys: list[str], capacity: int) -> int:
    """Count the hits of a cache that forgets the key that was used longest ago."""
    recent: list[str] = []
    hits = 0
    for key in keys:
        if key in recent:
            hits += 1
            recent.remove(key)
        elif len(recent) >= capacity and len(recent) > 0:
            recent.pop(0)
        if capacity > 0:
            recent.append(key)
    return hits


def _cache_hits(rng: np.random.Generator) -> tuple[list[str], int]:
    return picks(rng, "abcd", 10), integer(rng, 0, 4)


def insert_position(items: list[int], value: int) -> int:
    """Return the first index at which `value` keeps an ascending list in order."""
    low = 0
    high = len(items)
    while low < high:
        middle = (low + high) // 2
        if items[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


def _insert_position(rng: np.random.Generator) -> tuple[list[int], int]:
    return sorted(integers(rng, 0, 12, 8)), integer(rng, -1, 13)


def most_common(words: list[str], limit: int) -> list[str]:
    """Return the most frequent words, most frequent first; equals keep their first order."""
    counts: dict[str, int] = {}
    for word in words:
        counts[word] = counts.get(word, 0) + 1
    chosen: list[str] = []
    while len(chosen) < limit and len(chosen) < len(counts):
        best = ""
        for word, count in counts.items():
            if word not in chosen and (best == "" or count > counts[best]):
                best = word
        chosen.append(best)
    return chosen


def _most_common(rng: np.random.Generator) -> tuple[list[str], int]:
    return picks(rng, ["red", "blue", "green", "tan"], 8), integer(rng, 0, 4)


def flatten(items: list[Any], depth: int) -> list[Any]:
    """Open nested lists, at most `depth` levels of them; an empty list inside stays."""
    flat: list[Any] = []
    for item in items:
        if isinstance(item, list) and depth > 0 and len(item) > 0:
            flat.extend(flatten(item, depth - 1))
        else:
            flat.append(item)
    return flat


def _nested(rng: np.random.Generator, depth: int) -> list[Any]:
    return [
        _nested(rng, depth - 1) if depth > 0 and rng.random() < 0.5 else integer(rng, 0, 9)
        for _ in range(integer(rng, 0, 3))
    ]


def _flatten(rng: np.random.Generator) -> tuple[list[Any], int]:
    return _nested(rng, 3), integer(rng, -1, 3)


def last_pushed(values: list[int], size: int) -> list[int]:
    """Return what a ring buffer of `size` slots holds after all values, oldest first."""
    if size <= 0:
        return []
    ring = [0] * size
    for index, value in enumerate(values):
        ring[index % size] = value
    if len(values) <= size:
        return ring[: len(values)]
    start = len(values) % size
    return ring[start:] + ring[:start]


def _last_pushed(rng: np.random.Generator) -> tuple[list[int], int]:
    return integers(rng, 1, 30, 9), integer(rng, -1, 6)


def split_evenly(items: list[int], parts: int) -> list[list[int]]:
    """Cut a list into parts whose sizes differ by at most one, longer parts first."""
    if parts < 1:
        return []
    size = len(items) // parts
    extra = len(items) % parts
    chunks = []
    start = 0
    for index in range(parts):
        end = start + size + (1 if index < extra else 0)
        chunks.append(items[start:end])
        start = end
    return chunks


def _split_evenly(rng: np.random.Generator) -> tuple[list[int], int]:
    return integers(rng, 0, 9, 9), integer(rng, 0, 5)


def heap_fault(values: list[int]) -> int:
    """Return the first index whose value is less than its parent's in a min-heap, or -1."""
    for index in range(1, len(values)):
        parent = (index - 1) // 2
        if values[index] < values[parent]:
            return index
    return -1


def _heap_fault(rng: np.random.Generator) -> tuple[list[int]]:
    values = integers(rng, 0, 9, 8)
    if rng.random() < 0.7:
        values.sort()
    if values and rng.random() < 0.5:
        values[integer(rng, 0, len(values) - 1)] = pick(rng, [0, 3, 9])
    return (values,)


FUNCTIONS: tuple[tuple[object, Generate], ...] = (
    (merge_unique, _merge_unique),
    (cache_hits, _cache_hits),
    (insert_position, _insert_position),
    (most_common, _most_common),
    (flatten, _flatten),
    (last_pushed, _last_pushed),
    (split_evenly, _split_evenly),
    (heap_fault, _heap_fault),
)
