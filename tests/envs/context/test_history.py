"""History: commits of a real repository in the sandbox, and the session's own edits."""

from __future__ import annotations

import pytest

from sim2live.envs.context import Change, git_history, session_edits
from sim2live.envs.doubles import tiny_task
from sim2live.envs.sandbox import make_sandbox
from sim2live.envs.sandbox_computer import SandboxComputer
from sim2live.trajectory import Source, ToolCall, ToolResult, Trajectory, Turn


@pytest.fixture(scope="module")
def computer():
    computer = SandboxComputer(make_sandbox("namespaces"))
    computer.reset(tiny_task())
    yield computer
    computer.close()


def run(computer: SandboxComputer, command: str) -> ToolResult:
    return computer.call(ToolCall(id="c", name="run", arguments={"command": command}))


def test_commits_that_touched_a_file_are_listed_newest_first(computer: SandboxComputer) -> None:
    if not run(computer, "git --version").ok:
        pytest.skip("the sandbox offers no git: install git on this machine")
    assert git_history(computer, ["clamping.py"]) == [], "there is no repository yet"
    commit = (
        "GIT_COMMITTER_DATE=2026-01-0{n}T00:00:00Z git -c user.name=a -c user.email=a@b commit -q "
        "--date=2026-01-0{n}T00:00:00Z -m '{subject}'"
    )
    made = run(
        computer,
        "git init -q . && git add clamping.py tests && "
        + commit.format(n=1, subject="First | of all")
        + " && echo '# more' >> clamping.py && git add clamping.py && "
        + commit.format(n=2, subject="Second"),
    )
    assert made.ok, made.text
    changes = git_history(computer, ["clamping.py", "tests/test_visible.py", "nowhere.py"])
    assert [(c.path, c.when, c.summary.split(" ", 1)[1]) for c in changes] == [
        ("clamping.py", "2026-01-02", "Second"),
        ("clamping.py", "2026-01-01", "First | of all"),
        ("tests/test_visible.py", "2026-01-01", "First | of all"),
    ]
    assert git_history(computer, ["clamping.py"], max_commits=1) == changes[:1]
    assert git_history(computer, []) == []


def test_the_sessions_own_edits_are_listed_newest_first_and_only_if_they_succeeded() -> None:
    def turn(name: str, ok: bool, **arguments: str) -> Turn:
        call = ToolCall(id="c", name=name, arguments=dict(arguments))
        return Turn(tool_calls=[call], results=[ToolResult(call_id="c", text="", ok=ok)])

    record = Trajectory(
        id="x",
        task_id="t",
        source=Source.SIMULATED,
        turns=[
            turn("write_file", True, path="a.py", text="1\n2\n"),
            turn("edit_file", False, path="a.py", old="1", new="3"),
            turn("read_file", True, path="a.py"),
            turn("edit_file", True, path="a.py", old=" 1\n2", new="4"),
        ],
    )
    edits = session_edits(record)
    assert edits == [
        Change("a.py", "turn 4", "`1 ...` -> `4`"),
        Change("a.py", "turn 1", "written whole (2 lines)"),
    ]
    assert str(edits[0]) == "a.py: turn 4 `1 ...` -> `4`"
