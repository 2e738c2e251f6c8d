"""Remembers what a check of given files with given tests gave, so that it runs only once.

Only checks are remembered (plain test functions over the files of a work area), never commands, and
not those that hit a limit of wall time: what is slow on a busy machine may be fast on an idle one.
Off by default: code that is meant to behave differently from run to run must not be judged from
memory.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping

from .sandbox.base import CheckResult

Key = bytes


class CheckCache:
    """A bounded, thread-safe memory of check results, shared by the computers of a world.

    Args:
        max_entries: the least recently used results beyond this number are forgotten.
    """

    def __init__(self, max_entries: int = 20_000) -> None:
        self._results: OrderedDict[Key, CheckResult] = OrderedDict()
        self._max_entries = max_entries
        self._lock = threading.Lock()
        self.num_hits = 0
        self.num_misses = 0

    @property
    def hit_frac(self) -> float:
        """Share of checks that were answered from memory; 0 if there were none."""
        return self.num_hits / max(1, self.num_hits + self.num_misses)

    def get(
        self, kind: str, files: Mapping[str, bytes], tests: str, run: Callable[[], CheckResult]
    ) -> CheckResult:
        """Return the result for these files and tests, running them if it is new.

        Args:
            kind: how they are run (`check` or `judge`); results of one say nothing of the other.
            files: all files of the work area.
            tests: source of the tests.
            run: runs them.
        """
        key = _key(kind, files, tests)
        with self._lock:
            if key in self._results:
                self.num_hits += 1
                self._results.move_to_end(key)
                return self._results[key]
            self.num_misses += 1
        result = run()
        if result.execution.limit is None or result.execution.limit == "cpu_time":
            with self._lock:
                self._results[key] = result
                while len(self._results) > self._max_entries:
                    self._results.popitem(last=False)
        return result


def _key(kind: str, files: Mapping[str, bytes], tests: str) -> Key:
    digest = hashlib.sha256()
    parts = [kind.encode(), tests.encode("utf-8", "surrogatepass")]
    for path, data in sorted(files.items()):
        parts += [path.encode("utf-8", "surrogatepass"), data]
    for part in parts:
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.digest()
