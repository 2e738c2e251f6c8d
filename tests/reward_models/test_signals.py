from __future__ import annotations

import pytest

from sim2live.errors import RewardError
from sim2live.reward_models import SIGNALS
from sim2live.reward_models.signals import (
    acceptance,
    complexity,
    dissatisfaction,
    hidden_tests,
    invalid_calls,
    is_censored,
    max_complexity,
    needless_questions,
    nothing_delivered,
    persistence,
    question_cost,
    questions,
    time,
)
from sim2live.trajectory import (
    Complexity,
    Outcome,
    Polarity,
    Reaction,
    ReactionKind,
    Source,
    ToolCall,
    Trajectory,
    Turn,
)

EDIT = ("edit_file", {"path": "m.py", "old": "a", "new": "b"})
SUBMIT = ("submit", {"message": "done"})
ASK = ("ask_user", {"question": "which one?"})
READ = ("read_file", {"path": "m.py"})
BROKEN = ("edit_file", None)
K = ReactionKind


def test_hidden_tests_are_all_or_nothing_and_unknown_without_an_outcome(session):
    assert hidden_tests(session([READ])) is None
    assert hidden_tests(session([READ], outcome=Outcome(is_solved=True))) == 1.0
    partly = Outcome(hidden_passed=9, hidden_total=10)
    assert hidden_tests(session([READ], outcome=partly)) == 0.0
    assert hidden_tests(session([READ], outcome=Outcome(hidden_passed=9, hidden_total=9))) == 1.0


def test_silence_is_neither_acceptance_nor_rejection(session):
    assert acceptance(session([EDIT, SUBMIT])) == 0.0
    assert acceptance(session([EDIT, SUBMIT], {1: [K.ACCEPT]})) == 1.0
    assert acceptance(session([EDIT, SUBMIT], {1: [K.REJECT]})) == -1.0


def test_the_last_decision_counts_and_an_earlier_rejection_becomes_a_complaint(session):
    t = session([EDIT, SUBMIT, EDIT, SUBMIT], {1: [K.REJECT], 3: [K.ACCEPT]})
    assert acceptance(t) == 1.0
    assert acceptance.credits(t) == {3: 1.0}
    assert dissatisfaction(t) == 1.0
    assert dissatisfaction.credits(t) == {1: 1.0}


@pytest.mark.parametrize("missing", [K.ACCEPT, K.REJECT])
def test_acceptance_is_none_where_the_source_cannot_show_a_decision(session, missing):
    assert acceptance(session([EDIT], unobservable=(missing,))) is None


def test_a_seen_decision_counts_even_if_its_opposite_could_not_be_shown(session):
    t = session([EDIT], {0: [K.REJECT]}, unobservable=(K.ACCEPT,))
    assert acceptance(t) == -1.0


def test_leave_to_run_a_command_is_not_acceptance_of_work(session):
    run = ("Bash", {"command": "ls -la 2>&1"})
    permit = Reaction(kind=K.ACCEPT, turn=0, call_id="c0")
    assert acceptance(session([run], {0: [permit]})) == 0.0
    write = ("Bash", {"command": "sed -i 's/a/b/' m.py"})
    assert acceptance(session([write], {0: [permit]})) == 1.0


def test_accepted_work_without_a_fate_is_censored_not_kept(session):
    t = session([EDIT, SUBMIT], {1: [K.ACCEPT]})
    assert is_censored(t)
    assert persistence(t) is None
    assert persistence(session([EDIT, SUBMIT], {1: [K.ACCEPT, K.PERSIST]})) == 1.0
    assert persistence(session([EDIT, SUBMIT], {1: [K.ACCEPT, K.UNDO]})) == -1.0
    assert persistence(session([READ])) == 0.0
    assert persistence(session([READ], unobservable=(K.UNDO,))) is None


def test_reactions_count_with_their_confidence(session):
    unsure = Reaction(kind=K.ACCEPT, turn=0, confidence=0.6)
    assert acceptance(session([EDIT], {0: [unsure]})) == pytest.approx(0.6)
    for value in (1.5, -0.1, float("nan")):
        wrong = Reaction(kind=K.ACCEPT, turn=0, confidence=value)
        with pytest.raises(RewardError, match="expected a number in"):
            acceptance(session([EDIT], {0: [wrong]}))


def test_dissatisfaction_counts_tone_interrupts_and_leaving_and_is_bounded(session):
    bad = Reaction(kind=K.FOLLOW_UP, turn=0, polarity=Polarity.DISSATISFIED)
    fine = Reaction(kind=K.FOLLOW_UP, turn=0, polarity=Polarity.NEUTRAL)
    assert dissatisfaction(session([EDIT], {0: [bad, fine]})) == 1.0
    assert dissatisfaction(session([EDIT], {0: [bad, K.INTERRUPT, K.LEAVE]})) == 3.0
    assert dissatisfaction(session([EDIT], {0: [bad] * 7})) == 3.0
    assert dissatisfaction(session([EDIT], {0: [K.ACCEPT, K.LEAVE]})) == 0.0
    kinds = (K.FOLLOW_UP, K.INTERRUPT, K.LEAVE, K.RATE)
    assert dissatisfaction(session([EDIT], unobservable=kinds)) is None


def test_questions_are_needless_only_beyond_what_the_ambiguity_justifies(session):
    clear, vague = session([ASK] * 3, ambiguity=0.1), session([ASK] * 3, ambiguity=0.8)
    unknown = session([ASK] * 3)
    assert [questions(t) for t in (clear, vague, unknown)] == [3.0, 3.0, 3.0]
    assert [needless_questions(t) for t in (clear, vague, unknown)] == [3.0, 1.0, None]
    assert [question_cost(t) for t in (clear, vague, unknown)] == [3.0, 1.0, 1.5]
    assert questions(session([ASK] * 9)) == 4.0


def test_only_a_submitted_edit_is_delivered_in_the_repair_environment(session):
    assert nothing_delivered(session([EDIT, SUBMIT])) == 0.0
    assert nothing_delivered(session([EDIT])) == 1.0
    assert nothing_delivered(session([SUBMIT])) == 1.0
    assert nothing_delivered(session([SUBMIT, EDIT])) == 1.0
    assert nothing_delivered(session([BROKEN, SUBMIT])) == 1.0


def test_other_agents_deliver_by_editing_in_place(session):
    edit = ("Edit", {"file_path": "m.py", "old_string": "a", "new_string": "b"})
    assert nothing_delivered(session([edit], source=Source.LIVE)) == 0.0
    refused = session([edit], source=Source.LIVE)
    refused.turns[0].results[0].denied_by = "user"
    assert nothing_delivered(refused) == 1.0
    view = ("str_replace_editor", {"command": "view", "path": "m.py"})
    assert nothing_delivered(session([view], source=Source.LIVE)) == 1.0


def test_time_counts_own_turns_in_units_of_twenty(session):
    t = session([READ] * 5)
    assert time(t) == pytest.approx(0.25)
    t.turns[0].is_copied_context = True
    assert time(t) == pytest.approx(0.20)
    assert time(session([READ] * 50)) == pytest.approx(1.0)


CHOPPED = (
    Complexity(max_per_function=9, mean_per_function=9, total=9, num_functions=1),
    Complexity(max_per_function=2, mean_per_function=1.4, total=24, num_functions=17),
)


def test_chopping_a_function_lowers_the_largest_and_raises_the_total_complexity(session):
    outcome = Outcome(complexity_before=CHOPPED[0], complexity_after=CHOPPED[1])
    t = session([EDIT], outcome=outcome)
    assert max_complexity(t) == pytest.approx(7 / 9)
    assert complexity(t) == 1.0


def test_complexity_is_measured_from_the_files_where_no_outcome_is_known(session):
    before = {"m.py": "def f(a):\n    if a:\n        return 1\n    return 2\n", "tests/t.py": "x"}
    after = {**before, "m.py": before["m.py"] + "\ndef g():\n    return 3\n"}
    assert complexity(session([EDIT], files_before=before, files_after=after)) == 0.5
    assert complexity(session([EDIT], files_before=before, files_after=before)) == 0.0
    simpler = {**before, "m.py": "def f(a):\n    return 2 - bool(a)\n"}
    assert complexity(session([EDIT], files_before=before, files_after=simpler)) == 0.0
    assert complexity(session([EDIT])) is None


def test_code_that_moves_to_a_new_file_still_counts(session):
    before = {"m.py": "def f(a):\n    return 1 if a else 2\n"}
    after = {"m.py": "from n import f\n", "n.py": before["m.py"] + "def g():\n    return 1\n"}
    assert complexity(session([EDIT], files_before=before, files_after=after)) == 0.5
    prose = {"m.py": "x = 1\n"}, {"m.py": "x = 2\n"}
    assert complexity(session([EDIT], files_before=prose[0], files_after=prose[1])) is None


def test_invalid_calls_are_counted_at_their_turn(session):
    t = session([BROKEN, EDIT, BROKEN])
    assert invalid_calls(t) == 2.0
    assert invalid_calls.credits(t) == {0: 1.0, 2: 1.0}
    assert invalid_calls(session([BROKEN] * 9)) == 5.0


def test_only_hidden_tests_reads_the_outcome_that_live_traffic_lacks(session):
    assert [s.name for s in SIGNALS.values() if s.reads_outcome] == ["hidden_tests"]


def test_a_reaction_about_a_turn_that_does_not_exist_is_credited_where_it_stands():
    turn = Turn(
        tool_calls=[ToolCall(id="c", name="write_file", arguments={"path": "m", "text": ""})],
        reactions=[Reaction(kind=K.ACCEPT, turn=99)],
    )
    t = Trajectory(id="t", task_id="x", source=Source.LIVE, turns=[turn])
    assert acceptance.credits(t) == {0: 1.0}
