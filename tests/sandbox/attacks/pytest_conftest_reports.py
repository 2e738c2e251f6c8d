"""Plants a conftest.py whose hooks turn every report into a success, and its exit status too.

Within that call it may lie to itself. Contained: grading in the same work area does not see it.
"""

KIND = "drive"
NEEDS_PYTEST = True
UNPROTECTED = "refused"

_CONFTEST = """
import pytest
from attacker import tried

tried("hooks")

@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    report.outcome, report.longrepr = "passed", None

def pytest_runtest_logreport(report):
    report.outcome, report.longrepr = "passed", None

@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session):
    session.exitstatus = 0
"""
_TESTS = "from solution import double\n\ndef test_double():\n    assert double(2) == 4\n"


def drive(scene):
    """Run pytest over it, then judge and check in the same folder."""
    wrong = "def double(x):\n    return 0\n"
    files = {"conftest.py": _CONFTEST, "solution.py": wrong, "test_it.py": _TESTS}
    scene.pytest(files)
    for call in (scene.sandbox.judge, scene.sandbox.check):
        if call(_TESTS).num_passed:
            raise Escaped("a conftest.py made graded tests pass")  # noqa: F821 - given by the judge
