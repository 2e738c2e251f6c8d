"""Change of cyclomatic complexity between the files before and after.

*Total* complexity is the honest measure: cutting one function of complexity 9 into seventeen tiny
ones raises it, while the largest complexity of a single function falls from 9 to 2.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

from ..trajectory import Trajectory

Measure = Literal["total", "max_per_function"]

_TEST_FILE = re.compile(r"(?:^|/)(?:tests?/|test_[^/]*\.py$|[^/]*_test\.py$|conftest\.py$)")


def complexity_change(trajectory: Trajectory, measure: Measure) -> float | None:
    """Return the relative change of a complexity measure, clipped to [-1, 1].

    (after - before) / max(before, 1), from the outcome where it was measured, else from the text of
    the Python files that changed (tests left out), else None. Files of which one version has no
    function are left out too: adding the first function is no rise.
    """
    outcome = trajectory.outcome
    if outcome.complexity_before is not None and outcome.complexity_after is not None:
        before = getattr(outcome.complexity_before, measure)
        after = getattr(outcome.complexity_after, measure)
        return _relative(before, after)
    return _change_of_files(trajectory, measure)


def _change_of_files(trajectory: Trajectory, measure: Measure) -> float | None:
    old, new = trajectory.files_before, trajectory.files_after
    if old is None or new is None:
        return None
    before, after = 0.0, 0.0
    for path in sorted(set(old) & set(new)):
        if not path.endswith(".py") or _TEST_FILE.search(path) or old[path] == new[path]:
            continue
        counts = function_complexities(old[path]), function_complexities(new[path])
        if all(counts):
            if measure == "total":
                before, after = before + sum(counts[0]), after + sum(counts[1])
            else:
                before, after = max(before, *counts[0]), max(after, *counts[1])
    return _relative(before, after)


def _relative(before: float, after: float) -> float:
    return min(1.0, max(-1.0, (after - before) / max(before, 1.0)))


@lru_cache(maxsize=2048)
def function_complexities(source: str) -> tuple[float, ...]:
    """Return the cyclomatic complexity of each function of a Python source, as lizard counts it."""
    import lizard

    text = source.encode("utf-8", errors="replace").decode("utf-8")
    functions = lizard.analyze_file.analyze_source_code("module.py", text).function_list
    return tuple(float(function.cyclomatic_complexity) for function in functions)
