"""The code that `sim2live/Completion-v0` completes: our own lines of Python, in six kinds.

Every snippet is a small whole program text in which « and » enclose what the person is about to
write; the text before is the prefix, the text after the suffix. From the true continuation
`variants` derives, without chance, what a language model might suggest: the whole of it, two
truncations, one slip (a single token changed, so that it still parses and does something else) and
one stray (what belongs to another snippet of the same kind).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from ..errors import ConfigError

KINDS = ("argument", "assignment", "body", "condition", "loop", "return")
"""What the cursor stands in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Snippet:
    """One cursor in one piece of code."""

    kind: str
    """One of `KINDS`."""
    prefix: str
    """The code before the cursor."""
    continuation: str
    """What the person is about to write; one line, or several in the kind `body`."""
    suffix: str
    """The code after the cursor."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One suggestion with what only the simulation knows of it."""

    text: str
    """What would be shown."""
    correctness: float
    """Share of the true continuation that it gives, in [0, 1]; 0 if anything in it is wrong."""
    plausibility: float
    """How right it looks to the pretend language model, in [0, 1]; the source of confidence."""


VARIANTS = ("whole", "long_cut", "short_cut", "slip", "stray")
"""The suggestions that exist for each snippet, in the order of `variants`."""

_PLAUSIBILITY = {"whole": 1.0, "long_cut": 0.7, "short_cut": 0.5, "slip": 0.6, "stray": 0.1}
_CUTS = {"long_cut": 0.7, "short_cut": 0.35}

# The first pattern that occurs is replaced once. The order goes from the slips that are easiest to
# overlook to the crudest; each keeps the code parsing and changes its meaning.
_SLIPS: tuple[tuple[str, str], ...] = (
    (r" <= ", " < "),
    (r" >= ", " > "),
    (r" < ", " <= "),
    (r" > ", " >= "),
    (r" not in ", " in "),
    (r" is not ", " is "),
    (r" == ", " != "),
    (r" != ", " == "),
    (r" and ", " or "),
    (r" or ", " and "),
    (r" \+= ", " -= "),
    (r" -= ", " += "),
    (r" \+ ", " - "),
    (r" - ", " + "),
    (r" \* ", " + "),
    (r" // ", " / "),
    (r" / ", " // "),
    (r" % ", " // "),
    (r"\bTrue\b", "False"),
    (r"\bFalse\b", "True"),
    (r"\bmin\(", "max("),
    (r"\bmax\(", "min("),
    (r"\ball\(", "any("),
    (r"\bany\(", "all("),
    (r"\bnot ", ""),
    (r"\b1\b", "0"),
    (r"\b0\b", "1"),
    (r"\.append\(", ".extend("),
    (r"\.lower\(", ".upper("),
    (r"\.items\(", ".values("),
    (r"\.values\(", ".keys("),
    (r"\.startswith\(", ".endswith("),
    (r"\bsorted\(", "list("),
)


@lru_cache(maxsize=1)
def load_snippets() -> tuple[Snippet, ...]:
    """Return all snippets, grouped by kind in the order of `KINDS`."""
    return tuple(
        _parse(kind, text) for kind in KINDS for text in _CODE[kind].strip("\n").split("\n---\n")
    )


@lru_cache(maxsize=1)
def load_variants() -> tuple[tuple[Candidate, ...], ...]:
    """Return the `variants` of each of `load_snippets`, in the same order."""
    snippets = load_snippets()
    by_kind = {kind: [s for s in snippets if s.kind == kind] for kind in KINDS}
    return tuple(
        variants(snippet, _next_of(snippet, by_kind[snippet.kind])) for snippet in snippets
    )


def variants(snippet: Snippet, other: Snippet) -> tuple[Candidate, ...]:
    """Derive the suggestions for one snippet.

    Args:
        snippet: whose cursor it is.
        other: another snippet; its continuation is the stray.

    Returns:
        One candidate for each of `VARIANTS`, in that order.
    """
    truth = snippet.continuation
    texts = {
        "whole": truth,
        "long_cut": truncate(truth, _CUTS["long_cut"]),
        "short_cut": truncate(truth, _CUTS["short_cut"]),
        "slip": slip(truth),
        "stray": other.continuation,
    }
    return tuple(
        Candidate(
            text=texts[name],
            correctness=0.0 if name in ("slip", "stray") else len(texts[name]) / len(truth),
            plausibility=_PLAUSIBILITY[name],
        )
        for name in VARIANTS
    )


def truncate(text: str, share: float) -> str:
    """Keep about `share` of the words and signs of `text`, at least one, never all of several."""
    pieces = re.findall(r"\s*(?:\w+|[^\w\s])", text)
    return "".join(pieces[: max(1, int(share * len(pieces)))])


def slip(text: str) -> str:
    """Change one token of `text`, so that it reads well and is wrong.

    Raises:
        ConfigError: if no known slip applies.
    """
    for pattern, replacement in _SLIPS:
        changed, count = re.subn(pattern, replacement, text, count=1)
        if count:
            return changed
    raise ConfigError(f"no slip applies to `{text}`; add one to the table or change the snippet")


def _parse(kind: str, text: str) -> Snippet:
    match = re.fullmatch(r"([^«»]*)«([^«»]+)»([^«»]*)", text)
    if match is None:
        raise ConfigError(f"a snippet needs one pair of « and »; this has not: {text!r}")
    prefix, continuation, suffix = match.groups()
    return Snippet(kind=kind, prefix=prefix, continuation=continuation, suffix=suffix + "\n")


def _next_of(snippet: Snippet, siblings: list[Snippet]) -> Snippet:
    return siblings[(siblings.index(snippet) + 1) % len(siblings)]


_CODE = {
    "argument": """
def nearest(points, target):
    return min(«points, key=lambda point: abs(point.x - target.x)»)
---
import json

def save(path, record):
    path.write_text(json.dumps(«record, indent=2, sort_keys=True»))
---
def by_age(people):
    return sorted(«people, key=lambda p: p.age, reverse=True»)
---
import subprocess

def run_quietly(command):
    return subprocess.run(«command, capture_output=True, check=False»)
---
def words(line):
    return line.strip().split(«",", maxsplit=1»)
---
def countdown(start):
    return list(range(«start, 0, -1»))
---
def pad(label, width):
    return label.ljust(«width - len(label) % 2, "."»)
---
def make_folder(path):
    path.mkdir(«parents=True, exist_ok=True»)
---
def total(prices, discount):
    return sum(«price * (1 - discount) for price in prices»)
---
def clamp(value, low, high):
    return max(«low, min(value, high)»)
---
def pairs(left, right):
    return dict(zip(«left, right, strict=True»))
---
def percentage(part, whole):
    return round(«100 * part / whole, ndigits=2»)
""",
    "assignment": """
def mean(values):
    average = «sum(values) / len(values)»
    return average
---
def celsius(fahrenheit):
    degrees = «(fahrenheit - 32) * 5 / 9»
    return degrees
---
def split_name(full):
    first, last = «full.split(" ", 1)»
    return last, first
---
def middle(items):
    centre = «len(items) // 2»
    return items[centre]
---
def elapsed(begin, end):
    minutes = «(end - begin).total_seconds() / 60»
    return round(minutes)
---
def header(lines):
    title = «lines[0].strip("# ")»
    return title
---
def invert(mapping):
    inverse = «{value: key for key, value in mapping.items()}»
    return inverse
---
class Counter:
    def __init__(self, start=None):
        self.count = «start if start is not None else 0»
---
def page_of(rows, page, size):
    offset = «(page - 1) * size»
    return rows[offset : offset + size]
---
def compound(amount, rate, years):
    amount = «amount * (1 + rate) ** years»
    return amount
---
def extension(name):
    suffix = «name.rsplit(".", 1)[-1].lower()»
    return suffix
---
def options(given):
    merged = «{"retries": 3, "verbose": False, **given}»
    return merged
""",
    "body": """
def gcd(a, b):
    «while b != 0:
        a, b = b, a % b
    return a»
---
def unique(items):
    seen = set()
    «for item in items:
        if item not in seen:
            seen.add(item)
            yield item»
---
def read_numbers(path):
    «with open(path, encoding="utf-8") as file:
        return [float(line) for line in file if line.strip() != ""]»
---
def factorial(n):
    «product = 1
    for factor in range(2, n + 1):
        product *= factor
    return product»
---
def count_words(text):
    counts = {}
    «for word in text.lower().split():
        counts[word] = counts.get(word, 0) + 1
    return counts»
---
class Stack:
    def __init__(self):
        self.items = []

    def pop(self):
        «if not self.items:
            raise IndexError("the stack is empty")
        return self.items.pop()»
---
def find(items, wanted):
    «for index, item in enumerate(items):
        if item == wanted:
            return index
    return -1»
---
def retry(action, attempts):
    for attempt in range(attempts):
        «try:
            return action()
        except OSError:
            if attempt + 1 == attempts:
                raise»
---
def flatten(nested):
    flat = []
    «for inner in nested:
        flat += inner
    return flat»
---
def is_prime(n):
    «if n < 2:
        return False
    return all(n % d for d in range(2, int(n**0.5) + 1))»
---
def running_total(values):
    total = 0
    «for value in values:
        total += value
        yield total»
---
def chunks(items, size):
    «for start in range(0, len(items), size):
        yield items[start : start + size]»
""",
    "condition": """
def is_leap(year):
    if «year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)»:
        return True
    return False
---
def withdraw(account, amount):
    if «amount > account.balance»:
        raise ValueError("not enough money")
    account.balance -= amount
---
def first_line(text):
    if «not text.strip()»:
        return ""
    return text.splitlines()[0]
---
def in_bounds(x, y, width, height):
    if «0 <= x < width and 0 <= y < height»:
        return True
    return False
---
def insert(tree, key):
    if «key < tree.key and tree.left is not None»:
        return insert(tree.left, key)
    return tree
---
def fetch(cache, key, load):
    if «key not in cache»:
        cache[key] = load(key)
    return cache[key]
---
def grade(points):
    if «points >= 90»:
        return "A"
    return "B"
---
def binary_search(items, wanted):
    low, high = 0, len(items)
    while «low < high»:
        mid = (low + high) // 2
        low, high = (mid + 1, high) if items[mid] < wanted else (low, mid)
    return low
---
def is_comment(line):
    if «line.lstrip().startswith("#")»:
        return True
    return False
---
def send(message, recipient=None):
    if «recipient is not None»:
        message.to = recipient
    return message
---
def drain(queue, limit):
    taken = []
    while «queue and len(taken) < limit»:
        taken.append(queue.pop())
    return taken
---
def fizz(n):
    if «n % 3 == 0»:
        return "fizz"
    return str(n)
""",
    "loop": """
def dot(left, right):
    total = 0.0
    for «a, b in zip(left, right, strict=True)»:
        total += a * b
    return total
---
def show(table):
    for «key, value in sorted(table.items())»:
        yield f"{key}: {value}"
---
def squares(limit):
    return [«n * n for n in range(limit)»]
---
def evens(numbers):
    return [«n for n in numbers if n % 2 == 0»]
---
def numbered(lines):
    for «number, line in enumerate(lines, start=1)»:
        yield f"{number:4} {line}"
---
def neighbours(items):
    for «i in range(len(items) - 1)»:
        yield items[i], items[i + 1]
---
def transpose(matrix):
    return [«[row[i] for row in matrix] for i in range(len(matrix[0]))»]
---
def lengths(words):
    return {«word: len(word) for word in words if len(word) > 0»}
---
def backwards(items):
    for «index in range(len(items) - 1, -1, -1)»:
        yield items[index]
---
def known_users(users, banned):
    return {«user.name for user in users if user.id not in banned»}
---
def pairs_below(n):
    return [«(i, j) for i in range(n) for j in range(i + 1, n)»]
---
def adults(people):
    return [«p.name for p in people if p.age >= 18»]
""",
    "return": """
def area(width, height):
    return «width * height»
---
def distance(p, q):
    return «((p.x - q.x) ** 2 + (p.y - q.y) ** 2) ** 0.5»
---
def is_palindrome(text):
    return «text.lower() == text.lower()[::-1]»
---
def initials(name):
    return «".".join(part[0] for part in name.split())»
---
def median(ordered):
    half = len(ordered) // 2
    return «(ordered[half - 1] + ordered[half]) / 2»
---
def same_letters(left, right):
    return «sorted(left.lower()) == sorted(right.lower())»
---
def overlaps(a, b):
    return «a.start < b.end and b.start < a.end»
---
def biggest(sizes):
    return «max(sizes.values(), default=0)»
---
def last(items):
    return «items[-1] if items else None»
---
def has_digit(text):
    return «any(character.isdigit() for character in text)»
---
def variance(values, mean):
    return «sum((v - mean) ** 2 for v in values) / (len(values) - 1)»
---
def initialised(config):
    return «config.path.exists() and config.version > 0»
""",
}
