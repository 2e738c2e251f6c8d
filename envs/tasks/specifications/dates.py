"""What is left open about functions on dates and times."""

from __future__ import annotations

from .base import Option, Point, Specification

SPECIFICATIONS: tuple[Specification, ...] = (
    Specification(
        "days_in_month",
        "Return the number of days of a month in the Gregorian calendar.",
        (
            Point(
                (
                    Option("a month that does not exist has 0 days"),
                    Option(
                        "a month that does not exist gives -1",
                        (("return 0", "return -1"),),
                    ),
                )
            ),
        ),
    ),
    Specification(
        "add_months",
        "Move a date by whole months.",
        (
            Point(
                (
                    Option("a day that the new month lacks becomes its last day"),
                    Option(
                        "a day that the new month lacks runs over into the next one",
                        (
                            (
                                "    return [new_year, new_month, min(day, last)]\n",
                                "    if day > last:\n"
                                "        return [new_year + new_month // 12, new_month % 12 + 1, "
                                "day - last]\n"
                                "    return [new_year, new_month, day]\n",
                            ),
                        ),
                    ),
                )
            ),
        ),
    ),
    Specification(
        "spell_duration",
        "Write seconds as minutes and seconds, 'H:MM:SS' or 'Nd H:MM:SS'.",
        (
            Point(
                (
                    Option("less than an hour begins with a single digit, such as '5:07'"),
                    Option(
                        "less than an hour begins with two digits, such as '05:07'",
                        (
                            (
                                'return sign + str(minutes) + ":" + tail',
                                'return sign + str(minutes).zfill(2) + ":" + tail',
                            ),
                        ),
                    ),
                )
            ),
            Point(
                (
                    Option("a negative time begins with '-'"),
                    Option(
                        "a negative time is put in brackets",
                        (
                            (
                                '    sign = "-" if seconds < 0 else ""\n',
                                "    if seconds < 0:\n"
                                '        return "(" + spell_duration(-seconds) + ")"\n'
                                '    sign = ""\n',
                            ),
                        ),
                    ),
                )
            ),
        ),
    ),
    Specification(
        "minutes_between",
        "Return the minutes from 'HH:MM' to 'HH:MM', past midnight if need be, less a rest on days "
        "of more than about 6 hours.",
        (
            Point(
                (
                    Option("exactly 6 hours need no rest"),
                    Option(
                        "exactly 6 hours need a rest",
                        (("length > 6 * 60", "length >= 6 * 60"),),
                    ),
                )
            ),
            Point(
                (
                    Option("equal times are 0 minutes apart"),
                    Option(
                        "equal times are a whole day apart",
                        (("finish < begin", "finish <= begin"),),
                    ),
                )
            ),
        ),
    ),
    Specification(
        "age_on",
        "Return the full years between two [year, month, day] dates.",
        (
            Point(
                (
                    Option("a day before the birth gives -1"),
                    Option("a day before the birth gives 0", (("return -1", "return 0"),)),
                )
            ),
        ),
    ),
    Specification(
        "count_workdays",
        "Count workdays among `days` days; day 0 has `weekday` (0 is Monday), holidays are "
        "indices.",
        (
            Point(
                (
                    Option("saturdays and sundays are free"),
                    Option("only sundays are free", (("current < 5", "current < 6"),)),
                )
            ),
        ),
    ),
    Specification(
        "nth_weekday",
        "Return the day of the nth weekday (0 is Monday) of a month, or 0 if there is none.",
        (
            Point(
                (
                    Option("an `nth` of -1 asks for the last one"),
                    Option(
                        "an `nth` of -1 does not exist",
                        (
                            (
                                "    if nth == -1:\n"
                                "        day = first + 28\n"
                                "        return day if day <= last else day - 7\n",
                                "",
                            ),
                        ),
                    ),
                )
            ),
        ),
    ),
    Specification(
        "next_due",
        "Return the next due date of a bill that recurs every so many days; the start if that is "
        "below 1.",
        (
            Point(
                (
                    Option("what is due today counts as past"),
                    Option(
                        "what is due today is the next one",
                        (
                            ("if due > now:", "if due >= now:"),
                            ("(now - due).days // every", "((now - due).days - 1) // every"),
                        ),
                    ),
                )
            ),
        ),
    ),
)
