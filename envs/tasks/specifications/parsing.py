"""What is left open about functions that read small formats."""

from __future__ import annotations

from .base import Option, Point, Specification

SPECIFICATIONS: tuple[Specification, ...] = (
    Specification(
        "parse_pages",
        "Read page numbers such as '1-3,7'; parts that are no number or range are left out.",
        (
            Point(
                (
                    Option("a range that runs backwards is left out"),
                    Option(
                        "a range that runs backwards is turned round",
                        (
                            (
                                "        elif low.isdigit() and high.isdigit() and "
                                "int(low) <= int(high):\n"
                                "            pages.extend(range(int(low), int(high) + 1))\n",
                                "        elif low.isdigit() and high.isdigit():\n"
                                "            first, last = sorted([int(low), int(high)])\n"
                                "            pages.extend(range(first, last + 1))\n",
                            ),
                        ),
                    ),
                )
            ),
            Point(
                (
                    Option("a page that is named twice is listed twice"),
                    Option(
                        "a page that is named twice is listed once, where it came first",
                        (("return pages", "return list(dict.fromkeys(pages))"),),
                    ),
                )
            ),
        ),
    ),
    Specification(
        "parse_duration",
        "Read a duration such as '1h30m15s' as seconds.",
        (
            Point(
                (
                    Option("malformed text gives -1"),
                    Option(
                        "malformed text gives 0",
                        (
                            ("            return -1\n", "            return 0\n"),
                            (
                                "        return -1\n    return total",
                                "        return 0\n    return total",
                            ),
                        ),
                    ),
                )
            ),
            Point(
                (
                    Option("a number at the end without a unit is malformed"),
                    Option(
                        "a number at the end without a unit means seconds",
                        (
                            (
                                '    if number != "" or text == "":\n',
                                '    total += int(number or "0")\n    if text == "":\n',
                            ),
                        ),
                    ),
                )
            ),
        ),
    ),
    Specification(
        "compare_versions",
        "Compare dotted versions number by number: -1, 0 or 1.",
        (
            Point(
                (
                    Option("missing parts count as zero"),
                    Option(
                        "of two that begin alike the shorter one is lower",
                        (
                            (
                                "a[index] if index < len(a) else 0",
                                "a[index] if index < len(a) else -1",
                            ),
                            (
                                "b[index] if index < len(b) else 0",
                                "b[index] if index < len(b) else -1",
                            ),
                        ),
                    ),
                    Option(
                        "only parts that both have are compared",
                        (
                            ("max(len(a), len(b))", "min(len(a), len(b))"),
                            ("a[index] if index < len(a) else 0", "a[index]"),
                            ("b[index] if index < len(b) else 0", "b[index]"),
                        ),
                    ),
                )
            ),
        ),
    ),
    Specification(
        "split_quoted",
        "Split a line at commas that are not inside double quotes; a doubled quote inside is one.",
        (
            Point(
                (
                    Option("the outer quotes are dropped"),
                    Option(
                        "the outer quotes are kept",
                        (
                            (
                                "            is_quoted = not is_quoted\n",
                                "            is_quoted = not is_quoted\n"
                                "            fields[-1] += char\n",
                            ),
                        ),
                    ),
                )
            ),
            Point(
                (
                    Option("spaces around a field stay"),
                    Option(
                        "spaces around a field are stripped",
                        (("return fields", "return [field.strip() for field in fields]"),),
                    ),
                )
            ),
        ),
    ),
    Specification(
        "parse_settings",
        "Read 'key=value; flag' settings; keys become small, '#' begins a part to be ignored.",
        (
            Point(
                (
                    Option("the first of equal keys wins"),
                    Option("the last of equal keys wins", ((" and key not in settings", ""),)),
                )
            ),
            Point(
                (
                    Option("a bare key has the value 'yes'"),
                    Option("a bare key has the value ''", (('else "yes"', 'else ""'),)),
                )
            ),
        ),
    ),
    Specification(
        "first_unbalanced",
        "Return the index of a bracket without a partner, or -1 if all have one; a closing one "
        "that does not fit is reported at once.",
        (
            Point(
                (
                    Option("of brackets left open at the end the first is reported"),
                    Option(
                        "of brackets left open at the end the last is reported",
                        (("stack[0] if", "stack[-1] if"),),
                    ),
                )
            ),
        ),
    ),
    Specification(
        "evaluate_postfix",
        "Evaluate postfix arithmetic with +, - and *; None if operands are missing.",
        (
            Point(
                (
                    Option("operands left over give None"),
                    Option(
                        "operands left over are ignored, the last value counts",
                        (("stack[0] if len(stack) == 1", "stack[-1] if len(stack) > 0"),),
                    ),
                )
            ),
        ),
    ),
    Specification(
        "parse_colour",
        "Read '#rgb' or '#rrggbb' as three numbers from 0 to 255.",
        (
            Point(
                (
                    Option("a single digit is doubled, so 'f' is 255"),
                    Option(
                        "a single digit is followed by a zero, so 'f' is 240",
                        (("(17 if", "(16 if"),),
                    ),
                )
            ),
            Point(
                (
                    Option("anything else gives None"),
                    Option(
                        "anything else gives black",
                        (
                            ("(4, 7):\n        return None", "(4, 7):\n        return [0, 0, 0]"),
                            (
                                "in part):\n            return None",
                                "in part):\n            return [0, 0, 0]",
                            ),
                        ),
                    ),
                )
            ),
        ),
    ),
)
