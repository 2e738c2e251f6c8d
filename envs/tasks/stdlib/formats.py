"""Targets that read and write formats."""

from __future__ import annotations

from hypothesis import strategies as st

from .inputs import BOOL, LITERALS, lines, numbers, one_of, pieces, targets_of, whole

target = targets_of("std_formats")

_STRING = pieces(
    "a", "\\n", "\\u00e9", "\\ud83d\\ude00", "\\x", '"', "é", "\n", "\\", "\\ud83d", most=5
)
_JSON = pieces(
    "[", "]", "1", ",", " ", "-2.5", "true", "null", "{}", '"a"', "NaN", "[1, 2]", "1e3", most=6
)
_OBJECT = pieces("{", "}", '"a"', ":", ",", " ", "1", "[]", '"b": 2', most=7).map(lambda s: "{" + s)
_DATA = st.binary(max_size=14)
_B32 = pieces("MFRA", "ME", "======", "=", "a", "2", "7", "1", "0", "GEZDGNBV", most=4).map(
    str.encode
)
_A85 = pieces("87cUR", "z", "y", "!", "5uuuu", " ", "~>", "<~", "\n", "v", "a", most=4).map(
    str.encode
)
_B85 = pieces("Xk~0{", "Zv", "0", "~~~~~", "|NsC0", "a", '"', most=4).map(str.encode)
_PLURAL = one_of(
    "n != 1",
    "n > 1",
    "0",
    "n%10==1 && n%100!=11 ? 0 : 1",
    "(n == 1) ? 0 : n < 5 ? 1 : 2",
    "n == 1 || n == 0",
    "!n",
    "n +",
    "n % 0",
    "n-2*3",
    "(n",
    "n = 1",
    "n/2>=1",
)
_CSV = lines(
    "a,b,c\n",
    "1,2,3\n",
    "x;y;z\n",
    "'a','b'\n",
    "1;2;3\n",
    "a|b|c\n",
    '"q","r"\n',
    "k: v\n",
    most=6,
).map("".join)
_TOML = pieces(
    "1", "'a'", '"b\\n"', "[", "]", ",", " ", "true", "{a=1}", "{", "}", "#c\n", "\n", "x=2", most=6
)
_TABLE = pieces("a", ".", "=", "1", "'k'", " ", '"s"', "\n", "b", most=7)
_PLIST = st.recursive(
    whole(-3, 300)
    | st.booleans()
    | pieces("a", "é", "b", most=16)
    | st.binary(max_size=5)
    | one_of(0.5, 2**33, 2**63),
    lambda x: st.lists(x, max_size=3) | st.dictionaries(one_of("a", "b"), x, max_size=2),
    max_leaves=5,
)
_HEX = st.text("0123456789abcdef", min_size=32, max_size=32)
_SCAN = "scanner.py_make_scanner(JSONDecoder(strict={strict}))({text}, {start})"
_DUMP = "''.join(JSONEncoder(indent={indent}, sort_keys={sort}).iterencode({value}))"

TARGETS = (
    target(
        "json.decoder",
        "py_scanstring",
        "py_scanstring({text}, {end}, {strict})",
        text=_STRING.map(lambda s: s + '" x'),
        end=whole(0, 2),
        strict=BOOL,
    ),
    target(
        "json.decoder",
        "_decode_uXXXX",
        "py_scanstring({text}, 0)",
        text=pieces(
            "\\u00e9", "\\ud83d", "\\ude00", "\\u12", "\\uxyz1", "a", "\\u0x41", most=4
        ).map(lambda s: s + '"'),
    ),
    target("json.decoder", "JSONObject", _SCAN, text=_OBJECT, start=whole(0, 1), strict=BOOL),
    target(
        "json.decoder",
        "JSONArray",
        _SCAN,
        text=_JSON.map(lambda s: "[" + s),
        start=whole(0, 1),
        strict=BOOL,
    ),
    target("json.decoder", "JSONDecoder.decode", "JSONDecoder().decode({text})", text=_JSON),
    target(
        "json.decoder",
        "JSONDecodeError.__init__",
        "(lambda e: (e.lineno, e.colno, str(e)))(JSONDecodeError('oops', {text}, {position}))",
        text=pieces("a", "\n", "bc", most=8),
        position=whole(0, 12),
    ),
    target(
        "json.scanner",
        "py_make_scanner",
        "py_make_scanner(__import__('json').JSONDecoder())({text}, {start})",
        text=_JSON,
        start=whole(0, 2),
    ),
    target(
        "json.encoder",
        "py_encode_basestring_ascii",
        "py_encode_basestring_ascii({text})",
        text=pieces("a", '"', "\\", "\n", "é", "😀", "\x01", "𝄞", most=6),
    ),
    target(
        "json.encoder",
        "_make_iterencode",
        _DUMP,
        indent=st.none() | whole(0, 2),
        sort=BOOL,
        value=LITERALS,
    ),
    target(
        "json.encoder",
        "JSONEncoder.iterencode",
        "''.join(JSONEncoder(allow_nan={nan}).iterencode({value}))",
        nan=BOOL,
        value=st.lists(st.floats(-9, 9) | one_of(1e400, -1e400, 1e16), max_size=3),
    ),
    target(
        "configparser",
        "RawConfigParser.has_option",
        "(lambda p: (p.read_dict({sections}), p.has_option({section}, {option}))[1])"
        "(RawConfigParser({defaults}))",
        sections=st.dictionaries(
            one_of("a", "b"), st.dictionaries(one_of("x", "y"), one_of("1"), max_size=2), max_size=2
        ),
        section=one_of("a", "b", "c", "", "DEFAULT", None),
        option=one_of("x", "y", "Z"),
        defaults=one_of({}, {"z": "1"}, {"x": "2"}),
    ),
    target(
        "configparser",
        "RawConfigParser.remove_option",
        "(lambda p: (p.read_dict({sections}), p.remove_option({section}, {option}), p.sections()))"
        "(RawConfigParser({defaults}))",
        sections=st.dictionaries(
            one_of("a", "b"), st.dictionaries(one_of("x", "y"), one_of("1"), max_size=2), max_size=2
        ),
        section=one_of("a", "b", "", "DEFAULT", "c"),
        option=one_of("x", "y", "Z"),
        defaults=one_of({}, {"z": "1"}),
    ),
    target(
        "csv",
        "Sniffer._guess_delimiter",
        "Sniffer()._guess_delimiter({text}, {allowed})",
        text=_CSV,
        allowed=st.none() | one_of(",", ";|"),
    ),
    target(
        "csv",
        "Sniffer._guess_quote_and_delimiter",
        "Sniffer()._guess_quote_and_delimiter({text}, {allowed})",
        text=lines(
            "'a','b'\n", '"q";"r"\n', "'x'\n", "a,'b',c\n", '"d""e",1\n', "'u' , 'v'\n", most=4
        ).map("".join),
        allowed=st.none() | one_of(",", ";"),
    ),
    target(
        "csv",
        "Sniffer.has_header",
        "Sniffer().has_header({text})",
        text=lines(
            "name,size\n", "a,1\n", "bb,22\n", "ccc,3\n", "1,2\n", "x,y\n", "3,44\n", most=7
        ).map("".join),
    ),
    target(
        "plistlib",
        "_encode_base64",
        "_encode_base64({data}, {width})",
        data=_DATA,
        width=whole(1, 30),
    ),
    target("plistlib", "_count_to_size", "_count_to_size({n})", n=whole(0, 300) | whole(0, 2**33)),
    target(
        "plistlib",
        "_BinaryPlistWriter._write_size",
        "dumps({value}, fmt=FMT_BINARY)",
        value=st.lists(whole(0, 2), min_size=10, max_size=24) | st.binary(min_size=10, max_size=20),
    ),
    target(
        "plistlib",
        "_BinaryPlistWriter._write_object",
        "dumps({value}, fmt=FMT_BINARY)",
        value=_PLIST,
    ),
    target(
        "plistlib",
        "_BinaryPlistParser._read_object",
        "loads(dumps({value}, fmt=FMT_BINARY))",
        value=_PLIST,
    ),
    target(
        "plistlib",
        "_BinaryPlistParser._read_ints",
        "loads(dumps({value}, fmt=FMT_BINARY))",
        value=st.lists(numbers(0, 99, most=3), max_size=4),
    ),
    target(
        "plistlib",
        "_BinaryPlistParser._get_size",
        "loads(dumps({value}, fmt=FMT_BINARY))",
        value=st.lists(whole(0, 2), min_size=10, max_size=20),
    ),
    target(
        "plistlib", "_PlistWriter.write_value", "dumps({value}).splitlines()[3:-1]", value=_PLIST
    ),
    target(
        "plistlib",
        "_is_fmt_xml",
        "_is_fmt_xml({head})",
        head=pieces("<?xml", "<plist", "\xef\xbb\xbf", "a", "<", most=3).map(
            lambda s: s.encode("latin-1")
        )
        | st.binary(max_size=6),
    ),
    target("base64", "_b32encode", "b32encode({data})", data=_DATA),
    target(
        "base64",
        "_b32decode",
        "b32decode({text}, casefold={fold}, map01={letter})",
        text=_B32,
        fold=BOOL,
        letter=one_of(None, b"L", b"I"),
    ),
    target("base64", "_85encode", "b85encode({data}, pad={pad})", data=_DATA, pad=BOOL),
    target(
        "base64",
        "a85encode",
        "a85encode({data}, foldspaces={fold}, wrapcol={width}, adobe={adobe})",
        data=pieces("ab", "    ", "\0\0\0\0", "xyz", "1", most=5).map(str.encode),
        fold=BOOL,
        width=whole(0, 7),
        adobe=BOOL,
    ),
    target(
        "base64",
        "a85decode",
        "a85decode({text}, foldspaces={fold}, adobe={adobe})",
        text=_A85,
        fold=BOOL,
        adobe=BOOL,
    ),
    target("base64", "b85decode", "b85decode({text})", text=_B85),
    target(
        "quopri",
        "needsquoting",
        "needsquoting({char}, {tabs}, {header})",
        char=one_of(b"a", b" ", b"\t", b"_", b"=", b"\n", b"~", b"\x7f", b"!", b"\x1f")
        | st.binary(min_size=1, max_size=1),
        tabs=BOOL,
        header=BOOL,
    ),
    target("quopri", "quote", "quote({char})", char=st.binary(min_size=1, max_size=1)),
    target(
        "quopri",
        "ishex",
        "ishex({char})",
        char=st.binary(min_size=1, max_size=1) | one_of(b"a", b"f", b"A", b"F", b"0", b"9"),
    ),
    target(
        "quopri",
        "unhex",
        "unhex({text})",
        text=pieces("a", "F", "9", "0", "A", "f", most=3, least=1).map(str.encode),
    ),
    target("gettext", "_parse", "c2py({plural})({n})", plural=_PLURAL, n=whole(0, 130)),
    target(
        "gettext",
        "c2py",
        "c2py({plural})({n})",
        plural=_PLURAL | pieces("(", "n", ")", "n<2", " ", most=6),
        n=one_of(0, 1, 2, 1.5, 2.0, "x", -1),
    ),
    target(
        "gettext",
        "_as_int",
        "_as_int({n})",
        n=whole(-9, 99) | st.floats(-9, 9) | one_of("a", None, 2.0),
    ),
    target(
        "gettext",
        "NullTranslations.ngettext",
        "NullTranslations().ngettext({one}, {many}, {n})",
        one=one_of("file", "box"),
        many=one_of("files", "boxes"),
        n=whole(0, 40),
    ),
    target(
        "tomllib._parser",
        "parse_basic_str_escape",
        "parse_basic_str_escape({text}, 0)",
        text=pieces("n", "u00e9", "U0001F600", "\\", "x", " ", "u12", "ud800", most=3).map(
            lambda s: "\\" + s
        ),
    ),
    target(
        "tomllib._parser",
        "parse_hex_char",
        "parse_hex_char({text}, {position}, {size})",
        text=pieces("00", "e9", "g", "12", "D8", "00", "4", most=5),
        position=whole(0, 3),
        size=one_of(2, 4, 8),
    ),
    target(
        "tomllib._parser",
        "is_unicode_scalar_value",
        "is_unicode_scalar_value({n})",
        n=one_of(0, 55295, 55296, 57343, 57344, 1114111, 1114112, -1) | whole(-5, 1200000),
    ),
    target(
        "tomllib._parser",
        "parse_array",
        "parse_value({text}, 0, float)",
        text=_TOML.map(lambda s: "[" + s),
    ),
    target(
        "tomllib._parser",
        "parse_inline_table",
        "parse_value({text}, 0, float)",
        text=pieces("a=1", "b = 'x'", ",", " ", "}", "a.c=2", "d={}", "\n", most=6).map(
            lambda s: "{" + s
        ),
    ),
    target(
        "tomllib._parser",
        "parse_value",
        "parse_value({text}, 0, float)",
        text=_TOML
        | one_of("true", "false", "0x1F", "1_000", "'''a'''", '"""b"""', "inf", "-1.5e3", "+nan"),
    ),
    target(
        "tomllib._parser",
        "parse_multiline_str",
        "parse_value({text}, 0, float)",
        text=pieces('"', "'", "a", "\n", "\\\n ", '""', "''", most=6).map(lambda s: '"""' + s)
        | pieces("'", "a", "\n", "''", most=6).map(lambda s: "'''" + s),
    ),
    target(
        "tomllib._parser",
        "parse_basic_str",
        "parse_value({text}, 0, float)",
        text=pieces("a", "\\n", '"', "\n", "\x01", "é", "\\q", most=5).map(lambda s: '"' + s),
    ),
    target(
        "tomllib._parser",
        "parse_literal_str",
        "parse_literal_str({text}, {position})",
        text=pieces("a", "'", "\n", "b", most=6).map(lambda s: "'" + s),
        position=whole(0, 2),
    ),
    target(
        "tomllib._parser",
        "parse_key",
        "parse_key({text}, {position})",
        text=_TABLE,
        position=whole(0, 2),
    ),
    target(
        "tomllib._parser",
        "skip_until",
        "skip_until({text}, {position}, {end}, error_on=frozenset('x'), error_on_eof={eof})",
        text=pieces("a", "b", "x", "]", most=7),
        position=whole(0, 3),
        end=one_of("]", "b"),
        eof=BOOL,
    ),
    target(
        "tomllib._parser",
        "skip_comment",
        "skip_comment({text}, {position})",
        text=pieces("#", "a", "\n", " ", "\x01", most=7),
        position=whole(0, 4),
    ),
    target(
        "tomllib._parser",
        "suffixed_err",
        "str(suffixed_err({text}, {position}, 'bad'))",
        text=pieces("a", "\n", "bc", most=7),
        position=whole(0, 12),
    ),
    target(
        "zipfile",
        "_strip_extra",
        "_strip_extra({data}, {ids})",
        data=st.lists(
            one_of(b"\1\0\2\0ab", b"\2\0\0\0", b"\1\0\1\0x", b"\5\0\3\0xyz", b"\7"), max_size=4
        ).map(b"".join),
        ids=one_of((1,), (2,), (1, 5), ()),
    ),
    target(
        "uuid",
        "UUID.__init__",
        "str(UUID({text}))",
        text=_HEX
        | _HEX.map(lambda s: "{" + s + "}")
        | pieces("urn:", "uuid:", "12345678", "-", "f", most=6),
    ),
    target("uuid", "UUID.__str__", "str(UUID(int={n}))", n=whole(-1, 2**128)),
    target("uuid", "UUID.bytes_le", "UUID({text}).bytes_le", text=_HEX),
    target("uuid", "UUID.variant", "UUID({text}).variant", text=_HEX),
    target("uuid", "UUID.version", "UUID({text}).version", text=_HEX),
    target("uuid", "UUID.time", "UUID({text}).time", text=_HEX),
    target("uuid", "UUID.clock_seq", "UUID({text}).clock_seq", text=_HEX),
)
