"""The server inside a container: forks one unprivileged child for each execution.

It comes in over standard input (`docker_source.py`), so an image needs nothing but Python, and it
speaks over its standard input and output until they close; then it ends, and with it the container.

Each request is handled by a fork of the server that ends with it. So nothing of a request (files,
hidden tests, output) is ever in the memory from which a later program is forked.

It is root with two rights left, to change user and group. Programs run as a user id that only this
container has. So they can neither signal, trace nor read the server, the kernel counts their tasks
apart from everybody else's, and one system call ends all of them at once, whatever they forked.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import os
import resource
import select
import signal
import site
import sys
from collections.abc import Iterator
from socket import socket
from types import ModuleType
from typing import Any, NoReturn, cast

from . import kernel, runner, wire
from .docker_execution import Execution
from .docker_files import Files
from .docker_gauges import Gauges

AREA = "/area"
SCRATCH = ("/tmp", "/dev/shm")
"""Folders besides the work area that a program can write to; emptied after each execution."""

_WANTED_PYTEST = 3  # exit code of a handler that had to load it, so that the next need not
_KILLER_ID = 65534  # no process of a container has this user
_PR_SET_CHILD_SUBREAPER = 36
# What programs under test commonly import; the child finds it loaded.
_PRELOAD = (
    "bisect collections contextlib copy dataclasses datetime decimal enum fractions functools "
    "heapq itertools math operator re string textwrap threading typing unicodedata"
).split()


class Pipe:
    """The two pipes to the caller, with the methods of a socket that `wire` uses."""

    def __init__(self, reading: int, writing: int) -> None:
        self._reading = reading
        self._writing = writing

    def recv(self, size: int) -> bytes:
        """Return up to `size` bytes, none at the end."""
        return os.read(self._reading, size)

    def sendall(self, data: bytes) -> None:
        """Write all of `data`."""
        view = memoryview(data)
        while view:
            view = view[os.write(self._writing, view) :]

    def wait(self) -> bool:
        """Wait for the next request; return False if the caller has gone."""
        return bool(self._poll(select.POLLIN, None) & select.POLLIN)

    def has_hung_up(self) -> bool:
        """Say whether the caller has gone."""
        return bool(self._poll(0, 0))

    def _poll(self, events: int, timeout_ms: int | None) -> int:
        poller = select.poll()
        poller.register(self._reading, events)
        return sum(seen for _, seen in poller.poll(timeout_ms))


def main(user: int) -> NoReturn:
    """Serve until the caller closes the stream.

    Args:
        user: user and group id of the programs.
    """
    os.umask(0o022)
    link = Pipe(os.dup(0), os.dup(1))
    for fd in (0, 1):
        os.dup2(os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC), fd)
    for name in _PRELOAD:
        importlib.import_module(name)
    runner.warm_up()
    try:
        server = Server(user)
        facts = {"path": _search_path(), "filter": kernel.has_call_filter()}
    except OSError as error:
        facts = {"error": str(error)}
    wire.send(cast(socket, link), facts)
    gc.disable()  # a collection would write to every page that the children share
    gc.freeze()
    while "error" not in facts and link.wait():
        handler = os.fork()
        if handler == 0:
            server.handle(link)
        _, status = os.waitpid(handler, 0)
        if os.waitstatus_to_exitcode(status) == _WANTED_PYTEST:
            server.pytest.load()
        elif status:
            break  # it died in the middle of an answer: nothing after that could be understood
    os._exit(0)


class Pytest:
    """The image's pytest, loaded at its first use, which only the programs that need it see."""

    def __init__(self) -> None:
        self._modules: dict[str, ModuleType] = {}
        self._folders: list[str] = []
        self.is_new = False
        """True if `enable` had to load it."""

    def load(self) -> None:
        """Import it and put it aside; nothing happens if the image does not have it."""
        self._folders = [path for path in site.getsitepackages() if os.path.isdir(path)]
        before, path = set(sys.modules), sys.path[:]
        sys.path += self._folders
        try:
            importlib.import_module("pytest")
            for plugin in getattr(sys.modules.get("_pytest.config"), "default_plugins", ()):
                importlib.import_module(f"_pytest.{plugin}")  # which every run would import
        except ImportError:
            return
        finally:
            sys.path[:] = path
        for name in sys.modules.keys() - before:
            if (getattr(sys.modules[name], "__file__", None) or "").startswith(
                tuple(f"{folder}/" for folder in self._folders)
            ):
                self._modules[name] = sys.modules.pop(name)

    def enable(self) -> bool:
        """Make it importable in this process and its forks; False if the image does not have it."""
        if not self._modules:
            self.load()
            self.is_new = bool(self._modules)
        sys.modules.update(self._modules)
        sys.path += self._folders
        return bool(self._modules)


class Server:
    """Runs jobs and reaches files.

    Args:
        user: user and group id of the programs.

    Raises:
        OSError: the container is not as it must be; the message says what is wrong.
    """

    def __init__(self, user: int) -> None:
        self._user = user
        self.pytest = Pytest()
        self._gauges = Gauges()
        os.setgroups([])
        with self._as_user():  # which also tries that the rights are there
            self._files = Files(AREA, SCRATCH)

    def handle(self, link: Pipe) -> NoReturn:
        """Read one request, carry it out, answer, and end this process."""
        code = 1
        try:
            request, blob = wire.receive(cast(socket, link))
            try:
                answer, output = self._serve(request, blob, link)
            except OSError as error:
                answer, output = {"error": f"{type(error).__name__}: {error}"}, b""
            wire.send(cast(socket, link), answer, output)
            code = _WANTED_PYTEST if self.pytest.is_new else 0
        finally:
            os._exit(code)

    def _serve(
        self, request: dict[str, Any], blob: bytes, link: Pipe
    ) -> tuple[dict[str, Any], bytes]:
        if request["do"] == "run":
            return self._run(request["job"], blob, link)
        with self._as_user():
            return self._files.serve(request, blob)

    def _run(self, job: dict[str, Any], blob: bytes, link: Pipe) -> tuple[dict[str, Any], bytes]:
        if job["kind"] == "pytest" and not self.pytest.enable():
            return {"missing": "pytest"}, b""
        # Orphans come to this process, so that it knows when none is left.
        if ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
            raise OSError("prctl(CHILD_SUBREAPER) was refused")
        execution = Execution(
            job, blob, user=self._user, folder=AREA, gauges=self._gauges, files=self._files
        )
        limit: str | None = None
        try:
            if job["kind"] == "judge":  # it has forked what may not know this
                execution.tell(wire.receive(cast(socket, link))[1])
            limit = execution.watch(link.has_hung_up)
        finally:
            ended = self._end_programs(execution.pid)
        answer, output = execution.finish(limit, *ended)
        execution.close()
        with self._as_user():
            settled = self._files.settle(int(job["limits"]["disk_bytes"]))
        if "error" not in answer and answer["limit"] is None:
            answer["limit"] = settled.limit_hit(job["limits"], answer["status"])
        return answer, output

    def _end_programs(self, main: int) -> tuple[int, resource.struct_rusage]:
        """Kill every process of the programs' user at once, and collect all that have ended.

        The kernel holds its table of processes for the whole of `kill(-1)`, so no fork escapes. It
        reaches whom the caller's real or effective user may signal: the programs' user and one that
        nobody is. The saved user stays root, so that no program can signal this process meanwhile.

        Args:
            main: process id of the execution's first process.

        Returns:
            How that one ended, and what it used.
        """
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(main, signal.SIGKILL)  # it may not have changed its user yet
        os.setresuid(_KILLER_ID, self._user, 0)
        try:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(-1, signal.SIGKILL)
        finally:
            os.setresuid(0, 0, 0)
        of_main = None
        while True:
            try:
                pid, status, usage = os.wait4(-1, 0)
            except ChildProcessError:
                break
            if pid == main:
                of_main = status, usage
        if of_main is None:
            raise OSError("the program's first process vanished")
        return of_main

    @contextlib.contextmanager
    def _as_user(self) -> Iterator[None]:
        """Reach files as the programs' user, so that new ones are theirs and no right is needed."""
        os.setresgid(-1, self._user, -1)
        os.setresuid(-1, self._user, -1)
        try:
            yield
        finally:
            os.setresuid(-1, 0, -1)
            os.setresgid(-1, 0, -1)


def _search_path() -> str:
    own = os.path.dirname(sys.executable)
    return ":".join(dict.fromkeys([own, "/usr/local/bin", "/usr/bin", "/bin"]))
