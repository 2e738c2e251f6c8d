"""What is left open about functions on text."""

from __future__ import annotations

from .base import Option, Point, Specification

SPECIFICATIONS: tuple[Specification, ...] = (
    Specification(
        "compress_runs",
        "Write each run of equal characters that is long enough as the character and its length.",
        (
            Point(
                (
                    Option("a run of exactly `least` characters is shortened"),
                    Option(
                        "a run of exactly `least` characters stays as it is",
                        (("length >= least", "length > least"),),
                    ),
                )
            ),
        ),
    ),
    Specification(
        "truncate_middle",
        "Shorten text to `width` characters by an ellipsis in the middle.",
        (
            Point(
                (
                    Option("an odd character goes to the head"),
                    Option(
                        "an odd character goes to the tail",
                        (
                            ("    tail = kept // 2\n", "    head = kept // 2\n"),
                            ("    head = kept - tail\n", "    tail = kept - head\n"),
                        ),
                    ),
                )
            ),
            Point(
                (
                    Option("below a width of 5 the text is cut off without an ellipsis"),
                    Option(
                        "below a width of 5 nothing is left",
                        (("return text[:width]", 'return ""'),),
                    ),
                )
            ),
        ),
    ),
    Specification(
        "is_palindrome",
        "Say whether text reads the same backwards.",
        (
            Point(
                (
                    Option("only letters and digits count"),
                    Option(
                        "everything but spaces counts",
                        (
                            ("not text[left].isalnum()", "text[left].isspace()"),
                            ("not text[right].isalnum()", "text[right].isspace()"),
                        ),
                    ),
                )
            ),
            Point(
                (
                    Option("capital and small letters are the same"),
                    Option(
                        "capital and small letters differ",
                        (
                            (
                                "text[left].lower() != text[right].lower()",
                                "text[left] != text[right]",
                            ),
                        ),
                    ),
                )
            ),
        ),
    ),
    Specification(
        "wrap_words",
        "Break text between words into lines of at most `width` characters.",
        (
            Point(
                (
                    Option("a longer word has a line of its own"),
                    Option(
                        "a longer word is left out",
                        (
                            (
                                "for word in text.split():\n",
                                "for word in text.split():\n"
                                "        if len(word) > width:\n"
                                "            continue\n",
                            ),
                        ),
                    ),
                    Option(
                        "a longer word is cut off at the width",
                        (
                            (
                                "for word in text.split():\n",
                                "for word in (whole[:width] for whole in text.split()):\n",
                            ),
                        ),
                    ),
                )
            ),
        ),
    ),
    Specification(
        "shift_letters",
        "Move each letter `shift` places on in the alphabet, round the end.",
        (
            Point(
                (
                    Option("signs that are no letters stay"),
                    Option(
                        "signs that are no letters are left out",
                        (
                            (
                                "            result += char\n            continue",
                                "            continue",
                            ),
                        ),
                    ),
                )
            ),
        ),
    ),
    Specification(
        "headline",
        "Capitalise the first and last word and all long words.",
        (
            Point(
                (
                    Option("a word of exactly `least` letters is long"),
                    Option(
                        "a word of exactly `least` letters is short",
                        (("len(word) >= least", "len(word) > least"),),
                    ),
                )
            ),
            Point(
                (
                    Option("all other letters become small"),
                    Option(
                        "all other letters are left as they are",
                        (("text.lower().split()", "text.split()"),),
                    ),
                )
            ),
        ),
    ),
    Specification(
        "count_syllables",
        "Estimate syllables: groups of vowels, and at least one.",
        (
            Point(
                (
                    Option("`y` is a vowel"),
                    Option("`y` is no vowel", (('"aeiouy"', '"aeiou"'),)),
                )
            ),
            Point(
                (
                    Option("an `e` at the end is silent, unless after `l`"),
                    Option(
                        "an `e` at the end counts like any vowel",
                        (
                            (
                                '    if word.lower().endswith("e") and not '
                                'word.lower().endswith("le") and count > 1:\n'
                                "        count -= 1\n",
                                "",
                            ),
                        ),
                    ),
                )
            ),
        ),
    ),
    Specification(
        "common_prefix",
        "Return the longest common start of all words that ends with the separator, or ''.",
        (
            Point(
                (
                    Option("words that are all equal are cut behind the last separator too"),
                    Option(
                        "words that are all equal are returned whole",
                        (
                            (
                                "    size = 0\n",
                                "    if first == last:\n        return first\n    size = 0\n",
                            ),
                        ),
                    ),
                )
            ),
        ),
    ),
)
