import json
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

from sim2live.errors import ConfigError
from sim2live.experiments.mismatch.teacher_forcing import (
    Backstage,
    ReactionComparison,
    ReactionLine,
    compare_reactions,
    views,
)
from sim2live.experiments.mismatch.verdicts import Verdict
from sim2live.simulators import (
    LABELS,
    PERSONAS,
    Brief,
    Population,
    ScriptedUser,
    Trial,
    User,
    UserView,
)
from sim2live.simulators.panel import Panel
from sim2live.trajectory import (
    Message,
    Reaction,
    ReactionKind,
    Source,
    ToolCall,
    ToolResult,
    Trajectory,
    Turn,
)

Draw = Callable[[np.random.Generator], User]
BRIEF = Brief(task_id="t", goal="`f` is wrong", kind_hint="a wrong sign", place_hint="at line 3")
MODULE = "x = 0\n"


def play(user: User, rng: np.random.Generator, name: str, max_turns: int = 16) -> Trajectory:
    """Let a careless agent work for a person, and record what the environment would record."""
    request = user.open(BRIEF)
    log = Trajectory(id=name, task_id="t", source=Source.LIVE, user_id=user.user_id)
    log.instruction, log.files_before = request, {"m.py": MODULE}
    log.extra = {"task": {"module_path": "m.py"}, "views": [], "trials": {}}
    clock_s, content = 0.0, MODULE
    pending = [Message.of("user", request, time_s=0.0)]
    for index in range(max_turns):
        tool = str(rng.choice(["read_file", "edit_file", "run_tests", "ask_user", "submit"]))
        call = ToolCall(id=f"c{index}", name=tool, arguments={})
        result = ToolResult(call_id=call.id, text="1 passed, 0 failed", ok=True)
        if tool == "ask_user":
            call.arguments, result.text = {"question": "What?"}, None
        if tool == "edit_file":
            new = f"x = {index + 1}\n"
            call.arguments = {"path": "m.py", "old": content, "new": new}
            content = new
        turn = Turn(observation=pending, tool_calls=[call], results=[result], start_s=clock_s)
        result.end_s = clock_s + 1
        log.turns.append(turn)
        trial = None
        if tool == "submit":
            trial = Trial(num_tried=3, num_wrong=int(rng.random() < 0.5))
            log.extra["trials"][index] = trial
        view = UserView(
            brief=BRIEF,
            request=request,
            turns=list(log.turns),
            diff="" if content == MODULE else f"+++ b/m.py\n-{MODULE}+{content}",
            elapsed_s=clock_s + 1,
            is_submitted=tool == "submit",
            question="What?" if tool == "ask_user" else None,
            trial=trial,
        )
        if isinstance(user, ScriptedUser):
            log.extra["views"].append(user.reaction_probabilities(view))
        turn.reactions = user.react(view, rng)
        clock_s += 1
        clock_s, pending = hear(turn, clock_s)
        turn.end_s = clock_s
        kinds = {reaction.kind for reaction in turn.reactions}
        if "leave" in kinds or (tool == "submit" and "reject" not in kinds):
            break
    return log


def hear(turn: Turn, clock_s: float) -> tuple[float, list[Message]]:
    pending = []
    for reaction in turn.reactions:
        if reaction.kind not in ("undo", "persist") and reaction.time_s is not None:
            clock_s = max(clock_s, reaction.time_s)
        if reaction.kind in ("reject", "steer", "follow_up"):
            pending.append(Message.of("user", reaction.text))
        if reaction.kind == "answer":
            turn.results[0].text = reaction.text
    return clock_s, pending


def backstage(log: Trajectory) -> Backstage:
    return Backstage(brief=BRIEF, trials=log.extra["trials"])


def people(name: str, **changes: float) -> Draw:
    persona = replace(PERSONAS[name], **changes)
    return lambda rng: ScriptedUser(persona, user_id=f"u{int(rng.integers(1 << 30))}")


def record(make: Draw, seed: int, num_users: int, sessions_each: int = 4) -> list[Trajectory]:
    rng = np.random.default_rng(seed)
    users = [make(rng) for _ in range(num_users)]
    return [
        play(user, rng, f"s{i}-{j}") for i, user in enumerate(users) for j in range(sessions_each)
    ]


def by_kind(found: ReactionComparison) -> dict[str, ReactionLine]:
    return {line.kind: line for line in found.lines}


def compare(
    logs: list[Trajectory], make: Draw, seed: int = 0, **rest: object
) -> ReactionComparison:
    return compare_reactions(logs, make, seed=seed, draws=16, backstage=backstage, **rest)


def test_a_logged_prefix_gives_the_probabilities_that_the_person_had() -> None:
    make = Population({"expert": 1, "hurried": 1, "novice": 1}, spread=0.5).sample_user
    rng = np.random.default_rng(0)
    for index in range(40):
        user = make(rng)
        log = play(user, rng, str(index))
        replayed = [user.reaction_probabilities(view) for view in views(log, backstage(log))]
        assert replayed == log.extra["views"]


CARELESS = {
    "strictness": 0.7,
    "review_depth": 0.3,
    "late_discovery": 0.5,
    "vagueness": 0.5,
    "answer_quality": 0.6,
}
"""Traits with which every reaction below is common enough to be judged."""


def test_logs_of_the_same_people_match() -> None:
    make = people("hurried", **CARELESS)
    found = compare(record(make, seed=1, num_users=60), make)
    lines = by_kind(found)
    assert {line.verdict for line in found.lines} <= {Verdict.MATCH, Verdict.INCONCLUSIVE}
    for kind in ("accept", "reject", "leave", "interrupt"):
        assert lines[kind].verdict is Verdict.MATCH, lines[kind]
        assert abs(lines[kind].difference or 1) < 0.03
        assert (lines[kind].real_rate or 0) > 0.01
        assert (lines[kind].log_loss or 9) < (lines[kind].base_log_loss or 0)
        assert (lines[kind].ece or 0) < 0.03
    assert found.two_sample.verdict is Verdict.INCONCLUSIVE
    assert abs((found.two_sample.auc or 0) - 0.5) < 0.06


def test_other_people_do_not_match_and_the_difference_has_the_right_sign() -> None:
    logs = record(people("hurried"), seed=2, num_users=60)
    found = compare(logs, people("default"))
    lines = by_kind(found)
    assert lines["leave"].verdict is Verdict.MISMATCH
    assert (lines["leave"].high or 0) < 0  # the easy mode hardly ever leaves
    assert (lines["leave"].q_value or 1) <= 0.05
    truth = by_kind(compare(logs, people("hurried")))["leave"]
    assert (lines["leave"].log_loss or 0) > 1.2 * (truth.log_loss or 9)
    assert (lines["leave"].brier or 0) > 1.2 * (truth.brier or 9)
    assert (lines["leave"].ece or 0) > 2 * (truth.ece or 9)
    assert found.two_sample.verdict is Verdict.MISMATCH
    assert (found.two_sample.auc or 0) > 0.53
    assert any("leave" in name for name, _ in found.two_sample.features)


def test_false_mismatches_are_rare_over_seeds() -> None:
    make = people("strict")
    wrong_lines = wrong_tests = 0
    for seed in range(8):
        found = compare(record(make, seed=seed, num_users=16, sessions_each=3), make, seed=seed)
        wrong_lines += any(line.verdict is Verdict.MISMATCH for line in found.lines)
        wrong_tests += found.two_sample.verdict is Verdict.MISMATCH
        assert found.two_sample.verdict is not Verdict.NOT_IDENTIFIABLE
    # 8 runs at 5%: more than 2 happen with probability 0.006.
    assert wrong_lines <= 2
    assert wrong_tests <= 2


def test_a_varied_population_is_recognised_as_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """Impatient people are gone by turn ten; who compares blindly would call that a mismatch."""
    personas = {
        "hurried": replace(PERSONAS["hurried"], **CARELESS),
        "lenient_late": replace(
            PERSONAS["lenient_late"],
            strictness=0.3,
            review_depth=0.1,
            late_discovery=0.8,
            vagueness=0.3,
        ),
    }
    make = Population(
        {"hurried": 1, "lenient_late": 1}, num_users=1000, spread=0.5, personas=personas
    ).sample_user
    logs = record(make, seed=3, num_users=50)
    found = compare(logs, make)
    with monkeypatch.context() as patch:
        patch.setattr(Panel, "learn", lambda self, real, observable: None)
        blind = compare(logs, make)
    for kind in ("leave", "interrupt"):
        fair, unfair = by_kind(found)[kind], by_kind(blind)[kind]
        assert abs(fair.difference or 1) < 0.5 * abs(unfair.difference or 0)
        assert (fair.log_loss or 9) < (unfair.log_loss or 0)
    assert not [line for line in found.lines if line.verdict is Verdict.MISMATCH]
    assert found.two_sample.verdict is Verdict.INCONCLUSIVE


def test_one_trait_alone_is_found_where_it_shows() -> None:
    logs = record(people("expert", late_discovery=1.0, review_depth=0.2), seed=4, num_users=60)
    lines = by_kind(compare(logs, people("expert", late_discovery=0.0, review_depth=0.2)))
    assert lines["undo"].verdict is Verdict.MISMATCH
    assert (lines["undo"].difference or 0) < -0.03
    assert all(lines[k].verdict is not Verdict.MISMATCH for k in ("steer", "leave", "answer"))
    assert lines["reject"].verdict is Verdict.MATCH
    assert lines["undo"].margin is not None and lines["undo"].margin < 0.05


def test_a_rare_reaction_that_the_simulation_never_shows_is_no_match() -> None:
    logs = record(people("default"), seed=4, num_users=60, sessions_each=3)
    rng = np.random.default_rng(0)
    for log in logs:
        for turn in log.turns:
            if rng.random() < 0.03:
                turn.reactions.append(Reaction(kind=ReactionKind.EDIT, turn=0))
    lines = by_kind(compare(logs, people("default")))
    assert lines["edit"].verdict is Verdict.MISMATCH
    assert lines["rewind"].verdict is Verdict.INCONCLUSIVE
    assert "neither side" in lines["rewind"].reason


def test_what_the_log_cannot_show_is_not_identifiable_rather_than_zero() -> None:
    make = people("lenient_late")
    logs = record(make, seed=5, num_users=40)
    for log in logs:
        log.unobservable = (ReactionKind.UNDO, ReactionKind.PERSIST)
        for turn in log.turns:
            turn.reactions = [r for r in turn.reactions if r.kind not in log.unobservable]
    found = compare(logs, make)
    for kind in ("undo", "persist"):
        line = by_kind(found)[kind]
        assert line.verdict is Verdict.NOT_IDENTIFIABLE
        assert (line.num_views, line.real_rate, line.difference) == (0, None, None)
        assert "could have shown" in line.reason
    # Had the gap been read as zeros, the test would have seen through the simulation at once.
    assert found.two_sample.verdict is Verdict.INCONCLUSIVE


def test_only_sessions_that_can_show_a_kind_count_for_it() -> None:
    make = people("lenient_late")
    logs = record(make, seed=6, num_users=20, sessions_each=2)
    for log in logs[::2]:
        log.unobservable = (ReactionKind.UNDO,)
    lines = by_kind(compare(logs, make))
    assert lines["undo"].num_views == sum(len(log.turns) for log in logs[1::2])
    assert lines["accept"].num_views == sum(len(log.turns) for log in logs)


def test_answers_are_judged_where_a_question_was_asked() -> None:
    make = people("default")
    logs = record(make, seed=7, num_users=20, sessions_each=2)
    line = by_kind(compare(logs, make))["answer"]
    assert line.num_views == sum(
        log.turns[i].tool_calls[0].name == "ask_user" for log in logs for i in range(len(log.turns))
    )
    assert (line.real_rate or 0) > 0.9
    silent = [log for log in logs if not any(c.name == "ask_user" for c in log.tool_calls)]
    line = by_kind(compare(silent, make))["answer"]
    assert (line.verdict, line.reason) == (
        Verdict.NOT_IDENTIFIABLE,
        "the agent never asked a question",
    )


def test_few_users_get_newcombes_interval_and_no_verdict() -> None:
    make = people("expert")
    found = compare(record(make, seed=8, num_users=3, sessions_each=5), make)
    line = by_kind(found)["accept"]
    assert line.method.startswith("Newcombe")
    assert line.low is not None and line.high is not None and line.difference is not None
    assert line.low < line.difference < line.high
    assert line.verdict is Verdict.NOT_IDENTIFIABLE
    assert line.p_value is None
    assert found.two_sample.verdict is Verdict.NOT_IDENTIFIABLE
    assert "10 users are needed" in found.two_sample.reason


def test_a_single_user_has_an_in_sample_base_rate_and_says_so() -> None:
    make = people("expert")
    alone = by_kind(compare(record(make, seed=9, num_users=1), make))["accept"]
    several = by_kind(compare(record(make, seed=9, num_users=6), make))["accept"]
    assert not alone.is_base_cross_fitted
    assert several.is_base_cross_fitted


def test_the_base_rate_of_a_user_comes_from_the_others() -> None:
    """Two users who are each other's opposite: the cross-fitted base rate must fail on both."""
    logs = [
        Trajectory(
            id=str(i),
            task_id="t",
            source=Source.LIVE,
            user_id=f"u{i % 2}",
            instruction="Fix.",
            turns=[
                Turn(
                    text="Done.",
                    reactions=[Reaction(kind=ReactionKind.RATE, turn=0)] if i % 2 else [],
                )
            ],
        )
        for i in range(20)
    ]
    line = by_kind(compare_reactions(logs, people("default"), seed=0))["rate"]
    assert line.real_rate == 0.5
    assert line.base_log_loss == pytest.approx(-np.log(0.5 / 11))


def test_an_interval_counts_users_not_turns() -> None:
    """The same behaviour shown five times over by the same users is hardly more evidence."""
    make = Population({"hurried": 1, "novice": 1}, spread=0.5, num_users=500).sample_user
    logs = record(make, seed=10, num_users=15, sessions_each=2)
    copies = [replace(log, id=f"{log.id}-{k}") for log in logs for k in range(5)]
    other = people("default")
    once, often = (by_kind(compare(part, other))["reject"] for part in (logs, copies))
    assert once.low is not None and once.high is not None
    assert often.low is not None and often.high is not None
    assert often.high - often.low == pytest.approx(once.high - once.low, rel=0.1)


def test_sessions_without_a_user_are_counted_and_named() -> None:
    make = people("expert")
    logs = record(make, seed=11, num_users=6, sessions_each=1)
    for log in logs[:4]:
        log.user_id = None
    found = compare(logs, make)
    assert (found.num_users, found.num_sessions_without_user) == (6, 4)
    assert "4 sessions name no user" in found.explanation


def test_a_user_without_closed_form_is_drawn_from() -> None:
    class Wrapped:
        def __init__(self, inner: ScriptedUser) -> None:
            self.inner, self.user_id = inner, "wrapped"

        def open(self, brief: Brief) -> str:
            return self.inner.open(brief)

        def react(self, view: UserView, rng: np.random.Generator) -> list[Reaction]:
            return self.inner.react(view, rng)

    persona = PERSONAS["hurried"]
    logs = record(people("hurried"), seed=12, num_users=8, sessions_each=2)
    known = by_kind(compare(logs, people("hurried")))
    drawn = by_kind(
        compare_reactions(
            logs, lambda rng: Wrapped(ScriptedUser(persona)), seed=0, draws=16, backstage=backstage
        )
    )
    for kind in ("accept", "reject", "leave"):
        assert drawn[kind].simulated_rate == pytest.approx(known[kind].simulated_rate, abs=0.03)


def test_the_result_is_reproducible_and_plain_json() -> None:
    make = Population({"hurried": 1, "expert": 1}, spread=0.5).sample_user
    logs = record(make, seed=13, num_users=12, sessions_each=2)
    first, second = compare(logs, make, seed=4), compare(logs, make, seed=4)
    assert first == second
    text = json.dumps(asdict(first), allow_nan=False)
    assert json.loads(text)["loop"] == "open-loop"
    assert all(line["loop"] == "open-loop" for line in json.loads(text)["lines"])
    assert [line.kind for line in first.lines] == list(LABELS)


def test_nothing_to_compare_is_said_not_raised() -> None:
    found = compare_reactions([], people("default"), seed=0)
    assert {line.verdict for line in found.lines} == {Verdict.NOT_IDENTIFIABLE}
    json.dumps(asdict(found), allow_nan=False)


@pytest.mark.parametrize("rest", [{"draws": 0}, {"margin": 0.0}, {"margin": 1.0}])
def test_bad_arguments_are_refused(rest: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match="draws"):
        compare_reactions([], people("default"), seed=0, **rest)  # type: ignore[arg-type]


DATA = Path(__file__).resolve().parents[3] / ".." / "shared" / "data" / "trajectories"


def test_real_logs_can_be_compared() -> None:
    if not DATA.is_dir():
        pytest.skip(f"no real logs at {DATA.name}: put public sessions there to run this")
    formats = pytest.importorskip("sim2live.live_bridge.formats.claude_code")
    reader = formats.ClaudeCodeReader()
    files = sorted((DATA / "claude_code").glob("*.jsonl"))
    logs = [t for file in files for t in reader.read(file).trajectories]
    assert logs
    found = compare_reactions(logs, people("default"), seed=0)
    assert found.num_views > 0
    assert found.num_views <= sum(len(log.turns) for log in logs)
    assert {line.verdict for line in found.lines} <= set(Verdict)
    hidden = {kind for kind in ReactionKind if not any(t.is_observable(kind) for t in logs)}
    for line in found.lines:
        if line.kind.split("/")[0] in hidden:
            assert line.verdict is Verdict.NOT_IDENTIFIABLE
    json.dumps(asdict(found), allow_nan=False)
