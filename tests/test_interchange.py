"""Trajectories as ATIF documents: nothing is lost; bad input gives one kind of error."""

from __future__ import annotations

import copy
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim2live.codec import encode
from sim2live.errors import FormatError, MissingExtraError
from sim2live.interchange import (
    AMBIGUOUS,
    OWN,
    dumps,
    from_atif,
    read_jsonl,
    to_atif,
    validate,
    write_jsonl,
)
from sim2live.testing import foreign_documents, json_values, reactions, trajectories, turns
from sim2live.trajectory import (
    SCHEMA_VERSION,
    Message,
    Origin,
    Reaction,
    ReactionKind,
    Source,
    ToolCall,
    ToolResult,
    Trajectory,
    Turn,
)


def strict(value: Any) -> str:
    """Write a value so that equal strings mean equal to the letter (0 is not 0.0, NaN is NaN)."""
    return json.dumps(encode(value), sort_keys=True)


def through_text(document: Any) -> Any:
    """Return the document as a reader of its written form sees it."""
    return json.loads(dumps(document))


def is_strict_json(text: str) -> bool:
    """Say whether a reader that knows no NaN could read the text."""
    try:
        json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    except pytest.fail.Exception:
        return False
    return True


def foreign(*steps: dict[str, Any], **root: Any) -> dict[str, Any]:
    """Make a foreign document of the given steps."""
    numbered = [{"step_id": n, "message": "", **step} for n, step in enumerate(steps, 1)]
    agent = {"name": "other", "version": "1"}
    return {"schema_version": "ATIF-v1.6", "agent": agent, "steps": numbered, **root}


def called(call_id: str, name: str = "run") -> dict[str, Any]:
    return {"tool_call_id": call_id, "function_name": name, "arguments": {}}


def small_trajectory() -> Trajectory:
    return Trajectory(
        id="t1",
        task_id="task",
        source=Source.SIMULATED,
        turns=[
            Turn(
                observation=[Message.of("user", "please")],
                tool_calls=[ToolCall(id="c1", name="run", arguments={"command": "ls"})],
                results=[ToolResult(call_id="c1", text="a.py", ok=True, exit_code=0)],
                reactions=[Reaction(kind=ReactionKind.ACCEPT, turn=0, call_id="c1")],
            )
        ],
        closing=[Message.of("user", "thanks")],
    )


# --- ours, there and back -----------------------------------------------


@given(trajectories())
def test_what_is_written_is_read_back_to_the_letter(trajectory: Trajectory):
    text = dumps(to_atif(trajectory))
    assert strict(from_atif(json.loads(text))) == strict(trajectory)
    assert text.isascii()
    assert "\n" not in text


@given(trajectories())
def test_what_is_written_is_valid_atif_and_strict_json(trajectory: Trajectory):
    document = through_text(to_atif(trajectory))
    validate(document)
    assert is_strict_json(dumps(document))


@given(trajectories())
def test_writing_does_not_touch_the_trajectory_nor_share_its_parts(trajectory: Trajectory):
    before = strict(trajectory)
    document = to_atif(trajectory)
    for step in document["steps"]:
        step.get("extra", {}).clear()
        for call in step.get("tool_calls", []):
            call["arguments"].clear()
    assert strict(trajectory) == before


@given(trajectories())
def test_a_second_round_changes_nothing(trajectory: Trajectory):
    once = through_text(to_atif(trajectory))
    assert strict(to_atif(from_atif(once))) == strict(once)


def test_a_lone_surrogate_survives_and_is_valid():
    trajectory = small_trajectory()
    trajectory.turns[0].text = "half \ud83d of a character"
    document = through_text(to_atif(trajectory))
    validate(document)
    assert from_atif(document).turns[0].text == "half \ud83d of a character"


def test_a_number_that_json_cannot_write_is_null_for_others_and_exact_for_us():
    trajectory = small_trajectory()
    trajectory.tool_calls[0].arguments = {"x": float("nan"), "deep": [{"y": float("-inf")}]}
    document = to_atif(trajectory)
    assert document["steps"][1]["tool_calls"][0]["arguments"] == {"x": None, "deep": [{"y": None}]}
    assert strict(from_atif(through_text(document))) == strict(trajectory)


def test_simulated_times_are_not_written_as_dates():
    trajectory = small_trajectory()
    trajectory.turns[0].start_s = 12.5
    assert "timestamp" not in to_atif(trajectory)["steps"][1]
    trajectory.source = Source.LIVE
    assert to_atif(trajectory)["steps"][1]["timestamp"] == "1970-01-01T00:00:12.500000Z"


def test_a_time_beyond_the_calendar_survives():
    trajectory = small_trajectory()
    trajectory.source, trajectory.turns[0].start_s = Source.LIVE, 1e300
    document = through_text(to_atif(trajectory))
    validate(document)
    assert from_atif(document).turns[0].start_s == 1e300


def test_without_hypothesis_the_strategies_say_how_to_get_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "hypothesis.strategies", None)
    for strategy in (trajectories, foreign_documents, reactions, turns, json_values):
        with pytest.raises(MissingExtraError, match=r'pip install "sim2live\[dev\]"'):
            strategy()


# --- a foreign reader's view -----------------------------------------------


def without_extra(value: Any) -> Any:
    """Drop every `extra` of the schema's own objects (not keys of arguments)."""
    if isinstance(value, dict):
        return {
            k: v if k == "arguments" else without_extra(v) for k, v in value.items() if k != "extra"
        }
    return [without_extra(item) for item in value] if isinstance(value, list) else value


@given(trajectories())
def test_without_our_part_the_document_still_tells_what_was_said_and_done(trajectory: Trajectory):
    bare = without_extra(through_text(to_atif(trajectory)))
    validate(bare)
    seen = from_atif(bare)
    said = [m.text or "" for t in trajectory.turns for m in t.observation]
    assert [m.text for t in seen.turns for m in t.observation] == said
    assert [m.text for m in seen.closing] == [m.text or "" for m in trajectory.closing]
    assert [t.text for t in seen.turns] == [t.text or "" for t in trajectory.turns]
    calls = [(c.id, c.name) for c in trajectory.tool_calls]
    assert [name for _, name in calls] == [c.name for c in seen.tool_calls]
    assert [c.extra.get("atif_call_id", c.id) for c in seen.tool_calls] == [i for i, _ in calls]
    results = [r.text for t in trajectory.turns for r in t.results]
    assert [r.text for t in seen.turns for r in t.results] == results


# --- foreign documents -----------------------------------------------


@given(foreign_documents())
def test_a_foreign_document_is_written_back_to_the_letter(document: dict[str, Any]):
    before = strict(document)
    trajectory = from_atif(document)
    assert strict(to_atif(trajectory)) == before
    assert strict(document) == before, "reading changed the document"
    assert strict(to_atif(from_atif(through_text(document)))) == before


@given(foreign_documents())
def test_what_was_read_from_a_foreign_document_survives_our_own_round_trip(document: Any):
    trajectory = from_atif(document)
    assert strict(from_atif(through_text(to_atif(trajectory)))) == strict(trajectory)


@given(foreign_documents(is_valid=True))
def test_the_valid_strategy_makes_valid_documents(document: dict[str, Any]):
    validate(through_text(document))


@given(foreign_documents(is_valid=True), st.data())
def test_a_foreign_trajectory_that_gained_a_reaction_stays_valid_and_reads_back(
    document: dict[str, Any], data: st.DataObject
):
    trajectory = from_atif(document)
    trajectory.user_id = "pseudonym"
    for turn in trajectory.turns:
        turn.reactions.append(data.draw(reactions()))
        turn.policy_version = "v7"
    written = through_text(to_atif(trajectory))
    validate(written)
    assert strict(from_atif(written)) == strict(trajectory)


def test_ids_are_unique_in_memory_and_as_they_were_on_disk():
    document = foreign(
        {"source": "agent", "tool_calls": [called("c"), called("c"), called("c#2")]},
        {"source": "agent", "tool_calls": [called("c")]},
    )
    trajectory = from_atif(document)
    ids = [call.id for call in trajectory.tool_calls]
    assert len(set(ids)) == 4
    assert ids[0] == "c"
    assert to_atif(trajectory) == document


def test_a_result_that_could_answer_two_calls_is_flagged_and_others_are_not():
    results = [{"source_call_id": "c", "content": "x"}, {"source_call_id": "d", "content": "y"}]
    document = foreign(
        {
            "source": "agent",
            "tool_calls": [called("c"), called("c"), called("d")],
            "observation": {"results": results},
        }
    )
    first, second = from_atif(document).turns[0].results
    assert (first.call_id, first.extra.get(AMBIGUOUS)) == ("c", True)
    assert (second.call_id, second.extra.get(AMBIGUOUS)) == ("d", None)


def test_a_result_goes_to_the_call_of_its_own_step():
    step = {
        "source": "agent",
        "tool_calls": [called("c")],
        "observation": {"results": [{"source_call_id": "c", "content": "x"}]},
    }
    trajectory = from_atif(foreign(step, step))
    for turn in trajectory.turns:
        assert turn.results[0].call_id == turn.tool_calls[0].id
        assert AMBIGUOUS not in turn.results[0].extra


def test_a_result_added_later_for_a_call_of_an_earlier_turn_keeps_to_it():
    trajectory = from_atif(
        foreign(
            {"source": "agent", "tool_calls": [called("c")]},
            {"source": "agent", "tool_calls": [called("c")]},
        )
    )
    trajectory.turns[1].results.append(ToolResult(call_id="c", text="late"))
    assert strict(from_atif(through_text(to_atif(trajectory)))) == strict(trajectory)


@pytest.mark.parametrize(
    "logprobs", [[-0.5], [-0.5, -0.5, -0.5], [-0.5, float("nan")], [-0.5, None], "-0.5", None]
)
def test_tokens_that_do_not_match_are_not_used_but_kept(logprobs: Any):
    metrics = {"completion_token_ids": [5, 6], "logprobs": logprobs}
    document = foreign({"source": "agent", "metrics": metrics})
    trajectory = from_atif(document)
    assert trajectory.turns[0].completion_token_ids == [5, 6]
    assert trajectory.turns[0].logprobs is None
    assert strict(to_atif(trajectory)) == strict(document)


def test_tokens_that_match_are_used():
    metrics = {"completion_token_ids": [5, 6], "logprobs": [-0.5, -0.25]}
    turn = from_atif(foreign({"source": "agent", "metrics": metrics})).turns[0]
    assert turn.logprobs == [-0.5, -0.25]


def test_copied_context_is_flagged():
    document = foreign(
        {"source": "user", "is_copied_context": True},
        {"source": "agent", "is_copied_context": True},
    )
    turn = from_atif(document).turns[0]
    assert turn.is_copied_context
    assert turn.observation[0].is_copied_context


def test_absent_null_and_empty_texts_are_told_apart():
    steps = [
        {"source": "agent", "reasoning_content": ""},
        {"source": "agent", "reasoning_content": None},
        {"source": "agent"},
        {"source": "agent", "reasoning_content": "hm"},
    ]
    turns = from_atif(foreign(*steps)).turns
    assert [turn.reasoning for turn in turns] == ["", None, None, "hm"]
    assert to_atif(from_atif(foreign(*steps))) == foreign(*steps)


@pytest.mark.parametrize(
    ("stamp", "seconds"),
    [
        ("1970-01-01T00:01:00Z", 60.0),
        ("1970-01-01T02:01:00+02:00", 60.0),
        ("1970-01-01T00:01:00.5", 60.5),
        ("yesterday", None),
        (60, None),
    ],
)
def test_stamps_are_seconds_since_the_epoch(stamp: Any, seconds: float | None):
    assert from_atif(foreign({"source": "agent", "timestamp": stamp})).turns[0].start_s == seconds


def test_parts_that_are_no_text_are_kept_but_not_read():
    image = {"type": "image", "source": {"media_type": "image/png", "path": "a.png"}}
    document = foreign({"source": "user", "message": [{"type": "text", "text": "see"}, image]})
    trajectory = from_atif(document)
    assert trajectory.closing[0].text == "see"
    assert to_atif(trajectory) == document


def test_the_names_of_tools_are_read():
    tools = [{"type": "function", "function": {"name": "run"}}, {"name": "edit"}, {"x": 1}]
    agent = {"name": "a", "version": "1", "tool_definitions": tools}
    assert from_atif(foreign(agent=agent)).tools == ["run", "edit"]


def test_where_it_was_read_from_is_recorded():
    origin = Origin(file="log.jsonl", byte_offset=7)
    assert from_atif(foreign(), origin=origin).origin == origin


# --- real files -----------------------------------------------


def test_real_documents_are_written_back_to_the_letter(shared_data: Path):
    paths = sorted(shared_data.glob("trajectories/atif/*.json"))
    paths += sorted(shared_data.glob("cases/37*.json"))
    assert len(paths) >= 2
    for path in paths:
        document = json.loads(path.read_bytes())
        trajectory = from_atif(document)
        assert strict(to_atif(trajectory)) == strict(document), path.name
        assert strict(from_atif(through_text(to_atif(trajectory)))) == strict(trajectory), path.name


# --- bad input -----------------------------------------------


def read_or_refuse(value: Any) -> None:
    """Read a value; what can be read can be written, and anything else is a `FormatError`."""
    try:
        trajectory = from_atif(value)
    except FormatError:
        return
    to_atif(trajectory)


@given(json_values(max_leaves=20))
def test_any_json_value_is_read_or_refused(value: Any):
    read_or_refuse(value)
    read_or_refuse({"agent": value, "steps": []})
    read_or_refuse({"agent": {"name": value}, "steps": [value]})


def places_of(value: Any) -> list[tuple[Any, ...]]:
    if isinstance(value, dict):
        items: Any = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    else:
        return [()]
    return [(), *((key, *rest) for key, item in items for rest in places_of(item))]


@given(trajectories(), foreign_documents(), st.data())
def test_a_damaged_document_is_read_or_refused(
    trajectory: Trajectory, document: dict[str, Any], data: st.DataObject
):
    for original in (through_text(to_atif(trajectory)), document):
        damaged = copy.deepcopy(original)
        path = data.draw(st.sampled_from([p for p in places_of(damaged) if p]))
        *parents, last = path
        holder = damaged
        for key in parents:
            holder = holder[key]
        if data.draw(st.booleans()):
            del holder[last]
        else:
            holder[last] = data.draw(json_values())
        read_or_refuse(damaged)


@pytest.mark.parametrize("observation", [1, "x", [], [1], {}, {"results": None}])
def test_an_observation_of_another_kind_is_kept_as_it_is(observation: Any):
    document = foreign({"source": "agent", "observation": observation})
    assert strict(to_atif(from_atif(document))) == strict(document)


def test_a_document_nested_too_deeply_is_refused():
    value: Any = []
    for _ in range(5000):
        value = [value]
    with pytest.raises(FormatError, match="nested too deeply"):
        from_atif(foreign(extra={"deep": value}))


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (None, "expected an object with `agent` and `steps`"),
        ({"agent": {}}, "expected an object with `agent` and `steps`"),
        ({"agent": [], "steps": []}, "expected an object with `agent` and `steps`"),
        ({"agent": {}, "steps": [5]}, r"steps\[0\]: expected an object, got int"),
        (foreign({"source": "robot"}), r"steps\[0\].source is 'robot'; expected `user`"),
        (foreign({"source": "agent", "tool_calls": {"a": 1}}), r"expected a list, got dict"),
        (foreign(extra={OWN: {"colour": 1}}), "`extra.sim2live.colour` is not a field"),
        (foreign(extra={OWN: {"turns": []}}), "`extra.sim2live.turns` is not a field"),
        (foreign(extra={OWN: {"difficulty": "hard"}}), "expected .*float.*, got 'hard'"),
        (foreign(extra={OWN: {"difficulty": 10**400}}), "expected .*float"),
        (foreign({"source": "agent", "extra": {OWN: {"features": [1.0]}}}), "is not a field"),
    ],
)
def test_the_error_says_what_is_wrong(document: Any, message: str):
    with pytest.raises(FormatError, match=message):
        from_atif(document)


def test_our_part_cannot_smuggle_in_a_forged_original():
    forged = foreign(extra={OWN: {"extra": {"atif_original": {}, "seen": 1}}})
    trajectory = from_atif(forged)
    assert trajectory.extra["seen"] == 1
    assert from_atif(to_atif(trajectory)).agent == "other"


def test_a_newer_schema_version_is_refused_by_name():
    document = to_atif(small_trajectory())
    document["extra"][OWN]["schema_version"] = SCHEMA_VERSION + 1
    with pytest.raises(FormatError, match=rf"newer sim2live.*version {SCHEMA_VERSION + 1}.*update"):
        from_atif(document)


def test_validate_names_the_field_that_is_wrong():
    document = to_atif(small_trajectory())
    document["steps"][1]["step_id"] = "first"
    with pytest.raises(FormatError, match=r"`steps\.1\.step_id`"):
        validate(document)


# --- files -----------------------------------------------


@given(st.lists(trajectories(), max_size=3))
def test_a_file_gives_back_what_was_written(tmp_path_factory: pytest.TempPathFactory, written: Any):
    path = tmp_path_factory.mktemp("jsonl") / "t.jsonl"
    assert write_jsonl(path, written) == len(written)
    assert [strict(t) for t in read_jsonl(path)] == [strict(t) for t in written]
    assert len(path.read_bytes().splitlines()) == len(written)


@pytest.mark.parametrize("failure", [RuntimeError, KeyboardInterrupt])
def test_a_write_that_fails_half_way_leaves_the_old_file_alone(
    tmp_path: Path, failure: type[BaseException]
):
    path = tmp_path / "t.jsonl"
    write_jsonl(path, [small_trajectory()])
    before = path.read_bytes()

    def broken() -> Any:
        yield small_trajectory()
        raise failure("power cut")

    with pytest.raises(failure):
        write_jsonl(path, broken())
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["t.jsonl"]


@pytest.mark.parametrize(
    "line",
    [b"{", b"\xff\xfe", b"[1, 2]", b"[" * 100_000, b'{"agent": {}, "steps": [1]}', b"1" * 5000],
)
def test_a_bad_line_is_named_by_file_line_and_byte(tmp_path: Path, line: bytes):
    path = tmp_path / "t.jsonl"
    write_jsonl(path, [small_trajectory()])
    good = path.read_bytes()
    path.write_bytes(good + b"\n" + line + b"\n")
    reader = read_jsonl(path)
    assert next(reader).id == "t1"
    with pytest.raises(FormatError, match=rf"t\.jsonl, line 3 \(byte {len(good) + 1}\)"):
        next(reader)


def test_documents_that_name_themselves_nowhere_are_told_apart_by_their_steps():
    def document(text: str) -> dict:
        return {
            "schema_version": "ATIF-v1.6",
            "agent": {"name": "a", "version": "1"},
            "steps": [{"step_id": 1, "source": "user", "message": text}],
        }

    ids = [from_atif(document(text)).id for text in ("one", "two", "one")]
    assert ids[0] != ids[1]
    assert ids[0] == ids[2]
    assert ids[0].startswith("atif-")
