"""Repair tasks about reading small formats."""

from __future__ import annotations

import numpy as np

from .inputs import Generate, integer, pick, picks, text


def parse_pages(text: str) -> list[int]:
    """Read page numbers such as '1-3,7'; parts that are no number or ordered range are left out."""
    pages = []
    for part in text.split(","):
        low, dash, high = part.strip().partition("-")
        if dash == "" and low.isdigit():
            pages.append(int(low))
        elif low.isdigit() and high.isdigit() and int(low) <= int(high):
            pages.extend(range(int(low), int(high) + 1))
    return pages


def _parse_pages(rng: np.random.Generator) -> tuple[str]:
    parts = []
    for _ in range(integer(rng, 0, 4)):
        low = integer(rng, 0, 12)
        high = low + integer(rng, -2, 4)
        parts.append(
            pick(rng, [f"{low}", f"{low}-{max(0, high)}", f" {low}-{low}", "x", "3-", "-4"])
        )
    return (",".join(parts),)


def parse_duration(text: str) -> int:
    """Read a duration such as '1h30m15s' as seconds; -1 if it is malformed."""
    units = {"h": 3600, "m": 60, "s": 1}
    total = 0
    number = ""
    for char in text:
        if char.isdigit():
            number += char
        elif char in units and number != "":
            total += int(number) * units[char]
            number = ""
        else:
            return -1
    if number != "" or text == "":
        return -1
    return total


def _parse_duration(rng: np.random.Generator) -> tuple[str]:
    whole = "".join(f"{integer(rng, 0, 90)}{u}" for u in "hms" if rng.random() < 0.6)
    return (pick(rng, [whole, whole, whole, whole + "5", "h" + whole, whole + "2d", ""]),)


def compare_versions(left: str, right: str) -> int:
    """Compare dotted versions: -1, 0 or 1; missing parts count as zero."""
    a = [int(part) for part in left.split(".")]
    b = [int(part) for part in right.split(".")]
    for index in range(max(len(a), len(b))):
        x = a[index] if index < len(a) else 0
        y = b[index] if index < len(b) else 0
        if x < y:
            return -1
        if x > y:
            return 1
    return 0


def _compare_versions(rng: np.random.Generator) -> tuple[str, str]:
    left = [integer(rng, 0, 11) for _ in range(integer(rng, 1, 4))]
    right = left[: integer(rng, 1, 4)] + [0] * integer(rng, 0, 1)
    if rng.random() < 0.5:
        right[-1] += pick(rng, [-1, 1, 2])
        right[-1] = max(0, right[-1])
    if rng.random() < 0.5:
        left, right = right, left
    return ".".join(map(str, left)), ".".join(map(str, right))


def split_quoted(line: str) -> list[str]:
    """Split a line at commas that are not inside double quotes; a doubled quote is a quote."""
    fields = [""]
    is_quoted = False
    index = 0
    while index < len(line):
        char = line[index]
        if char == '"' and is_quoted and line[index + 1 : index + 2] == '"':
            fields[-1] += char
            index += 1
        elif char == '"':
            is_quoted = not is_quoted
        elif char == "," and not is_quoted:
            fields.append("")
        else:
            fields[-1] += char
        index += 1
    return fields


def _split_quoted(rng: np.random.Generator) -> tuple[str]:
    pieces = ["a", "bc", ",", ",", '"x,y"', '"say ""hi"""', '""', '"', " "]
    return (text(rng, pieces, 6),)


def parse_settings(text: str) -> dict[str, str]:
    """Read 'key=value; flag' settings; a bare key is 'yes', the first of equal keys wins."""
    settings: dict[str, str] = {}
    for raw in text.split(";"):
        part = raw.strip()
        if part == "" or part.startswith("#"):
            continue
        key, equals, value = part.partition("=")
        key = key.rstrip().lower()
        if key != "" and key not in settings:
            settings[key] = value.lstrip() if equals != "" else "yes"
    return settings


def _parse_settings(rng: np.random.Generator) -> tuple[str]:
    pieces = ["a=1", "A = 2", " b= x=y", "flag", "#c=3", "", "=5", "d #=6", "b", "a#", "e ="]
    return (";".join(picks(rng, pieces, 5)),)


def first_unbalanced(text: str) -> int:
    """Return the index of the first bracket that has no partner, or -1 if all have one."""
    pairs = {")": "(", "]": "[", "}": "{"}
    stack: list[int] = []
    for index, char in enumerate(text):
        if char in "([{":
            stack.append(index)
        elif char in pairs:
            if len(stack) == 0 or text[stack[-1]] != pairs[char]:
                return index
            stack.pop()
    return stack[0] if len(stack) > 0 else -1


def _first_unbalanced(rng: np.random.Generator) -> tuple[str]:
    return (text(rng, ["()", "[]", "(", ")", "[a]", "{", "}", "({x})", "b"], 5),)


def evaluate_postfix(tokens: list[str]) -> int | None:
    """Evaluate postfix arithmetic with +, - and *; None if operands are missing or left over."""
    stack: list[int] = []
    for token in tokens:
        if token not in ("+", "-", "*"):
            stack.append(int(token))
            continue
        if len(stack) < 2:
            return None
        right = stack.pop()
        left = stack.pop()
        if token == "+":
            stack.append(left + right)
        elif token == "-":
            stack.append(left - right)
        else:
            stack.append(left * right)
    return stack[0] if len(stack) == 1 else None


def _evaluate_postfix(rng: np.random.Generator) -> tuple[list[str]]:
    tokens = [str(integer(rng, 0, 9))]
    for _ in range(integer(rng, 0, 3)):
        tokens += [str(integer(rng, 0, 9)), pick(rng, "+-*")]
    if rng.random() < 0.3:
        tokens.insert(integer(rng, 0, len(tokens)), pick(rng, ["+", "-", "4"]))
    return (tokens[integer(rng, 0, 1) * integer(rng, 0, 1) :],)


def parse_colour(text: str) -> list[int] | None:
    """Read '#rgb' or '#rrggbb' as three numbers from 0 to 255; None if it is neither."""
    digits = text.lower()
    if not digits.startswith("#") or len(digits) not in (4, 7):
        return None
    size = (len(digits) - 1) // 3
    values = []
    for index in range(3):
        part = digits[1 + index * size : 1 + (index + 1) * size]
        if any(char not in "0123456789abcdef" for char in part):
            return None
        values.append(int(part, 16) * (17 if size == 1 else 1))
    return values


def _parse_colour(rng: np.random.Generator) -> tuple[str]:
    size = pick(rng, [3, 6, 3, 6, 4, 2, 0])
    body = "".join(picks(rng, "0123456789abcdefAF", size, size))
    if rng.random() < 0.2 and body:
        body = body[:-1] + pick(rng, "g-")
    return (pick(rng, ["#", "#", "#", "#", "", "#0"]) + body,)


FUNCTIONS: tuple[tuple[object, Generate], ...] = (
    (parse_pages, _parse_pages),
    (parse_duration, _parse_duration),
    (compare_versions, _compare_versions),
    (split_quoted, _split_quoted),
    (parse_settings, _parse_settings),
    (first_unbalanced, _first_unbalanced),
    (evaluate_postfix, _evaluate_postfix),
    (parse_colour, _parse_colour),
)
