"""Targets that handle text."""

from __future__ import annotations

from hypothesis import strategies as st

from .inputs import BOOL, PROSE, WORDS, lines, numbers, one_of, pieces, targets_of, whole

target = targets_of("std_text")

_TEMPLATE = pieces("$a", "${b}", "$$", "$", "x ", "$1", "${a", "$ab", most=5)
_FORMAT = pieces(
    "{}", "{0}", "{1}", "{a}", "{0!r}", "{a!s:>4}", "{{", "x", "{:{}}", "{b[0]}", most=4
)
_SHELL = pieces("a", "bc", " ", "'", '"', "\\", "#", "a b", "\n", "'x y'", '"p\\"q"', most=8)
_LETTERS = pieces("a", "b", "ab", "ba", "c", " ", most=9)
_LINES = lines("one\n", "two\n", "three\n", "tree\n", "free\n", "  one\n", most=7)
_DELTA = lines("  one\n", "- two\n", "+ three\n", "? ^\n", "- four\n", "+ one\n", most=6)
_ENTITY = pieces(
    "&lt;",
    "&lt",
    "&#38;",
    "&#x26;",
    "&#0;",
    "&#128;",
    "&notit;",
    "&nope;",
    "a",
    "&",
    ";",
    "&#55296;",
    "&#1;",
    "&#xFFFFFF;",
    "&#13;",
    most=4,
)
_DOC = pieces("a", "  b", "    c", "\tx", "", "  ", " y ", most=7, glue="\n")
_UNICODE = pieces("a", "b", "é", "ü", "☃", "z", "ß", "-", most=7)
_PUNY = pieces("a", "b", "z", "9", "0", "A", "-", "q", most=6)

TARGETS = (
    target(
        "textwrap",
        "TextWrapper._wrap_chunks",
        "wrap({text}, {width}, max_lines={most})",
        text=PROSE,
        width=whole(1, 20),
        most=st.none() | whole(1, 3),
    ),
    target(
        "textwrap",
        "TextWrapper._handle_long_word",
        "wrap({text}, {width}, break_long_words={hard})",
        text=pieces("a", "longishword", "very-long-hyphens", "of", most=5, glue=" "),
        width=whole(1, 9),
        hard=BOOL,
    ),
    target(
        "textwrap",
        "TextWrapper._fix_sentence_endings",
        "fill({text}, {width}, fix_sentence_endings=True)",
        text=pieces("end.", "why?", 'said."', "a.", "word", "A.", "go!", most=8, glue=" "),
        width=whole(8, 30),
    ),
    target("textwrap", "dedent", "dedent({text})", text=_DOC),
    target(
        "textwrap", "indent", "indent({text}, {prefix})", text=_DOC, prefix=one_of("> ", "  ", "")
    ),
    target(
        "string",
        "Template.substitute",
        "Template({text}).substitute(a=1, b={value})",
        text=_TEMPLATE,
        value=WORDS,
    ),
    target(
        "string",
        "Template.safe_substitute",
        "Template({text}).safe_substitute({values})",
        text=_TEMPLATE,
        values=one_of({}, {"a": 1}, {"b": "x"}, {"a": 2, "b": 3}, {"ab": 5}),
    ),
    target(
        "string",
        "Template._invalid",
        "Template({text}).substitute(a={a}, b=2, ab=3)",
        text=pieces("$a", "\n", "$", "x ", "$$", "$1", "ab\n", most=7),
        a=whole(0, 9),
    ),
    target("string", "Template.is_valid", "Template({text}).is_valid()", text=_TEMPLATE),
    target(
        "string", "Template.get_identifiers", "Template({text}).get_identifiers()", text=_TEMPLATE
    ),
    target(
        "string",
        "Formatter._vformat",
        "Formatter().vformat({text}, {args}, {named})",
        text=_FORMAT,
        args=numbers(0, 9, most=3),
        named=one_of({}, {"a": 1}, {"a": "x", "b": [7]}),
    ),
    target(
        "string",
        "Formatter.convert_field",
        "Formatter().convert_field({value}, {kind})",
        value=_UNICODE | whole(0, 9),
        kind=one_of("r", "s", "a", None, "x"),
    ),
    target(
        "string",
        "Formatter.get_value",
        "Formatter().get_value({key}, {args}, {named})",
        key=whole(-1, 3) | one_of("a", "b"),
        args=numbers(0, 9, most=3),
        named=one_of({}, {"a": 1}, {"b": 2}),
    ),
    target(
        "shlex", "shlex.read_token", "list(shlex({text}, posix={posix}))", text=_SHELL, posix=BOOL
    ),
    target(
        "shlex",
        "shlex.get_token",
        "list(shlex({text}, punctuation_chars={marks}))",
        text=pieces("a", "&&", "|", ";", " ", "(b)", "~x", "'q'", "#c", most=7),
        marks=BOOL | one_of("|", ";&"),
    ),
    target("shlex", "quote", "quote({text})", text=_SHELL),
    target(
        "difflib",
        "SequenceMatcher.find_longest_match",
        "tuple(SequenceMatcher(None, {a}, {b}).find_longest_match({i}, len({a}), 0, {j}))",
        a=_LETTERS,
        b=_LETTERS,
        i=whole(0, 3),
        j=whole(0, 9),
    ),
    target(
        "difflib",
        "SequenceMatcher.get_matching_blocks",
        "[tuple(block) for block in SequenceMatcher(None, {a}, {b}).get_matching_blocks()]",
        a=_LETTERS,
        b=_LETTERS,
    ),
    target(
        "difflib",
        "SequenceMatcher.get_opcodes",
        "SequenceMatcher(None, {a}, {b}).get_opcodes()",
        a=_LETTERS,
        b=_LETTERS,
    ),
    target(
        "difflib",
        "SequenceMatcher.get_grouped_opcodes",
        "list(SequenceMatcher(None, {a}, {b}).get_grouped_opcodes({n}))",
        a=pieces("aaaa", "b", "cdef", "gh", "x", most=5),
        b=pieces("aaaa", "b", "cdef", "gh", "y", most=5),
        n=whole(0, 3),
    ),
    target(
        "difflib",
        "SequenceMatcher.__chain_b",
        "SequenceMatcher({junk}, {a}, {b}, autojunk={auto}).get_opcodes()",
        junk=st.none(),
        a=_LETTERS,
        b=_LETTERS | pieces("ab" * 105, "c" * 3, "abc", most=2),
        auto=BOOL,
    ),
    target(
        "difflib",
        "SequenceMatcher.quick_ratio",
        "SequenceMatcher(None, {a}, {b}).quick_ratio()",
        a=_LETTERS,
        b=_LETTERS,
    ),
    target(
        "difflib",
        "SequenceMatcher.ratio",
        "SequenceMatcher(None, {a}, {b}).ratio()",
        a=_LETTERS,
        b=_LETTERS,
    ),
    target(
        "difflib",
        "get_close_matches",
        "get_close_matches({word}, {words}, {n}, {cutoff})",
        word=_LETTERS,
        words=st.lists(_LETTERS, max_size=5),
        n=whole(0, 3),
        cutoff=one_of(0.0, 0.3, 0.6, 1.0, 1.5),
    ),
    target(
        "difflib",
        "unified_diff",
        "list(unified_diff({a}, {b}, 'x', 'y', {date}, n={n}))",
        a=_LINES,
        b=_LINES,
        date=one_of("", "now"),
        n=whole(0, 2),
    ),
    target(
        "difflib",
        "context_diff",
        "list(context_diff({a}, {b}, 'x', 'y', {date}, n={n}))",
        a=_LINES,
        b=_LINES,
        date=one_of("", "now"),
        n=whole(0, 2),
    ),
    target(
        "difflib",
        "_format_range_unified",
        "_format_range_unified({start}, {stop})",
        start=whole(0, 20),
        stop=whole(0, 24),
    ),
    target(
        "difflib",
        "_format_range_context",
        "_format_range_context({start}, {stop})",
        start=whole(0, 20),
        stop=whole(0, 24),
    ),
    target(
        "difflib", "restore", "list(restore({delta}, {which}))", delta=_DELTA, which=whole(0, 3)
    ),
    target(
        "difflib",
        "Differ._qformat",
        "list(Differ()._qformat({a}, {b}, {marks}, {others}))",
        a=one_of("\tabc\n", "ab\n", "  x\n"),
        b=one_of("\tabd\n", "ac\n", "x\n"),
        marks=pieces(" ", "^", "-", most=4),
        others=pieces(" ", "^", "+", most=4),
    ),
    target(
        "difflib",
        "Differ._plain_replace",
        "list(Differ()._plain_replace({a}, {i}, {j}, {b}, {k}, {l}))",
        a=_LINES,
        i=whole(0, 2),
        j=whole(0, 4),
        b=_LINES,
        k=whole(0, 2),
        l=whole(0, 4),
    ),
    target("html", "_replace_charref", "unescape({text})", text=_ENTITY),
    target(
        "html",
        "escape",
        "escape({text}, {quote})",
        text=pieces("<", ">", "&", '"', "'", "a", most=5),
        quote=BOOL,
    ),
    target(
        "reprlib",
        "Repr._repr_iterable",
        "Repr().repr({value})",
        value=st.recursive(whole(0, 9), lambda x: st.lists(x, max_size=9), max_leaves=16),
    ),
    target(
        "reprlib",
        "Repr.repr_dict",
        "Repr().repr({value})",
        value=st.dictionaries(whole(0, 20), one_of(1, "x", {}, {1: {2: {3: {}}}}), max_size=7),
    ),
    target(
        "reprlib",
        "Repr.repr_str",
        "Repr().repr_str({text}, {level})",
        text=pieces("abcde", "'", "\n", "0123456789", "é", most=7),
        level=whole(0, 2),
    ),
    target(
        "reprlib",
        "Repr.repr_int",
        "Repr().repr({n})",
        n=whole(-(10**60), 10**60) | whole(0, 10**41),
    ),
    target("inspect", "cleandoc", "cleandoc({doc})", doc=_DOC),
    target(
        "doctest",
        "_ellipsis_match",
        "_ellipsis_match({want}, {got})",
        want=pieces("a", "b", "...", "ab", most=5),
        got=pieces("a", "b", "ab", "c", most=5),
    ),
    target(
        "doctest",
        "_strip_exception_details",
        "_strip_exception_details({text})",
        text=pieces("a.", "B", ":", "\n", " x", "Error", ".", most=6),
    ),
    target(
        "doctest",
        "OutputChecker.check_output",
        "OutputChecker().check_output({want}, {got}, {flags})",
        want=pieces("1\n", "True\n", "a b\n", "...\n", "<BLANKLINE>\n", most=2),
        got=pieces("1\n", "True\n", "a  b\n", "a b\n", "\n", most=2),
        flags=one_of(0, 1, 2, 4, 8, 12, 14),
    ),
    target(
        "doctest", "DocTestParser._min_indent", "DocTestParser()._min_indent({text})", text=_DOC
    ),
    target(
        "unittest.util",
        "_shorten",
        "_shorten({text}, {head}, {tail})",
        text=pieces("abcdefgh", "ij", "0123456789", most=6),
        head=whole(0, 6),
        tail=whole(0, 6),
    ),
    target("encodings.punycode", "segregate", "segregate({text})", text=_UNICODE),
    target(
        "encodings.punycode",
        "selective_find",
        "selective_find({text}, {char}, {index}, {pos})",
        text=_UNICODE,
        char=one_of("é", "ü", "☃", "z"),
        index=whole(-1, 3),
        pos=whole(-1, 4),
    ),
    target(
        "encodings.punycode",
        "selective_len",
        "selective_len({text}, {most})",
        text=_UNICODE,
        most=whole(90, 9000),
    ),
    target(
        "encodings.punycode",
        "insertion_unsort",
        "insertion_unsort({text}, {extended})",
        text=_UNICODE,
        extended=one_of(["é"], ["é", "ü"], ["ß", "☃"], ["☃"]),
    ),
    target(
        "encodings.punycode",
        "generate_generalized_integer",
        "generate_generalized_integer({n}, {bias})",
        n=whole(0, 99999),
        bias=whole(0, 99),
    ),
    target(
        "encodings.punycode",
        "adapt",
        "adapt({delta}, {first}, {count})",
        delta=whole(0, 99999),
        first=BOOL,
        count=whole(1, 30),
    ),
    target(
        "encodings.punycode",
        "decode_generalized_number",
        "decode_generalized_number({text}, {position}, {bias}, 'strict')",
        text=_PUNY.map(str.upper),
        position=whole(0, 2),
        bias=whole(0, 99),
    ),
    target(
        "encodings.punycode",
        "insertion_sort",
        "insertion_sort({base}, {text}, {errors})",
        base=one_of("", "a", "abc"),
        text=_PUNY.map(str.upper),
        errors=one_of("strict", "replace"),
    ),
    target(
        "xml.sax.saxutils",
        "quoteattr",
        "quoteattr({text})",
        text=pieces('"', "'", "a", "<", "\n", "&", most=6),
    ),
    target(
        "ast",
        "_splitlines_no_ff",
        "_splitlines_no_ff({text})",
        text=pieces("a", "\n", "\r", "\r\n", "\f", "b", most=8),
    ),
    target(
        "pprint",
        "_wrap_bytes_repr",
        "list(_wrap_bytes_repr({data}, {width}, {allowance}))",
        data=st.binary(max_size=24),
        width=whole(4, 30),
        allowance=whole(0, 6),
    ),
    target(
        "pprint",
        "PrettyPrinter._safe_repr",
        "PrettyPrinter(depth={depth}).pformat({value})",
        depth=st.none() | whole(1, 3),
        value=st.recursive(
            whole(0, 9) | one_of("a", "it's"),
            lambda x: st.lists(x, max_size=3) | st.dictionaries(one_of("k", "a", 3), x, max_size=3),
            max_leaves=9,
        ),
    ),
    target(
        "pprint",
        "PrettyPrinter._format_items",
        "pformat({value}, {indent}, {width}, compact={compact})",
        value=st.lists(whole(0, 99999) | one_of("word", [1, 2, 3]), max_size=8),
        indent=whole(1, 4),
        width=whole(4, 30),
        compact=BOOL,
    ),
    target(
        "pprint",
        "PrettyPrinter._pprint_str",
        "pformat({value}, 1, {width})",
        value=st.lists(WORDS, max_size=2) | PROSE,
        width=whole(4, 24),
    ),
)
