"""Claude Code logs: one test for each synthetic case, and what the real samples hold."""

from __future__ import annotations

import json
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sim2live.live_bridge.formats import ReadResult, detect_format, read_file
from sim2live.trajectory import (
    ArgsState,
    Evidence,
    Message,
    Polarity,
    Reaction,
    ReactionKind,
    ResultState,
    TextState,
    Trajectory,
)


def read(data: Path, name: str) -> ReadResult:
    (path,) = (data / "cases").glob(f"{name}-*.jsonl")
    assert detect_format(path) == "claude_code"
    result = read_file(path)
    assert result.report.is_balanced
    return result


def only(data: Path, name: str) -> Trajectory:
    (trajectory,) = read(data, name).trajectories
    return trajectory


def messages(trajectory: Trajectory) -> list[Message]:
    return [m for turn in trajectory.turns for m in turn.observation] + trajectory.closing


def prompts(trajectory: Trajectory) -> list[str | None]:
    return [m.text for m in messages(trajectory) if m.role == "user"]


def kinds(trajectory: Trajectory) -> list[str]:
    return [reaction.kind.value for reaction in trajectory.reactions]


def the_reaction(trajectory: Trajectory, kind: ReactionKind) -> Reaction:
    (found,) = [reaction for reaction in trajectory.reactions if reaction.kind is kind]
    return found


def test_case_01_a_torn_tail_is_reported_with_its_place(data: Path) -> None:
    result = read(data, "01")
    (torn,) = result.report.diagnostics
    raw = (data / "cases" / "01-truncated-tail.jsonl").read_bytes()
    assert (torn.reason, torn.line) == ("torn_tail", 3)
    assert raw[torn.byte_offset :].startswith(b'{"type":"user"')
    assert result.report.converted.total() == 2
    assert "torn_tail" in result.trajectories[0].tags


def test_case_02_nul_blocks_cost_one_line_and_nothing_after_it(data: Path) -> None:
    result = read(data, "02")
    assert result.report.converted.total() == 4
    assert result.report.skipped == {("(unread)", "nul_block"): 1}
    assert [turn.text for turn in result.trajectories[0].turns] == ["Added.", "Documented."]
    assert "gap_suspected" in result.trajectories[0].tags


def test_case_03_one_message_on_three_lines_is_one_turn(data: Path) -> None:
    first, second = only(data, "03").turns
    assert (first.reasoning, first.text) == ("look first", "Listing.")
    assert [call.id for call in first.tool_calls] == ["t1"]
    assert (first.prompt_tokens, first.completion_tokens) == (50, 37)
    assert (first.prompt_tokens + (second.prompt_tokens or 0), second.completion_tokens) == (140, 6)


def test_case_04_parallel_results_are_paired_by_id(data: Path) -> None:
    first, second = only(data, "04").turns
    assert [call.id for call in first.tool_calls] == ["t1", "t2", "t3"]
    assert {r.call_id: r.text for r in first.results} == {"t1": "A", "t2": "B", "t3": "C"}
    late = next(r for r in first.results if r.call_id == "t1")
    assert late.end_s is not None and late.start_s is not None
    assert late.end_s - late.start_s == pytest.approx(8.0)
    assert second.text == "all fine"


def test_case_06_compaction_and_an_orphan_result(data: Path) -> None:
    result = read(data, "06")
    (trajectory,) = result.trajectories
    (boundary,) = [m for m in messages(trajectory) if m.extra["kind"] == "context_boundary"]
    assert boundary.extra["trigger"] == "auto" and boundary.extra["pre_tokens"] == 9000
    (summary,) = [m for m in messages(trajectory) if m.extra["kind"] == "summary"]
    assert summary.role == "harness"
    assert prompts(trajectory) == ["start", "no, you rebuilt the wrong target"]
    states = {r.call_id: r.state for turn in trajectory.turns for r in turn.results}
    assert states == {"t-gone": ResultState.ORPHAN, "t-old": ResultState.UNANSWERED}
    assert result.report.noted["orphan_result"] == 1
    complaint = the_reaction(trajectory, ReactionKind.FOLLOW_UP)
    assert (complaint.turn, complaint.polarity) == (1, Polarity.DISSATISFIED)


def test_case_07_a_dangling_call_is_unanswered_and_nothing_else(data: Path) -> None:
    trajectory = only(data, "07")
    (result,) = trajectory.turns[0].results
    assert result.state is ResultState.UNANSWERED and result.ok is None
    assert result.text_state is TextState.ABSENT
    assert trajectory.reactions == [] and "cut_off" in trajectory.tags


def test_case_08_a_rejection_with_reason_then_an_accepted_edit(data: Path) -> None:
    trajectory = only(data, "08")
    assert kinds(trajectory) == ["reject", "accept"]
    reject, accept = trajectory.reactions
    assert (reject.turn, reject.call_id, reject.delay_s) == (0, "t1", 12.0)
    assert reject.text == "keep the old key, only add the new one"
    assert reject.evidence is Evidence.EXPLICIT
    assert (accept.turn, accept.call_id, accept.evidence) == (1, "t2", Evidence.HEURISTIC)
    assert accept.confidence < 0.7
    refused = trajectory.turns[0].results[0]
    assert refused.denied_by == "user" and refused.ok is None
    assert trajectory.turns[1].results[0].extra["userModified"] is False
    assert trajectory.is_observable(ReactionKind.ACCEPT)


def test_case_09_rejection_and_marker_are_one_act(data: Path) -> None:
    trajectory = only(data, "09")
    assert kinds(trajectory) == ["reject"]
    (reject,) = trajectory.reactions
    assert (reject.call_id, reject.delay_s) == ("t1", 8.0)
    assert reject.text == "only delete build/tmp"  # the next prompt belongs to the act
    assert prompts(trajectory) == ["clean up", "only delete build/tmp"]


def test_case_10_esc_during_a_run_is_an_interrupt(data: Path) -> None:
    trajectory = only(data, "10")
    assert kinds(trajectory) == ["interrupt"]
    (interrupt,) = trajectory.reactions
    assert (interrupt.turn, interrupt.call_id, interrupt.delay_s) == (0, "t1", 60.0)
    assert interrupt.alternatives == (ReactionKind.REJECT,) and interrupt.confidence < 1
    (result,) = trajectory.turns[0].results
    assert result.denied_by is None and result.extra["interrupted"] is True
    assert not trajectory.is_observable(ReactionKind.REJECT)  # bypass mode shows no prompt


def test_case_12_only_the_persons_own_words_are_prompts(data: Path) -> None:
    trajectory = only(data, "12")
    assert prompts(trajectory) == ["first real prompt", "second real prompt"]
    found = [m.extra["kind"] for m in messages(trajectory) if m.role == "harness"]
    assert found == [
        "notification",
        "slash_command",
        "command_output",
        "meta",
        "ide_context",
        "queued_command",
    ]
    steer = the_reaction(trajectory, ReactionKind.STEER)
    assert steer.text == "stop, wrong file" and steer.turn == 1


def test_case_13_identical_lines_count_once(data: Path) -> None:
    result = read(data, "13")
    assert prompts(result.trajectories[0]) == ["hello"]
    assert result.report.skipped == {("user", "exact_duplicate"): 3}


def test_case_15_a_rewind_leaves_its_branch_and_blames_its_turn(data: Path) -> None:
    result = read(data, "15")
    main, branch = result.trajectories
    assert [turn.text for turn in main.turns] == ["ready", "used Y"]
    assert prompts(main) == ["intro", "use library Y"]
    assert [turn.text for turn in branch.turns] == ["used X"]
    assert "abandoned_branch" in branch.tags and branch.parent_id == main.id
    rewind = the_reaction(branch, ReactionKind.REWIND)
    assert (rewind.turn, rewind.delay_s, rewind.text) == (0, 18.0, "use library Y")
    assert result.report.kept_aside.total() == 2


def test_case_18_a_lone_surrogate_is_kept(data: Path) -> None:
    (result,) = only(data, "18").turns[0].results
    assert result.text == "cut emoji: \ud83d end"


def test_case_20_bom_and_crlf(data: Path) -> None:
    trajectory = only(data, "20")
    assert prompts(trajectory) == ["café ✓"] and trajectory.turns[0].text == "ok →"


def test_case_22_outputs_kept_elsewhere_are_truncated_and_never_opened(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    real_open = Path.open

    def watch(self: Path, *args: Any, **rest: Any) -> Any:
        opened.append(self.name)
        return real_open(self, *args, **rest)

    monkeypatch.setattr(Path, "open", watch)
    result = read(data, "22")
    assert {r.text_state for r in result.trajectories[0].turns[0].results} == {TextState.TRUNCATED}
    assert result.report.noted["unsafe_call_id"] == 1
    assert set(opened) == {"22-persisted-output-and-path-traversal-id.jsonl"}


def test_case_22b_a_huge_line_and_the_line_after_it(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(data / "cases" / "22b-huge-line.gen.py"))["f"].close()
    path = tmp_path / "22b-huge-line.jsonl"
    whole = read_file(path)
    assert whole.report.converted.total() == 3 and whole.report.is_balanced
    capped = read_file(path, max_record_bytes=1_000_000)
    assert prompts(capped.trajectories[0]) == ["before", "after"]
    assert capped.report.skipped == {("(unread)", "oversize"): 1}
    assert capped.report.is_balanced and capped.report.diagnostics[0].line == 2


def test_case_23_images_become_placeholders(data: Path) -> None:
    trajectory = only(data, "23")
    (prompt,) = [m for m in messages(trajectory) if m.role == "user"]
    assert prompt.text is not None and prompt.text.startswith("why is this red?\n[image image/png")
    (image,) = prompt.extra["images"]
    assert image["sha256"] == "4c4b6a3be1314ab86138bef4314dde022e600960d8689a2c8f8631802d20dab6"
    (result,) = trajectory.turns[0].results
    assert result.text == "[image image/png undecodable]\nshot"
    assert result.extra["images"][0]["state"] == "undecodable"
    assert "!!notb64!!" not in json.dumps(result.extra)


def test_case_24_terminal_output_is_cleaned_beside_the_raw_text(data: Path) -> None:
    trajectory = only(data, "24")
    (result,) = trajectory.turns[0].results
    assert result.extra["text_clean"] == "FAILED t.py\n 100%\nlink "
    assert result.text is not None and "\x1b" in result.text
    assert result.extra["process_interrupted"] is True and result.ok is False
    assert trajectory.reactions == []


def test_case_34_missing_text_is_not_silence(data: Path) -> None:
    trajectory = only(data, "34")
    first, second = trajectory.turns
    assert (first.text_state, first.reasoning_state) == (TextState.ABSENT, TextState.REDACTED)
    assert second.text_state is TextState.EMPTY
    assert "text_missing" in trajectory.tags


def test_case_35_bookkeeping_and_unknown_types_first(data: Path) -> None:
    result = read(data, "35")
    (trajectory,) = result.trajectories
    assert prompts(trajectory) == ["go"] and [t.text for t in trajectory.turns] == ["ok"]
    assert result.report.kept_aside["brand-new-record", "unknown_type"] == 1
    assert kinds(trajectory) == []  # the queued text is the prompt itself, no steering


# --- real samples ------------------------------------------------------------------------------


def test_every_real_session_balances_and_names_nothing_twice(data: Path) -> None:
    files = sorted((data / "trajectories" / "claude_code").iterdir())
    results = [read_file(path) for path in files]
    assert all(r.report.is_balanced and r.report.format == "claude_code" for r in results)
    ids = [t.id for r in results for t in r.trajectories]
    assert len(ids) == len(set(ids)) == 9


def test_a_subagents_log_shows_no_person(data: Path) -> None:
    (agent,) = read_file(data / "trajectories/claude_code/agent-atest01.jsonl").trajectories
    assert "subagent" in agent.tags and prompts(agent) == [] and agent.reactions == []
    assert not agent.is_observable(ReactionKind.FOLLOW_UP)
    assert agent.instruction is not None and agent.instruction.startswith("Explore the structure")


def test_clear_splits_a_session(data: Path) -> None:
    path = data / "trajectories/claude_code/clear_split_session.jsonl"
    first, second = read_file(path).trajectories
    assert second.parent_id == first.id and first.reactions == second.reactions == []
    assert prompts(second) == ["Second conversation after clear"]


def test_the_edge_cases_file(data: Path) -> None:
    result = read_file(data / "trajectories/claude_code/edge_cases.jsonl")
    assert result.report.skipped == {
        ("(not an object)", "not_an_object"): 3,
        ("user", "message_not_an_object"): 1,
    }
    assert result.report.kept_aside["(untyped)", "unknown_type"] == 1
    assert result.trajectories[0].turns[1].results[0].ok is False


# --- what the samples do not show ------------------------------------------------------------


def build(session: Any, write_log: Callable[..., Path]) -> list[Trajectory]:
    result = read_file(write_log(*session.records))
    assert result.report.is_balanced
    return result.trajectories


def test_a_fragment_does_not_cost_the_record_glued_to_it(
    session: Any, write_log: Callable[..., Path]
) -> None:
    session.user("first")
    session.says("done")
    lines = [json.dumps(record).encode() for record in session.records]
    result = read_file(write_log(lines[0][:60] + lines[0], lines[1]))
    assert prompts(result.trajectories[0]) == ["first"]
    assert result.report.skipped == {("(unparsed)", "torn_fragment"): 1}
    assert result.report.is_balanced


def test_call_ids_are_made_unique(session: Any, write_log: Callable[..., Path]) -> None:
    session.user("go")
    session.calls("t")
    session.result("t", "one")
    session.calls("t")
    (trajectory,) = build(session, write_log)
    assert [call.id for call in trajectory.tool_calls] == ["t", "t#2"]
    assert trajectory.turns[1].results[0].state is ResultState.UNANSWERED


def test_usage_is_the_largest_of_each_count_in_whatever_order(
    session: Any, write_log: Callable[..., Path]
) -> None:
    session.user("go")
    for ident, count in (("a", 1), ("b", 37), ("c", 5)):
        usage = {"input_tokens": 50, "output_tokens": count}
        session.calls(ident, message_id="m")["message"]["usage"] = usage
    (trajectory,) = build(session, write_log)
    (turn,) = trajectory.turns
    assert (turn.prompt_tokens, turn.completion_tokens) == (50, 37)


def test_a_result_goes_to_the_call_of_its_id_that_is_open(
    session: Any, write_log: Callable[..., Path]
) -> None:
    session.user("go")
    for text in ("one", "two"):
        session.calls("t")
        session.result("t", text)
    (trajectory,) = build(session, write_log)
    pairs = [(r.call_id, r.text) for turn in trajectory.turns for r in turn.results]
    assert pairs == [("t", "one"), ("t#2", "two")]


def test_a_second_result_is_kept_as_a_duplicate(
    session: Any, write_log: Callable[..., Path]
) -> None:
    session.user("go")
    session.calls("t")
    session.result("t", "one")
    session.result("t", "two")
    (trajectory,) = build(session, write_log)
    assert [(r.text, r.state.value) for r in trajectory.turns[0].results] == [
        ("one", "answered"),
        ("two", "duplicate"),
    ]


def test_arguments_that_are_no_object_keep_their_raw_form(
    session: Any, write_log: Callable[..., Path]
) -> None:
    session.user("go")
    session.calls("t")["message"]["content"] = [
        {"type": "tool_use", "id": "a", "name": "X", "input": '{"cut": '},
        {"type": "tool_use", "id": "b", "name": "X"},
    ]
    (trajectory,) = build(session, write_log)
    first, second = trajectory.tool_calls
    assert (first.args_state, first.raw) == (ArgsState.UNPARSED, '{"cut": ')
    assert second.args_state is ArgsState.ABSENT


def test_a_fork_of_parallel_calls_is_no_rewind(
    session: Any, write_log: Callable[..., Path]
) -> None:
    session.user("go")
    first = session.calls("a", message_id="m")
    session.calls("b", message_id="m")
    session.result("a", parentUuid=first["uuid"])
    session.result("b")
    session.says("done")
    (trajectory,) = build(session, write_log)
    assert [len(turn.tool_calls) for turn in trajectory.turns] == [2, 0]


def test_a_rewind_is_seen_through_bookkeeping_records(
    session: Any, write_log: Callable[..., Path]
) -> None:
    session.user("go")
    ready = session.says("ready")
    session.add("system", subtype="turn_duration")
    session.user("use X")
    session.says("used X")
    session.user("use Y", parentUuid=ready["uuid"])
    session.says("used Y")
    main, branch = build(session, write_log)
    assert [turn.text for turn in main.turns] == ["ready", "used Y"]
    assert kinds(branch) == ["rewind"]


def test_harness_text_is_no_turn(session: Any, write_log: Callable[..., Path]) -> None:
    session.user("go")
    session.says("API error", isApiErrorMessage=True)
    session.says("ok")
    (trajectory,) = build(session, write_log)
    assert [turn.text for turn in trajectory.turns] == ["ok"]
    assert trajectory.turns[0].observation[-1].extra["kind"] == "harness_text"


def test_origins_point_at_the_bytes(session: Any, write_log: Callable[..., Path]) -> None:
    session.user("go")
    session.says("ok")
    path = write_log(*session.records)
    (trajectory,) = read_file(path).trajectories
    origin = trajectory.turns[0].origin
    assert origin is not None and origin.line == 2
    record = json.loads(path.read_bytes()[origin.byte_offset :])
    assert record["uuid"] == "u1"


def test_a_growing_log_keeps_its_ids(session: Any, write_log: Callable[..., Path]) -> None:
    session.user("go")
    session.says("ok")
    (before,) = build(session, write_log)
    session.user("more")
    session.says("done")
    (after,) = build(session, write_log)
    assert before.id == after.id and len(after.turns) == 2
