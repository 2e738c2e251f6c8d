"""Reading bytes, telling formats apart, and the account of records."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path

import pytest

from sim2live.live_bridge.formats import UNKNOWN, LossReport, detect_format, read_file
from sim2live.live_bridge.formats.content import clean_terminal, content_text, parse_time
from sim2live.live_bridge.formats.lines import MAX_DEPTH, iter_lines, parse_json, parse_line
from sim2live.trajectory import TextState

LINE = json.dumps(
    {"type": "user", "uuid": "u", "sessionId": "s", "message": {"role": "user", "content": "hi"}}
).encode()


def lines(data: bytes, cap: int = 1000) -> list[tuple[int, int, bytes, str | None]]:
    found = iter_lines(io.BytesIO(data), max_record_bytes=cap)
    return [(line.number, line.offset, line.data, line.problem) for line in found]


def test_only_a_newline_ends_a_line() -> None:
    data = "a\u2028b\x85c\rd".encode()
    assert lines(data + b"\n") == [(1, 0, data, None)]


def test_bom_crlf_nul_and_blank_lines() -> None:
    assert lines(b"\xef\xbb\xbfa\r\n\n  \n\0\0b\0\n\0\0\n") == [
        (1, 3, b"a", None),
        (4, 12, b"b", None),
        (5, 15, b"", "nul_block"),
    ]


def test_a_line_over_the_cap_is_passed_over_whole() -> None:
    assert lines(b"x" * 50 + b"\nnext\n" + b"y" * 10 + b"\n", cap=10) == [
        (1, 0, b"", "oversize"),
        (2, 51, b"next", None),
        (3, 56, b"y" * 10, None),
    ]


def test_numbers_that_json_cannot_write_stay_texts() -> None:
    assert parse_json(b'[NaN, -Infinity, 1e999, 1.5, "\\ud83d"]') == [
        "NaN",
        "-Infinity",
        "1e999",
        1.5,
        "\ud83d",
    ]


@pytest.mark.parametrize("depth", [MAX_DEPTH + 1, 5000, 200_000])
def test_deep_nesting_is_refused_and_does_not_overflow(depth: int) -> None:
    with pytest.raises(ValueError, match="nested"):
        parse_json(b"[" * depth + b"]" * depth)


def test_a_saved_record_must_be_a_record_and_reach_the_end() -> None:
    def is_record(value: object) -> bool:
        return isinstance(value, dict) and "uuid" in value

    pieces = parse_line(b'{"a": {"uuid": 1}, "cu{"uuid": 2}', is_record)
    assert [(p.value, p.problem) for p in pieces] == [(None, "torn_fragment"), ({"uuid": 2}, None)]
    assert pieces[1].offset == 22
    (whole,) = parse_line(b'{"uuid": 1, "x": {"y": 1}', is_record)
    assert whole.problem == "malformed_json"


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("1970-01-01T00:00:01.5Z", 1.5),
        ("1970-01-01T01:00:00+01:00", 0.0),
        ("1970-01-01T00:00:02", 2.0),
        (3, 3.0),
        ("yesterday", None),
        (True, None),
        (1e300, None),
        (10**400, None),
        (None, None),
        ([], None),
    ],
)
def test_times(value: object, seconds: float | None) -> None:
    assert parse_time(value) == seconds


def test_terminal_text_of_plain_output_is_unchanged() -> None:
    assert clean_terminal("a\n\tb  \n") == "a\n\tb  \n"
    assert clean_terminal("10%\r55%\rdone!\n") == "done!\n"
    assert clean_terminal("\x1b]0;title\x07x\x1b[1;31my\x1b[0m\x1b") == "xy"


def test_states_of_texts() -> None:
    assert content_text(None)[1] is TextState.NULL
    assert content_text("")[1] is TextState.EMPTY
    assert content_text([])[1] is TextState.EMPTY
    assert content_text([{"type": "text", "text": "a"}, "b", 3])[0] == "a\nb\n3"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\0\0\0",
        b"not a log at all\n",
        b"\xff\xfe{\0}\0",
        b"[]",
        b"{}",
        b'{"type": "session_meta", "timestamp": "x", "payload": {}}\n',
        b'{"type": "user", "message": {"content": "hi"}, "session_id": "s", "uuid": "u"}\n',
        b'{"messages": [{"role": "user", "content": "hi"}]}\n',
        b"\x1f\x8bnot gzip",
    ],
)
def test_what_nobody_knows_is_an_unknown_format(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "claude-session.jsonl"  # a name proves nothing
    path.write_bytes(content)
    assert detect_format(path) is None
    result = read_file(path)
    assert result.report.format == UNKNOWN and result.trajectories == []


def test_other_formats_of_the_samples_are_not_mistaken(data: Path) -> None:
    known = {"claude_code", "atif", "mini_swe_agent"}
    for path in sorted((data / "trajectories").glob("*/*")):
        wanted = path.parent.name if path.parent.name in known else None
        if path.name == "mini_local_messages.json":
            wanted = "mini_swe_agent"  # the same list of messages, kept as a chat
        assert detect_format(path) == wanted, path


def test_a_gzipped_log_reads_like_the_plain_one(tmp_path: Path) -> None:
    plain, packed = tmp_path / "a", tmp_path / "b"
    plain.write_bytes(LINE * 1 + b"\n")
    packed.write_bytes(gzip.compress(LINE + b"\n"))
    assert detect_format(packed) == "claude_code"
    first, second = read_file(plain), read_file(packed)
    assert [t.id for t in first.trajectories] == [t.id for t in second.trajectories]


def test_a_damaged_gzip_stream_gives_what_comes_before_the_damage(tmp_path: Path) -> None:
    lines = [LINE.replace(b'"u"', b'"u%d"' % i) for i in range(3000)]
    path = tmp_path / "log.gz"
    packed = gzip.compress(b"\n".join(lines) + b"\n", compresslevel=1)
    path.write_bytes(packed[: len(packed) // 2])
    result = read_file(path)
    assert result.report.is_balanced
    assert result.report.noted["unreadable"] == 1
    assert 0 < result.report.converted["user"] < 3000


def test_a_report_with_a_lost_record_does_not_balance() -> None:
    report = LossReport(file="f", format="x")
    report.present.update({"user": 2})
    report.converted["user"] += 1
    assert not report.is_balanced
    report.skip("user", "bad", 2, 10, "why")
    assert report.is_balanced
    assert report.to_json()["diagnostics"] == ["f:2 @10: bad (why)"]
