"""Another episode, running in its own sandbox while one is attacked."""

from __future__ import annotations

import json
import secrets
import threading
import time
from types import TracebackType
from typing import Any, Self

from ...errors import SandboxError
from .base import ExecResult, Limits, Sandbox
from .witness import marked

_START_S = 5.0
_SECONDS = 0.8

# Holds a secret in many places, and tells what happened to it meanwhile.
_PROGRAM = """
import ctypes, json, os, signal, socket, time
with open("facts.json") as file:
    facts = json.load(file)
secret = bytearray(facts["secret"].encode())
signals = []
own = (signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD, signal.SIGSEGV, signal.SIGBUS)
for number in set(signal.Signals) - set(own):
    signal.signal(number, lambda number, frame: signals.append(int(number)))
with open("/tmp/" + facts["name"], "w") as file:
    file.write(facts["secret"])
listener = socket.socket(socket.AF_UNIX)
listener.bind("\\0" + facts["name"])
listener.listen()
listener.setblocking(False)
libc = ctypes.CDLL(None)
segment = libc.shmget(facts["shm_key"], 4096, 0o1666)
libc.shmat.restype = ctypes.c_void_p
if segment >= 0:
    ctypes.memmove(libc.shmat(segment, None, 0), bytes(secret), len(secret))
libc.prctl(15, facts["name"].encode(), 0, 0, 0)
end = time.monotonic() + facts["seconds"]
while time.monotonic() < end:
    time.sleep(0.02)
try:
    listener.accept()
    visited = True
except BlockingIOError:
    visited = False
libc.shmctl(segment, 0, None)
print(json.dumps({"signals": signals, "visited": visited}))
"""


class Bystander:
    """A running program of another episode, as a context manager.

    Args:
        sandbox: where it runs; its work area is used.
        limits: under which it runs.
    """

    def __init__(self, sandbox: Sandbox, limits: Limits) -> None:
        self._sandbox = sandbox
        self._limits = limits
        self._result: ExecResult | SandboxError | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        name = f"s2o-{secrets.token_hex(4)}"
        self.facts: dict[str, Any] = {
            "secret": f"other{secrets.token_hex(16)}",
            "name": name,
            "shm_key": secrets.randbelow(1 << 30) + 1,
            "seconds": _SECONDS,
            "pids": [],
        }
        """What it is called; the attacker gets all but the secret."""
        self.noticed: list[str] = []
        """What it noticed of an attack, once it has ended."""

    def __enter__(self) -> Self:
        self._sandbox.write_file("facts.json", json.dumps(self.facts).encode())
        self._sandbox.write_file("secret.txt", self.facts["secret"].encode())
        self._thread.start()
        deadline = time.monotonic() + _START_S
        while not (pids := marked(self.facts["name"])) and time.monotonic() < deadline:
            time.sleep(0.005)
        self.facts["pids"] = pids
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._thread.join()
        result = self._result
        if not self.facts["pids"]:
            self.noticed.append(f"the other episode did not start: {result}")
        elif not isinstance(result, ExecResult) or not result.is_ok:
            self.noticed.append(f"the other episode was ended: {result}")
        else:
            told = json.loads(result.stdout)
            if told["signals"] or told["visited"]:
                self.noticed.append(f"the other episode was disturbed: {told}")
        if self._sandbox.read_file("secret.txt") != self.facts["secret"].encode():
            self.noticed.append("a file of the other episode was changed")

    def _run(self) -> None:
        try:
            self._result = self._sandbox.python(_PROGRAM, limits=self._limits)
        except SandboxError as error:
            self._result = error
