"""Repair tasks about things that remember a state between events."""

from __future__ import annotations

import numpy as np

from .inputs import Generate, integer, integers, pick, picks, text


def turnstile(events: list[str], price: int) -> list[int]:
    """Run a turnstile: coins '1' and '2' add up, 'push' lets one in; returns [people, credit]."""
    credit = 0
    people = 0
    for event in events:
        if event == "push":
            if credit >= price:
                people += 1
                credit -= price
        elif event == "refund":
            credit = 0
        else:
            credit += int(event)
    return [people, credit]


def _turnstile(rng: np.random.Generator) -> tuple[list[str], int]:
    return picks(rng, ["1", "2", "push", "push", "refund"], 9), integer(rng, 1, 4)


def traffic_light(second: int, green: int, amber: int, red: int) -> str:
    """Return the colour at a second of the cycle green, amber, red; 'off' if it has no length."""
    cycle = green + amber + red
    if cycle <= 0 or second < 0:
        return "off"
    position = second % cycle
    if position < green:
        return "green"
    if position < green + amber:
        return "amber"
    return "red"


def _traffic_light(rng: np.random.Generator) -> tuple[int, int, int, int]:
    lengths = pick(rng, [[5, 1, 4], [3, 2, 2], [0, 0, 0], [0, 2, 3], [integer(rng, 1, 9), 1, 6]])
    return integer(rng, -1, 30), lengths[0], lengths[1], lengths[2]


def lock_state(attempts: list[str], code: str, limit: int) -> str:
    """Follow attempts at a lock: 'open' after the code, 'blocked' after `limit` misses in a row."""
    misses = 0
    state = "closed"
    for attempt in attempts:
        if attempt == "reset" and state != "blocked":
            state = "closed"
            misses = 0
        elif state == "closed" and attempt == code:
            state = "open"
        elif state == "closed":
            misses += 1
            if misses >= limit:
                state = "blocked"
    return state


def _lock_state(rng: np.random.Generator) -> tuple[list[str], str, int]:
    return (
        picks(rng, ["12", "34", "34", "reset", "56"], 7),
        pick(rng, ["12", "34"]),
        integer(rng, 1, 4),
    )


def lift_travel(start: int, calls: list[int], top: int) -> list[int]:
    """Serve calls in order; returns [last floor, floors travelled, turns of direction]."""
    floor = start
    travelled = 0
    turns = 0
    direction = 0
    for call in calls:
        if call < 0 or call > top or call == floor:
            continue
        heading = 1 if call > floor else -1
        if direction not in (0, heading):
            turns += 1
        direction = heading
        travelled += abs(call - floor)
        floor = call
    return [floor, travelled, turns]


def _lift_travel(rng: np.random.Generator) -> tuple[int, list[int], int]:
    top = integer(rng, 2, 7)
    return integer(rng, 0, top), integers(rng, -1, 8, 7), top


def is_number(text: str) -> bool:
    """Say whether text is a decimal number: a sign, digits, and a point with digits after it."""
    state = "start"
    for char in text:
        if char.isdigit():
            state = "whole" if state in ("start", "sign", "whole") else "part"
        elif char in "+-" and state == "start":
            state = "sign"
        elif char == "." and state == "whole":
            state = "point"
        else:
            return False
    return state in ("whole", "part")


def _is_number(rng: np.random.Generator) -> tuple[str]:
    sign = pick(rng, ["", "", "-", "+", "--"])
    tail = pick(rng, ["", "", ".", ".5", ".25", ".1.2", "-", "x"])
    return (sign + text(rng, "0189", 3) + tail,)


def debounce(samples: list[int], needed: int) -> list[int]:
    """Follow a noisy switch: it takes `needed` equal samples in a row to change the state."""
    state = 0
    streak = 0
    states = []
    for sample in samples:
        if sample == state:
            streak = 0
        else:
            streak += 1
            if streak >= needed:
                state = sample
                streak = 0
        states.append(state)
    return states


def _debounce(rng: np.random.Generator) -> tuple[list[int], int]:
    runs = [[pick(rng, [0, 1])] * integer(rng, 1, 4) for _ in range(integer(rng, 0, 4))]
    return [sample for run in runs for sample in run], integer(rng, 1, 4)


def strip_comments(code: str) -> str:
    """Remove '#' comments up to the end of their row, except inside single quotes."""
    kept = ""
    state = "code"
    for char in code:
        if state == "comment":
            if char != "\n":
                continue
            state = "code"
        elif char == "'":
            state = "text" if state == "code" else "code"
        elif char == "#" and state == "code":
            state = "comment"
            continue
        kept += char
    return kept


def _strip_comments(rng: np.random.Generator) -> tuple[str]:
    return (text(rng, ["a", "b ", "#", "# c", "\n", "'", "'#'", "x"], 7),)


def robot_position(commands: str, width: int, height: int) -> list[int]:
    """Walk a grid from [0, 0] facing north: 'F' steps unless a wall is ahead, 'L' and 'R' turn."""
    x = 0
    y = 0
    heading = 0
    for command in commands:
        if command == "R":
            heading = (heading + 1) % 4
        elif command == "L":
            heading = (heading + 3) % 4
        elif heading % 2 == 0:
            y = min(y + 1, height - 1) if heading == 0 else max(y - 1, 0)
        else:
            x = min(x + 1, width - 1) if heading == 1 else max(x - 1, 0)
    return [x, y, heading]


def _robot_position(rng: np.random.Generator) -> tuple[str, int, int]:
    return text(rng, "FFFLR", 10), integer(rng, 1, 4), integer(rng, 1, 4)


def tennis_score(points: str) -> str:
    """Call a tennis game after points 'A' and 'B': '30-15', 'deuce', 'ahead A', 'game B'."""
    names = ["0", "15", "30", "40"]
    a = 0
    b = 0
    for point in points:
        if max(a, b) >= 4 and abs(a - b) >= 2:
            break
        if point == "A":
            a += 1
        else:
            b += 1
    leader = "A" if a > b else "B"
    if max(a, b) >= 4 and abs(a - b) >= 2:
        return "game " + leader
    if min(a, b) >= 3:
        return "deuce" if a == b else "ahead " + leader
    return names[a] + "-" + names[b]


def _tennis_score(rng: np.random.Generator) -> tuple[str]:
    return (pick(rng, ["", "ABABAB", "AAABBB"]) + text(rng, "AB", 6),)


FUNCTIONS: tuple[tuple[object, Generate], ...] = (
    (turnstile, _turnstile),
    (traffic_light, _traffic_light),
    (lock_state, _lock_state),
    (lift_travel, _lift_travel),
    (is_number, _is_number),
    (debounce, _debounce),
    (strip_comments, _strip_comments),
    (robot_position, _robot_position),
    (tennis_score, _tennis_score),
)
