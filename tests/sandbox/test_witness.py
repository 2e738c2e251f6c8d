"""That the canaries notice what is done to them."""

from __future__ import annotations

import base64
import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest

from sim2live.envs.sandbox.witness import Host, kernel_lacks, reveals


@pytest.fixture
def host() -> Iterator[Host]:
    with Host() as made:
        assert made.damage() == []
        yield made


def _connect(family: int, address: object) -> None:
    with socket.socket(family) as client:
        client.connect(address)


def _send(host: Host) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.sendto(b"x", ("127.0.0.1", host.facts["udp"]))


@pytest.mark.parametrize(
    ("harm", "words"),
    [
        (lambda host: host.canary.write_text("x"), "the canary file was changed"),
        (lambda host: host.canary.unlink(), "the canary file was changed"),
        (lambda host: (host.folder / "new").write_text("x"), "files appeared beside the canary"),
        (lambda host: (host.folder / "new").mkdir(), "files appeared beside the canary"),
        (lambda host: os.link(host.canary, host.folder / "hard"), "files appeared beside"),
        (lambda host: _connect(socket.AF_INET, ("127.0.0.1", host.facts["tcp"])), "tcp listener"),
        (lambda host: _connect(socket.AF_UNIX, host.facts["unix"]), "unix listener"),
        (lambda host: _connect(socket.AF_UNIX, "\0" + host.facts["abstract"]), "abstract listener"),
        (_send, "udp listener"),
        (lambda host: os.kill(host.facts["victim"], signal.SIGKILL), "process was ended"),
    ],
)
def test_harm_is_noticed_once(host: Host, harm: Callable[[Host], object], words: str) -> None:
    harm(host)
    if "ended" in words:
        os.waitid(os.P_PID, host.facts["victim"], os.WEXITED | os.WNOWAIT)
    assert words in "; ".join(host.damage())
    assert host.damage() == []


def test_a_signal_to_the_process_is_noticed(host: Host) -> None:
    os.kill(host.facts["victim"], signal.SIGTERM)
    found: list[str] = []
    while not found:  # until it has been delivered; the test's time limit ends it otherwise
        found = host.damage()
    assert found == [f"the host's process got signal {int(signal.SIGTERM)}"]


def test_processes_that_are_left_are_found_and_ended(host: Host) -> None:
    assert host.survivors() == 0
    name = host.token.encode()
    program = f"import ctypes; ctypes.CDLL(None).prctl(15, {name!r}); print(1, flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as left:
        assert left.stdout is not None
        left.stdout.readline()
        with host.watch() as peak:
            assert host.survivors() == 1
        assert left.wait() == -signal.SIGKILL
    assert peak.processes == 1 and peak.memory_bytes > 0
    assert host.survivors() == 0


def test_a_secret_is_recognised_in_disguise() -> None:
    secret = "canary0123456789abcdef"
    raw = secret.encode()
    for shown in (
        raw,
        raw[::-1],
        raw.hex().encode(),
        *(base64.b64encode(b"y" * shift + raw + b"zz") for shift in range(4)),
    ):
        assert reveals(secret, b"before " + shown + b" after"), shown
    assert not reveals(secret, raw[:-1])


def test_secrets_stand_where_attackers_look(host: Host) -> None:
    assert host.reveals(host.canary.read_bytes())
    with open(f"/proc/{host.facts['victim']}/environ", "rb") as file:
        assert host.reveals(file.read())
    with contextlib.suppress(FileNotFoundError), open(host.facts["shm_file"], "rb") as file:
        assert host.reveals(file.read())
    assert host.secret not in str(host.facts)


def test_a_call_that_no_kernel_has_is_known() -> None:
    assert kernel_lacks(100_000)
    assert not kernel_lacks(39 if os.uname().machine == "x86_64" else 172)  # getpid
