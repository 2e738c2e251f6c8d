"""Trajectories as ATIF v1.8 documents, one a line: any ATIF reader can read ours, and we read any.

A `Message` becomes a user or system step, a `Turn` an agent step whose observation holds its
results. What ATIF has no field for stands under `extra["sim2live"]` of the document, step, call or
result it belongs to.

Nothing is lost either way, by one rule used for every piece. Writing: the piece is written in plain
ATIF, that is read again, and the fields that came out differently are added under `sim2live`.
Reading: plain ATIF is read, then those fields are put on top; and if writing the result plainly
would not give the document back (images, further metrics, times in another notation, fields that we
do not know), the original is kept verbatim under the piece's `extra["atif_original"]` and used when
it is written. Keys of `extra` in `RESERVED` belong to this module.

Lone surrogates survive, since JSON is written in ASCII with escapes (a high one directly before a
low one is read as the one character that they spell); so do numbers that are not finite, which
strict JSON cannot write: they are null in plain ATIF and named in our part. (Where a foreign
document held such a number, it stands in the original as it stood there.)

Reference: ATIF is described in Harbor's RFC 0001 (trajectory format).
"""

from __future__ import annotations

import copy
import dataclasses
import hashlib
import json
import math
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from .codec import decode, encode, hints, written_fields
from .errors import FormatError
from .trajectory import (
    SCHEMA_VERSION,
    ArgsState,
    Json,
    Message,
    Origin,
    Source,
    TextState,
    ToolCall,
    ToolResult,
    Trajectory,
    Turn,
)

ATIF_VERSION = "ATIF-v1.8"
UNKNOWN_TASK = "unknown"
OWN = "sim2live"
ORIGINAL, CALL_ID, SHAPE, AMBIGUOUS = (
    "atif_original",
    "atif_call_id",
    "atif_shape",
    "atif_ambiguous",
)
_SHADOWED = "$extra"  # in our part: an `extra` of the original that had no room beside it
RESERVED = frozenset({OWN, ORIGINAL, CALL_ID, SHAPE, AMBIGUOUS})
"""Keys of `extra` that say how a foreign document was written; never write to them yourself."""

Piece = TypeVar("Piece", Message, Turn, ToolCall, ToolResult, Trajectory)


def to_atif(trajectory: Trajectory) -> Json:
    """Write a trajectory as an ATIF document."""
    has_times = trajectory.source is not Source.SIMULATED
    steps: list[Json] = []
    for turn in trajectory.turns:
        steps += [_write_message(message, has_times) for message in turn.observation]
        steps.append(_write_turn(turn, has_times))
    steps += [_write_message(message, has_times) for message in trajectory.closing]
    head = {"schema_version": SCHEMA_VERSION}
    numbered = [{"step_id": number, **step} for number, step in enumerate(steps, 1)]
    name = trajectory.id
    for _ in range(2):
        read_root = partial(_read_root, name=name)
        document = _write(trajectory, _plain_root, read_root, ("turns", "closing"), head)
        document["steps"] = numbered
        # A reader names a document that does not name itself. If the name would be another, a
        # second pass finds the difference and writes ours down.
        name = _content_name(document)
        if name == trajectory.id or _is_named(document):
            break
    return document


def from_atif(document: Json, *, origin: Origin | None = None) -> Trajectory:
    """Read an ATIF document, ours or another project's.

    Token ids and log-probabilities whose numbers do not match are not used (they stay in the
    original); repeated call ids are made unique inside the trajectory and written back as they
    were; steps that were copied from another trajectory are flagged.

    Args:
        document: the parsed JSON object.
        origin: where it was read from.

    Raises:
        FormatError: it is not an ATIF document, or written by a newer sim2live.
    """
    try:
        trajectory = _from_atif(document)
    except RecursionError as error:
        raise FormatError("not an ATIF document: values are nested too deeply to read") from error
    if origin is not None:
        trajectory.origin = origin
    return trajectory


def _from_atif(document: Json) -> Trajectory:
    steps = document.get("steps") if isinstance(document, dict) else None
    if not isinstance(steps, list) or not isinstance(document.get("agent"), dict):
        raise FormatError("not an ATIF document: expected an object with `agent` and `steps`")
    header = {key: value for key, value in document.items() if key != "steps"}
    read_root = partial(_read_root, name="" if _is_named(document) else _content_name(document))
    trajectory = _read(header, read_root, _plain_root, ("turns", "closing"))
    waiting: list[Message] = []
    named: list[list[Any]] = []
    for index, step in enumerate(steps):
        body = {key: value for key, value in _object(step, index).items() if key != "step_id"}
        source = body.get("source")
        if source == "agent":
            turn = _read_turn(body, index)
            named.append([result.get("source_call_id") for result in _results(body) or []])
            turn.observation, waiting = waiting, []
            trajectory.turns.append(turn)
        elif source in ("user", "system"):
            waiting.append(_read(body, _read_message, _plain_message))
        else:
            raise FormatError(
                f"steps[{index}].source is {source!r}; expected `user`, `system` or `agent`"
            )
    trajectory.closing = waiting
    _make_ids_unique(trajectory, named)
    return trajectory


def write_jsonl(path: str | os.PathLike[str], trajectories: Iterable[Trajectory]) -> int:
    """Write trajectories, one document a line, beside the file and then swapped in.

    Returns:
        How many were written.
    """
    target = Path(path)
    partial = target.with_name(f".{target.name}.partial")
    count = 0
    try:
        with partial.open("w", encoding="ascii") as file:
            for trajectory in trajectories:
                file.write(dumps(to_atif(trajectory)) + "\n")
                count += 1
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, target)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    return count


def read_jsonl(path: str | os.PathLike[str]) -> Iterator[Trajectory]:
    """Read what `write_jsonl` or another ATIF writer left, one document a line.

    Raises:
        FormatError: a line is not a document; the message names file and line.
    """
    offset = 0
    with Path(path).open("rb") as file:
        for number, line in enumerate(file, 1):
            start, offset = offset, offset + len(line)
            if not line.strip():
                continue
            try:
                yield from_atif(json.loads(line))
            except (ValueError, RecursionError, FormatError) as error:
                raise FormatError(f"{path}, line {number} (byte {start}): {error}") from error


def validate(document: Json) -> None:
    """Check a document with the `atif` models.

    Raises:
        FormatError: the first field that is wrong, by its path.
    """
    import atif
    import pydantic

    try:
        atif.Trajectory.model_validate(document)
    except pydantic.ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "document"
        raise FormatError(f"not valid ATIF: `{where}`: {first['msg']}") from error


def dumps(document: Json) -> str:
    """Write a document as one line of ASCII."""
    return json.dumps(document, ensure_ascii=True, separators=(",", ":"))


# --- the one rule ----------------------------------------------------------------------------


def _write(
    piece: Piece,
    plain: Callable[[Piece], Json],
    read: Callable[[Json], Piece],
    skip: tuple[str, ...] = (),
    head: Json | None = None,
) -> Json:
    """Write a piece plainly (or as its original) and add what that does not tell, after `head`."""
    kept = piece.extra.get(ORIGINAL)
    document = copy.deepcopy(kept) if isinstance(kept, dict) else plain(piece)
    seen = read(document)
    own: Json = {}
    for field in written_fields(type(piece)):
        value, found = getattr(piece, field.name), getattr(seen, field.name)
        if field.name == "extra":
            value, found = _visible(value), _visible(found)
        if field.name not in skip and not _same(value, found):
            own[field.name] = encode(value)
    if own:
        extra = document.get("extra")
        if "extra" in document and (not isinstance(extra, dict) or not extra or OWN in extra):
            own, extra = {_SHADOWED: extra, **own}, {}
        document["extra"] = {**(extra or {}), OWN: {**(head or {}), **own}}
    return document


def _read(
    document: Json,
    read: Callable[[Json], Piece],
    plain: Callable[[Piece], Json],
    skip: tuple[str, ...] = (),
) -> Piece:
    """Read a piece: the plain part, then our own fields; keep the original if it is needed."""
    base, own = _split_own(document)
    piece = read(base)
    is_plain = _same(plain(piece), base)
    kinds = hints(type(piece))
    known = {field.name for field in written_fields(type(piece))}.difference(skip)
    for name, value in own.items():
        if name not in known:
            raise FormatError(f"`extra.{OWN}.{name}` is not a field of {type(piece).__name__}")
        found = decode(kinds[name], value)
        setattr(piece, name, _visible(found) if name == "extra" else found)
    if not is_plain and not _same(plain(piece), base):
        piece.extra[ORIGINAL] = copy.deepcopy(base)
    return piece


def _split_own(document: Json) -> tuple[Json, Json]:
    """Return the document without our part, and our part."""
    extra = document.get("extra")
    if not isinstance(extra, dict) or not isinstance(extra.get(OWN), dict):
        return document, {}
    own = dict(extra[OWN])
    version = own.pop("schema_version", SCHEMA_VERSION)
    if not isinstance(version, int) or version > SCHEMA_VERSION:
        raise FormatError(
            f"written by a newer sim2live: its part has schema version {version!r}, this one reads "
            f"up to {SCHEMA_VERSION}; update sim2live"
        )
    base = {key: value for key, value in document.items() if key != "extra"}
    if _SHADOWED in own:
        return {**base, "extra": own.pop(_SHADOWED)}, own
    rest = {key: value for key, value in extra.items() if key != OWN}
    return ({**base, "extra": rest} if rest else base), own


def _visible(extra: Json) -> Json:
    return {key: value for key, value in extra.items() if key not in RESERVED}


def _with_extra(document: Json, extra: Json) -> Json:
    visible = _visible(extra)
    return {**document, "extra": _strict(visible)} if visible else document


def _read_extra(document: Json) -> Json:
    extra = document.get("extra")
    return copy.deepcopy(_visible(extra)) if isinstance(extra, dict) else {}


def _same(one: Any, other: Any) -> bool:
    """Compare exactly: types count, order of keys does not, and NaN equals NaN."""
    if dataclasses.is_dataclass(one) and type(one) is type(other):
        return _same(encode(one), encode(other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[k], other[k]) for k in one)
    if isinstance(one, list | tuple) and type(one) is type(other):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return one.hex() == other.hex()
    return type(one) is type(other) and bool(one == other)


# --- documents -------------------------------------------------------------------------------


def _plain_root(trajectory: Trajectory) -> Json:
    document: Json = {"schema_version": ATIF_VERSION, "trajectory_id": trajectory.id}
    if trajectory.session_id is not None:
        document["session_id"] = trajectory.session_id
    document["agent"] = {
        "name": "unknown" if trajectory.agent is None else trajectory.agent,
        "version": "unknown" if trajectory.agent_version is None else trajectory.agent_version,
    }
    return _with_extra(document, trajectory.extra)


def _is_named(document: Json) -> bool:
    return bool(_text(document.get("trajectory_id")) or _text(document.get("session_id")))


def _content_name(document: Json) -> str:
    """Name a document after all of its content, steps included."""
    content = json.dumps(document, sort_keys=True).encode()
    return f"atif-{hashlib.sha256(content).hexdigest()[:16]}"


def _read_root(document: Json, *, name: str = "") -> Trajectory:
    session, own_id = _text(document.get("session_id")), _text(document.get("trajectory_id"))
    agent = document["agent"]
    return Trajectory(
        id=own_id or session or name,
        task_id=UNKNOWN_TASK,
        source=Source.LIVE,
        session_id=session,
        agent=_text(agent.get("name")),
        agent_version=_text(agent.get("version")),
        tools=_tool_names(agent.get("tool_definitions")),
        extra=_read_extra(document),
    )


def _tool_names(definitions: Any) -> list[str] | None:
    if not isinstance(definitions, list):
        return None
    functions = [d.get("function", d) for d in definitions if isinstance(d, dict)]
    names = [f.get("name") for f in functions if isinstance(f, dict)]
    return [name for name in names if isinstance(name, str)]


# --- messages --------------------------------------------------------------------------------


def _write_message(message: Message, has_times: bool) -> Json:
    def plain(piece: Message) -> Json:
        return _plain_message(piece, has_times=has_times)

    return _write(message, plain, _read_message)


def _plain_message(message: Message, *, has_times: bool = True) -> Json:
    step: Json = {
        "source": "system" if message.role == "system" else "user",
        "message": message.text or "",
    }
    step |= _stamps(message.time_s if has_times else None, message.is_copied_context)
    return _with_extra(step, message.extra)


def _read_message(step: Json) -> Message:
    text, state = _content(step.get("message"))
    return Message(
        role="system" if step.get("source") == "system" else "user",
        text=text,
        text_state=state,
        time_s=_seconds(step.get("timestamp")),
        is_copied_context=step.get("is_copied_context") is True,
        extra=_read_extra(step),
    )


# --- turns -----------------------------------------------------------------------------------

_PARTS = ("observation", "tool_calls", "results")


def _write_turn(turn: Turn, has_times: bool) -> Json:
    def plain(piece: Turn) -> Json:
        return _plain_turn(piece, has_times=has_times)

    step = _write(turn, plain, _read_plain_turn, _PARTS)
    shape = turn.extra.get(SHAPE, {})
    raw = {call.id: call.extra.get(CALL_ID, call.id) for call in turn.tool_calls}
    calls = [_write(replace(c, id=raw[c.id]), _plain_call, _read_call) for c in turn.tool_calls]
    results = [_write_result(result, raw) for result in turn.results]
    if calls or "tool_calls" in shape:
        step["tool_calls"] = calls or shape["tool_calls"]
    if results:
        step["observation"] = {**(shape.get("observation") or {}), "results": results}
    elif "observation" in shape:
        step["observation"] = shape["observation"]
    return step


def _plain_turn(turn: Turn, *, has_times: bool = True) -> Json:
    step: Json = {"source": "agent", "message": turn.text or ""}
    if turn.model is not None:
        step["model_name"] = turn.model
    if turn.reasoning:
        step["reasoning_content"] = turn.reasoning
    metrics = {
        "prompt_tokens": turn.prompt_tokens,
        "completion_tokens": turn.completion_tokens,
        "prompt_token_ids": turn.prompt_token_ids,
        "completion_token_ids": turn.completion_token_ids,
        "logprobs": _aligned(turn.completion_token_ids, turn.logprobs),
    }
    metrics = {key: value for key, value in metrics.items() if value is not None}
    if metrics:
        step["metrics"] = metrics
    step |= _stamps(turn.start_s if has_times else None, turn.is_copied_context)
    return _with_extra(step, turn.extra)


def _read_turn(step: Json, index: int) -> Turn:
    body = {k: v for k, v in step.items() if k not in ("tool_calls", "observation")}
    turn = _read(body, _read_plain_turn, _plain_turn, _PARTS)
    calls, observation, results = step.get("tool_calls"), step.get("observation"), _results(step)
    shape: Json = {}
    if "tool_calls" in step and not calls:
        shape["tool_calls"] = calls
    if isinstance(observation, dict) and results:
        others = {key: value for key, value in observation.items() if key != "results"}
        shape |= {"observation": others} if others else {}
    elif "observation" in step:
        shape["observation"] = observation
    if shape:
        turn.extra[SHAPE] = copy.deepcopy(shape)
    turn.tool_calls = [
        _read(_object(call, index), _read_call, _plain_call) for call in _list(calls, index)
    ]
    turn.results = [
        _read(_object(result, index), _read_result, _plain_result)
        for result in _list(results, index)
    ]
    return turn


def _results(step: Json) -> Any:
    observation = step.get("observation")
    return observation.get("results") if isinstance(observation, dict) else None


def _read_plain_turn(step: Json) -> Turn:
    text, state = _content(step.get("message"))
    reasoning = _text(step.get("reasoning_content"))
    metrics = step.get("metrics")
    metrics = metrics if isinstance(metrics, dict) else {}
    ids = _integers(metrics.get("completion_token_ids"))
    return Turn(
        text=text,
        text_state=state,
        reasoning=reasoning,
        reasoning_state=TextState.ABSENT if reasoning is None else TextState.of(reasoning),
        model=_text(step.get("model_name")),
        prompt_token_ids=_integers(metrics.get("prompt_token_ids")),
        completion_token_ids=ids,
        logprobs=_aligned(ids, metrics.get("logprobs")),
        prompt_tokens=_integer(metrics.get("prompt_tokens")),
        completion_tokens=_integer(metrics.get("completion_tokens")),
        start_s=_seconds(step.get("timestamp")),
        is_copied_context=step.get("is_copied_context") is True,
        extra=_read_extra(step),
    )


def _aligned(ids: list[int] | None, logprobs: Any) -> list[float] | None:
    """Return the log-probabilities if there is a finite one for each token id."""
    if ids is None or not isinstance(logprobs, list) or len(logprobs) != len(ids):
        return None
    is_usable = all(isinstance(v, float) and math.isfinite(v) for v in logprobs)
    return list(logprobs) if is_usable else None


# --- calls and results -----------------------------------------------------------------------


def _plain_call(call: ToolCall) -> Json:
    document: Json = {
        "tool_call_id": call.id,
        "function_name": call.name,
        "arguments": _strict(call.arguments) if call.arguments is not None else {},
    }
    return _with_extra(document, call.extra)


def _read_call(document: Json) -> ToolCall:
    arguments, call_id = document.get("arguments"), _text(document.get("tool_call_id"))
    is_object = isinstance(arguments, dict)
    return ToolCall(
        id="call" if call_id is None else call_id,
        name=_text(document.get("function_name")) or "",
        arguments=copy.deepcopy(arguments) if is_object else None,
        args_state=ArgsState.PARSED if is_object else ArgsState.ABSENT,
        extra=_read_extra(document),
    )


def _write_result(result: ToolResult, raw: dict[str, str]) -> Json:
    call_id, kept = result.call_id, result.extra.get(ORIGINAL)
    name = raw.get(call_id) if call_id is not None else None
    is_first = next((unique for unique in raw if raw[unique] == name), None) == call_id
    if name is not None and is_first and (kept is None or kept.get("source_call_id") == name):
        return _write(replace(result, call_id=name), _plain_result, _read_result)
    if not raw or call_id is None or kept is not None:
        return _write(result, _plain_result, _read_result)
    # ATIF lets a result name only calls of its own step.
    document = _write(replace(result, call_id=None), _plain_result, _read_result)
    extra = document.get("extra") or {}
    document["extra"] = {**extra, OWN: {**extra.get(OWN, {}), "call_id": call_id}}
    return document


def _plain_result(result: ToolResult) -> Json:
    document: Json = {}
    if result.call_id is not None:
        document["source_call_id"] = result.call_id
    if result.text is not None:
        document["content"] = result.text
    return _with_extra(document, result.extra)


def _read_result(document: Json) -> ToolResult:
    text, state = _content(document.get("content"))
    return ToolResult(
        call_id=_text(document.get("source_call_id")),
        text=text,
        text_state=state,
        extra=_read_extra(document),
    )


def _make_ids_unique(trajectory: Trajectory, named: list[list[Any]]) -> None:
    """Give repeated call ids a number; a result goes to the first call of its step so named.

    Args:
        trajectory: changed in place.
        named: for each turn, the id that each result names in plain ATIF. A result that our own
            part leads elsewhere names a call by its number already.
    """
    taken: set[str] = set()
    for turn, names in zip(trajectory.turns, named, strict=True):
        first: dict[str, str] = {}
        repeated: set[str] = set()
        for call in turn.tool_calls:
            raw, number = call.id, 1
            while call.id in taken:
                number += 1
                call.id = f"{raw}#{number}"
            taken.add(call.id)
            if call.id != raw:
                call.extra[CALL_ID] = raw
            if raw in first:
                repeated.add(raw)
            first.setdefault(raw, call.id)
        for result, name in zip(turn.results, names, strict=True):
            if result.call_id in first and result.call_id == name:
                if result.call_id in repeated:
                    result.extra[AMBIGUOUS] = True
                result.call_id = first[result.call_id]


# --- values ----------------------------------------------------------------------------------


def _object(value: Any, index: int) -> Json:
    if not isinstance(value, dict):
        raise FormatError(f"steps[{index}]: expected an object, got {type(value).__name__}")
    return value


def _list(value: Any, index: int) -> list[Any]:
    if value is not None and not isinstance(value, list):
        raise FormatError(f"steps[{index}]: expected a list, got {type(value).__name__}")
    return value or []


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _integer(value: Any) -> int | None:
    return value if type(value) is int else None


def _integers(value: Any) -> list[int] | None:
    if not isinstance(value, list) or any(type(item) is not int for item in value):
        return None
    return list(value)


def _content(value: Any) -> tuple[str | None, TextState]:
    """Read a message or a result's content: a text, or parts of which only texts are read."""
    if isinstance(value, str):
        return value, TextState.of(value)
    if isinstance(value, list):
        parts = [part.get("text") for part in value if isinstance(part, dict)]
        text = "\n".join(part for part in parts if isinstance(part, str))
        return text, TextState.of(text)
    return None, TextState.ABSENT


def _strict(value: Any) -> Any:
    """Copy a JSON value; a number that JSON cannot write becomes null (our part names it)."""
    if isinstance(value, dict):
        return {key: _strict(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_strict(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else copy.deepcopy(value)


def _stamps(time_s: float | None, is_copied_context: bool) -> Json:
    stamps: Json = {}
    if time_s is not None and math.isfinite(time_s):
        try:
            stamp = datetime.fromtimestamp(time_s, UTC).isoformat()
            stamps["timestamp"] = stamp.replace("+00:00", "Z")
        except (OverflowError, OSError, ValueError):
            pass  # no calendar reaches that far; the number itself goes under `sim2live`
    if is_copied_context:
        stamps["is_copied_context"] = True
    return stamps


def _seconds(stamp: Any) -> float | None:
    """Read an ISO 8601 stamp as seconds since the epoch; one without a zone counts as UTC."""
    if not isinstance(stamp, str):
        return None
    try:
        moment = datetime.fromisoformat(stamp.replace("Z", "+00:00"))
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None
