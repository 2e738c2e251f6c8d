"""Repair tasks about dates and times, which are plain numbers here."""

from __future__ import annotations

import calendar
from datetime import date, timedelta

import numpy as np

from .inputs import Generate, integer, integers, pick


def days_in_month(year: int, month: int) -> int:
    """Return the number of days of a month in the Gregorian calendar; 0 for no such month."""
    if month < 1 or month > 12:
        return 0
    if month == 2:
        is_leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
        return 29 if is_leap else 28
    if month in (4, 6, 9, 11):
        return 30
    return 31


def _days_in_month(rng: np.random.Generator) -> tuple[int, int]:
    year = pick(rng, [1900, 2000, 2100, 1600, 2024, 2023, integer(rng, 1900, 2100)])
    return year, pick(rng, [2, 2, integer(rng, 0, 13)])


def day_of_year(year: int, month: int, day: int) -> int:
    """Return which day of its year a date is, counted from 1."""
    total = day
    for earlier in range(1, month):
        if earlier == 2:
            total += 29 if calendar.isleap(year) else 28
        elif earlier in (4, 6, 9, 11):
            total += 30
        else:
            total += 31
    return total


def _date(rng: np.random.Generator) -> tuple[int, int, int]:
    month = integer(rng, 1, 12)
    year = pick(rng, [1900, 2000, 2024, 2023, integer(rng, 1900, 2100)])
    last = calendar.monthrange(year, month)[1]
    return year, month, pick(rng, [1, last, integer(rng, 1, last)])


def add_months(year: int, month: int, day: int, count: int) -> list[int]:
    """Move a date by whole months; a day that the new month lacks becomes its last day."""
    index = year * 12 + month - 1 + count
    new_year = index // 12
    new_month = index % 12 + 1
    last = calendar.monthrange(new_year, new_month)[1]
    return [new_year, new_month, min(day, last)]


def _add_months(rng: np.random.Generator) -> tuple[int, int, int, int]:
    return (*_date(rng), integer(rng, -30, 30))


def spell_duration(seconds: int) -> str:
    """Write seconds as 'M:SS', 'H:MM:SS' or 'Nd H:MM:SS', with a sign if negative."""
    sign = "-" if seconds < 0 else ""
    rest = abs(seconds)
    days = rest // 86400
    hours = rest % 86400 // 3600
    minutes = rest % 3600 // 60
    tail = str(rest % 60).zfill(2)
    if days == 0 and hours == 0:
        return sign + str(minutes) + ":" + tail
    clock = str(hours) + ":" + str(minutes).zfill(2) + ":" + tail
    if days > 0:
        return sign + str(days) + "d " + clock
    return sign + clock


def _spell_duration(rng: np.random.Generator) -> tuple[int]:
    unit = pick(rng, [1, 60, 3600, 86400])
    return (integer(rng, -3, 40) * unit + pick(rng, [0, 0, -1, 1, integer(rng, 0, 90000)]),)


def minutes_between(start: str, end: str, rest: int) -> int:
    """Return minutes from 'HH:MM' to 'HH:MM', past midnight if need be, less a rest if over 6 h."""
    hours, minutes = start.split(":")
    begin = int(hours) * 60 + int(minutes)
    hours, minutes = end.split(":")
    finish = int(hours) * 60 + int(minutes)
    if finish < begin:
        finish += 24 * 60
    length = finish - begin
    if length > 6 * 60:
        length -= rest
    return length


def _minutes_between(rng: np.random.Generator) -> tuple[str, str, int]:
    begin = integer(rng, 0, 1439)
    finish = (begin + pick(rng, [0, 1, 359, 360, 361, integer(rng, 0, 1439)])) % 1440
    clocks = [f"{value // 60:02d}:{value % 60:02d}" for value in (begin, finish)]
    return clocks[0], clocks[1], pick(rng, [0, 15, 30, 45])


def age_on(birth: list[int], today: list[int]) -> int:
    """Return the full years between two [year, month, day] dates; -1 before birth."""
    if today < birth:
        return -1
    years = today[0] - birth[0]
    if today[1] < birth[1] or (today[1] == birth[1] and today[2] < birth[2]):
        years -= 1
    return years


def _age_on(rng: np.random.Generator) -> tuple[list[int], list[int]]:
    birth = [integer(rng, 1990, 2010), integer(rng, 1, 12), integer(rng, 1, 28)]
    today = [birth[0] + integer(rng, -1, 30), birth[1], birth[2]]
    today[1] = min(12, max(1, today[1] + integer(rng, -1, 1)))
    today[2] = min(28, max(1, today[2] + integer(rng, -1, 1)))
    return birth, today


def count_workdays(weekday: int, days: int, holidays: list[int]) -> int:
    """Count workdays among `days` days; day 0 has `weekday` (0 is Monday), holidays are indices."""
    count = 0
    for index in range(days):
        current = (weekday + index) % 7
        if current < 5 and index not in holidays:
            count += 1
    return count


def _count_workdays(rng: np.random.Generator) -> tuple[int, int, list[int]]:
    return integer(rng, 0, 6), integer(rng, 0, 16), integers(rng, 0, 16, 3)


def nth_weekday(year: int, month: int, weekday: int, nth: int) -> int:
    """Return the day of the nth weekday (0 is Monday) of a month, or 0; -1 asks for the last."""
    first = (weekday - date(year, month, 1).weekday()) % 7 + 1
    last = calendar.monthrange(year, month)[1]
    if nth == -1:
        day = first + 28
        return day if day <= last else day - 7
    day = first + (nth - 1) * 7
    if nth < 1 or day > last:
        return 0
    return day


def _nth_weekday(rng: np.random.Generator) -> tuple[int, int, int, int]:
    nth = pick(rng, [-1, -1, 0, 1, 2, 4, 5, 6])
    return integer(rng, 1990, 2040), integer(rng, 1, 12), integer(rng, 0, 6), nth


def next_due(start: list[int], every: int, today: list[int]) -> list[int]:
    """Return the first due date after today for a bill that recurs every so many days."""
    if every < 1:
        return start
    due = date(start[0], start[1], start[2])
    now = date(today[0], today[1], today[2])
    if due > now:
        return start
    missed = (now - due).days // every
    due = due + timedelta(days=(missed + 1) * every)
    return [due.year, due.month, due.day]


def _next_due(rng: np.random.Generator) -> tuple[list[int], int, list[int]]:
    start = date(*_date(rng))
    every = integer(rng, 0, 40)
    today = start + timedelta(days=pick(rng, [0, -1, every, every - 1, integer(rng, -9, 200)]))
    return [start.year, start.month, start.day], every, [today.year, today.month, today.day]


FUNCTIONS: tuple[tuple[object, Generate], ...] = (
    (days_in_month, _days_in_month),
    (day_of_year, _date),
    (add_months, _add_months),
    (spell_duration, _spell_duration),
    (minutes_between, _minutes_between),
    (age_on, _age_on),
    (count_workdays, _count_workdays),
    (nth_weekday, _nth_weekday),
    (next_due, _next_due),
)
