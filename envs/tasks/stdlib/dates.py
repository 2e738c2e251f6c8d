"""Targets about calendars, dates and times."""

from __future__ import annotations

import importlib.util

from hypothesis import strategies as st

from .inputs import BOOL, one_of, pieces, targets_of, whole

target = targets_of("std_dates")

# The Python version of `datetime` has a module of its own from Python 3.12 on.
_DATETIME = "_pydatetime" if importlib.util.find_spec("_pydatetime") else "datetime"

_YEAR, _MONTH, _DAY = whole(1900, 2100), whole(1, 12), whole(1, 31)
_ANY_YEAR = whole(1, 9999) | whole(1896, 2104)
_H, _M, _S = whole(0, 23), whole(0, 59), whole(0, 59)
_SMALL = whole(-400, 400)
_US = one_of(0, 0, 1, 500000, 999999, 120)
_ISO_DATE = pieces("2024", "-", "02", "29", "W", "53", "1", "-W01", "-7", "1900", "31", most=5)
_GOOD_DATE = one_of(
    "2024-02-29",
    "20240229",
    "2020-W53-7",
    "2020W537",
    "2024-W01",
    "2023-02-29",
    "0001-01-01",
    "9999-12-31",
    "2021-W53-1",
    "2024-13-01",
    "2024W01-1",
    "2024-0229",
)
_SPEC = one_of("auto", "hours", "minutes", "seconds", "milliseconds", "microseconds", "days")

_DELTA = "timedelta({days}, {seconds}, {us})"
_DATE = "date({year}, {month}, {day})"
_TIME = "time({h}, {m}, {s}, {us})"
_YMD = {"year": whole(2019, 2021), "month": _MONTH, "day": _DAY}
_HMS = {"h": _H, "m": _M, "s": _S, "us": _US}
_DSU = {"days": whole(-4, 4), "seconds": whole(-90000, 90000), "us": _US}
_ABCD = {"a": whole(-3, 3), "b": whole(-9, 9), "c": whole(-3, 3), "d": whole(-9, 9)}
_TWO_DELTAS = "timedelta({{a}}, {{b}}) {} timedelta({{c}}, {{d}})"
_TWO_DATES = "date(2020, {{a}}, {{b}}) {} date(2020, {{c}}, {{d}})"
_TWO_TIMES = "time({{a}}, {{b}}) {} time({{c}}, {{d}}, fold={{fold}})"
_FEW = {"a": whole(1, 3), "b": whole(1, 6), "c": whole(1, 3), "d": whole(1, 6)}
_COMPARED = (("__le__", "<="), ("__lt__", "<"), ("__ge__", ">="), ("__gt__", ">"))

TARGETS = (
    target("calendar", "isleap", "isleap({year})", year=_ANY_YEAR),
    target("calendar", "leapdays", "leapdays({a}, {b})", a=_ANY_YEAR, b=_ANY_YEAR),
    target(
        "calendar",
        "weekday",
        "weekday({year}, {month}, {day})",
        year=whole(-3, 10003) | _YEAR,
        month=_MONTH,
        day=_DAY,
    ),
    target(
        "calendar",
        "monthrange",
        "tuple(map(int, monthrange({year}, {month})))",
        year=_ANY_YEAR,
        month=whole(0, 13),
    ),
    target("calendar", "_prevmonth", "_prevmonth({year}, {month})", year=_YEAR, month=_MONTH),
    target("calendar", "_nextmonth", "_nextmonth({year}, {month})", year=_YEAR, month=_MONTH),
    target(
        "calendar",
        "Calendar.iterweekdays",
        "list(Calendar({first}).iterweekdays())",
        first=whole(-40, 40),
    ),
    target(
        "calendar",
        "Calendar.itermonthdays",
        "list(Calendar({first}).itermonthdays({year}, {month}))",
        first=whole(0, 6),
        year=_YEAR,
        month=_MONTH,
    ),
    target(
        "calendar",
        "Calendar.itermonthdays2",
        "list(Calendar({first}).itermonthdays2({year}, {month}))[:9]",
        first=whole(0, 6),
        year=_YEAR,
        month=_MONTH,
    ),
    target(
        "calendar",
        "Calendar.itermonthdays3",
        "list(Calendar({first}).itermonthdays3({year}, {month}))[{start}::9]",
        first=whole(0, 6),
        year=_YEAR,
        month=_MONTH,
        start=whole(0, 8),
    ),
    target(
        "calendar",
        "Calendar.itermonthdays4",
        "list(Calendar({first}).itermonthdays4({year}, {month}))[{start}::9]",
        first=whole(0, 6),
        year=_YEAR,
        month=_MONTH,
        start=whole(0, 8),
    ),
    target(
        "calendar",
        "Calendar.monthdayscalendar",
        "Calendar({first}).monthdayscalendar({year}, {month})",
        first=whole(0, 6),
        year=_YEAR,
        month=_MONTH,
    ),
    target(
        "calendar",
        "Calendar.monthdays2calendar",
        "Calendar({first}).monthdays2calendar({year}, {month})[{week}:][:1]",
        first=whole(0, 6),
        year=_YEAR,
        month=_MONTH,
        week=whole(0, 6),
    ),
    target(
        "calendar",
        "Calendar.monthdatescalendar",
        "[str(d) for d in Calendar({first}).monthdatescalendar({year}, {month})[{week}]]",
        first=whole(0, 6),
        year=_YEAR,
        month=_MONTH,
        week=whole(0, 5),
    ),
    target(
        "calendar",
        "Calendar.yeardayscalendar",
        "Calendar({first}).yeardayscalendar({year}, {width})[{row}:][:1][0][0]",
        first=whole(0, 6),
        year=_YEAR,
        width=whole(1, 6),
        row=whole(0, 5),
    ),
    target(
        "calendar",
        "Calendar.yeardays2calendar",
        "[len(row) for row in Calendar({first}).yeardays2calendar({year}, {width})]",
        first=whole(0, 6),
        year=_YEAR,
        width=whole(1, 14),
    ),
    target(
        "calendar",
        "TextCalendar.formatweekday",
        "TextCalendar().formatweekday({day}, {width})",
        day=whole(0, 6),
        width=whole(1, 16),
    ),
    target(
        "calendar",
        "TextCalendar.formatmonth",
        "TextCalendar({first}).formatmonth({year}, {month}, {width}, {gap})",
        first=whole(0, 6),
        year=_YEAR,
        month=_MONTH,
        width=whole(0, 3),
        gap=whole(0, 2),
    ),
    target(
        "calendar",
        "HTMLCalendar.formatday",
        "HTMLCalendar().formatday({day}, {weekday})",
        day=whole(0, 31),
        weekday=whole(0, 6),
    ),
    target(
        "calendar",
        "HTMLCalendar.formatmonthname",
        "HTMLCalendar().formatmonthname({year}, {month}, {named})",
        year=_YEAR,
        month=_MONTH,
        named=BOOL,
    ),
    target(
        "calendar",
        "timegm",
        "timegm(({year}, {month}, {day}, {h}, {m}, {s}))",
        year=_YEAR,
        month=_MONTH,
        day=_DAY,
        h=_H,
        m=_M,
        s=_S,
    ),
    target(
        "_strptime",
        "_calc_julian_from_U_or_W",
        "_calc_julian_from_U_or_W({year}, {week}, {day}, {monday})",
        year=_YEAR,
        week=whole(0, 53),
        day=whole(0, 6),
        monday=BOOL,
    ),
    target(
        _DATETIME, "_is_leap", f"{_DATE}.strftime('%j')", year=_ANY_YEAR, month=_MONTH, day=_DAY
    ),
    target(_DATETIME, "_days_before_year", "date({year}, 1, 1).toordinal()", year=_ANY_YEAR),
    target(
        _DATETIME,
        "_days_before_month",
        "date({year}, {month}, 1).toordinal()",
        year=_ANY_YEAR,
        month=_MONTH,
    ),
    target(
        _DATETIME,
        "_days_in_month",
        "date({year}, {month}, {day}).day",
        year=_ANY_YEAR,
        month=_MONTH,
        day=whole(27, 32),
    ),
    target(_DATETIME, "_ymd2ord", f"{_DATE}.toordinal()", year=_ANY_YEAR, month=_MONTH, day=_DAY),
    target(
        _DATETIME,
        "_ord2ymd",
        "date.fromordinal({n}).isoformat()",
        n=whole(-2, 3652062) | whole(693000, 740000),
    ),
    target(
        _DATETIME,
        "_isoweek1monday",
        f"tuple({_DATE}.isocalendar())",
        year=_ANY_YEAR,
        month=one_of(1, 12),
        day=_DAY,
    ),
    target(
        _DATETIME,
        "date.isocalendar",
        f"tuple({_DATE}.isocalendar())",
        year=_ANY_YEAR,
        month=one_of(1, 12, 6),
        day=_DAY,
    ),
    target(
        _DATETIME,
        "_isoweek_to_gregorian",
        "date.fromisocalendar({year}, {week}, {day}).isoformat()",
        year=whole(-2, 10002) | _YEAR,
        week=whole(0, 54),
        day=whole(0, 8),
    ),
    target(
        _DATETIME,
        "_parse_isoformat_date",
        "date.fromisoformat({text}).isoformat()",
        text=_ISO_DATE | _GOOD_DATE,
    ),
    target(
        _DATETIME,
        "date.fromisoformat",
        "date.fromisoformat({text}).isoformat()",
        text=_GOOD_DATE | _ISO_DATE | whole(0, 9),
    ),
    target(_DATETIME, "date.weekday", f"{_DATE}.weekday()", year=_ANY_YEAR, month=_MONTH, day=_DAY),
    target(
        _DATETIME,
        "date.isoweekday",
        f"{_DATE}.isoweekday()",
        year=_ANY_YEAR,
        month=_MONTH,
        day=_DAY,
    ),
    target(_DATETIME, "date.ctime", f"{_DATE}.ctime()", year=_ANY_YEAR, month=_MONTH, day=_DAY),
    target(
        _DATETIME,
        "date.__new__",
        f"{_DATE}.isoformat()",
        year=_ANY_YEAR | st.just("x"),
        month=whole(0, 13),
        day=whole(0, 32),
    ),
    target(
        _DATETIME,
        "_check_date_fields",
        f"{_DATE}.isoformat()",
        year=whole(-1, 10001) | one_of(0, 1, 9999, 10000),
        month=whole(0, 13),
        day=whole(0, 32),
    ),
    target(
        _DATETIME, "date.__add__", f"({_DATE} + timedelta({{n}})).isoformat()", **_YMD, n=_SMALL
    ),
    target(
        _DATETIME,
        "date.__sub__",
        f"str({_DATE} - date(2020, {{a}}, {{b}}))",
        **_YMD,
        a=_MONTH,
        b=whole(1, 28),
    ),
    *(
        target(_DATETIME, f"date.{name}", _TWO_DATES.format(sign), **_FEW)
        for name, sign in _COMPARED
    ),
    target(
        _DATETIME,
        "_divide_and_round",
        "str(timedelta(microseconds={n}) / {by})",
        n=whole(-99, 99),
        by=whole(-9, 9),
    ),
    target(
        _DATETIME,
        "timedelta.__new__",
        "str(timedelta({days}, {seconds}, {us}, hours={hours}, weeks={weeks}))",
        days=st.floats(-2, 2) | whole(-3, 3),
        seconds=st.floats(-9, 9) | whole(-90000, 90000),
        us=whole(-(10**7), 10**7) | st.floats(-3, 3),
        hours=whole(-30, 30),
        weeks=whole(-1, 1),
    ),
    target(_DATETIME, "timedelta.__str__", f"str({_DELTA})", **_DSU),
    target(_DATETIME, "timedelta.total_seconds", f"{_DELTA}.total_seconds()", **_DSU),
    target(
        _DATETIME,
        "timedelta._to_microseconds",
        f"{_DELTA} // timedelta(0, {{n}})",
        **_DSU,
        n=whole(-9, 9),
    ),
    target(_DATETIME, "timedelta.__add__", f"str({_TWO_DELTAS.format('+')})", **_ABCD),
    target(_DATETIME, "timedelta.__sub__", f"str({_TWO_DELTAS.format('-')})", **_ABCD),
    target(_DATETIME, "timedelta.__mod__", f"str({_TWO_DELTAS.format('%')})", **_ABCD),
    target(_DATETIME, "timedelta.__floordiv__", _TWO_DELTAS.format("//"), **_ABCD),
    target(
        _DATETIME,
        "timedelta.__truediv__",
        "str(timedelta({a}, {b}) / {c})",
        a=whole(-3, 3),
        b=whole(-9, 9),
        c=whole(-3, 3) | one_of(0.5, -1.5, 0.1),
    ),
    target(
        _DATETIME,
        "timedelta.__mul__",
        "str(timedelta({a}, {b}) * {c})",
        a=whole(-3, 3),
        b=whole(-9, 9),
        c=whole(-3, 3) | one_of(0.5, -1.5, 0.1, "x"),
    ),
    target(
        _DATETIME,
        "timedelta.__bool__",
        "bool(timedelta({a}, {b}, {c}))",
        a=whole(-1, 1),
        b=whole(-2, 2),
        c=whole(-3, 3),
    ),
    *(
        target(
            _DATETIME,
            f"timedelta.{name}",
            _TWO_DELTAS.format(sign),
            **(_ABCD | {"b": whole(0, 1), "d": whole(0, 1)}),
        )
        for name, sign in _COMPARED
    ),
    target(_DATETIME, "_format_time", f"{_TIME}.isoformat({{spec}})", **_HMS, spec=_SPEC),
    target(
        _DATETIME,
        "_check_time_fields",
        "time({h}, {m}, {s}, {us}, fold={fold}).isoformat()",
        h=whole(-1, 24),
        m=whole(-1, 60),
        s=whole(-1, 60),
        us=one_of(-1, 0, 999999, 1000000),
        fold=one_of(0, 0, 1, 2),
    ),
    target(_DATETIME, "time._cmp", _TWO_TIMES.format("<"), **_FEW, fold=whole(0, 1)),
    target(
        _DATETIME,
        "time.__hash__",
        "hash(time({h}, {m}, fold={fold})) == hash(time({h}, {k}))",
        h=_H,
        m=whole(0, 3),
        k=whole(0, 3),
        fold=whole(0, 1),
    ),
    target(_DATETIME, "time.__repr__", f"repr({_TIME}).split('.', 1)[1]", **_HMS),
)
