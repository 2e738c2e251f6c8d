"""What is left open about functions on graphs."""

from __future__ import annotations

from .base import Option, Point, Specification

SPECIFICATIONS: tuple[Specification, ...] = (
    Specification(
        "fewest_hops",
        "Return the least number of edges from start to goal, or -1.",
        (
            Point(
                (
                    Option("an edge leads from its first vertex to its second"),
                    Option(
                        "an edge leads both ways",
                        (
                            (
                                "for source, target in edges:",
                                "for source, target in edges + [pair[::-1] for pair in edges]:",
                            ),
                        ),
                    ),
                )
            ),
        ),
    ),
    Specification(
        "component_sizes",
        "Return the sizes of the connected parts that are large enough.",
        (
            Point(
                (
                    Option("they are in the order of their lowest vertices"),
                    Option(
                        "the largest size comes first",
                        (("return sizes", "return sorted(sizes, reverse=True)"),),
                    ),
                )
            ),
            Point(
                (
                    Option("a part of exactly `least` vertices is large enough"),
                    Option(
                        "a part of exactly `least` vertices is too small",
                        (("count >= least", "count > least"),),
                    ),
                )
            ),
        ),
    ),
    Specification(
        "build_order",
        "Order vertices one after another so that edges point forward.",
        (
            Point(
                (
                    Option("of vertices that are ready the lowest goes first"),
                    Option(
                        "of vertices that are ready the highest goes first",
                        (("vertex = ready[0]", "vertex = ready[-1]"),),
                    ),
                )
            ),
            Point(
                (
                    Option("a cycle gives []"),
                    Option(
                        "before a cycle the order ends",
                        (("return []", "return order"),),
                    ),
                )
            ),
        ),
    ),
    Specification(
        "two_colours",
        "Colour vertices 0 and 1 so that neighbours differ, the lowest of each part with 0.",
        (
            Point(
                (
                    Option("[] says that it cannot be done"),
                    Option(
                        "where it cannot be done all get -1",
                        (("return []", "return [-1] * size"),),
                    ),
                )
            ),
        ),
    ),
    Specification(
        "cheapest_cost",
        "Return the least cost of a route from start to goal, or -1 if it exceeds `limit`.",
        (
            Point(
                (
                    Option("roads lead both ways"),
                    Option(
                        "roads lead from left to right only",
                        (
                            (
                                "            if right == town:\n"
                                "                heapq.heappush(heap, (cost + price, left))\n",
                                "",
                            ),
                        ),
                    ),
                )
            ),
        ),
    ),
    Specification(
        "count_islands",
        "Count the groups of '#' cells that touch.",
        (
            Point(
                (
                    Option("cells touch along sides only"),
                    Option(
                        "cells touch at corners too",
                        (
                            (
                                "abs(cell[0] - row) + abs(cell[1] - column) == 1",
                                "max(abs(cell[0] - row), abs(cell[1] - column)) == 1",
                            ),
                        ),
                    ),
                )
            ),
        ),
    ),
    Specification(
        "tree_depth",
        "Return the number of levels of a tree of parent indices (-1 is a root).",
        (
            Point(
                (
                    Option("a loop gives -1"),
                    Option("a loop gives 0", (("return -1", "return 0"),)),
                )
            ),
        ),
    ),
    Specification(
        "influencers",
        "Return, ascending, who has at least `least` followers and does not follow more people "
        "than follow them.",
        (
            Point(
                (
                    Option("following yourself does not count"),
                    Option(
                        "following yourself counts both ways",
                        (
                            ("b == person and a != person", "b == person"),
                            ("a == person and b != person", "a == person"),
                        ),
                    ),
                )
            ),
            Point(
                (
                    Option("as many of both is not enough"),
                    Option(
                        "as many of both is enough",
                        (("following < followers", "following <= followers"),),
                    ),
                )
            ),
        ),
    ),
)
