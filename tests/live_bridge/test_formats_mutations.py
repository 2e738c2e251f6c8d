"""Damaged logs: no mutation of the samples raises or loses count of a record."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sim2live.live_bridge.formats import READERS, read_file

SWAPS = (b"null", b"[]", b"{}", b"1e999", b'"\\ud83d"', b"\0", b"\n", b"true", b'""', b"-1")
NAMES = (b'"type"', b'"uuid"', b'"message"', b'"content"', b'"role"', b'"steps"', b'"tool_calls"')


def mutate(data: bytes, rng: np.random.Generator) -> bytes:
    """Apply one to three changes: flip, cut, repeat, or put a JSON value where another was."""
    for _ in range(int(rng.integers(1, 4))):
        if not data:
            break
        at, end = np.sort(rng.integers(0, len(data) + 1, size=2))
        kind = int(rng.integers(6))
        if kind == 0:
            data = data[:at] + bytes([int(rng.integers(256))]) + data[at + 1 :]
        elif kind == 1:
            data = data[:at] + data[min(end, at + 40) :]
        elif kind == 2:
            data = data[:at] + data[at : at + 300] + data[at:]
        elif kind == 3:
            data = data[:at]
        elif kind == 4:
            colon, comma = data.find(b":", at), data.find(b",", at)
            if 0 < colon < comma:
                data = data[: colon + 1] + SWAPS[int(rng.integers(len(SWAPS)))] + data[comma:]
        else:
            name = NAMES[int(rng.integers(len(NAMES)))]
            data = data.replace(name, b'"x"', 1)
    return data


def samples(data: Path) -> list[bytes]:
    files = [*(data / "cases").glob("*.jsonl"), *(data / "cases").glob("37*")]
    for name in ("claude_code", "mini_swe_agent", "atif"):
        files += (data / "trajectories" / name).iterdir()
    return [path.read_bytes() for path in sorted(files) if path.stat().st_size < 12_000]


def check(path: Path, *, with_all: bool = True) -> int:
    """Read a file with whichever reader claims it, and perhaps with all others too."""
    result = read_file(path)
    assert result.report.is_balanced, result.report.to_json()
    for reader in READERS.values() if with_all else ():
        other = reader.read(path).report
        assert other.is_balanced, other.to_json()
    return result.report.num_present


@pytest.mark.parametrize("part", range(4))
def test_no_mutation_of_a_sample_raises_and_the_sums_match(
    data: Path, tmp_path: Path, part: int
) -> None:
    originals = samples(data)
    assert len(originals) > 25
    rng = np.random.default_rng(part)
    path = tmp_path / "mutated"
    num_read = 0
    for index in range(500):
        path.write_bytes(mutate(originals[index % len(originals)], rng))
        num_read += check(path, with_all=index % 4 == 0) > 0
    assert num_read > 350  # the mutations mostly leave something to read


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(
        st.one_of(
            st.binary(max_size=40),
            st.sampled_from(
                [
                    b'{"type":"user","uuid":"a","message":{"content":',
                    b'{"type":"assistant","uuid":"b","parentUuid":"a","message":{"id":"m",'
                    b'"content":[{"type":"tool_use","id":"t","name":"Edit","input":',
                    b"{}}]}}",
                    b'"hi"}}',
                    b"\n",
                    b"\0\0",
                    b'{"schema_version":"ATIF-v1.7","steps":[',
                    b"]}",
                    b"\xef\xbb\xbf",
                ]
            ),
        ),
        max_size=12,
    )
)
def test_arbitrary_bytes_are_read_without_an_error(
    tmp_path_factory: pytest.TempPathFactory, parts: list[bytes]
) -> None:
    path = tmp_path_factory.mktemp("bytes") / "log"
    path.write_bytes(b"".join(parts))
    check(path)
