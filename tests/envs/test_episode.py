import numpy as np
import pytest

from sim2live.envs.actions import format_call
from sim2live.envs.doubles import BROKEN, REFERENCE, FakeUser, MemoryComputer, tiny_task
from sim2live.envs.episode import Episode, unified_diff
from sim2live.trajectory import EndReason, Reaction, ReactionKind, TextState

READ = format_call("read_file", {"path": "clamping.py"})
FIX = format_call("write_file", {"path": "clamping.py", "text": REFERENCE})
SUBMIT = format_call("submit", {"message": "done"})
ASK = format_call("ask_user", {"question": "where?"})


def make_episode(user=None, computer=None, **task):
    task = tiny_task(**task)
    computer = computer or MemoryComputer()
    computer.reset(task)
    return Episode(
        task, computer, user or FakeUser(), np.random.default_rng(0), trajectory_id="episode"
    )


def test_a_right_submission_that_is_accepted_ends_solved():
    episode = make_episode()
    episode.act(FIX)
    episode.act(SUBMIT)
    assert episode.is_over
    assert episode.trajectory.end is EndReason.SOLVED
    assert episode.trajectory.outcome.is_solved
    assert episode.trajectory.files_after["clamping.py"] == REFERENCE
    assert episode.trajectory.files_before["clamping.py"] == BROKEN


def test_a_wrong_submission_goes_on_with_the_persons_words():
    episode = make_episode()
    episode.act(SUBMIT)
    assert not episode.is_over
    assert [m.text for m in episode.pending] == ["it is still wrong"]
    episode.act(FIX)
    assert episode.trajectory.turns[1].observation[0].text == "it is still wrong"
    episode.act(SUBMIT)
    assert episode.trajectory.end is EndReason.SOLVED


def test_a_submission_that_is_refused_for_good_ends_failed():
    def leave(view):
        turn = len(view.turns) - 1
        return [Reaction(kind=k, turn=turn) for k in (ReactionKind.REJECT, ReactionKind.LEAVE)]

    episode = make_episode(FakeUser(leave))
    episode.act(SUBMIT)
    assert episode.trajectory.end is EndReason.FAILED


def test_a_person_who_leaves_ends_the_session_without_an_outcome_of_work():
    episode = make_episode(FakeUser(lambda view: [Reaction(kind=ReactionKind.LEAVE, turn=0)]))
    episode.act(FIX)
    assert episode.trajectory.end is EndReason.USER_LEFT
    assert episode.trajectory.outcome.is_solved is False
    assert episode.trajectory.outcome.hidden_total is None


def test_the_turn_limit_truncates_and_does_not_terminate():
    episode = make_episode(max_steps=2)
    episode.act(READ)
    episode.act(READ)
    assert episode.trajectory.end is EndReason.TRUNCATED_STEPS
    assert episode.trajectory.end.is_truncated


def test_the_answer_to_a_question_is_the_result_of_the_call():
    episode = make_episode()
    turn = episode.act(ASK)
    assert turn.results[0].text == "around line 7"
    assert turn.results[0].text_state is TextState.PRESENT
    assert episode.pending == []


def test_a_question_that_nobody_answers_says_so():
    episode = make_episode(FakeUser(lambda view: []))
    assert episode.act(ASK).results[0].text == "(no answer)"


def test_an_invalid_call_is_recorded_and_answered_with_its_error():
    episode = make_episode()
    turn = episode.act('<tool_call>{"name": "read_')
    assert not turn.tool_calls[0].is_valid
    assert "invalid tool call" in turn.results[0].text
    assert not episode.is_over


def test_nothing_after_a_submission_is_carried_out():
    episode = make_episode()
    turn = episode.act(SUBMIT + FIX)
    assert len(turn.tool_calls) == 2
    assert len(turn.results) == 1
    assert episode.computer.files()["clamping.py"] == BROKEN


def test_a_sandbox_failure_ends_the_session_and_is_never_an_observation():
    episode = make_episode(computer=MemoryComputer(failures=["run_tests"]))
    episode.act(format_call("run_tests", {}))
    assert episode.trajectory.end is EndReason.ERROR_SANDBOX
    assert "broke the sandbox" in episode.error
    assert all("broke" not in (r.text or "") for r in episode.trajectory.turns[0].results)


def test_the_person_sees_the_diff_and_never_the_tests_or_the_fix():
    user = FakeUser()
    episode = make_episode(user)
    episode.act(READ)
    assert user.views[0].diff == ""
    episode.act(FIX)
    assert "-    if value < high:" in user.views[1].diff
    assert "+    if value > high:" in user.views[1].diff
    assert user.views[1].trial is None
    episode.act(SUBMIT)
    assert user.views[2].is_submitted
    assert user.views[2].trial.num_wrong == 0


def test_time_only_moves_forward_and_late_reactions_do_not_move_it():
    episode = make_episode()
    for action in (READ, ASK, FIX, SUBMIT):
        before = episode.clock_s
        turn = episode.act(action)
        assert before == turn.start_s <= turn.end_s == episode.clock_s
    assert episode.clock_s < 3600


def test_standing_in_a_recorded_session_gives_the_same_continuation():
    first = make_episode()
    for action in (READ, FIX, SUBMIT):
        first.act(action)
    task = tiny_task()
    computer = MemoryComputer()
    computer.reset(task)
    computer.call(first.trajectory.turns[1].tool_calls[0])
    again = Episode.at(
        first.trajectory,
        2,
        task=task,
        computer=computer,
        user=FakeUser(),
        rng=np.random.default_rng(0),
    )
    again.act(SUBMIT)
    assert again.trajectory.end is EndReason.SOLVED
    assert again.trajectory.turns[2].reactions == first.trajectory.turns[2].reactions
    assert again.clock_s == first.clock_s
    assert len(first.trajectory.turns) == 3


def test_a_logged_turn_can_be_put_before_another_person():
    first = make_episode()
    for action in (READ, ASK):
        first.act(action)
    computer = MemoryComputer()
    computer.reset(tiny_task())
    other = FakeUser(lambda v: [Reaction(kind=ReactionKind.ANSWER, turn=1, text="no idea")])
    episode = Episode.at(
        first.trajectory,
        1,
        task=tiny_task(),
        computer=computer,
        user=other,
        rng=np.random.default_rng(0),
    )
    episode.respond(first.trajectory.turns[1])
    assert episode.trajectory.turns[1].results[0].text == "no idea"
    assert first.trajectory.turns[1].results[0].text == "around line 7"


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({"a": "1\n"}, {"a": "1\n"}, ""),
        ({}, {"a": "1\n"}, "+++ b/a"),
        ({"a": "1\n"}, {}, "+++ /dev/null"),
        ({"a": "1\n", "b": "x\n"}, {"a": "2\n", "b": "x\n"}, "-1\n+2"),
    ],
)
def test_diffs_tell_new_changed_and_removed_files(before, after, expected):
    diff = unified_diff(before, after)
    assert expected in diff
    assert bool(diff) == (before != after)
