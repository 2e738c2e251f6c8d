"""The remembered work area against the real one, with programs that change it in between."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from sim2live.envs.sandbox import NamespaceSandbox, Snapshot
from sim2live.envs.sandbox.area import Area
from sim2live.envs.sandbox.mirror import MAX_BYTES, MirroredArea
from sim2live.envs.sandbox.namespaces import missing_isolation

_PATHS = st.sampled_from(["a", "b", "d/a", "d/e/a", "f/b"])
_DATA = st.binary(max_size=4)
_FILES = st.dictionaries(_PATHS, _DATA, max_size=4)

_PROGRAMS = {
    "write": "open(P, 'wb').write(b'new')",
    "same_content": "data = open(P, 'rb').read(); open(P, 'wb').write(data)",
    "map": "f = open(P, 'r+b'); f.truncate(3); mmap.mmap(f.fileno(), 3)[:] = b'map'",
    "remove": "os.unlink(P)",
    "rename": "os.rename(P, Q)",
    "hard_link": "os.link(P, Q)",
    "symbolic_link": "os.symlink(P, Q)",
    "link_to_folder": "os.symlink('d', Q)",
    "folder": "os.makedirs(P)",
    "empty_folder": "os.makedirs('empty/er', exist_ok=True)",
    "mode": "os.chmod(P, 0o100)",
    "folder_mode": "os.chmod('d', 0o500)",
    "time": "os.utime(P, (1, 1))",
    "attribute": "os.setxattr(P, 'user.note', b'kept')",
    "pipe": "os.mkfifo('pipe')",
    "large": "open(P, 'wb').write(os.urandom(70_000))",  # more than the server tells at once
    "nothing": "pass",
}


def _tree(fd: int) -> dict[str, tuple[int, int]]:
    """Return mode and number of links of everything in an area."""
    return {path: (info.st_mode, info.st_nlink) for _, _, path, info in Area(fd)._walk()}


class _Machine(RuleBasedStateMachine):
    """`model` is what a plain dict of files would hold; programs set it to what is really there."""

    sandbox: NamespaceSandbox

    def __init__(self) -> None:
        super().__init__()
        self.sandbox.restore(Snapshot(files={}))
        self.model: dict[str, bytes] = {}
        self.is_fresh = True

    @property
    def real(self) -> Area:
        """The same folder without a memory."""
        return Area(self.sandbox._ensure().area.fd)

    @rule(path=_PATHS, data=_DATA)
    def write(self, path: str, data: bytes) -> None:
        before = self.real.snapshot()
        try:
            self.sandbox.write_file(path, data)
        except OSError:
            assert self.real.snapshot() == before
            return
        self.model[path] = data
        if not self.is_fresh:
            self.model = self.real.snapshot()  # the file may have had two names
            assert self.model[path] == data

    @rule(path=_PATHS)
    def remove(self, path: str) -> None:
        if path in self.model:
            self.sandbox.remove_file(path)
            del self.model[path]
        elif self.is_fresh:
            with pytest.raises(OSError, match=path):
                self.sandbox.remove_file(path)

    @rule(path=_PATHS)
    def read(self, path: str) -> None:
        if path in self.model:
            assert self.sandbox.read_file(path) == self.model[path]
        else:
            with pytest.raises(OSError, match=path):
                self.sandbox.read_file(path)

    @rule(files=_FILES)
    def restore(self, files: dict[str, bytes]) -> None:
        self.sandbox.restore(Snapshot(files=files))
        self.model = dict(files)
        self.is_fresh = True
        tree = _tree(self.real.fd)
        assert {path for path, (mode, _) in tree.items() if stat.S_ISREG(mode)} == set(files)
        for path, (mode, num_links) in tree.items():
            if stat.S_ISDIR(mode):
                assert stat.S_IMODE(mode) == 0o755
                assert any(name.startswith(f"{path}/") for name in files), path
            else:
                assert (stat.S_IMODE(mode), num_links) == (0o644, 1)
                fd = os.open(path, os.O_RDONLY, dir_fd=self.real.fd)
                assert os.listxattr(fd) == []
                assert os.fstat(fd).st_mtime > 1000
                os.close(fd)

    @rule(name=st.sampled_from(sorted(_PROGRAMS)), path=_PATHS, other=_PATHS)
    def run(self, name: str, path: str, other: str) -> None:
        head = f"import os, mmap\nP, Q = {path!r}, {other!r}\n"
        source = f"{head}try:\n    {_PROGRAMS[name]}\nexcept (OSError, ValueError): pass"
        assert self.sandbox.python(source).is_ok
        self.model = self.real.snapshot()
        self.is_fresh = False

    @precondition(lambda self: self.model)
    @rule(data=_DATA)
    def write_to_one_of_two_names(self, data: bytes) -> None:
        path = min(self.model)
        self.run("hard_link", path, "linked")
        self.write(path, data)

    @precondition(lambda self: self.model)
    @rule()
    def go_back(self) -> None:
        before = self.sandbox.snapshot()
        self.sandbox.python("import os\nfor name in os.listdir(): os.system('rm -rf ' + name)")
        self.is_fresh = False
        self.sandbox.restore(before)
        self.is_fresh = True

    @invariant()
    def agrees(self) -> None:
        assert dict(self.sandbox.snapshot().files) == self.model == self.real.snapshot()
        assert self.sandbox.list_files() == sorted(self.model)


@pytest.fixture(scope="module")
def sandbox() -> Iterator[NamespaceSandbox]:
    if missing := missing_isolation():
        pytest.skip(f"no isolation on this machine: {missing}")
    with NamespaceSandbox() as made:
        yield made


def test_the_memory_agrees_with_the_real_area(sandbox: NamespaceSandbox) -> None:
    machine = type("Machine", (_Machine,), {"sandbox": sandbox})
    few = settings(
        max_examples=40,
        stateful_step_count=20,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(machine, settings=few)


def _count_calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record every way of `Area` to reach the file system."""
    calls: list[str] = []
    for name in ("open", "listdir", "stat", "unlink", "dup", "mkdir", "rmdir"):
        real = getattr(os, name)

        def record(
            *args: object, _real: object = real, _name: str = name, **rest: object
        ) -> object:
            calls.append(_name)
            return _real(*args, **rest)  # type: ignore[operator]

        monkeypatch.setattr(os, name, record)
    return calls


def test_looking_again_costs_no_system_call(
    sandbox: NamespaceSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    sandbox.restore(Snapshot(files={"a.py": b"x = 1", "d/b.py": b"y = 2"}))
    sandbox.check("import a\ndef test_a(): assert a.x")
    calls = _count_calls(monkeypatch)
    before = sandbox.snapshot()
    assert sandbox.list_files() == ["a.py", "d/b.py"]
    assert sandbox.read_file("a.py") == b"x = 1"
    assert calls == []
    sandbox.write_file("a.py", b"x = 2")
    assert calls
    calls.clear()
    assert sandbox.snapshot().files == {"a.py": b"x = 2", "d/b.py": b"y = 2"}
    assert calls == []
    sandbox.restore(before)
    calls.clear()
    sandbox.restore(before)
    assert calls == []


def test_after_a_program_only_what_it_touched_is_written_again(tmp_path: Path) -> None:
    area = MirroredArea(os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY))
    files = {"a": b"1", "b": b"2", "d/c": b"3"}
    area.restore(files)
    inodes = {path: (tmp_path / path).stat().st_ino for path in files}
    area.forget()
    area.learn({**files, "new": b""}, touched=["b", "new"], is_plain=True)
    (tmp_path / "new").write_bytes(b"")
    held = os.open("b", os.O_RDONLY, dir_fd=area.fd)  # so that its number is not used again
    area.restore(files)
    assert area.snapshot() == Area(area.fd).snapshot() == files
    changed = {path for path in files if (tmp_path / path).stat().st_ino != inodes[path]}
    assert changed == {"b"}
    os.close(held)
    area.close()


def test_what_is_too_large_is_not_remembered(tmp_path: Path) -> None:
    area = MirroredArea(os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY))
    area.restore({"a": bytes(MAX_BYTES + 1)})
    (tmp_path / "b").write_bytes(b"not announced")
    assert area.list_files() == ["a", "b"]
    area.close()


def test_a_failed_write_is_not_remembered() -> None:
    if missing := missing_isolation():
        pytest.skip(f"no isolation on this machine: {missing}")
    from sim2live.envs.sandbox import Limits

    with NamespaceSandbox(Limits(disk_bytes=20_000)) as small:
        small.write_file("a", bytes(10_000))
        with pytest.raises(OSError, match="No space"):
            small.write_file("a", bytes(50_000))
        assert small.snapshot().files == Area(small._area().fd).snapshot()
