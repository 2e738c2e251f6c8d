"""Shows, at the end of a test run, how many attacks each backend contained."""

from __future__ import annotations

import pytest


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what tests recorded as `sandbox`; works under xdist too."""
    lines = [
        str(value)
        for reports in terminalreporter.stats.values()
        for report in reports
        if getattr(report, "when", "") == "call"
        for name, value in getattr(report, "user_properties", [])
        if name == "sandbox"
    ]
    if lines:
        terminalreporter.section("sandbox")
        for line in sorted(set(lines)):
            terminalreporter.write_line(line)
