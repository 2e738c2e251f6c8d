"""Change of cyclomatic complexity between the files before and after.

*Total* complexity is the honest measure: cutting one function of complexity 9 into seventeen tiny
ones raises it, while the largest complexity of a single function falls from 9 to 2.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Literal

from ..trajectory import Trajectory

Measure = Literal["total", "max_per_function"]

_TEST_FILE = re.compile(r"(?:^|/)(?:tests?/|test_[^/]*\.py$|[^/]*_test\.py$|conftest\.py$)")


def complexity_change(trajectory: Trajectory, measure: Measure) -> float | None:
    """Return the relative change of a complexity measure, clipped to [-1, 1].

    (after - before) / max(before, 1) over the Python files that changed, tests left out and new
    files included: code that moves to a new file does not vanish. Where the files are not known,
    the measurement in the outcome is used (it is about the visible code, not about hidden tests);
    where there is none either, or no version has a function, the answer is None.
    """
    if trajectory.files_before is not None and trajectory.files_after is not None:
        return _change_of_files(trajectory.files_before, trajectory.files_after, measure)
    before, after = trajectory.outcome.complexity_before, trajectory.outcome.complexity_after
    if before is None or after is None:
        return None
    return _relative(getattr(before, measure), getattr(after, measure))


def _change_of_files(
    old: Mapping[str, str], new: Mapping[str, str], measure: Measure
) -> float | None:
    paths = [p for p in sorted({*old, *new}) if p.endswith(".py") and not _TEST_FILE.search(p)]
    changed = [path for path in paths if old.get(path) != new.get(path)]
    if not changed:
        return 0.0
    before, after = (
        [count for path in changed for count in function_complexities(files.get(path, ""))]
        for files in (old, new)
    )
    if not before and not after:
        return None
    if measure == "total":
        return _relative(sum(before), sum(after))
    return _relative(max(before, default=0.0), max(after, default=0.0))


def _relative(before: float, after: float) -> float:
    return min(1.0, max(-1.0, (after - before) / max(before, 1.0)))


@lru_cache(maxsize=8192)
def function_complexities(source: str) -> tuple[float, ...]:
    """Return the cyclomatic complexity of each function of a Python source, as lizard counts it."""
    import lizard

    text = source.encode("utf-8", errors="replace").decode("utf-8")
    functions = lizard.analyze_file.analyze_source_code("module.py", text).function_list
    return tuple(float(function.cyclomatic_complexity) for function in functions)
