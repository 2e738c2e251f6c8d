"""Modules that want to act in each forked child, loaded so that they do so only when it matters.

`random` seeds itself again, `threading` rebuilds its locks: of no use to a fork of a server without
threads that sets the seed itself, and a good part of the time that such a fork takes.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

_held: list[Callable[[], Any]] = []
_released: list[Callable[[], Any]] = []


@contextlib.contextmanager
def held_back() -> Iterator[None]:
    """Keep aside what modules that are imported meanwhile would have done after each fork."""
    register = os.register_at_fork

    def hold(**hooks: Callable[[], Any]) -> None:
        if set(hooks) == {"after_in_child"}:
            _held.append(hooks["after_in_child"])
        else:
            register(**hooks)

    os.register_at_fork = hold  # type: ignore[assignment]
    try:
        yield
    finally:
        os.register_at_fork = register


def release() -> None:
    """Have it done from now on, in the forks of this process."""
    _released.extend(_held)
    _held.clear()
    if "threading" in sys.modules:
        main = sys.modules["threading"].main_thread()
        main._native_id = sys.modules["threading"].get_native_id()


def _act() -> None:
    for hook in _released:
        hook()


os.register_at_fork(after_in_child=_act)
