"""What is left open about functions on intervals."""

from __future__ import annotations

from .base import Option, Point, Specification

SPECIFICATIONS: tuple[Specification, ...] = (
    Specification(
        "merge_intervals",
        "Join intervals that overlap or lie close together; sorted by start.",
        (
            Point(
                (
                    Option("intervals exactly `gap` apart are joined"),
                    Option(
                        "intervals exactly `gap` apart stay apart",
                        (("merged[-1][1] <= gap", "merged[-1][1] < gap"),),
                    ),
                )
            ),
        ),
    ),
    Specification(
        "total_covered",
        "Return how much of [low, high] the intervals cover.",
        (
            Point(
                (
                    Option("overlaps count once"),
                    Option(
                        "overlaps count for each interval",
                        (
                            ("    reached = low\n", ""),
                            ("max(start, reached)", "max(start, low)"),
                            ("            reached = stop\n", ""),
                        ),
                    ),
                )
            ),
        ),
    ),
    Specification(
        "find_gaps",
        "Return the parts of [low, high] that no interval covers, if they are long enough.",
        (
            Point(
                (
                    Option("a part of exactly `least` is long enough"),
                    Option(
                        "a part of exactly `least` is too short",
                        (
                            ("start - reached >= least", "start - reached > least"),
                            ("high - reached >= least", "high - reached > least"),
                        ),
                    ),
                )
            ),
        ),
    ),
    Specification(
        "intersect",
        "Return where two sorted lists of disjoint intervals meet.",
        (
            Point(
                (
                    Option("intervals that only touch give nothing"),
                    Option(
                        "intervals that only touch give one of length 0",
                        (("if start < end:", "if start <= end:"),),
                    ),
                )
            ),
        ),
    ),
    Specification(
        "most_at_once",
        "Return the most visitors at once and a time at which there were so many; [0, -1] if none.",
        (
            Point(
                (
                    Option("who leaves makes room for who comes at that time"),
                    Option(
                        "who leaves and who comes at that time meet",
                        (
                            (
                                "sorted(events)",
                                "sorted(events, key=lambda event: (event[0], -event[1]))",
                            ),
                        ),
                    ),
                )
            ),
            Point(
                (
                    Option("it is the first time of this kind"),
                    Option(
                        "it is the last time of this kind",
                        (("if present > best[0]:", "if present >= best[0]:"),),
                    ),
                )
            ),
        ),
    ),
    Specification(
        "first_free_slot",
        "Return the earliest start of a free slot of `length` (1 or more) in opening hours, or -1.",
        (
            Point(
                (
                    Option("it may end at closing time"),
                    Option(
                        "it has to end before closing time",
                        (("start + length <= closing", "start + length < closing"),),
                    ),
                )
            ),
        ),
    ),
    Specification(
        "count_inside",
        "Count the points that lie in at least `least` of the intervals.",
        (
            Point(
                (
                    Option("the start of an interval lies in it"),
                    Option(
                        "the start of an interval lies outside",
                        (("if start <= point", "if start < point"),),
                    ),
                )
            ),
            Point(
                (
                    Option("the end of an interval lies outside"),
                    Option(
                        "the end of an interval lies in it",
                        (("point < end:", "point <= end:"),),
                    ),
                )
            ),
        ),
    ),
)
