"""Hack detectors: is the policy gaming its reward, and where can a person see it?

*Detectors* look at one trajectory and quote what they found; *monitors* look at batches and notice
what no single trajectory shows.

- `test_tamper` - tests edited, removed, skipped or bypassed instead of the code being repaired.
- `invalid_call` - broken tool calls that were never made good.
- `invalid_call_drift` - a population that breaks more calls than the difficulty of its tasks
  explains (a risk-adjusted CUSUM, `cusum`).
- `accounting` - every sample that entered was rewarded or excluded for a reason, and no reason may
  fall on where rewards are low.
- `weakening`, `asserts`, `asked`, `changes`, `shell`, `paths`, `runner_config`, `strata` - their
  parts. `conformance` - rules that every detector must keep, checked by running it.

They read what happened and the recorded reward components, never a reward model and never the
hidden truth: so that one bug cannot blind both sides. A finding is a reason to look. Do not put it
into the reward: a policy that is punished for being caught learns not to be caught.

Example:
    >>> from sim2live.hack_detectors import load_detectors
    >>> [detector.name for detector in load_detectors()]
    ['test_tamper', 'unrecovered_invalid_call']
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable

from ..errors import unknown_name
from .base import Alarm, Detector, Finding, Monitor, Severity, Verdict


def _detector(module: str, attribute: str) -> Callable[[], Detector]:
    def make() -> Detector:
        made: Detector = getattr(importlib.import_module(module, __name__), attribute)()
        return made

    return make


def _monitor(module: str, attribute: str) -> Callable[[int], Monitor]:
    def make(seed: int = 0) -> Monitor:
        made: Monitor = getattr(importlib.import_module(module, __name__), attribute)(seed=seed)
        return made

    return make


DETECTORS: dict[str, Callable[[], Detector]] = {
    "test_tamper": _detector(".test_tamper", "TamperDetector"),
    "unrecovered_invalid_call": _detector(".invalid_call", "InvalidCallDetector"),
}
"""Detectors by name; a value makes one and imports what it needs."""

MONITORS: dict[str, Callable[[int], Monitor]] = {
    "invalid_call_drift": _monitor(".invalid_call_drift", "InvalidCallMonitor"),
    "sample_accounting": _monitor(".accounting", "SampleAccounting"),
}
"""Monitors by name; a value takes a seed and makes one."""


def load_detectors(names: Iterable[str] | None = None) -> list[Detector]:
    """Make the named detectors, or all of them.

    Raises:
        ConfigError: there is no detector of a name.
    """
    chosen = list(DETECTORS) if names is None else list(names)
    for name in chosen:
        if name not in DETECTORS:
            raise unknown_name("detector", name, DETECTORS)
    return [DETECTORS[name]() for name in chosen]


def load_monitors(names: Iterable[str] | None = None, *, seed: int = 0) -> list[Monitor]:
    """Make the named monitors, or all of them.

    Raises:
        ConfigError: there is no monitor of a name.
    """
    chosen = list(MONITORS) if names is None else list(names)
    for name in chosen:
        if name not in MONITORS:
            raise unknown_name("monitor", name, MONITORS)
    return [MONITORS[name](seed) for name in chosen]


__all__ = [
    "DETECTORS",
    "MONITORS",
    "Alarm",
    "Detector",
    "Finding",
    "Monitor",
    "Severity",
    "Verdict",
    "load_detectors",
    "load_monitors",
]
