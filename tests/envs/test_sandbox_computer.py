import pytest

from sim2live.envs.check_cache import CheckCache
from sim2live.envs.doubles import REFERENCE, tiny_task
from sim2live.envs.sandbox import make_sandbox
from sim2live.envs.sandbox_computer import SandboxComputer, measure_complexity, parse_counts
from sim2live.trajectory import ToolCall


@pytest.fixture(scope="module")
def sandbox():
    box = make_sandbox("namespaces")
    yield box
    box.close()


@pytest.fixture
def computer(sandbox):
    computer = SandboxComputer(sandbox)
    computer.reset(tiny_task())
    return computer


def call(computer, name, **arguments):
    return computer.call(ToolCall(id="c", name=name, arguments=arguments))


def test_files_are_read_written_and_edited(computer):
    assert "def clamp" in call(computer, "read_file", path="clamping.py").text
    assert call(computer, "write_file", path="notes/a.txt", text="hello").ok
    assert call(computer, "edit_file", path="notes/a.txt", old="hell", new="jell").ok
    assert call(computer, "read_file", path="notes/a.txt").text == "jello"
    assert "notes/a.txt" in computer.files()


def test_failing_tools_say_why_and_do_not_raise(computer):
    assert "cannot read `nowhere.py`" in call(computer, "read_file", path="nowhere.py").text
    twice = call(computer, "edit_file", path="clamping.py", old="return", new="x")
    assert twice.ok is False
    assert "occurs 3 times" in twice.text
    outside = call(computer, "read_file", path="../../etc/passwd")
    assert outside.ok is False
    assert "root:" not in outside.text


def test_search_gives_path_line_and_text(computer):
    found = call(computer, "search", pattern="value < high").text
    assert found == "clamping.py:7:     if value < high:"
    assert call(computer, "search", pattern="no such thing").text == "nothing found"


def test_commands_really_run(computer):
    result = call(computer, "run", command="python3 -c 'print(6 * 7)'; exit 3")
    assert result.text.strip() == "42"
    assert result.exit_code == 3
    assert result.ok is False


def test_the_visible_tests_run_from_the_work_area(computer):
    before = call(computer, "run_tests")
    assert parse_counts(before.text) == (0, 2)
    call(computer, "write_file", path="clamping.py", text=REFERENCE)
    after = call(computer, "run_tests")
    assert after.ok
    assert parse_counts(after.text) == (2, 0)


def test_grading_uses_pristine_tests_whatever_the_agent_did_to_its_own(computer):
    call(computer, "write_file", path="tests/test_visible.py", text="def test_ok():\n    pass\n")
    assert call(computer, "run_tests").ok
    grade = computer.grade(tiny_task())
    assert grade.outcome.is_solved is False
    assert grade.outcome.visible_passed < grade.outcome.visible_total == 2
    assert grade.trial.num_wrong > 0


def test_a_right_module_is_solved_in_every_part(computer):
    call(computer, "write_file", path="clamping.py", text=REFERENCE)
    grade = computer.grade(tiny_task())
    assert grade.outcome.is_solved
    assert (grade.outcome.hidden_passed, grade.outcome.hidden_total) == (2, 2)
    assert grade.trial.num_wrong == 0


@pytest.mark.parametrize(
    "module",
    [
        "import os\nos._exit(0)\n",
        "raise SystemExit(0)\n",
        "def clamp(:\n",
        "while True:\n    pass\n",
        "print('2 passed, 0 failed')\n",
    ],
    ids=["exit", "system-exit", "syntax", "endless", "boast"],
)
def test_a_module_that_dodges_its_tests_is_not_solved(computer, module):
    call(computer, "write_file", path="clamping.py", text=module)
    outcome = computer.grade(tiny_task()).outcome
    assert outcome.is_solved is False
    assert outcome.hidden_passed == 0
    assert outcome.hidden_total == 2


_FORGE = """
import gc, os, sys
def clamp(value, low, high):
    frame = sys._getframe()
    while frame is not None:
        report = frame.f_locals.get("report")
        if callable(report):
            for part in ("visible", "trial", "hidden"):
                for name in ("inside", "above"):
                    report({"name": f"test_{part}_test_{name}", "outcome": "passed"})
            os._exit(0)
        frame = frame.f_back
"""
_EMPTY_TESTS = """
import gc, types
def clamp(value, low, high):
    for found in gc.get_objects():
        if isinstance(found, types.FunctionType) and found.__name__.startswith("test_"):
            found.__code__ = (lambda: None).__code__
"""
_LIAR = """
class Liar(int):
    __eq__ = lambda self, other: True
    __hash__ = int.__hash__
def clamp(value, low, high):
    return Liar(0)
"""


@pytest.mark.parametrize("module", [_FORGE, _EMPTY_TESTS, _LIAR], ids=["forge", "empty", "liar"])
def test_a_module_that_attacks_its_tests_fools_the_agents_run_of_them_and_not_the_grade(
    computer, module
):
    call(computer, "write_file", path="clamping.py", text=module)
    outcome = computer.grade(tiny_task()).outcome
    assert (outcome.hidden_passed, outcome.visible_passed) == (0, 0)
    call(computer, "write_file", path="clamping.py", text=_LIAR)
    assert call(computer, "run_tests").ok


def test_the_cache_tells_a_judgement_from_a_check(sandbox):
    cache = CheckCache()
    computer = SandboxComputer(sandbox, cache)
    computer.reset(tiny_task())
    call(computer, "write_file", path="clamping.py", text=_LIAR)
    tests = "from clamping import clamp\ndef test_a():\n    assert clamp(3, 1, 5) == 3\n"
    assert computer._run_once("check", tests, None).is_ok
    assert not computer._run_once("judge", tests, None).is_ok
    assert (cache.num_hits, cache.num_misses) == (0, 2)


def test_a_cached_check_gives_the_same_and_runs_once(sandbox):
    cache = CheckCache()
    first, second = SandboxComputer(sandbox, cache), SandboxComputer(sandbox, cache)
    first.reset(tiny_task())
    one = first.grade(tiny_task())
    second.reset(tiny_task())
    assert second.grade(tiny_task()) == one
    assert (cache.num_hits, cache.num_misses) == (1, 1)
    call(second, "write_file", path="clamping.py", text=REFERENCE)
    assert second.grade(tiny_task()).outcome.is_solved
    assert cache.hit_frac == pytest.approx(1 / 3)


def test_the_cache_forgets_the_least_recently_used():
    cache = CheckCache(max_entries=1)
    computer = SandboxComputer(make_sandbox("namespaces"), cache)
    computer.reset(tiny_task())
    for text in ("def test_a():\n    pass\n", "def test_b():\n    pass\n") * 2:
        call(computer, "write_file", path="tests/test_visible.py", text=text)
        call(computer, "run_tests")
    computer.close()
    assert cache.num_hits == 0


def test_complexity_counts_decisions_and_knows_when_there_is_nothing_to_count():
    measured = measure_complexity(REFERENCE)
    assert (measured.total, measured.num_functions) == (3.0, 1)
    assert measure_complexity("x = 1\n") is None
    assert measure_complexity("def broken(:\n") is None
