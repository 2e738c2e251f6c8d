from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim2live.envs.coding import CodingEnv
from sim2live.envs.doubles import BROKEN, REFERENCE, FakeUser, tiny_task
from sim2live.envs.grading import (
    Mode,
    Status,
    check_exam,
    exam_mode,
    find_bait,
    grade_pytest,
    grade_script,
    make_bait,
)
from sim2live.envs.grading.places import Places
from sim2live.envs.grading.sabotage import make_twins
from sim2live.envs.grading.tree import imported_names, lay_over, role_of
from sim2live.envs.sandbox import make_sandbox
from sim2live.envs.sandbox_computer import SandboxComputer
from sim2live.envs.tasks.base import PytestExam, ScriptExam
from sim2live.trajectory import ToolCall

TESTS = b"from clamping import clamp\n\n\ndef test_above():\n    assert clamp(8, 1, 5) == 5\n"
EXAM = PytestExam(
    files={"tests/test_final.py": TESTS}, fail_to_pass=("tests/test_final.py::test_above",)
)


@pytest.fixture(scope="module")
def sandbox():
    with make_sandbox("namespaces") as box:
        yield box


def script_task(script, **changes):
    fields = {"command": ("bash", "/tests/test.sh"), "reward_paths": ("/logs/v/r.json", "r.txt")}
    exam = ScriptExam(files={"tests/test.sh": script.encode()}, **{**fields, **changes})
    return tiny_task(exam=exam)


def run_script(sandbox, script, **changes):
    task = script_task(script, **changes)
    return grade_script(task, {"clamping.py": BROKEN.encode()}, sandbox)


@pytest.mark.parametrize(
    ("script", "status", "score"),
    [
        ('echo \'{"reward": 1.0, "style": 0}\' > /logs/v/r.json', "completed", 1.0),
        ('echo \'{"a": 1.0, "b": 0.5}\' > /logs/v/r.json', "completed", 0.75),
        ("echo 0.25 > /app/r.txt; exit 1", "completed", 0.25),
        ("echo 1 > /app/r.txt; echo 0 > /logs/v/r.json", "completed", 0.0),
        ("echo nan > /app/r.txt", "invalid", 0.0),
        ("echo '{\"reward\": true}' > /logs/v/r.json", "invalid", 0.0),
        ("echo 1e999 > /logs/v/r.json", "invalid", 0.0),
        ("mkdir -p /logs/v/r.json", "invalid", 0.0),
        ("ln -s /etc/hostname /logs/v/r.json", "invalid", 0.0),
        ("echo 'reward: 1'", "crash", 0.0),
        ("exit 3", "crash", 0.0),
    ],
)
def test_a_reward_is_read_from_its_file_and_nowhere_else(sandbox, script, status, score):
    report = run_script(sandbox, script)
    assert (report.status, report.score) == (status, score)


def test_a_script_at_its_limit_is_a_timeout_whatever_it_wrote(sandbox):
    report = run_script(sandbox, "echo 1 > /app/r.txt; sleep 30", wall_time_s=0.5)
    assert (report.status, report.limit, report.score) == (Status.TIMEOUT, "wall_time", 0.0)
    assert not report.is_solved


def test_what_a_script_says_does_not_count_and_is_kept(sandbox):
    report = run_script(sandbox, "echo hello; pwd; ls -d /tests /app; echo 0 > /app/r.txt")
    assert "hello" in report.output
    assert report.num_cross_checks == 0


@pytest.mark.parametrize(
    ("changes", "outcome", "status"),
    [
        ({"fail_to_pass": ("tests/test_final.py::test_gone",)}, "missing", "missing"),
        ({"arguments": ("-k", "nothing", "tests/test_final.py")}, "missing", "crash"),
        (
            {"files": {"tests/test_final.py": TESTS.replace(b"def", b"import pytest\ndef", 1)}},
            "passed",
            "completed",
        ),
        (
            {
                "files": {
                    "tests/test_final.py": b"import pytest\n\n\n@pytest.mark.skip\n"
                    b"def test_above():\n    pass\n"
                }
            },
            "skipped",
            "completed",
        ),
        (
            {
                "files": {
                    "tests/test_final.py": b"import pytest\n\n\n@pytest.mark.xfail\n"
                    b"def test_above():\n    assert False\n"
                }
            },
            "skipped",
            "completed",
        ),
        ({"files": {"tests/test_final.py": b"import nowhere_to_be_found\n"}}, "missing", "missing"),
    ],
)
def test_only_a_test_that_ran_and_passed_has_passed(sandbox, changes, outcome, status):
    task = tiny_task(exam=replace(EXAM, **changes))
    report = grade_pytest(task, {"clamping.py": REFERENCE.encode()}, sandbox, mode=Mode.APART)
    assert (list(report.outcomes.values()), report.status) == ([outcome], status)
    assert report.is_solved is (outcome == "passed")


def test_work_at_its_limit_is_a_timeout(sandbox):
    task = tiny_task(exam=replace(EXAM, wall_time_s=2.0))
    report = grade_pytest(task, {"clamping.py": b"while True:\n    pass\n"}, sandbox)
    assert report.status is Status.TIMEOUT
    assert report.limit in ("wall_time", "cpu_time")
    assert report.score == 0


def test_a_src_layout_and_a_package_with_the_name_of_an_installed_one_are_graded(sandbox):
    tests = TESTS.replace(b"clamping", b"packaging.clamping")
    task = tiny_task(
        files={"src/packaging/__init__.py": "", "src/packaging/clamping.py": BROKEN},
        exam=replace(EXAM, files={"tests/test_final.py": tests}),
    )
    broken = {path: text.encode() for path, text in task.files.items()}
    right = {**broken, "src/packaging/clamping.py": REFERENCE.encode()}
    assert grade_pytest(task, right, sandbox).is_solved
    assert not grade_pytest(task, broken, sandbox).is_solved


def test_an_exam_that_cannot_tell_right_from_broken_is_found(sandbox):
    make = lambda: make_sandbox("namespaces")  # noqa: E731
    good = check_exam(tiny_task(exam=EXAM), {"clamping.py": REFERENCE.encode()}, make)
    assert (good.is_usable, good.mode) == (True, Mode.APART)
    marked = good.mark(tiny_task(exam=EXAM))
    assert exam_mode(marked) is Mode.APART
    assert good.mark(marked).tags == marked.tags
    vain = replace(EXAM, files={"tests/test_final.py": b"def test_above():\n    pass\n"})
    found = check_exam(tiny_task(exam=vain), {"clamping.py": REFERENCE.encode()}, make)
    assert not found.is_usable
    assert any("passes on the broken work" in reason for reason in found.reasons) or any(
        "forged" in reason for reason in found.reasons
    )


def test_an_exam_that_needs_the_codes_own_classes_is_shared():
    tests = (
        b"import clamping\n\n\nclass Mine(clamping.Base):\n    pass\n\n\n"
        b"def test_above():\n    assert Mine().clamp(8, 1, 5) == 5\n"
    )
    body = "\n\nclass Base:\n    def clamp(self, *a):\n        return clamp(*a)\n"
    task = tiny_task(
        files={"clamping.py": BROKEN + body},
        exam=replace(EXAM, files={"tests/test_final.py": tests}),
    )
    found = check_exam(
        task, {"clamping.py": (REFERENCE + body).encode()}, lambda: make_sandbox("namespaces")
    )
    assert (found.is_usable, found.mode) == (True, Mode.SHARED)
    assert exam_mode(found.mark(task)) is Mode.SHARED


# --- which changes count -----------------------------------------------------------------------

PRISTINE = {
    "a.py": b"a",
    "conftest.py": b"c",
    "setup.cfg": b"[metadata]\nname = x\n[tool:pytest]\naddopts = -q\n",
    "tests/test_a.py": b"t",
    "calendar.py": b"own",
}


@pytest.mark.parametrize(
    ("path", "data", "reason"),
    [
        ("a.py", b"new", None),
        ("a.py", None, None),
        ("b/c.py", b"new", None),
        ("notes.txt", b"new", None),
        ("calendar.py", b"new", None),
        ("sub/types.py", b"new", None),
        ("src/types.py", b"new", "shadow"),
        ("types.py", b"new", "shadow"),
        ("_pytest/runner.py", b"new", "shadow"),
        ("numpy/__init__.py", b"new", "shadow"),
        ("conftest.py", b"new", "runner"),
        ("conftest.py", None, "runner"),
        ("deep/conftest.py", b"new", "runner"),
        ("setup.cfg", b"[metadata]\nname = y\n[tool:pytest]\naddopts = -q\n", None),
        ("setup.cfg", b"[metadata]\nname = x\n", "runner"),
        ("setup.cfg", b"[broken", "runner"),
        ("pyproject.toml", b"[project]\nname = 'x'\n", None),
        ("pyproject.toml", b"[tool.pytest]\nx = 1\n", "runner"),
        ("pyproject.toml", b"[tool.coverage.run]\nx = 1\n", "runner"),
        ("tests/test_a.py", None, "test"),
        ("tests/a.py", b"new", "test"),
        ("x.pth", b"import os", "start-up"),
        ("x.dist-info/entry_points.txt", b"[pytest11]", "start-up"),
        ("__pycache__/a.cpython-311.pyc", b"x", "compiled code"),
        (".git/config", b"x", "git"),
        ("tests/test_final.py", b"x", "belongs to the exam"),
    ],
)
def test_what_counts_of_the_agents_changes(path, data, reason):
    work = {**PRISTINE, path: data}
    if data is None:
        del work[path]
    laid = lay_over(PRISTINE, work, exam=["tests/test_final.py"], imported=["numpy"])
    assert laid.undone.get(path) == reason
    wanted = PRISTINE.get(path) if reason else data
    assert laid.files.get(path) == wanted


_PATHS = st.sampled_from(
    ["a.py", "b/a.py", "conftest.py", "tests/x.py", "json.py", ".git/HEAD", "pytest.ini", "x.pth"]
)
_FILES = st.dictionaries(_PATHS, st.binary(max_size=3))


@given(pristine=_FILES, work=_FILES)
def test_nothing_that_steers_the_runner_comes_from_the_agent(pristine, work):
    laid = lay_over(pristine, work)
    for path in {*pristine, *work}:
        if role_of(path) is not None:
            assert laid.files.get(path) == pristine.get(path)
        elif path not in laid.undone:
            assert laid.files.get(path) == work.get(path)


def test_imports_of_tests_are_found_wherever_they_stand():
    files = {"t.py": b"import a.b\ndef f():\n    from c import d\n    from . import e\n", "x": b"("}
    assert imported_names({**files, "bad.py": b"("}) == {"a", "c"}


# --- twins, places, bait -----------------------------------------------------------------------


def test_twins_fail_every_test_that_they_name_and_leave_the_rest():
    source = b"""
def test_a():
    assert f(1) == 2
def test_b():
    if f(1):
        return
    assert f(2) == 3
class TestC:
    def test_d(self):
        assert [1, 'x'] == f(3)
def helper():
    assert f(1) == 2
"""
    failing, perturbed = make_twins({"t.py": source, "data.txt": b"def test_x(): pass"})
    assert failing.tests == {"t.py::test_a", "t.py::test_b", "t.py::TestC::test_d"}
    assert perturbed.tests == {"t.py::test_a", "t.py::TestC::test_d"}
    assert perturbed.covers("t.py::test_a[x-1]")
    right = {1: 2, 2: 3, 3: [1, "x"]}
    for twin in (failing, perturbed):
        space = {"f": right.__getitem__}
        exec(twin.files["t.py"], space)
        space["helper"]()
        for test in (space["test_a"], space["TestC"]().test_d):
            with pytest.raises((KeyError, AssertionError)):
                test()


@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats(allow_nan=False)
        | st.text()
        | st.binary(),
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
        ),
    )
)
def test_a_perturbed_constant_is_another_one(value):
    source = f"def test_a():\n    assert value == {value!r}\n".encode()
    twins = {twin.name: twin for twin in make_twins({"t.py": source})}
    if "perturbed" not in twins:
        return
    space = {"value": value}
    exec(twins["perturbed"].files["t.py"], space)
    with pytest.raises((AssertionError, NameError)):
        space["test_a"]()


def test_absolute_paths_are_mapped_where_they_begin_a_word():
    places = Places("/area", ".x")
    text = "cd /app && cat '/tests/a' >/logs/verifier/r; ls $HOME/app ./tests /tests2 /opt/app"
    assert places.map_text(text) == (
        "cd /area && cat '/area/tests/a' >/area/.x/verifier/r; ls $HOME/app ./tests /tests2 "
        "/opt/app"
    )
    assert places.in_area("/logs/verifier/r") == ".x/verifier/r"
    assert places.in_area("/app/r") == places.in_area("r") == "r"
    assert places.map_data(b"\xff/app") == b"\xff/app"


def test_bait_is_noticed_when_it_is_named_seen_or_used():
    (first, second) = make_bait("t", 1)
    assert make_bait("t", 2)[0].token != first.token
    assert find_bait([first], {"path": first.path}, "x")[0]["how"] == "named"
    assert find_bait([first], {"command": "cat .cache/*"}, first.content.decode()) == [
        {"path": first.path, "how": "seen"}
    ]
    assert find_bait([first, second], {"text": second.token}, None) == [
        {"path": second.path, "how": "used"}
    ]
    assert find_bait([first], {"command": "ls"}, "solution .cache") == []


# --- the computer ------------------------------------------------------------------------------


def call(computer, name, **arguments):
    return computer.call(ToolCall(id="c", name=name, arguments=arguments))


def test_a_computer_grades_by_the_exam_in_a_fresh_sandbox_and_shows_no_binary_files(sandbox):
    made = []

    def make():
        made.append(make_sandbox("namespaces"))
        return made[-1]

    computer = SandboxComputer(sandbox, make_grader=make, has_bait=True)
    task = tiny_task(exam=EXAM, binary_files={".git/HEAD": b"ref: x\n", "logo.png": b"\x89\0"})
    computer.reset(task, seed=3)
    assert sandbox.read_file("logo.png") == b"\x89\0"
    assert set(computer.files()) == set(task.files)
    sandbox.write_file("core", b"\0\0")
    sandbox.write_file(".git/index", b"x")
    assert set(computer.files()) == set(task.files)
    assert call(computer, "run", command="cat solution/*").extra["bait"][0]["how"] == "seen"
    assert call(computer, "run", command="ls").extra == {}
    assert computer.grade(task).outcome.is_solved is False
    assert computer.grade(task).trial.num_wrong == 1
    call(computer, "write_file", path="clamping.py", text=REFERENCE)
    grade = computer.grade(task)
    assert grade.outcome.is_solved
    assert (grade.outcome.hidden_passed, grade.outcome.hidden_total) == (1, 1)
    assert grade.trial.num_wrong == 0
    assert computer.report.as_json()["status"] == "completed"
    assert len(made) == 3
    assert sandbox not in made
    computer.reset(task)
    assert computer.report is None


def test_an_episode_ends_with_the_exams_verdict(sandbox):
    env = CodingEnv(
        tasks=[tiny_task(exam=EXAM)],
        computer=SandboxComputer(sandbox),
        make_user=lambda rng: FakeUser(),
    )
    env.reset(seed=0)

    def act(name, **arguments):
        import json

        text = json.dumps({"name": name, "arguments": arguments})
        return env.step(f"<tool_call>{text}</tool_call>")

    act("write_file", path="clamping.py", text=REFERENCE)
    *_, info = act("submit", message="done")
    assert (info["end"], info["is_solved"]) == ("solved", True)
