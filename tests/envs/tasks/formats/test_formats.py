import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim2live.envs.coding import CodingEnv
from sim2live.envs.doubles import FakeUser
from sim2live.envs.grading import grade_exam
from sim2live.envs.repair import RepairEnv
from sim2live.envs.sandbox import make_sandbox
from sim2live.envs.sandbox_computer import SandboxComputer
from sim2live.envs.tasks.base import PytestExam, TaskKind
from sim2live.envs.tasks.formats import load_tasks, read_tasks
from sim2live.errors import ConfigError, FormatError

DATA = Path(__file__).with_name("data")
HUMANEVAL = [json.loads(line) for line in (DATA / "humaneval.jsonl").read_text().splitlines()]
MBPP = [json.loads(line) for line in (DATA / "mbpp.jsonl").read_text().splitlines()]


@pytest.fixture(scope="module")
def sandbox():
    with make_sandbox("namespaces") as box:
        yield box


def write(folder, *records, name="tasks.jsonl"):
    path = folder / name
    lines = [r if isinstance(r, str) else json.dumps(r) for r in records]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("name", ["humaneval", "mbpp"])
def test_the_right_work_is_solved_and_the_stub_is_not(sandbox, name):
    tasks = load_tasks(DATA / f"{name}.jsonl")
    assert len(tasks) == 2
    computer = SandboxComputer(sandbox)
    for task in tasks:
        assert task.kind is TaskKind.IMPLEMENT
        computer.reset(task)
        assert computer.grade(task).outcome.hidden_passed == 0
        sandbox.write_file(task.module_path, task.reference.encode())
        outcome = computer.grade(task).outcome
        assert outcome.is_solved, task.id
        assert outcome.visible_total == outcome.visible_passed > 0


def test_what_is_visible_and_what_is_hidden():
    first, second = load_tasks(DATA / "humaneval.jsonl")
    assert "[1, 3, 6]" in first.files["tests/test_visible.py"]
    assert "5, -5" not in "".join(first.files.values())
    assert "callable" in second.files["tests/test_visible.py"]
    assert first.files["solution.py"].endswith("raise NotImplementedError\n")
    gap, ring = load_tasks(DATA / "mbpp.jsonl")
    assert "widest_gap([1, 4, 6]) == 3" in gap.files["tests/test_visible.py"]
    assert "widest_gap([]) == 0" in gap.hidden_tests
    assert "10, 11" not in "".join(gap.files.values())
    assert "import math" in ring.hidden_tests
    for task in (gap, ring):
        assert "zip(" not in task.files["solution.py"] and "pi" not in task.files["solution.py"]


def test_with_a_sandbox_references_are_checked_and_wrong_examples_dropped(tmp_path):
    wrong = {**HUMANEVAL[0], "prompt": HUMANEVAL[0]["prompt"].replace("[1, 3, 6]", "[1, 3, 7]")}
    broken = {**HUMANEVAL[1], "canonical_solution": "    return True\n"}
    done = {**MBPP[0], "test_list": ["assert widest_gap"]}
    path = write(tmp_path, wrong, broken)
    report = read_tasks(path, make_sandbox=make_sandbox)
    assert [task.id for task in report.tasks] == ["humaneval/Own/0"]
    assert "7]" not in report.tasks[0].files["tests/test_visible.py"]
    assert "its own solution does not pass" in str(report.problems[0])
    assert read_tasks(write(tmp_path, done)).num_skipped == 1


def test_tests_that_judge_cannot_express_become_a_pytest_exam(tmp_path):
    record = {
        "task_id": "Own/2",
        "entry_point": "count",
        "prompt": 'def count(items):\n    """Return how many items there are."""\n',
        "canonical_solution": "    return sum(1 for _ in items)\n",
        "test": "class Bag:\n    def __iter__(self):\n        return iter([1, 2])\n\n"
        "def check(candidate):\n    assert candidate(Bag()) == 2\n",
    }
    (task,) = load_tasks(write(tmp_path, record), make_sandbox=make_sandbox)
    assert isinstance(task.exam, PytestExam)
    assert "exam-mode:shared" in task.tags
    right = {"solution.py": task.reference.encode()}
    assert grade_exam(task, right, make_sandbox).is_solved
    assert not grade_exam(task, {}, make_sandbox).is_solved


def test_packed_files_and_json_lists_are_read_too(tmp_path):
    packed = tmp_path / "a.jsonl.gz"
    packed.write_bytes(gzip.compress((DATA / "humaneval.jsonl").read_bytes()))
    assert [t.id for t in load_tasks(packed)] == [
        t.id for t in load_tasks(DATA / "humaneval.jsonl")
    ]
    (tmp_path / "a.json").write_text(json.dumps(MBPP))
    assert len(load_tasks(tmp_path / "a.json")) == 2


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"entry_point": None}, "field `entry_point` is missing"),
        ({"entry_point": "other"}, "has no function `other`"),
        ({"entry_point": "a b"}, "expected the name of a function"),
        ({"prompt": 3}, "field `prompt` is a int; expected a string"),
        ({"prompt": "def running_total(:"}, "field `prompt` is not valid Python"),
        ({"canonical_solution": "return ("}, "canonical_solution` is not valid Python"),
        ({"test": "x = 1"}, "has no `check(candidate)`"),
        ({"test": ""}, "field `test` is empty"),
        ({"prompt": "\ud800"}, "surrogate"),
        ({"task_id": 10**30}, "too large"),
    ],
)
def test_a_bad_humaneval_field_is_named_with_its_line(tmp_path, change, words):
    path = write(tmp_path, HUMANEVAL[1], {**HUMANEVAL[0], **change})
    with pytest.raises(FormatError) as error:
        load_tasks(path)
    assert words in str(error.value)
    assert f"{path}:2" in str(error.value)
    assert [task.id for task in load_tasks(path, on_error="skip")] == ["humaneval/Own/1"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"test_list": []}, "`test_list` is empty"),
        ({"test_list": "x"}, "expected a list of strings"),
        ({"test_list": ["assert ("]}, "not valid Python"),
        ({"test_list": ["assert other(1)"]}, "defines no function"),
        ({"code": ""}, "field `code` is empty"),
    ],
)
def test_a_bad_mbpp_field_is_named(tmp_path, change, words):
    with pytest.raises(FormatError, match="1 problems") as error:
        load_tasks(write(tmp_path, {**MBPP[0], **change}))
    assert words in str(error.value)


def test_all_problems_of_a_file_are_listed_and_every_record_is_counted(tmp_path):
    bad = {**HUMANEVAL[0], "task_id": "x", "prompt": None}
    path = write(tmp_path, "{", HUMANEVAL[0], bad, "[1]", HUMANEVAL[0])
    with pytest.raises(FormatError) as error:
        load_tasks(path)
    for line in (1, 3, 4, 5):
        assert f"{path}:{line}:" in str(error.value)
    assert "already" in str(error.value)
    report = read_tasks(path)
    assert (report.num_records, len(report.tasks), report.num_skipped) == (5, 1, 4)


def test_a_file_of_no_known_format_says_what_is_known(tmp_path):
    with pytest.raises(FormatError, match="no known format"):
        load_tasks(write(tmp_path, {"a": 1}))
    with pytest.raises(FormatError, match="no such file"):
        load_tasks(tmp_path / "nowhere.jsonl")
    with pytest.raises(ConfigError, match="Did you mean `humaneval`"):
        load_tasks(DATA / "humaneval.jsonl", format="human_eval")
    with pytest.raises(ConfigError, match="on_error"):
        load_tasks(DATA / "humaneval.jsonl", on_error="ignore")
    with pytest.raises(FormatError, match="neither a Harbor task"):
        load_tasks(tmp_path)
    with pytest.raises(FormatError, match="are a folder"):
        load_tasks(DATA / "humaneval.jsonl", format="harbor")


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=4,
)
_SOURCES = st.sampled_from(
    [
        *("", "f", "[", "def f(:", "\0", "\ud800", "x=" * 9, "    return x\n"),
        "def f(x):\n    '''>>> f(1)\n    2\n    '''\n",
        "assert f(1) == 2",
        "def check(candidate):\n    assert candidate(1) == 2\n",
    ]
)
_FIELD_NAMES = (
    "task_id prompt canonical_solution test entry_point text code test_list test_setup_code "
    "challenge_test_list test_imports instance_id repo base_commit problem_statement patch "
    "test_patch FAIL_TO_PASS PASS_TO_PASS"
).split()


@pytest.mark.parametrize("format", ["humaneval", "mbpp", "swebench", None])
@settings(max_examples=60)
@given(
    fields=st.dictionaries(
        st.sampled_from(_FIELD_NAMES), _SOURCES | st.lists(_SOURCES, max_size=2) | _VALUES
    ),
    raw=st.binary(max_size=40),
)
def test_hostile_input_gives_no_other_error(tmp_path_factory, format, fields, raw):
    folder = tmp_path_factory.mktemp("hostile")
    path = folder / "tasks"
    path.write_bytes(json.dumps(fields).encode() + b"\n" + raw)
    try:
        report = read_tasks(path, format=format, repositories=folder)
    except FormatError:
        return
    assert report.num_records == len(report.tasks) + report.num_skipped
    for task in report.tasks:
        assert task.content_hash


@pytest.mark.parametrize(
    "data",
    [b"[" * 100_000, b'{"entry_point":' * 50_000, b"\x1f\x8b broken", b"\xff\xfe", b"", b"\0"],
)
def test_hostile_files_give_no_other_error(tmp_path, data):
    (tmp_path / "x").write_bytes(data)
    for format in (None, "humaneval", "mbpp"):
        with pytest.raises(FormatError):
            load_tasks(tmp_path / "x", format=format)


def act(env, name, **arguments):
    return env.step(f"<tool_call>{json.dumps({'name': name, 'arguments': arguments})}</tool_call>")


@pytest.mark.parametrize("kind", [RepairEnv, CodingEnv])
def test_a_file_runs_end_to_end(sandbox, kind):
    tasks = load_tasks(DATA / "humaneval.jsonl")
    env = kind(tasks=tasks, computer=SandboxComputer(sandbox), make_user=lambda rng: FakeUser())
    for task in tasks:
        env.reset(seed=1, options={"task": task})
        act(env, "submit", message="nothing done")
        assert not env.trajectory.outcome.is_solved
        observation, _ = env.reset(seed=1, options={"task": task})
        assert "solution.py" in observation
        act(env, "write_file", path="solution.py", text=task.reference)
        observation, *_ = act(env, "run_tests")
        assert "0 failed" in observation
        *_, terminated, truncated, info = act(env, "submit", message="done")
        assert (terminated, truncated, info["is_solved"]) == (True, False, True)
