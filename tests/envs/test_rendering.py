"""What people see of a session."""

from __future__ import annotations

import io

from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from sim2live.envs.actions import format_call
from sim2live.envs.doubles import FakeUser, MemoryComputer, tiny_task
from sim2live.envs.rendering import as_text, known_files, moment, printable, scene, show
from sim2live.envs.repair import RepairEnv
from sim2live.trajectory import (
    Message,
    Source,
    ToolCall,
    ToolResult,
    Trajectory,
    Turn,
)

EDIT = format_call(
    "edit_file", {"path": "clamping.py", "old": "value < high", "new": "value > high"}
)


def frames(*actions: str) -> list[str]:
    env = RepairEnv(
        tasks=[tiny_task()],
        make_user=lambda rng: FakeUser(),
        computer=MemoryComputer(),
        render_mode="ansi",
    )
    env.reset(seed=0)
    drawn = [env.render()]
    for action in actions:
        env.step(action)
        drawn.append(env.render())
    return [frame or "" for frame in drawn]


def test_a_session_tells_who_says_what_and_what_became_of_it() -> None:
    first, asked, edited, tested, broken, last = frames(
        "Hm. " + format_call("ask_user", {"question": "where?"}),
        EDIT,
        format_call("run_tests", {}),
        "<tool_call>{broken</tool_call>",
        format_call("submit", {"message": "done"}),
    )
    assert "The person asks" in first and "Please fix this" in first
    assert "The agent says" in asked and "Hm." in asked
    assert "The person answers" in asked and "around line 7" in asked
    assert "-    if value < high:" in edited and "+    if value > high:" in edited
    assert "2 passed, 0 failed" in tested
    assert "{broken" in broken and "[invalid_json]" in broken
    assert "The person accepts" in last and "hidden tests: 2 of 2 pass" in last
    assert "solved: yes" in last and "reward: +" in last


def test_the_files_before_a_turn_follow_from_the_record() -> None:
    def turn(name: str, ok: bool, answer: str = "", **arguments: str) -> Turn:
        call = ToolCall(id="c", name=name, arguments=dict(arguments))
        return Turn(tool_calls=[call], results=[ToolResult(call_id="c", text=answer, ok=ok)])

    record = Trajectory(
        id="x",
        task_id="t",
        source=Source.SIMULATED,
        files_before={"a": "1\n"},
        turns=[
            turn("write_file", True, path="b", text="2\n"),
            turn("write_file", False, path="c", text="3\n"),
            turn("edit_file", True, path="a", old="1", new="4"),
            turn("read_file", True, "5\n", path="d"),
        ],
    )
    assert known_files(record, 0) == {"a": "1\n"}
    assert known_files(record, 4) == {"a": "4\n", "b": "2\n", "d": "5\n"}


HOSTILE = "\x1b[2J\x1b]0;title\x07[bold]not markup[/bold]\x9b1m\r\x08"


def test_text_of_agents_and_programs_cannot_steer_a_terminal_or_the_markup() -> None:
    record = Trajectory(
        id="x",
        task_id=HOSTILE,
        source=Source.SIMULATED,
        instruction=HOSTILE,
        turns=[
            Turn(
                observation=[Message.of("user", HOSTILE)],
                text=HOSTILE,
                tool_calls=[ToolCall(id="c", name=HOSTILE, arguments={"path": HOSTILE})],
                results=[ToolResult(call_id="c", text=HOSTILE, ok=False)],
            )
        ],
    )
    text = as_text(scene(record, is_over=True))
    assert text.count("[bold]not markup[/bold]") >= 3
    assert not set(text) & {"\x1b", "\x07", "\x9b", "\r", "\x08"}
    file = io.StringIO()
    show(scene(record, is_over=True), Console(file=file, force_terminal=True, width=100))
    assert "\x1b]0" not in file.getvalue() and "\x1b[2J" not in file.getvalue()


@given(st.text(max_size=50))
def test_printable_text_has_nothing_but_printable_characters_and_line_ends(text: str) -> None:
    shown = printable(text)
    assert all(character == "\n" or character.isprintable() for character in shown)
    assert printable(shown) == shown


def test_long_texts_lose_their_middle() -> None:
    text = as_text(moment(Turn(text="\n".join(f"line {i}" for i in range(100))), None))
    assert "line 0" in text and "line 99" in text and "76 lines not shown" in text
    assert as_text(moment(Turn(), "code")).startswith("* Nothing is shown")
