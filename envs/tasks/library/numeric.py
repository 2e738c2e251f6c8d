"""Repair tasks about numbers."""

from __future__ import annotations

import math

import numpy as np

from .inputs import Generate, integer, integers, pick


def reduce_fraction(numerator: int, denominator: int) -> list[int]:
    """Bring a fraction to lowest terms with a positive denominator; [0, 0] if it has none."""
    if denominator == 0:
        return [0, 0]
    if denominator < 0:
        numerator = -numerator
        denominator = -denominator
    divisor = math.gcd(numerator, denominator)
    if divisor > 1:
        numerator = numerator // divisor
        denominator = denominator // divisor
    return [numerator, denominator]


def _reduce_fraction(rng: np.random.Generator) -> tuple[int, int]:
    factor = pick(rng, [1, 2, 3, 7, -4])
    return factor * integer(rng, -9, 9), factor * integer(rng, -6, 9)


def digits_in_base(number: int, base: int) -> list[int]:
    """Return the digits of a non-negative number in a base of at least 2; [] for a bad request."""
    if number < 0 or base < 2:
        return []
    if number == 0:
        return [0]
    digits: list[int] = []
    while number > 0:
        digits.insert(0, number % base)
        number = number // base
    return digits


def _digits_in_base(rng: np.random.Generator) -> tuple[int, int]:
    return pick(rng, [-1, 0, 1, integer(rng, 0, 20), integer(rng, 0, 500)]), integer(rng, 0, 12)


def prime_factors(number: int) -> list[int]:
    """Return the prime factors of a number in ascending order, with repeats."""
    factors = []
    divisor = 2
    while divisor * divisor <= number:
        if number % divisor == 0:
            factors.append(divisor)
            number = number // divisor
        else:
            divisor += 1
    if number > 1:
        factors.append(number)
    return factors


def _prime_factors(rng: np.random.Generator) -> tuple[int]:
    return (integer(rng, 0, 300),)


def round_to_step(value: int, step: int) -> int:
    """Round a whole number to the nearest multiple of `step`; halves go away from zero."""
    if step <= 0:
        return value
    size = abs(value)
    rest = size % step
    if rest * 2 >= step:
        size = size + step - rest
    else:
        size = size - rest
    return size if value >= 0 else -size


def _round_to_step(rng: np.random.Generator) -> tuple[int, int]:
    step = pick(rng, [0, 1, 2, 5, 10, 15, -3, 4])
    return pick(rng, [integer(rng, -60, 60), step * integer(rng, -3, 3) + step // 2]), step


def moving_sums(values: list[int], window: int) -> list[int]:
    """Return the sum of every `window` neighbours; [] if the window does not fit."""
    if window < 1 or window > len(values):
        return []
    total = sum(values[:window])
    sums = [total]
    for index in range(window, len(values)):
        total = total + values[index] - values[index - window]
        sums.append(total)
    return sums


def _moving_sums(rng: np.random.Generator) -> tuple[list[int], int]:
    values = integers(rng, -9, 20, 7)
    return values, pick(rng, [integer(rng, 0, 8), len(values), 1, 2])


def trimmed_mean(values: list[int], cut: int) -> float:
    """Return the mean without the `cut` lowest and highest values; 0.0 if none remains."""
    if cut < 0 or len(values) <= 2 * cut:
        return 0.0
    ordered = sorted(values)
    kept = ordered[cut : len(ordered) - cut]
    return round(sum(kept) / len(kept), 2)


def _trimmed_mean(rng: np.random.Generator) -> tuple[list[int], int]:
    values = integers(rng, -20, 60, 7)
    return values, pick(rng, [0, 1, 1, 2, 3, -1, len(values) // 2])


def integer_root(number: int) -> int:
    """Return the largest whole number whose square is at most `number`; -1 for negative ones."""
    if number < 0:
        return -1
    low = 0
    high = number + 1
    while high - low > 1:
        middle = (low + high) // 2
        if middle * middle <= number:
            low = middle
        else:
            high = middle
    return low


def _integer_root(rng: np.random.Generator) -> tuple[int]:
    root = integer(rng, 0, 40)
    return (pick(rng, [root * root + integer(rng, -1, 1), integer(rng, -3, 900)]),)


def tax_due(income: int, brackets: list[list[int]]) -> int:
    """Tax income by ascending [start, percent] brackets; each rate holds above its start."""
    due = 0
    for index, (start, percent) in enumerate(brackets):
        if income <= start:
            break
        if index + 1 < len(brackets):
            end = min(income, brackets[index + 1][0])
        else:
            end = income
        due += (end - start) * percent
    return due // 100


def _tax_due(rng: np.random.Generator) -> tuple[int, list[list[int]]]:
    starts = sorted({integer(rng, 0, 9) * 100 for _ in range(integer(rng, 0, 3))})
    brackets = [[start, integer(rng, 1, 45)] for start in starts]
    return pick(rng, [integer(rng, 0, 1500), integer(rng, 0, 9) * 100 + 1]), brackets


FUNCTIONS: tuple[tuple[object, Generate], ...] = (
    (reduce_fraction, _reduce_fraction),
    (digits_in_base, _digits_in_base),
    (prime_factors, _prime_factors),
    (round_to_step, _round_to_step),
    (moving_sums, _moving_sums),
    (trimmed_mean, _trimmed_mean),
    (integer_root, _integer_root),
    (tax_due, _tax_due),
)
