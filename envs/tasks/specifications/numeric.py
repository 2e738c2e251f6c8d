"""What is left open about functions on numbers."""

from __future__ import annotations

from .base import Option, Point, Specification

SPECIFICATIONS: tuple[Specification, ...] = (
    Specification(
        "reduce_fraction",
        "Bring a fraction to lowest terms.",
        (
            Point(
                (
                    Option("a denominator of 0 gives [0, 0]"),
                    Option("a denominator of 0 gives []", (("return [0, 0]", "return []"),)),
                )
            ),
            Point(
                (
                    Option("the denominator becomes positive"),
                    Option(
                        "the signs stay where they are",
                        (
                            (
                                "    if denominator < 0:\n"
                                "        numerator = -numerator\n"
                                "        denominator = -denominator\n",
                                "",
                            ),
                        ),
                    ),
                )
            ),
        ),
    ),
    Specification(
        "digits_in_base",
        "Return the digits of a number in a base; [] for a negative number or a base below 2.",
        (
            Point(
                (
                    Option("the highest digit comes first"),
                    Option(
                        "the lowest digit comes first",
                        (("digits.insert(0, number % base)", "digits.append(number % base)"),),
                    ),
                )
            ),
            Point(
                (
                    Option("zero has the digit 0"),
                    Option("zero has no digits", (("return [0]", "return []"),)),
                )
            ),
        ),
    ),
    Specification(
        "prime_factors",
        "Return the prime factors of a number in ascending order.",
        (
            Point(
                (
                    Option("a factor is listed as often as it divides"),
                    Option(
                        "a factor is listed only once",
                        (("return factors", "return sorted(set(factors))"),),
                    ),
                )
            ),
        ),
    ),
    Specification(
        "round_to_step",
        "Round a whole number to the nearest multiple of `step`; a step below 1 changes nothing.",
        (
            Point(
                (
                    Option("halves go away from zero"),
                    Option("halves go towards zero", (("rest * 2 >= step", "rest * 2 > step"),)),
                    Option(
                        "halves go up",
                        (
                            (
                                "rest * 2 >= step",
                                "rest * 2 > step or (rest * 2 == step and value >= 0)",
                            ),
                        ),
                    ),
                )
            ),
        ),
    ),
    Specification(
        "moving_sums",
        "Return the sum of every `window` neighbours; [] if the window is below 1.",
        (
            Point(
                (
                    Option("a window that is too wide gives []"),
                    Option(
                        "a window that is too wide gives the sum of all",
                        (
                            (
                                "    if window < 1 or window > len(values):\n        return []\n",
                                "    if window < 1:\n        return []\n"
                                "    window = min(window, len(values))\n",
                            ),
                        ),
                    ),
                )
            ),
        ),
    ),
    Specification(
        "trimmed_mean",
        "Return the mean without the `cut` lowest and highest values; a negative cut leaves none.",
        (
            Point(
                (
                    Option("it is rounded to two decimals"),
                    Option(
                        "it is rounded to one decimal",
                        (("len(kept), 2)", "len(kept), 1)"),),
                    ),
                )
            ),
            Point(
                (
                    Option("no values give 0.0"),
                    Option("no values give -1.0", (("return 0.0", "return -1.0"),)),
                )
            ),
        ),
    ),
    Specification(
        "integer_root",
        "Return the square root of a number as a whole number; -1 for a negative number.",
        (
            Point(
                (
                    Option("it is rounded down"),
                    Option(
                        "it is rounded up",
                        (("return low", "return low if low * low == number else low + 1"),),
                    ),
                )
            ),
        ),
    ),
    Specification(
        "tax_due",
        "Tax income by ascending [start, percent] brackets, each rate for the part above its "
        "start; in whole units.",
        (
            Point(
                (
                    Option("a part of a unit is dropped"),
                    Option(
                        "half a unit or more is rounded up",
                        (("return due // 100", "return (due + 50) // 100"),),
                    ),
                )
            ),
        ),
    ),
)
