"""What is left open about functions on lists, heaps, caches and counts."""

from __future__ import annotations

from .base import Option, Point, Specification

SPECIFICATIONS: tuple[Specification, ...] = (
    Specification(
        "cache_hits",
        "Count the hits of a cache that forgets a key when a new one does not fit.",
        (
            Point(
                (
                    Option("it forgets the key that was used longest ago"),
                    Option(
                        "it forgets the key that came in first",
                        (
                            (
                                "            recent.remove(key)\n        elif",
                                "            continue\n        if",
                            ),
                        ),
                    ),
                )
            ),
        ),
    ),
    Specification(
        "insert_position",
        "Return the index at which `value` is to be inserted to keep an ascending list in order.",
        (
            Point(
                (
                    Option("it goes before equal values"),
                    Option(
                        "it goes behind equal values",
                        (("items[middle] < value", "items[middle] <= value"),),
                    ),
                )
            ),
        ),
    ),
    Specification(
        "most_common",
        "Return the most frequent words, at most `limit`, most frequent first.",
        (
            Point(
                (
                    Option("equals keep the order of their first appearance"),
                    Option(
                        "equals are in alphabetical order",
                        (("in counts.items():", "in sorted(counts.items()):"),),
                    ),
                    Option(
                        "of equals the one that first appears latest comes first",
                        (("in counts.items():", "in reversed(list(counts.items())):"),),
                    ),
                )
            ),
        ),
    ),
    Specification(
        "flatten",
        "Open nested lists, at most `depth` levels of them.",
        (
            Point(
                (
                    Option("an empty list inside stays"),
                    Option("an empty list inside vanishes", ((" and len(item) > 0", ""),)),
                )
            ),
        ),
    ),
    Specification(
        "last_pushed",
        "Return what a ring buffer of `size` slots holds after all values.",
        (
            Point(
                (
                    Option("the oldest value comes first"),
                    Option(
                        "the newest value comes first",
                        (
                            ("return ring[: len(values)]", "return ring[: len(values)][::-1]"),
                            (
                                "return ring[start:] + ring[:start]",
                                "return (ring[start:] + ring[:start])[::-1]",
                            ),
                        ),
                    ),
                    Option(
                        "the values are in the order of the slots",
                        (
                            (
                                "    start = len(values) % size\n"
                                "    return ring[start:] + ring[:start]\n",
                                "    return ring\n",
                            ),
                        ),
                    ),
                )
            ),
        ),
    ),
    Specification(
        "split_evenly",
        "Cut a list into parts whose sizes differ by at most one.",
        (
            Point(
                (
                    Option("longer parts come first"),
                    Option(
                        "longer parts come last",
                        (("1 if index < extra", "1 if index >= parts - extra"),),
                    ),
                )
            ),
            Point(
                (
                    Option("empty parts are kept"),
                    Option(
                        "empty parts are left out",
                        (("    return chunks", "    return [chunk for chunk in chunks if chunk]"),),
                    ),
                )
            ),
        ),
    ),
    Specification(
        "heap_fault",
        "Return the index of a value that is less than its parent's in a min-heap, or -1.",
        (
            Point(
                (
                    Option("the first such index counts"),
                    Option(
                        "the last such index counts",
                        (("range(1, len(values))", "range(len(values) - 1, 0, -1)"),),
                    ),
                )
            ),
        ),
    ),
)
