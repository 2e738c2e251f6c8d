from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sim2live.envs.sandbox.area import MAX_DEPTH, Area, split_path


@pytest.fixture
def area(tmp_path: Path) -> Iterator[Area]:
    folder = tmp_path / "area"
    folder.mkdir()
    made = Area(os.open(folder, os.O_RDONLY | os.O_DIRECTORY))
    yield made
    made.close()


@pytest.mark.parametrize("path", ["/x", "/", "../x", "a/../b", "a/..", ".."])
def test_paths_that_could_leave_are_refused(path: str) -> None:
    with pytest.raises(PermissionError):
        split_path(path)


@pytest.mark.parametrize("path", ["", ".", "./.", "a/", "a/.", "a\0b", "x" * 256, "\ud800"])
def test_names_that_no_file_can_have_are_refused(path: str) -> None:
    with pytest.raises(ValueError, match=r"name|path"):
        split_path(path)


def test_depth_is_bounded() -> None:
    assert len(split_path("a/" * (MAX_DEPTH - 1) + "f")) == MAX_DEPTH
    with pytest.raises(ValueError, match="components"):
        split_path("a/" * MAX_DEPTH + "f")


@given(path=st.text(max_size=80), data=st.binary(max_size=200))
@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_any_name_round_trips_or_is_refused_clearly(area: Area, path: str, data: bytes) -> None:
    area.clear()
    try:
        parts = split_path(path)
    except (PermissionError, ValueError) as refusal:
        assert str(refusal)
        with pytest.raises(type(refusal)):
            area.write(path, data)
        assert area.list_files() == []
        return
    area.write(path, data)
    assert area.read(path) == data
    assert area.list_files() == ["/".join(parts)]
    assert area.snapshot() == {"/".join(parts): data}


@given(
    st.dictionaries(
        st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1)
        .filter(lambda name: name not in (".", "..") and len(name.encode()) < 256)
        .map(lambda name: f"d/{name}"),
        st.binary(max_size=50),
        max_size=5,
    )
)
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_restore_is_the_inverse_of_snapshot(area: Area, files: dict[str, bytes]) -> None:
    area.write("before", b"")
    area.restore(files)
    assert area.snapshot() == files


def test_symbolic_links_are_never_followed(area: Area, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(b"secret")
    os.symlink(secret, "link", dir_fd=area.fd)
    os.symlink(tmp_path, "folder", dir_fd=area.fd)
    for path in ("link", "folder/secret"):
        with pytest.raises(PermissionError, match="symbolic link"):
            area.read(path)
        with pytest.raises(PermissionError, match="symbolic link"):
            area.write(path, b"changed")
    with pytest.raises(PermissionError, match="symbolic link"):
        area.write("folder/new", b"")
    with pytest.raises(PermissionError):
        area.remove("folder/secret")
    assert area.list_files() == []
    area.remove("link")  # the link itself
    area.clear()
    assert secret.read_bytes() == b"secret"
    assert sorted(os.listdir(tmp_path)) == ["area", "secret"]


def test_special_files_neither_block_nor_pass(area: Area, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "area" / "pipe")
    for call in (lambda: area.read("pipe"), lambda: area.write("pipe", b"")):
        with pytest.raises(PermissionError, match="regular file"):
            call()
    assert area.list_files() == []


def test_a_folder_is_not_a_file(area: Area) -> None:
    area.write("a/b", b"")
    with pytest.raises(IsADirectoryError):
        area.read("a")
    with pytest.raises(IsADirectoryError):
        area.write("a", b"")
    with pytest.raises(NotADirectoryError):
        area.write("a/b/c", b"")
    with pytest.raises(OSError, match="'a'"):
        area.remove("a")


def test_settle_keeps_the_small_files_when_sizes_do_not_fit(area: Area) -> None:
    area.write("small", bytes(10))
    area.write("sparse", b"")
    os.truncate(os.open("sparse", os.O_WRONLY, dir_fd=area.fd), 1 << 40)
    settled = area.settle(max_bytes=100)
    assert settled.has_removed
    assert settled.largest_bytes == 1 << 40
    assert area.list_files() == ["small"]
    assert area.settle(max_bytes=100)[:2] == (False, 10)


def test_settle_makes_everything_readable_again(area: Area) -> None:
    area.write("d/f", b"x")
    os.chmod("d/f", 0, dir_fd=area.fd)
    os.chmod("d", 0, dir_fd=area.fd)
    area.settle(max_bytes=100)
    assert os.stat("d", dir_fd=area.fd).st_mode & 0o700 == 0o700
    assert os.stat("d/f", dir_fd=area.fd).st_mode & 0o600 == 0o600


@pytest.mark.parametrize("call", ["settle", "clear"])
def test_a_hostile_chain_of_folders_is_removed(area: Area, call: str) -> None:
    fd = os.dup(area.fd)
    for _ in range(1500):
        os.mkdir("d", dir_fd=fd)
        inner = os.open("d", os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = inner
    os.close(fd)
    area.write("kept", b"")
    if call == "settle":
        assert area.settle(max_bytes=100).has_removed
        assert os.listdir(area.fd) == ["kept"]
    else:
        area.clear()
        assert os.listdir(area.fd) == []
