"""Sandboxes that several worlds take turns with.

Starting a sandbox takes a tenth of a second of processor time, and what one world's checks have
shown another need not find out again. Worlds that never run at the same time can share both.
"""

from __future__ import annotations

from ..closing import Closing
from .check_cache import CheckCache
from .sandbox import make_sandbox
from .sandbox.base import Sandbox
from .sandbox_computer import SandboxComputer


class Machines(Closing):
    """Computers by number, over sandboxes that are started when first asked for.

    Args:
        sandbox: kind of sandbox that code runs in.

    Example:
        >>> from sim2live.envs.machines import Machines
        >>> with Machines() as machines:
        ...     first, again = machines.computer(0), machines.computer(0)
        ...     first.sandbox is again.sandbox
        True
    """

    def __init__(self, sandbox: str = "namespaces") -> None:
        self.cache = CheckCache()
        """Checks that any of the computers has made."""
        self._kind = sandbox
        self._sandboxes: dict[int, Sandbox] = {}

    def computer(self, number: int) -> SandboxComputer:
        """Return a computer on the sandbox of that number; closing it leaves the sandbox open.

        Two computers on one sandbox must not be used at the same time.
        """
        if number not in self._sandboxes:
            self._sandboxes[number] = make_sandbox(self._kind)
        return _Lent(self._sandboxes[number], self.cache)

    def close(self) -> None:
        """Close every sandbox."""
        for sandbox in self._sandboxes.values():
            sandbox.close()
        self._sandboxes.clear()


class _Lent(SandboxComputer):
    """A computer that does not own its sandbox."""

    def close(self) -> None:
        """Leave the sandbox to whoever lent it."""
