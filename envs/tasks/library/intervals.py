"""Repair tasks about intervals, given as [start, end] pairs."""

from __future__ import annotations

import numpy as np

from .inputs import Generate, integer, pick, spans


def merge_intervals(intervals: list[list[int]], gap: int) -> list[list[int]]:
    """Join intervals that overlap or lie at most `gap` apart; sorted by start."""
    merged: list[list[int]] = []
    for start, end in sorted(intervals):
        if len(merged) > 0 and start - merged[-1][1] <= gap:
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([start, end])
    return merged


def _merge_intervals(rng: np.random.Generator) -> tuple[list[list[int]], int]:
    return spans(rng, 20, 5), integer(rng, 0, 3)


def total_covered(intervals: list[list[int]], low: int, high: int) -> int:
    """Return how much of [low, high] the intervals cover, overlaps counted once."""
    if high <= low:
        return 0
    covered = 0
    reached = low
    for start, end in sorted(intervals):
        begin = max(start, reached)
        stop = min(end, high)
        if stop > begin:
            covered += stop - begin
            reached = stop
    return covered


def _total_covered(rng: np.random.Generator) -> tuple[list[list[int]], int, int]:
    low = integer(rng, 0, 10)
    return spans(rng, 20, 5), low, low + integer(rng, 0, 12)


def find_gaps(intervals: list[list[int]], low: int, high: int, least: int) -> list[list[int]]:
    """Return the parts of [low, high], `least` or longer, that no interval covers."""
    gaps = []
    reached = low
    for start, end in sorted(intervals):
        if start >= high:
            break
        if start - reached >= least and start > reached:
            gaps.append([reached, start])
        reached = max(reached, end)
    if high - reached >= least and high > reached:
        gaps.append([reached, high])
    return gaps


def _find_gaps(rng: np.random.Generator) -> tuple[list[list[int]], int, int, int]:
    low = integer(rng, 0, 8)
    return spans(rng, 20, 4), low, low + integer(rng, 0, 14), integer(rng, 0, 4)


def intersect(left: list[list[int]], right: list[list[int]]) -> list[list[int]]:
    """Return where two sorted lists of disjoint intervals overlap; touching does not count."""
    common = []
    i = 0
    j = 0
    while i < len(left) and j < len(right):
        start = max(left[i][0], right[j][0])
        end = min(left[i][1], right[j][1])
        if start < end:
            common.append([start, end])
        if left[i][1] < right[j][1]:
            i += 1
        else:
            j += 1
    return common


def _disjoint(rng: np.random.Generator) -> list[list[int]]:
    cuts = sorted({integer(rng, 0, 16) for _ in range(integer(rng, 0, 6))})
    return [[a, b] for a, b in zip(cuts[::2], cuts[1::2], strict=False)]


def _intersect(rng: np.random.Generator) -> tuple[list[list[int]], list[list[int]]]:
    return _disjoint(rng), _disjoint(rng)


def most_at_once(visits: list[list[int]]) -> list[int]:
    """Return [most visitors at once, first time it was reached]; a leaver makes room first."""
    events = []
    for start, end in visits:
        if end > start:
            events.append((start, 1))
            events.append((end, -1))
    best = [0, -1]
    present = 0
    for time, change in sorted(events):
        present += change
        if present > best[0]:
            best = [present, time]
    return best


def _most_at_once(rng: np.random.Generator) -> tuple[list[list[int]]]:
    return (spans(rng, 12, 6),)


def subtract(interval: list[int], cuts: list[list[int]]) -> list[list[int]]:
    """Return what is left of an interval once every cut has been taken out, in order."""
    left = []
    start = interval[0]
    for low, high in sorted(cuts):
        if high <= start or low >= interval[1]:
            continue
        if low > start:
            left.append([start, low])
        start = high
    if start < interval[1]:
        left.append([start, interval[1]])
    return left


def _subtract(rng: np.random.Generator) -> tuple[list[int], list[list[int]]]:
    low = integer(rng, 0, 10)
    return [low, low + integer(rng, 1, 10)], _disjoint(rng)


def first_free_slot(busy: list[list[int]], length: int, opening: int, closing: int) -> int:
    """Return the earliest start of a free slot of `length` (1 or more) in opening hours, or -1."""
    if length < 1:
        return -1
    start = opening
    for begin, end in sorted(busy):
        if begin - start >= length:
            break
        start = max(start, end)
    if start + length <= closing:
        return start
    return -1


def _first_free_slot(rng: np.random.Generator) -> tuple[list[list[int]], int, int, int]:
    opening = integer(rng, 0, 6)
    return spans(rng, 16, 4), integer(rng, 0, 6), opening, opening + integer(rng, 4, 14)


def count_inside(points: list[int], intervals: list[list[int]], least: int) -> int:
    """Count the points that lie in at least `least` half-open intervals [start, end)."""
    count = 0
    for point in points:
        hits = 0
        for start, end in intervals:
            if start <= point < end:
                hits += 1
        if hits >= least:
            count += 1
    return count


def _count_inside(rng: np.random.Generator) -> tuple[list[int], list[list[int]], int]:
    intervals = spans(rng, 10, 4)
    ends = [value for pair in intervals for value in pair] or [0]
    points = [pick(rng, [integer(rng, 0, 10), pick(rng, ends)]) for _ in range(integer(rng, 0, 6))]
    return points, intervals, integer(rng, 0, 3)


FUNCTIONS: tuple[tuple[object, Generate], ...] = (
    (merge_intervals, _merge_intervals),
    (total_covered, _total_covered),
    (find_gaps, _find_gaps),
    (intersect, _intersect),
    (most_at_once, _most_at_once),
    (subtract, _subtract),
    (first_free_slot, _first_free_slot),
    (count_inside, _count_inside),
)
