from __future__ import annotations

import asyncio
import threading
import time
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from sim2live.envs.sandbox import Limits, Sandbox, Snapshot, make_sandbox
from sim2live.envs.sandbox.asynchronous import AsyncSandbox
from sim2live.envs.sandbox.namespaces import missing_isolation
from sim2live.errors import ConfigError, SandboxError


@pytest.fixture(params=["namespaces", "process"])
def name(request: pytest.FixtureRequest) -> str:
    if request.param == "namespaces" and (missing := missing_isolation()):
        pytest.skip(f"no isolation on this machine: {missing}")
    return str(request.param)


def _make(name: str) -> Sandbox:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # `process` says that it contains nothing
        return make_sandbox(name)


def _run(name: str, use: Callable[[AsyncSandbox], Awaitable[None]]) -> None:
    async def main() -> None:
        async with AsyncSandbox(_make(name)) as sandbox:
            await use(sandbox)

    asyncio.run(main())


def test_every_call_can_be_awaited(name: str) -> None:
    async def use(sandbox: AsyncSandbox) -> None:
        assert sandbox.name == name
        assert sandbox.is_isolated == (name == "namespaces")
        await sandbox.write_file("a.py", b"word = 'hello'")
        kept = await sandbox.snapshot()
        assert (await sandbox.exec(["cat"], stdin=b"in", env={"A": "1"})).stdout == b"in"
        assert (await sandbox.python("import a; print(a.word)")).stdout == b"hello\n"
        assert (await sandbox.check("import a\ndef test_a(): assert a.word")).is_ok
        assert await sandbox.read_file("a.py") == b"word = 'hello'"
        await sandbox.remove_file("a.py")
        assert await sandbox.list_files() == []
        await sandbox.restore(kept)
        assert await sandbox.list_files() == ["a.py"]

    _run(name, use)


def test_errors_come_to_where_the_call_is_awaited(name: str) -> None:
    async def use(sandbox: AsyncSandbox) -> None:
        with pytest.raises(FileNotFoundError):
            await sandbox.read_file("gone")
        with pytest.raises(PermissionError):
            await sandbox.write_file("../x", b"")
        with pytest.raises(ConfigError):
            await sandbox.exec([])

    _run(name, use)


def test_the_loop_goes_on_while_code_runs(name: str) -> None:
    async def use(sandbox: AsyncSandbox) -> None:
        running = asyncio.create_task(sandbox.exec(["sleep", "0.3"]))
        num_turns = 0
        while not running.done():
            num_turns += 1
            await asyncio.sleep(0.01)
        assert (await running).is_ok
        assert num_turns > 5

    _run(name, use)


def test_many_tasks_may_use_one_sandbox(name: str) -> None:
    async def one(sandbox: AsyncSandbox, number: int) -> bytes:
        await sandbox.write_file(f"{number}.txt", b"%d" % number)
        return (await sandbox.exec(["cat", f"{number}.txt"])).stdout

    async def use(sandbox: AsyncSandbox) -> None:
        found = await asyncio.gather(*(one(sandbox, number) for number in range(8)))
        assert found == [b"%d" % number for number in range(8)]

    _run(name, use)


def test_a_cancelled_call_leaves_the_sandbox_usable(name: str) -> None:
    async def use(sandbox: AsyncSandbox) -> None:
        running = asyncio.create_task(sandbox.exec(["sleep", "30"], limits=Limits(wall_time_s=0.5)))
        waiting = asyncio.create_task(sandbox.write_file("never.txt", b""))
        await asyncio.sleep(0)  # both are in line now
        start_s = time.monotonic()
        for task in (waiting, running):
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        assert time.monotonic() - start_s < 0.4
        assert await sandbox.list_files() == []
        assert (await sandbox.exec(["echo", "well"])).stdout == b"well\n"

    _run(name, use)


def test_a_timeout_is_a_cancellation(name: str) -> None:
    async def use(sandbox: AsyncSandbox) -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await sandbox.exec(["sleep", "30"], limits=Limits(wall_time_s=0.5))
        assert (await sandbox.exec(["true"])).is_ok

    _run(name, use)


def test_close_ends_use_and_may_be_called_twice(name: str) -> None:
    async def main() -> None:
        sandbox = AsyncSandbox(_make(name))
        pending = asyncio.create_task(sandbox.exec(["echo", "before"]))
        await asyncio.sleep(0)
        await sandbox.close()
        await sandbox.close()
        assert (await pending).stdout == b"before\n"
        with pytest.raises(SandboxError, match="closed"):
            await sandbox.list_files()

    asyncio.run(main())


class _Slow:
    """Counts how many calls are inside at once; only what these tests call."""

    name = "slow"
    is_isolated = False

    def __init__(self) -> None:
        self.inside = self.most = self.num_closed = 0
        self.order: list[str] = []
        self.gate = threading.Event()

    def read_file(self, path: str) -> bytes:
        self.inside += 1
        self.most = max(self.most, self.inside)
        assert self.gate.wait(10)
        self.order.append(path)
        self.inside -= 1
        return path.encode()

    def close(self) -> None:
        self.num_closed += 1


@asynccontextmanager
async def _slow() -> AsyncIterator[tuple[Any, AsyncSandbox]]:
    slow: Any = _Slow()
    async with AsyncSandbox(slow) as sandbox:
        yield slow, sandbox


def test_calls_are_made_one_at_a_time_in_order() -> None:
    async def main() -> None:
        async with _slow() as (slow, sandbox):
            names = [str(number) for number in range(20)]
            tasks = [asyncio.create_task(sandbox.read_file(name)) for name in names]
            await asyncio.sleep(0)
            slow.gate.set()
            assert await asyncio.gather(*tasks) == [name.encode() for name in names]
            assert (slow.most, slow.order) == (1, names)

    asyncio.run(main())


def test_a_cancelled_call_that_had_begun_ends_before_the_next() -> None:
    async def main() -> None:
        async with _slow() as (slow, sandbox):
            begun = asyncio.create_task(sandbox.read_file("begun"))
            while not slow.inside:
                await asyncio.sleep(0)
            never = asyncio.create_task(sandbox.read_file("never"))
            after = asyncio.create_task(sandbox.read_file("after"))
            await asyncio.sleep(0)
            for task in (begun, never):
                task.cancel()
            await asyncio.gather(begun, never, return_exceptions=True)
            slow.gate.set()
            assert await after == b"after"
            assert (slow.most, slow.order) == (1, ["begun", "after"])

    asyncio.run(main())


def test_waiting_sandboxes_do_not_starve_each_other() -> None:
    # More than the default executor of asyncio has threads.
    async def main() -> None:
        slow = [_Slow() for _ in range(64)]
        sandboxes: list[Any] = [AsyncSandbox(one) for one in slow]  # type: ignore[arg-type]
        tasks = [asyncio.create_task(sandbox.read_file("x")) for sandbox in sandboxes]
        await asyncio.sleep(0)
        slow[-1].gate.set()
        assert await tasks[-1] == b"x"
        for one in slow:
            one.gate.set()
        await asyncio.gather(*tasks)

    asyncio.run(main())


def test_no_thread_stays_when_nothing_is_to_do() -> None:
    async def main() -> None:
        before = threading.active_count()
        async with _slow() as (slow, sandbox):
            slow.gate.set()
            for _ in range(50):
                await sandbox.read_file("x")
            assert threading.active_count() <= before + 1

    asyncio.run(main())


def test_cancelling_close_closes_all_the_same() -> None:
    async def main() -> None:
        slow: Any = _Slow()
        sandbox = AsyncSandbox(slow)
        running = asyncio.create_task(sandbox.read_file("x"))
        await asyncio.sleep(0)
        closing = asyncio.create_task(sandbox.close())
        await asyncio.sleep(0)
        closing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await closing
        slow.gate.set()
        await running
        await sandbox.close()
        assert slow.num_closed == 2

    asyncio.run(main())


def test_one_sandbox_serves_several_event_loops() -> None:
    slow: Any = _Slow()
    slow.gate.set()
    sandbox = AsyncSandbox(slow)
    for _ in range(2):
        assert asyncio.run(sandbox.read_file("x")) == b"x"
    asyncio.run(sandbox.close())
    assert slow.num_closed == 1


def test_an_empty_snapshot_goes_through(name: str) -> None:
    async def use(sandbox: AsyncSandbox) -> None:
        await sandbox.write_file("a", b"")
        await sandbox.restore(Snapshot(files={}))
        assert await sandbox.list_files() == []

    _run(name, use)
