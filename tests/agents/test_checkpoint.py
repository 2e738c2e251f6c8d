from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch

from sim2live.agents import checkpoint
from sim2live.errors import ConfigError, FormatError


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    parts = {"policy": {"w": torch.arange(3.0), "version": "v3"}, "step": 7, "list": [1, (2, None)]}
    path = checkpoint.save(tmp_path / "new" / "c.pt", **parts)
    loaded = checkpoint.load(path)
    assert torch.equal(loaded["policy"]["w"], parts["policy"]["w"])  # type: ignore[index]
    assert loaded["policy"]["version"] == "v3"
    assert loaded["step"] == 7
    assert loaded["list"] == [1, (2, None)]
    assert os.listdir(path.parent) == ["c.pt"]


def test_a_generator_state_survives(tmp_path: Path) -> None:
    state = dict(np.random.default_rng(3).bit_generator.state)
    path = checkpoint.save(tmp_path / "c.pt", rng=state)
    rng = np.random.default_rng(0)
    rng.bit_generator.state = checkpoint.load(path)["rng"]
    assert rng.random() == np.random.default_rng(3).random()


@pytest.mark.parametrize("step", ["replace", "fsync"])
def test_a_failed_write_leaves_the_old_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    path = checkpoint.save(tmp_path / "c.pt", step=1)

    def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(OSError, match="disk full"):
        checkpoint.save(path, step=2)
    monkeypatch.undo()
    assert checkpoint.load(path)["step"] == 1
    assert os.listdir(tmp_path) == ["c.pt"]


def test_a_killed_writer_leaves_a_whole_checkpoint(tmp_path: Path) -> None:
    """A process that saves without end is killed at arbitrary moments; the file stays whole."""
    path = tmp_path / "c.pt"
    program = (
        "import sys, torch\n"
        "from sim2live.agents import checkpoint\n"
        "step = 0\n"
        "while True:\n"
        "    step += 1\n"
        "    checkpoint.save(sys.argv[1], step=step, w=torch.full((200_000,), float(step)))\n"
    )
    seen = 0
    for wait_s in (0.0, 0.013):
        before = path.stat().st_mtime_ns if path.exists() else None
        writer = subprocess.Popen([sys.executable, "-c", program, str(path)])
        deadline = time.monotonic() + 60
        while not path.exists() or path.stat().st_mtime_ns == before:
            assert writer.poll() is None and time.monotonic() < deadline
            time.sleep(0.002)
        time.sleep(wait_s)
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        loaded = checkpoint.load(path)
        assert torch.all(loaded["w"] == loaded["step"])
        seen += 1
    assert seen == 2
    checkpoint.save(path, step=-1)  # what the killed writer left behind does not stand in the way
    assert checkpoint.load(path)["step"] == -1
    assert os.listdir(tmp_path) == ["c.pt"]


def test_a_newer_schema_is_refused_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint, "SCHEMA_VERSION", 99)
    path = checkpoint.save(tmp_path / "c.pt", step=1)
    monkeypatch.undo()
    with pytest.raises(FormatError, match=r"schema version 99.*up to version 1.*Upgrade"):
        checkpoint.load(path)


def test_damaged_and_foreign_files_are_refused(tmp_path: Path) -> None:
    path = checkpoint.save(tmp_path / "c.pt", w=torch.zeros(1000))
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(FormatError, match="damaged"):
        checkpoint.load(path)
    path.write_bytes(b"")
    with pytest.raises(FormatError, match="damaged"):
        checkpoint.load(path)
    torch.save({"w": 1}, path)
    with pytest.raises(FormatError, match=r"not a sim2live\.checkpoint"):
        checkpoint.load(path)
    with pytest.raises(ConfigError, match="no checkpoint"):
        checkpoint.load(tmp_path / "absent.pt")


def test_values_that_could_not_be_read_back_are_refused_with_their_place(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"`policy\.rows\[1\]` is a ndarray"):
        checkpoint.save(tmp_path / "c.pt", policy={"rows": [1, np.zeros(2)]})
    assert not os.listdir(tmp_path)
