"""Repair tasks about text."""

from __future__ import annotations

import numpy as np

from .inputs import Generate, integer, pick, picks, text


def compress_runs(text: str, least: int) -> str:
    """Write every run of at least `least` equal characters as the character and its length."""
    parts = []
    start = 0
    for index in range(1, len(text) + 1):
        if index == len(text) or text[index] != text[start]:
            length = index - start
            if length >= least:
                parts.append(text[start] + str(length))
            else:
                parts.append(text[start:index])
            start = index
    return "".join(parts)


def _compress_runs(rng: np.random.Generator) -> tuple[str, int]:
    runs = [pick(rng, "abc") * integer(rng, 1, 4) for _ in range(integer(rng, 0, 5))]
    return "".join(runs), integer(rng, 1, 4)


def truncate_middle(text: str, width: int) -> str:
    """Shorten text to `width` characters by an ellipsis in the middle; the head gets more."""
    if len(text) <= width:
        return text
    if width < 5:
        return text[:width]
    kept = width - 3
    tail = kept // 2
    head = kept - tail
    return text[:head] + "..." + text[len(text) - tail :]


def _truncate_middle(rng: np.random.Generator) -> tuple[str, int]:
    length = integer(rng, 0, 16)
    width = pick(rng, [length, length - 1, length + 1, 4, 5, integer(rng, 0, 16)])
    return "abcdefghijklmnop"[:length], max(0, width)


def is_palindrome(text: str) -> bool:
    """Say whether text reads the same backwards; only letters and digits count, in any case."""
    left = 0
    right = len(text) - 1
    while left < right:
        if not text[left].isalnum():
            left += 1
        elif not text[right].isalnum():
            right -= 1
        elif text[left].lower() != text[right].lower():
            return False
        else:
            left += 1
            right -= 1
    return True


def _is_palindrome(rng: np.random.Generator) -> tuple[str]:
    half = text(rng, "abAB1,", 4)
    middle = pick(rng, ["", "x", "xy", ", ", " z"])
    whole = half + middle + half[::-1].swapcase()
    if rng.random() < 0.3:
        whole += pick(rng, ["!", "a", " 1"])
    return (whole,)


def wrap_words(text: str, width: int) -> list[str]:
    """Break text into lines of at most `width` characters; a longer word has a line of its own."""
    lines = []
    line = ""
    for word in text.split():
        if line == "":
            line = word
        elif len(line) + 1 + len(word) <= width:
            line = line + " " + word
        else:
            lines.append(line)
            line = word
    if line != "":
        lines.append(line)
    return lines


def _wrap_words(rng: np.random.Generator) -> tuple[str, int]:
    words = picks(rng, ["a", "to", "the", "word", "seven", "letter", "a-b"], 8)
    return pick(rng, [" ", " ", "  "]).join(words), integer(rng, 1, 14)


def shift_letters(text: str, shift: int) -> str:
    """Move each letter `shift` places on in the alphabet, round the end; the rest stays."""
    result = ""
    for char in text:
        if "a" <= char <= "z":
            base = ord("a")
        elif "A" <= char <= "Z":
            base = ord("A")
        else:
            result += char
            continue
        result += chr((ord(char) - base + shift) % 26 + base)
    return result


def _shift_letters(rng: np.random.Generator) -> tuple[str, int]:
    return text(rng, "azAZmNby 0-!", 8), integer(rng, -30, 30)


def headline(text: str, least: int) -> str:
    """Capitalise the first and last word and all words of at least `least` letters."""
    words = text.lower().split()
    result = []
    for index, word in enumerate(words):
        is_outer = index == 0 or index == len(words) - 1
        if is_outer or len(word) >= least:
            result.append(word[0].upper() + word[1:])
        else:
            result.append(word)
    return " ".join(result)


def _headline(rng: np.random.Generator) -> tuple[str, int]:
    words = picks(rng, ["the", "OF", "a", "lord", "rings", "And", "return", "in"], 6)
    return " ".join(words), integer(rng, 2, 5)


def count_syllables(word: str) -> int:
    """Estimate syllables: groups of vowels, less a silent final `e`, and at least one."""
    vowels = "aeiouy"
    count = 0
    was_vowel = False
    for letter in word.lower():
        is_vowel = letter in vowels
        if is_vowel and not was_vowel:
            count += 1
        was_vowel = is_vowel
    if word.lower().endswith("e") and not word.lower().endswith("le") and count > 1:
        count -= 1
    return max(count, 1)


def _count_syllables(rng: np.random.Generator) -> tuple[str]:
    middle = text(rng, ["a", "ea", "io", "y", "b", "st", "l", "E", "n"], 5)
    return (middle + pick(rng, ["", "e", "le", "ed", "ee", "t", "ye"]),)


def common_prefix(words: list[str], separator: str) -> str:
    """Return the longest common start of all words that ends with the separator, or ''."""
    if len(words) == 0:
        return ""
    first = min(words)
    last = max(words)
    size = 0
    while size < len(first) and size < len(last) and first[size] == last[size]:
        size += 1
    cut = first[:size].rfind(separator)
    if cut < 0:
        return ""
    return first[: cut + len(separator)]


def _common_prefix(rng: np.random.Generator) -> tuple[list[str], str]:
    start = text(rng, ["a/", "b/", "c", "/", "a.b/"], 4)
    words = [start + text(rng, ["x/", "y", "a", "/"], 3) for _ in range(integer(rng, 0, 4))]
    return words, pick(rng, ["/", "/", "a/"])


FUNCTIONS: tuple[tuple[object, Generate], ...] = (
    (compress_runs, _compress_runs),
    (truncate_middle, _truncate_middle),
    (is_palindrome, _is_palindrome),
    (wrap_words, _wrap_words),
    (shift_letters, _shift_letters),
    (headline, _headline),
    (count_syllables, _count_syllables),
    (common_prefix, _common_prefix),
)
