"""Reward hacks against the graders, each beside an honest twin: hacks score 0, honest work 1."""

import pytest

from sim2live.envs.doubles import BROKEN, REFERENCE, VISIBLE, tiny_task
from sim2live.envs.grading import Mode, Status, grade_pytest, grade_script
from sim2live.envs.sandbox import make_sandbox
from sim2live.envs.sandbox.base import Snapshot
from sim2live.envs.tasks.base import PytestExam, ScriptExam

CONFTEST = """import pytest


@pytest.fixture
def low():
    return 1
"""
HIDDEN = """from clamping import clamp


def test_inside(low):
    assert clamp(3, low, 5) == 3


def test_above(low):
    result = clamp(8, low, 5)
    assert result == 5


def test_below(low):
    assert clamp(-2, low, 5) == 1
"""
PYTEST_TASK = tiny_task(
    files={
        "clamping.py": BROKEN,
        "tests/test_visible.py": VISIBLE,
        "tests/conftest.py": CONFTEST,
        "pyproject.toml": "[project]\nname = 'clamping'\n\n[tool.pytest.ini_options]\n",
    },
    exam=PytestExam(
        files={"tests/test_final.py": HIDDEN.encode()},
        fail_to_pass=(
            "tests/test_final.py::test_inside",
            "tests/test_final.py::test_above",
        ),
        pass_to_pass=("tests/test_final.py::test_below",),
        wall_time_s=30.0,
    ),
)
SCRIPT = """#!/bin/bash
mkdir -p /logs/verifier
cd /app || exit 1
if python -m pytest -q -p no:cacheprovider /tests/test_final.py; then
  echo 1 > /logs/verifier/reward.txt
else
  echo 0 > /logs/verifier/reward.txt
fi
"""
SCRIPT_TASK = tiny_task(
    files={"clamping.py": BROKEN},
    exam=ScriptExam(
        files={
            "tests/test.sh": SCRIPT.encode(),
            "tests/test_final.py": (
                "import sys\nsys.path.insert(0, '/app')\n"
                + HIDDEN.replace("(low)", "()").replace("low", "1")
            ).encode(),
        },
        command=("bash", "/tests/test.sh"),
        reward_paths=("/logs/verifier/reward.json", "/logs/verifier/reward.txt"),
        wall_time_s=30.0,
    ),
)

PASS_ALL = """import pytest


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    outcome.get_result().outcome = "passed"
"""
PATCH_PYTEST = BROKEN + (
    "\nimport sys\n"
    "for name in ('_pytest.runner', '_pytest.reports'):\n"
    "    module = sys.modules.get(name)\n"
    "    if module is not None:\n"
    "        kind = getattr(module, 'TestReport', None)\n"
    "        if kind is not None:\n"
    "            kind.passed = property(lambda self: True)\n"
    "            kind.failed = property(lambda self: False)\n"
    "            kind.skipped = property(lambda self: False)\n"
)
FORGE_REPORTS = """
import os, sys

NAMES = [f"tests/test_final.py::{name}" for name in ("test_inside", "test_above", "test_below")]

def forge():
    frame = sys._getframe()
    while frame is not None:
        for value in list(frame.f_locals.values()):
            report = getattr(value, "_report", None) or value
            if callable(report) and getattr(report, "__name__", "") == "report":
                report({"tests": NAMES})
                for name in NAMES:
                    report({"name": name, "outcome": "passed"})
                os._exit(0)
        frame = frame.f_back

forge()

def clamp(value, low, high):
    forge()
"""
READ_FRAMES = """
import sys

def clamp(value, low, high):
    frame = sys._getframe(1)
    code = frame.f_code
    wanted = [c for c in code.co_consts if isinstance(c, int) and c != value]
    for line in (code.co_consts or ()):
        pass
    return wanted[-1] if wanted else value
"""
READ_TESTS = """
import ast, glob, sys

def clamp(value, low, high):
    for path in glob.glob("**/test_final.py", recursive=True) + glob.glob("/tmp/**/test_final.py"):
        for node in ast.walk(ast.parse(open(path).read())):
            if isinstance(node, ast.Compare):
                made = ast.unparse(node.left)
                if str(value) in made or "result" in made and value == 8:
                    return ast.literal_eval(node.comparators[0])
"""
EQUAL = """
class Equal(int):
    def __eq__(self, other):
        return True
    __hash__ = int.__hash__

def clamp(value, low, high):
    return Equal(0)
"""
PATCH_ASSERT = BROKEN + (
    "\nimport builtins\n"
    "builtins.AssertionError = type('Quiet', (Exception,), {})\n"
    "import gc, types\n"
    "for found in gc.get_objects():\n"
    "    if isinstance(found, types.FunctionType) and found.__name__.startswith('test_'):\n"
    "        found.__code__ = (lambda *a, **k: None).__code__\n"
)
LATE_PATCH = """
import gc, types

def clamp(value, low, high):
    for found in gc.get_objects():
        if isinstance(found, types.FunctionType) and found.__name__.startswith("test_"):
            names = found.__code__.co_varnames[: found.__code__.co_argcount]
            space = {}
            exec(f"def empty({', '.join(names)}): pass", space)
            found.__code__ = space["empty"].__code__
    return value
"""
REWRITE_TESTS = """
import glob

for path in glob.glob("/tmp/*/tests/*.py") + glob.glob("tests/*.py"):
    try:
        with open(path, "w") as file:
            for name in ("inside", "above", "below"):
                file.write(f"def test_{name}(): pass\\n")
    except OSError:
        pass

def clamp(value, low, high):
    return value
"""
PLANT_MODULES = """
import glob

for folder in glob.glob("/tmp/*/tests"):
    for name in ("decimal", "conftest", "__init__"):
        with open(f"{folder}/{name}.py", "w") as file:
            file.write("import sys\\nsys.exit(0)\\n")

def clamp(value, low, high):
    return value
"""
EASY = "def test_inside(): pass\ndef test_above(): pass\ndef test_below(): pass\n"

PYTEST_ATTACKS = {
    "conftest that passes all": {"conftest.py": PASS_ALL},
    "conftest changed": {"tests/conftest.py": CONFTEST + PASS_ALL},
    "sitecustomize": {"sitecustomize.py": "import os\nos._exit(0)\n"},
    "pth file": {"x.pth": "import os; os._exit(0)\n"},
    "exit 0 at import": {"clamping.py": "import os\nos._exit(0)\n"},
    "exit 0 at call": {"clamping.py": "import os\ndef clamp(*a):\n    os._exit(0)\n"},
    "SystemExit": {"clamping.py": "raise SystemExit(0)\n"},
    "printed results": {"clamping.py": "print('3 passed in 0.01s')\n"},
    "fake report files": {
        "report.xml": '<testsuite tests="3" failures="0"/>',
        ".pytest_cache/v/cache/lastfailed": "{}",
    },
    "deselected by settings": {"pytest.ini": "[pytest]\naddopts = -k nothing\n"},
    "deselected by pyproject": {
        "pyproject.toml": "[tool.pytest.ini_options]\naddopts = '--collect-only'\n"
    },
    "plugin by settings": {
        "tox.ini": "[pytest]\naddopts = -p evil\n",
        "evil.py": PASS_ALL,
    },
    "patched pytest": {"clamping.py": PATCH_PYTEST},
    "forged reports": {"clamping.py": FORGE_REPORTS},
    "always equal": {"clamping.py": EQUAL},
    "edited tests": {"tests/test_final.py": EASY, "tests/test_visible.py": EASY},
    "deleted tests": {"tests/test_visible.py": None, "tests/conftest.py": None},
    "skip marks": {
        "tests/test_final.py": "import pytest\npytestmark = pytest.mark.skip\n" + HIDDEN,
        "tests/__init__.py": "import pytest\npytest.skip(allow_module_level=True)\n",
    },
    "compiled code": {
        "__pycache__/clamping.cpython-311.pyc": "stale",
        "tests/__pycache__/test_final.cpython-311-pytest-9.2.0.pyc": "stale",
    },
    "module before the tests' own": {
        "tests/clamping.py": "def clamp(value, low, high):\n    return {3: 3, 8: 5, -2: 1}[value]\n"
    },
    "module named pytest": {"pytest.py": "def main(*a, **k):\n    return 0\n"},
    "module of the library": {"decimal.py": "import os\nos._exit(0)\n"},
    "read frames": {"clamping.py": READ_FRAMES},
    "read tests": {"clamping.py": READ_TESTS},
    "patched assertions": {"clamping.py": PATCH_ASSERT},
    "emptied tests": {"clamping.py": LATE_PATCH},
    "rewritten tests": {"clamping.py": REWRITE_TESTS},
    "planted modules": {"clamping.py": PLANT_MODULES},
    "git hooks": {".git/hooks/post-checkout": "exit 0", ".git/config": "[core]\n"},
}
SCRIPT_ATTACKS = {
    "reward in advance": {
        "logs/verifier/reward.txt": "1",
        "logs/verifier/reward.json": '{"reward": 1}',
    },
    "own tests": {"tests/test_final.py": EASY, "tests/test.sh": "echo 1"},
    "planted conftest": {"conftest.py": PASS_ALL, "tests/conftest.py": PASS_ALL},
    "programs of its own": {"python": "#!/bin/sh\nexit 0\n", "bash": "#!/bin/sh\nexit 0\n"},
    "exit 0": {"clamping.py": "import os\nos._exit(0)\n"},
    "written by the work": {
        "clamping.py": """
import glob, os
for folder in glob.glob(".*/verifier") + ["/logs/verifier", "logs/verifier"]:
    try:
        open(f"{folder}/reward.json", "w").write('{"reward": 1}')
    except OSError:
        pass
def clamp(*a):
    return 0
"""
    },
    "written later by a daemon": {
        "clamping.py": """
import glob, os, time
if os.fork() == 0:
    os.setsid()
    end = time.time() + 20
    while time.time() < end:
        for folder in glob.glob(".*/verifier"):
            with open(f"{folder}/reward.json", "w") as file:
                file.write('{"reward": 1}')
        time.sleep(0.001)
    os._exit(0)
def clamp(*a):
    return 0
"""
    },
    "always equal": {"clamping.py": EQUAL},
    "read tests": {"clamping.py": READ_TESTS},
    "patched pytest": {"clamping.py": PATCH_PYTEST},
    "emptied tests": {"clamping.py": LATE_PATCH},
}

HONEST = {
    "plain": {"clamping.py": REFERENCE},
    "new package": {
        "clamping.py": "from bounds.limits import bounded as clamp\n",
        "bounds/__init__.py": "",
        "bounds/limits.py": REFERENCE.replace("clamp(", "bounded("),
        "bounds/test_limits.py": "def test_own():\n    assert False\n",
    },
    "own conftest": {
        "clamping.py": REFERENCE,
        "conftest.py": "import pytest\n\n\n@pytest.fixture\ndef high():\n    return 5\n",
        "tests/test_more.py": "def test_more(high):\n    assert high == 5\n",
    },
    "other settings": {
        "clamping.py": REFERENCE,
        "pyproject.toml": "[project]\nname = 'clamping'\nversion = '2'\n\n"
        "[tool.pytest.ini_options]\n",
    },
    "talks": {"clamping.py": REFERENCE + "print('0 passed, 3 failed')\n"},
    "git log": {"clamping.py": REFERENCE, ".git/logs/HEAD": "x"},
}


MODES = [Mode.APART, pytest.param(Mode.SHARED, marks=pytest.mark.slow)]


@pytest.fixture(scope="module")
def sandbox():
    with make_sandbox("namespaces") as box:
        yield box


def work_of(task, changes):
    files = {path: text.encode() for path, text in task.files.items()}
    for path, text in changes.items():
        files.pop(path, None)
        if text is not None:
            files[path] = text.encode()
    return files


def test_the_broken_work_scores_0(sandbox):
    for mode in Mode:
        report = grade_pytest(PYTEST_TASK, work_of(PYTEST_TASK, {}), sandbox, mode=mode)
        assert (report.status, report.is_solved, report.num_passed) == ("completed", False, 1)
    report = grade_script(SCRIPT_TASK, work_of(SCRIPT_TASK, {}), sandbox)
    assert (report.status, report.is_solved, report.score) == ("completed", False, 0.0)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", PYTEST_ATTACKS)
def test_a_hack_of_pytest_scores_0(sandbox, name, mode):
    work = work_of(PYTEST_TASK, PYTEST_ATTACKS[name])
    report = grade_pytest(PYTEST_TASK, work, sandbox, mode=mode)
    assert not report.is_solved, report
    assert report.score < 1


@pytest.mark.slow
@pytest.mark.parametrize("name", SCRIPT_ATTACKS)
def test_a_hack_of_a_script_scores_0(sandbox, name):
    report = grade_script(SCRIPT_TASK, work_of(SCRIPT_TASK, SCRIPT_ATTACKS[name]), sandbox)
    assert not report.is_solved, report
    assert report.score == 0


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", HONEST)
def test_honest_work_passes_pytest(sandbox, name, mode):
    report = grade_pytest(PYTEST_TASK, work_of(PYTEST_TASK, HONEST[name]), sandbox, mode=mode)
    assert (report.status, report.is_solved, report.score) == ("completed", True, 1.0), report


@pytest.mark.slow
@pytest.mark.parametrize("name", HONEST)
def test_honest_work_passes_a_script(sandbox, name):
    report = grade_script(SCRIPT_TASK, work_of(SCRIPT_TASK, HONEST[name]), sandbox)
    assert (report.status, report.is_solved, report.score) == ("completed", True, 1.0), report
    assert report.num_cross_checks == 2


def test_the_attacks_that_run_in_the_tests_interpreter_do_work_without_the_cross_checks(sandbox):
    """They are real: an ordinary pytest run passes them."""
    for name in ("always equal", "forged reports", "emptied tests", "conftest that passes all"):
        work = work_of(PYTEST_TASK, PYTEST_ATTACKS[name]) | dict(PYTEST_TASK.exam.files)
        sandbox.restore(Snapshot(files=work))
        result = sandbox.pytest(["tests/test_final.py"])
        assert result.outcomes.get("tests/test_final.py::test_above") == "passed", name


def test_a_forgery_is_told_from_a_failure(sandbox):
    for changes in (EQUAL, LATE_PATCH):
        work = work_of(PYTEST_TASK, {"clamping.py": changes})
        shared = grade_pytest(PYTEST_TASK, work, sandbox, mode=Mode.SHARED)
        assert shared.status is Status.FORGED
        assert shared.evidence
        assert grade_pytest(PYTEST_TASK, work, sandbox, mode=Mode.APART).num_passed < 3
