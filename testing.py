"""Hypothesis strategies for what the package passes around, for our tests and for extensions.

`trajectories`, `turns` and `reactions` are derived from the annotations of `trajectory.py`, so that
a new field is tested without anyone thinking of it. `foreign_documents` makes ATIF v1.8 documents
as other projects write them, with all their freedoms. Nothing here tries to look plausible: a story
that makes sense is what a simulated episode is for.

Texts may hold lone surrogates (a high one directly before a low one is one character in JSON and is
made one here), floats may be infinite or NaN, and keys of `extra` keep clear of those that
`interchange.py` has reserved.
"""

from __future__ import annotations

import typing
from dataclasses import MISSING
from enum import Enum
from functools import cache
from types import UnionType
from typing import TYPE_CHECKING, Any

from .codec import hints, written_fields
from .errors import MissingExtraError
from .interchange import ATIF_VERSION, RESERVED
from .trajectory import Json, Reaction, Trajectory, Turn

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy

TIMESTAMPS = (
    "2025-10-16T14:30:00Z",
    "2025-10-16T14:30:00.123Z",
    "2025-10-16T14:30:00.123456+00:00",
    "2025-10-16T16:30:00+02:00",
    "2025-10-16T14:30:00",
    "2025-10-16 14:30:00",
    "2025-10-16",
    "20251016T143000Z",
    "0001-01-01T00:00:00+14:00",
    "9999-12-31T23:59:59-12:00",
)
"""One moment or another in notations that ATIF allows."""


def reactions() -> SearchStrategy[Reaction]:
    """Return a strategy for reactions, of every kind and provenance."""
    _require_hypothesis()
    return _instances(Reaction)


def turns() -> SearchStrategy[Turn]:
    """Return a strategy for turns; the ids of their calls may repeat."""
    _require_hypothesis()
    return _instances(Turn)


def trajectories() -> SearchStrategy[Trajectory]:
    """Return a strategy for trajectories whose call ids are unique, as the contract says.

    Results answer a call of their own turn, one of another turn, or none.
    """
    _require_hypothesis()
    from hypothesis import strategies as st

    @st.composite
    def build(draw: DrawFn) -> Trajectory:
        trajectory: Trajectory = draw(_instances(Trajectory))
        _number_repeated_ids(trajectory)
        everywhere = [call.id for call in trajectory.tool_calls]
        for turn in trajectory.turns:
            here = [call.id for call in turn.tool_calls]
            for result in turn.results:
                choices = [st.just(result.call_id)]
                choices += [st.sampled_from(ids) for ids in (here, everywhere) if ids]
                result.call_id = draw(st.one_of(choices))
        return trajectory

    return build()


def foreign_documents(*, is_valid: bool = False) -> SearchStrategy[Json]:
    """Return a strategy for ATIF documents of other projects, numbered as ATIF asks.

    Fields are present, null or absent; contents are texts or parts with images and audio; call ids
    repeat; log-probabilities need not match the tokens; subagents are referred to or embedded.

    Args:
        is_valid: leave out what is common in the wild but that the `atif` models refuse, which is
            a result that names none of its step's calls.
    """
    _require_hypothesis()
    from hypothesis import strategies as st

    @st.composite
    def build(draw: DrawFn) -> Json:
        document: Json = draw(_foreign_root())
        steps = draw(st.lists(_foreign_steps(is_valid), max_size=4))
        document["steps"] = [{"step_id": n, **step} for n, step in enumerate(steps, 1)]
        if draw(st.booleans()):
            embedded = [
                {**draw(_foreign_root()), "trajectory_id": name, "steps": []}
                for name in draw(st.lists(_texts(), max_size=2, unique=True))
            ]
            document["subagent_trajectories"] = embedded
        return document

    return build()


def json_values(*, max_leaves: int = 6) -> SearchStrategy[Any]:
    """Return a strategy for whatever Python's `json` can hold, NaN and infinities included."""
    _require_hypothesis()
    from hypothesis import strategies as st

    leaves = st.none() | st.booleans() | st.integers() | st.floats() | _texts()
    return st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_keys(), inner, max_size=3),
        max_leaves=max_leaves,
    )


def _require_hypothesis() -> None:
    """Import hypothesis where it is needed; users of the package do not have to have it."""
    try:
        import hypothesis.strategies  # noqa: F401
    except ImportError as error:
        raise MissingExtraError(
            "`sim2live.testing` needs hypothesis, which is not installed; run "
            '`pip install "sim2live[dev]"`'
        ) from error


# --- from annotations --------------------------------------------------------------------------


def _instances(cls: type) -> SearchStrategy[Any]:
    """Return a strategy for a dataclass; any field that has a default may be left at it."""
    from hypothesis import strategies as st

    kinds = hints(cls)
    # `extra` is the only `Json` field whose keys are not free.
    fields = {
        field.name: _extras() if field.name == "extra" else _values(kinds[field.name])
        for field in written_fields(cls)
    }
    required = {name: fields.pop(name) for name in _fields_without_default(cls)}
    return st.fixed_dictionaries(required, optional=fields).map(lambda values: cls(**values))


def _fields_without_default(cls: type) -> list[str]:
    return [
        field.name
        for field in written_fields(cls)
        if field.default is MISSING and field.default_factory is MISSING
    ]


def _values(kind: Any) -> SearchStrategy[Any]:
    from hypothesis import strategies as st

    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, UnionType):
        return st.none() | _values(arguments[0])
    if origin is dict:
        return st.dictionaries(_texts(), _values(arguments[1]), max_size=3)
    if origin in (list, tuple):
        return st.lists(_values(arguments[0]), max_size=3).map(origin)
    if kind is Any:
        return json_values()
    if isinstance(kind, type) and issubclass(kind, Enum):
        return st.sampled_from(list(kind))
    leaves: dict[Any, Any] = {str: _texts, int: st.integers, float: st.floats, bool: st.booleans}
    return leaves[kind]() if kind in leaves else _instances(kind)


@cache
def _extras() -> SearchStrategy[Json]:
    from hypothesis import strategies as st

    return st.dictionaries(
        _keys().filter(lambda key: key not in RESERVED), json_values(), max_size=2
    )


@cache
def _texts() -> SearchStrategy[str]:
    from hypothesis import strategies as st

    alphabet = st.characters(exclude_categories=())
    return st.text(alphabet, max_size=8).map(_join_pairs)


@cache
def _keys() -> SearchStrategy[str]:
    """Return a strategy for keys: also those that mean something to the codec."""
    from hypothesis import strategies as st

    return _texts() | st.sampled_from(["$float", "extra", "id"])


def _join_pairs(text: str) -> str:
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def _number_repeated_ids(trajectory: Trajectory) -> None:
    taken: set[str] = set()
    for call in trajectory.tool_calls:
        raw, number = call.id, 0
        while call.id in taken:
            number += 1
            call.id = f"{raw}-{number}"
        taken.add(call.id)


# --- documents of other projects ----------------------------------------------------------------


def _objects(required: dict[str, Any], optional: dict[str, Any]) -> SearchStrategy[Json]:
    """Return a strategy for objects whose optional fields are present, null or absent."""
    from hypothesis import strategies as st

    nullable = {name: st.none() | strategy for name, strategy in optional.items()}
    return st.fixed_dictionaries(required, optional=nullable)


@cache
def _foreign_root() -> SearchStrategy[Json]:
    from hypothesis import strategies as st

    texts, extra = _texts(), _extras()
    counts = st.integers(0, 10**6)
    agent = _objects(
        {"name": texts, "version": texts},
        {
            "model_name": texts,
            "tool_definitions": st.lists(
                st.fixed_dictionaries(
                    {"type": st.just("function"), "function": st.dictionaries(texts, json_values())}
                )
                | st.fixed_dictionaries({"name": texts}),
                max_size=2,
            ),
            "extra": extra,
        },
    )
    totals = ("total_prompt_tokens", "total_completion_tokens", "total_cached_tokens")
    final = _objects(
        {},
        {
            **dict.fromkeys((*totals, "total_steps"), counts),
            "total_cost_usd": st.floats(0, 10),
            "extra": extra,
        },
    )
    return _objects(
        {
            "schema_version": st.sampled_from(["ATIF-v1.2", "ATIF-v1.6", ATIF_VERSION]),
            "agent": agent,
        },
        {
            "session_id": texts,
            "trajectory_id": texts,
            "notes": texts,
            "final_metrics": final,
            "continued_trajectory_ref": texts,
            "extra": extra,
        },
    )


@cache
def _contents() -> SearchStrategy[Any]:
    """Return a strategy for a text or its parts."""
    from hypothesis import strategies as st

    image = st.fixed_dictionaries({"media_type": st.just("image/png"), "path": _texts()})
    audio = st.fixed_dictionaries(
        {"media_type": st.just("audio/wav"), "path": _texts()},
        optional={"duration_sec": st.none() | st.floats(0, 100)},
    )
    part = (
        st.fixed_dictionaries({"type": st.just("text"), "text": _texts()})
        | st.fixed_dictionaries({"type": st.just("image"), "source": image})
        | st.fixed_dictionaries({"type": st.just("audio"), "source": audio})
    )
    return _texts() | st.lists(part, max_size=3)


def _stamps() -> SearchStrategy[str]:
    from hypothesis import strategies as st

    return st.sampled_from(TIMESTAMPS)


@cache
def _foreign_metrics() -> SearchStrategy[Json]:
    from hypothesis import strategies as st

    counts, ids = st.integers(0, 10**6), st.lists(st.integers(0, 10**5), max_size=3)
    return _objects(
        {},
        {
            "prompt_tokens": counts,
            "completion_tokens": counts,
            "cached_tokens": counts,
            "cost_usd": st.floats(0, 10),
            "prompt_token_ids": ids,
            "completion_token_ids": ids,
            "logprobs": st.lists(st.floats(-20, 0), max_size=3),
            "extra": _extras(),
        },
    )


def _foreign_results(names: list[str]) -> SearchStrategy[Json]:
    from hypothesis import strategies as st

    reference = st.fixed_dictionaries(
        {"trajectory_id": _texts()}, optional={"trajectory_path": _texts(), "session_id": _texts()}
    )
    optional: dict[str, Any] = {
        "content": _contents(),
        "subagent_trajectory_ref": st.lists(reference, min_size=1, max_size=2),
        "extra": _extras(),
    }
    if names:
        optional["source_call_id"] = st.sampled_from(names)
    return _objects({}, optional)


@cache
def _foreign_steps(is_valid: bool) -> SearchStrategy[Json]:
    from hypothesis import strategies as st

    @st.composite
    def build(draw: DrawFn) -> Json:
        optional = {
            "timestamp": _stamps(),
            "extra": _extras(),
            "is_copied_context": st.booleans(),
        }
        source = draw(st.sampled_from(["user", "system", "agent", "agent"]))
        if source == "agent":
            optional |= {"model_name": _texts(), "reasoning_effort": _texts() | st.floats(0, 1)}
            optional |= {"reasoning_content": _texts(), "metrics": _foreign_metrics()}
            optional |= {"llm_call_count": st.integers(1, 3)}
        step: Json = draw(_objects({"source": st.just(source), "message": _contents()}, optional))
        if source == "agent":
            step |= draw(_foreign_calls())
        step |= draw(_foreign_observations(step, is_valid))
        return step

    return build()


@cache
def _foreign_calls() -> SearchStrategy[Json]:
    from hypothesis import strategies as st

    call = _objects(
        {
            "tool_call_id": st.sampled_from(["c", "call", "c#2", ""]) | _texts(),
            "function_name": _texts(),
            "arguments": st.dictionaries(_keys(), json_values(), max_size=2),
        },
        {"extra": _extras()},
    )
    return _objects({}, {"tool_calls": st.lists(call, max_size=3)})


def _foreign_observations(step: Json, is_valid: bool) -> SearchStrategy[Json]:
    """Return a strategy for a step's observation: absent, null, empty, or with results."""
    from hypothesis import strategies as st

    names = [call["tool_call_id"] for call in step.get("tool_calls") or []]
    if not is_valid or step.get("tool_calls") is None:
        names = [*names, "orphan", "c"]
    results = st.lists(_foreign_results(names), max_size=3)
    return _objects({}, {"observation": st.fixed_dictionaries({"results": results})})
