import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sim2live.envs.coding import CodingEnv
from sim2live.envs.doubles import REFERENCE, FakeUser, tiny_task
from sim2live.envs.grading import grade_exam
from sim2live.envs.repair import RepairEnv
from sim2live.envs.sandbox import make_sandbox
from sim2live.envs.sandbox_computer import SandboxComputer
from sim2live.envs.tasks.base import PytestExam
from sim2live.envs.tasks.formats import load_tasks, read_tasks, write_harbor
from sim2live.errors import ConfigError, FormatError

SLUG = Path(__file__).with_name("data") / "harbor" / "slug"
RIGHT = """import re


def slug(title):
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")
"""
LAZY = "def slug(title):\n    return title.lower().replace(' ', '-')\n"


@pytest.fixture
def slug(tmp_path):
    return shutil.copytree(SLUG, tmp_path / "slug")


def test_a_folder_is_read_as_the_agent_and_the_grader_find_it():
    (task,) = load_tasks(SLUG)
    assert task.id == "harbor/own/slug"
    assert set(task.files) == {"examples.txt"}
    assert "`slug.py`" in task.brief.goal and "/app" not in task.brief.goal
    assert set(task.exam.files) == {"tests/test.sh", "tests/test_outputs.py"}
    assert (task.exam.wall_time_s, task.difficulty) == (60.0, 0.25)
    assert "image:python:3.11-slim" in task.tags
    assert [t.id for t in load_tasks(SLUG.parent)] == [task.id]


@pytest.mark.slow
def test_its_own_solution_is_solved_and_nothing_is_not():
    (loaded,) = read_tasks(SLUG, make_sandbox=make_sandbox).loaded
    assert loaded.solution["slug.py"].decode() == RIGHT
    assert not grade_exam(loaded.task, {"slug.py": LAZY.encode()}, make_sandbox).is_solved


@pytest.mark.parametrize("kind", [RepairEnv, pytest.param(CodingEnv, marks=pytest.mark.slow)])
def test_a_folder_runs_end_to_end(kind):
    computer = SandboxComputer(make_sandbox("namespaces"))
    env = kind(tasks=load_tasks(SLUG), computer=computer, make_user=lambda rng: FakeUser())
    ends = []
    for text in (LAZY, RIGHT):
        env.reset(seed=1)
        for name, arguments in (
            ("write_file", {"path": "slug.py", "text": text}),
            ("submit", {"message": "done"}),
        ):
            call = json.dumps({"name": name, "arguments": arguments})
            *_, info = env.step(f"<tool_call>{call}</tool_call>")
        ends.append(env.trajectory.outcome.is_solved)
        assert computer.report.status == "completed"
    assert ends == [False, True]
    assert info["end"] == "solved"
    env.close()


@pytest.mark.parametrize(
    ("path", "text", "words"),
    [
        ("task.toml", "[task\n", "file `task.toml` is not valid TOML"),
        ("task.toml", "verifier = 3\n", "field `verifier` is a int; expected an object"),
        ("task.toml", "[verifier]\ntimeout_sec = -1\n", "field `timeout_sec` is -1"),
        ("task.toml", "[verifier]\ntimeout_sec = 'x'\n", "field `timeout_sec` is a string"),
        ("task.toml", None, "file `task.toml` is missing"),
        ("instruction.md", "  \n", "file `instruction.md` is empty"),
        ("instruction.md", None, "file `instruction.md` is missing"),
        ("tests/test.sh", None, "file `tests/test.sh` is missing"),
        ("tests/test.sh", "x\nuvx pytest\n", "line 2 calls `uvx`"),
        ("environment/Dockerfile", "FROM x\nRUN pip install y\n", "Dockerfile` line 2"),
        ("environment/Dockerfile", "FROM x\nCOPY a /app/\n", "has no `a`"),
        ("environment/Dockerfile", "FROM x\nCOPY examples.txt /etc/\n", "outside the work area"),
        ("environment/Dockerfile", "FROM x\nCOPY examples.txt /app/../x\n", "`..`"),
        ("environment/Dockerfile", "FROM x\nCOPY --from=y a /app/\n", "only copies from"),
        ("environment/docker-compose.yaml", "services: {}\n", "starts services"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(slug, path, text, words):
    (slug / path).unlink(missing_ok=True)
    if text is not None:
        (slug / path).write_text(text)
    with pytest.raises(FormatError) as error:
        load_tasks(slug)
    assert words in str(error.value)
    assert str(slug) in str(error.value)


def test_one_bad_folder_does_not_hide_the_others(slug):
    shutil.copytree(SLUG, slug.parent / "other")
    (slug / "task.toml").write_text("x")
    report = read_tasks(slug.parent)
    assert (report.num_records, len(report.tasks), report.num_skipped) == (2, 1, 1)


def test_a_prepared_sandbox_may_need_what_a_dockerfile_installs(slug):
    (slug / "environment/Dockerfile").write_text(
        "FROM x\nWORKDIR /app/sub\nRUN pip install \\\n  y\nCOPY . .\nRUN mkdir -p /app/z\n"
    )
    (task,) = load_tasks(slug, is_prepared=True)
    assert set(task.files) == {"sub/examples.txt"}


def test_links_are_refused(slug):
    (slug / "tests/link").symlink_to("/etc/passwd")
    with pytest.raises(FormatError, match="link or special file"):
        load_tasks(slug)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(
    path=st.sampled_from(
        ["task.toml", "instruction.md", "tests/test.sh", "environment/Dockerfile", "tests/x.py"]
    ),
    data=st.binary(max_size=60)
    | st.text(max_size=60).map(lambda text: text.encode("utf-8", "surrogatepass"))
    | st.lists(
        st.sampled_from(
            ["FROM", "COPY", "ADD", "WORKDIR", "/app", "..", "\\\n", "\n", "'", "./", "a"]
        ),
        max_size=9,
    ).map(lambda words: " ".join(words).encode()),
)
def test_hostile_folders_give_no_other_error(slug, path, data):
    kept = (slug / path).read_bytes() if (slug / path).exists() else None
    (slug / path).write_bytes(data)
    try:
        load_tasks(slug)
    except FormatError:
        pass
    finally:
        if kept is None:
            (slug / path).unlink()
        else:
            (slug / path).write_bytes(kept)


# --- writing -----------------------------------------------------------------------------------

TESTS = "from clamping import clamp\n\n\ndef test_above():\n    assert clamp(8, 1, 5) == 5\n"
EXAM = PytestExam(
    files={"tests/test_final.py": TESTS.encode()},
    fail_to_pass=("tests/test_final.py::test_above",),
)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["hidden tests", "pytest", "script"])
def test_what_is_written_grades_as_the_task_did(tmp_path, kind):
    if kind == "script":
        (task,), right, wrong = load_tasks(SLUG), {"slug.py": RIGHT}, {"slug.py": LAZY}
    else:
        task = tiny_task(exam=EXAM if kind == "pytest" else None)
        right = {**task.files, "clamping.py": REFERENCE}
        wrong = {**task.files, "conftest.py": "import os\nos._exit(0)\n"}
    solution = {path: text.encode() for path, text in right.items()}
    folder = write_harbor(task, tmp_path / "out", solution=solution)
    (loaded,) = read_tasks(folder, make_sandbox=make_sandbox).loaded
    assert dict(loaded.task.files) == dict(task.files)
    for work, wanted in ((right, True), (wrong, False)):
        files = {path: text.encode() for path, text in work.items()}
        if task.exam is not None:
            assert grade_exam(task, files, make_sandbox).is_solved is wanted
        assert grade_exam(loaded.task, files, make_sandbox).is_solved is wanted
    again = write_harbor(loaded.task, tmp_path / "again")
    (second,) = load_tasks(again)
    assert dict(second.exam.files) == dict(loaded.task.exam.files)
    assert second.brief.goal == loaded.task.brief.goal
    assert second.id == loaded.task.id


def test_what_cannot_be_written_is_refused(tmp_path):
    (tmp_path / "x").write_text("")
    with pytest.raises(ConfigError, match="not an empty folder"):
        write_harbor(tiny_task(), tmp_path)
    with pytest.raises(ConfigError, match="neither hidden tests nor an exam"):
        write_harbor(tiny_task(hidden_tests=""), tmp_path / "new")
    (task,) = load_tasks(SLUG)
    other = replace(task, exam=replace(task.exam, command=("python", "x.py")))
    with pytest.raises(ConfigError, match="Harbor runs"):
        write_harbor(other, tmp_path / "other")
