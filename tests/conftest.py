"""What all tests share: one thread a worker, hypothesis profiles, and where real logs lie."""

from __future__ import annotations

import os
import sys
from pathlib import Path

# Before torch, numpy or scikit-learn start their pools: workers in parallel share few cores.
for _name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[_name] = "1"

import pytest  # noqa: E402
from hypothesis import HealthCheck, Phase, settings  # noqa: E402

_SLOW_HOST = [HealthCheck.too_slow]  # says how loaded the machine is, not whether the code is right
settings.register_profile("quick", deadline=None, max_examples=25, suppress_health_check=_SLOW_HOST)
settings.register_profile("ci", settings.get_profile("quick"), derandomize=True)
settings.register_profile(
    "no_shrink", settings.get_profile("quick"), phases=[Phase.explicit, Phase.reuse, Phase.generate]
)
settings.register_profile("thorough", settings.get_profile("quick"), max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if "CI" in os.environ else "quick"))

_SHARED_DATA = Path(__file__).resolve().parents[1] / ".." / "shared" / "data"


@pytest.fixture(scope="session", autouse=True)
def _one_torch_thread() -> None:
    """Hold torch to one thread if something imported it before this file set the environment."""
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.set_num_threads(1)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Folder of real logs and synthetic cases, which lie beside the checkout."""
    if not _SHARED_DATA.is_dir():
        pytest.skip("the sample logs (`../shared/data` beside the checkout) are not here")
    return _SHARED_DATA


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print how many attacks each sandbox contained: what tests recorded as `sandbox`.

    Here and not beside those tests: under xdist the process that prints loads no other conftest.
    """
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
