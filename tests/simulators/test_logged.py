from copy import deepcopy

import pytest

from sim2live.simulators import Brief, Trial
from sim2live.simulators.logged import Backstage, views
from sim2live.trajectory import (
    EndReason,
    Message,
    Reaction,
    ReactionKind,
    Source,
    ToolCall,
    ToolResult,
    Trajectory,
    Turn,
)

FILES = {"m.py": "x = 1\n", "tests/test_m.py": "assert x\n"}


def turn(name: str, at_s: float, reactions: list[Reaction] | None = None, **arguments: str) -> Turn:
    call = ToolCall(id=f"{name}-{at_s}", name=name, arguments=dict(arguments))
    result = ToolResult(call_id=call.id, text="out", ok=True, start_s=at_s, end_s=at_s + 1)
    return Turn(
        observation=[Message.of("user", "Fix x.", time_s=at_s)] if at_s == 100 else [],
        tool_calls=[call],
        results=[result],
        reactions=reactions or [],
        start_s=at_s,
        end_s=at_s + 9,
    )


def session(*turns: Turn, own: bool = True, **changes: object) -> Trajectory:
    trajectory = Trajectory(
        id="t", task_id="task", source=Source.LIVE, turns=list(turns), files_before=dict(FILES)
    )
    trajectory.extra = {"task": {"module_path": "m.py"}} if own else {}
    for name, value in changes.items():
        setattr(trajectory, name, value)
    return trajectory


def edit(at_s: float, old: str = "x = 1", new: str = "x = 2") -> Turn:
    return turn("edit_file", at_s, path="m.py", old=old, new=new)


def test_one_view_a_turn_with_what_had_happened_by_then() -> None:
    log = session(turn("read_file", 100), edit(110), turn("submit", 120), instruction="Fix x.")
    seen = list(views(log))
    assert [len(view.turns) for view in seen] == [1, 2, 3]
    assert [view.elapsed_s for view in seen] == [1, 11, 21]
    assert [bool(view.diff) for view in seen] == [False, True, True]
    assert [view.is_submitted for view in seen] == [False, False, True]
    assert all(view.request == "Fix x." and view.trial is None for view in seen)
    assert "-x = 1\n+x = 2\n" in seen[-1].diff


def test_reactions_to_the_turn_and_later_leave_no_trace() -> None:
    log = session(turn("ask_user", 100, question="What?"), edit(110), turn("submit", 120))
    changed = deepcopy(log)
    changed.turns[0].results[0].text = "the boundary"
    changed.turns[0].results[0].end_s = 105.0
    changed.turns[0].end_s = 107.0
    changed.turns[0].extra = {"interrupted": True}
    changed.turns[0].reactions = [Reaction(kind=ReactionKind.ANSWER, turn=0, time_s=105)]
    changed.turns[1].observation = [Message.of("user", "no!")]
    changed.turns[2].reactions = [Reaction(kind=ReactionKind.REJECT, turn=2, time_s=123)]
    changed.closing = [Message.of("user", "bye")]
    before, after = list(views(log)), list(views(changed))
    assert before[0] == after[0]
    assert before[0].question == "What?"
    assert after[0].turns[0].results[0].text is None
    assert after[2].turns[0].results[0].text == "the boundary"  # by now it is known
    assert after[2].turns[2].reactions == []
    changed.turns[1].observation = []
    assert list(views(changed))[2].turns[2] == before[2].turns[2]


def test_a_reaction_that_comes_late_is_not_seen_before_its_time() -> None:
    undo = Reaction(kind=ReactionKind.UNDO, turn=0, time_s=115)
    undated = Reaction(kind=ReactionKind.PERSIST, turn=0)
    log = session(turn("submit", 100, [undo, undated]), edit(110), turn("submit", 120))
    seen = list(views(log))
    assert seen[1].turns[0].reactions == []
    assert seen[2].turns[0].reactions == [undo]
    assert log.turns[0].reactions == [undo, undated]


@pytest.mark.parametrize("denied_by", [None, "user"])
def test_a_foreign_result_does_not_tell_what_the_person_decided(denied_by: str | None) -> None:
    first = turn("Edit", 100, file_path="m.py", old_string="x = 1", new_string="x = 2")
    first.results[0].denied_by = denied_by
    first.results[0].ok = denied_by is None
    log = session(first, turn("Bash", 110, command="ls"), own=False)
    now, later = views(log)
    assert now.turns[0].results[0].text is None
    assert now.turns[0].results[0].denied_by is None
    assert "+x = 2" in now.diff  # the proposal is what they judge
    assert ("+x = 2" in later.diff) is (denied_by is None)


def test_a_foreign_agent_hands_in_by_talking_and_asks_with_a_question_mark() -> None:
    done, asking = Turn(text="All done."), Turn(text="Which file do you mean?")
    log = session(turn("Bash", 100), asking, done, own=False)
    assert [view.is_submitted for view in views(log)] == [False, False, True]
    assert [view.question for view in views(log)] == [None, "Which file do you mean?", None]
    own = session(turn("run", 100), asking, done)
    assert not any(view.is_submitted or view.question for view in views(own))


def test_an_edit_that_failed_changes_nothing_in_our_own_logs() -> None:
    failed = edit(100)
    failed.results[0].ok = False
    assert not next(views(session(failed))).diff


def test_what_a_shell_changed_is_seen_at_the_end() -> None:
    after = FILES | {"tests/test_m.py": "assert True\n"}
    log = session(turn("run", 100), turn("submit", 110), files_after=after)
    assert ["tests/test_m.py" in view.diff for view in views(log)] == [False, True]


def test_without_known_files_the_diff_is_made_of_what_was_edited() -> None:
    first = turn("Edit", 100, file_path="m.py", old_string="x = 1", new_string="x = 2")
    second = turn("Write", 110, file_path="tests/test_m.py", content="assert True\n")
    log = session(first, second, own=False, files_before=None)
    one, two = views(log)
    assert "+++ b/m.py" in one.diff and "-x = 1" in one.diff
    assert "+assert True" in two.diff and "-x = 1" in two.diff


def test_turns_nobody_could_react_to_give_no_view() -> None:
    copied = turn("read_file", 90)
    copied.is_copied_context = True
    log = session(copied, turn("read_file", 100), edit(110), end=EndReason.ERROR_SANDBOX)
    assert [len(view.turns) for view in views(log)] == [2]
    assert list(views(session())) == []


def test_a_stand_in_may_say_what_its_person_knew() -> None:
    brief = Brief(task_id="task", goal="x is wrong", kind_hint="a wrong sign")
    trial = Trial(num_tried=3, num_wrong=1)
    log = session(edit(100), turn("submit", 110))
    seen = list(views(log, Backstage(brief=brief, trials={1: trial})))
    assert [view.trial for view in seen] == [None, trial]
    assert all(view.brief is brief for view in seen)
