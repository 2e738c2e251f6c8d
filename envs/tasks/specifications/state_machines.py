"""What is left open about functions that remember a state between events."""

from __future__ import annotations

from .base import Option, Point, Specification

SPECIFICATIONS: tuple[Specification, ...] = (
    Specification(
        "turnstile",
        "Run a turnstile: coins '1' and '2' add up, 'refund' gives them back, 'push' lets one in "
        "who has paid; returns [people, credit].",
        (
            Point(
                (
                    Option("what was paid too much is kept for the next push"),
                    Option(
                        "what was paid too much is lost at the push",
                        (("credit -= price", "credit = 0"),),
                    ),
                )
            ),
        ),
    ),
    Specification(
        "lock_state",
        "Follow attempts at a lock: 'open' after the code, 'blocked' after too many misses, "
        "'closed' again and without misses after 'reset'.",
        (
            Point(
                (
                    Option("`limit` misses are too many"),
                    Option(
                        "`limit` misses are still allowed",
                        (("misses >= limit", "misses > limit"),),
                    ),
                )
            ),
            Point(
                (
                    Option("a reset does not free a blocked lock"),
                    Option(
                        "a reset frees a blocked lock",
                        ((' and state != "blocked"', ""),),
                    ),
                )
            ),
        ),
    ),
    Specification(
        "lift_travel",
        "Serve calls in order; returns [last floor, floors travelled, turns of direction].",
        (
            Point(
                (
                    Option("a call to a floor that does not exist is ignored"),
                    Option(
                        "a call to a floor that does not exist leads to the nearest one",
                        (
                            (
                                "        if call < 0 or call > top or call == floor:\n",
                                "        call = min(max(call, 0), top)\n"
                                "        if call == floor:\n",
                            ),
                        ),
                    ),
                )
            ),
        ),
    ),
    Specification(
        "is_number",
        "Say whether text is a decimal number: perhaps a sign, digits, perhaps a point and digits.",
        (
            Point(
                (
                    Option("both signs are allowed"),
                    Option(
                        "the only sign allowed is a minus",
                        (('char in "+-"', 'char == "-"'),),
                    ),
                )
            ),
            Point(
                (
                    Option("a point needs digits after it"),
                    Option(
                        "a point may be the last character",
                        (('state in ("whole", "part")', 'state in ("whole", "point", "part")'),),
                    ),
                )
            ),
        ),
    ),
    Specification(
        "debounce",
        "Follow a noisy switch from state 0: enough samples in a row of the other state change it.",
        (
            Point(
                (
                    Option("`needed` samples are enough"),
                    Option(
                        "`needed` samples are not yet enough",
                        (("streak >= needed", "streak > needed"),),
                    ),
                )
            ),
        ),
    ),
    Specification(
        "strip_comments",
        "Remove '#' comments up to the end of their row.",
        (
            Point(
                (
                    Option("a '#' inside single quotes stays"),
                    Option(
                        "a '#' inside single quotes begins a comment too",
                        (('char == "#" and state == "code"', 'char == "#"'),),
                    ),
                )
            ),
        ),
    ),
    Specification(
        "robot_position",
        "Walk a grid from [0, 0] facing north: 'F' steps, 'L' and 'R' turn; returns x, y and the "
        "number of quarter turns to the right.",
        (
            Point(
                (
                    Option("a wall stops it"),
                    Option(
                        "behind a wall it comes in again on the other side",
                        (
                            (
                                "min(y + 1, height - 1) if heading == 0 else max(y - 1, 0)",
                                "(y + 1 if heading == 0 else y - 1) % height",
                            ),
                            (
                                "min(x + 1, width - 1) if heading == 1 else max(x - 1, 0)",
                                "(x + 1 if heading == 1 else x - 1) % width",
                            ),
                        ),
                    ),
                )
            ),
        ),
    ),
)
