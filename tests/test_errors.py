"""The tree of errors, the boundary that converts once, and unknown names."""

from __future__ import annotations

import inspect
import re

import pytest

from sim2live import errors
from sim2live.errors import (
    BridgeError,
    ConfigError,
    FormatError,
    SandboxError,
    SandboxWorkerError,
    Sim2LiveError,
    boundary,
    unknown_name,
)

CLASSES = [
    cls
    for _, cls in inspect.getmembers(errors, inspect.isclass)
    if cls.__module__ == errors.__name__
]


def test_every_error_is_of_the_tree_and_says_when_it_is_raised() -> None:
    assert len(CLASSES) > 10
    for cls in CLASSES:
        assert issubclass(cls, Sim2LiveError)
        assert cls.__doc__


def test_the_drawing_of_the_tree_is_the_tree() -> None:
    lines = (errors.__doc__ or "").splitlines()
    drawn: dict[str, str] = {}
    parents: list[tuple[int, str]] = []
    for line in lines:
        match = re.search(r"\b([A-Z]\w+Error)\b", line)
        if match is None or "EndReason" in line:
            continue
        while parents and parents[-1][0] >= match.start():
            parents.pop()
        if parents:
            drawn[match[1]] = parents[-1][1]
        parents.append((match.start(), match[1]))
    bases = {cls.__name__: cls.__bases__[0].__name__ for cls in CLASSES}
    assert {"Sim2LiveError": "Exception", **drawn} == bases


def test_a_wrong_option_is_also_a_value_error() -> None:
    with pytest.raises(ValueError, match="rate"):
        raise ConfigError("`rate` is -1; expected a positive number")


def test_a_boundary_converts_what_is_unexpected_and_keeps_the_cause() -> None:
    with (
        pytest.raises(SandboxError, match="starting the worker failed: KeyError: 'x'") as caught,
        boundary(SandboxError, "starting the worker"),
    ):
        raise KeyError("x")
    assert isinstance(caught.value.__cause__, KeyError)


def test_the_innermost_boundary_names_the_failure() -> None:
    with (
        pytest.raises(SandboxWorkerError, match="gone") as caught,
        boundary(BridgeError, "serving"),
        boundary(FormatError, "reading"),
    ):
        raise SandboxWorkerError("gone")
    assert caught.value.__cause__ is None


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_a_boundary_lets_a_stop_pass(stop: type[BaseException]) -> None:
    with pytest.raises(stop), boundary(BridgeError, "serving"):
        raise stop


def test_a_boundary_is_silent_if_nothing_goes_wrong() -> None:
    done = []
    with boundary(BridgeError, "serving"):
        done.append(1)
    assert done == [1]


def test_an_unknown_name_lists_the_close_and_the_known_ones() -> None:
    error = unknown_name("reward model", "reactons", ["reactions", "tests", "flawed"])
    assert isinstance(error, ConfigError)
    assert "unknown reward model `reactons`. Did you mean `reactions`?" in str(error)
    assert "Known: flawed, reactions, tests." in str(error)


def test_an_unknown_name_that_is_like_none_gives_no_hint() -> None:
    assert "Did you mean" not in str(unknown_name("verb", "xyzzy", ["detect", "replay"]))
    assert "Known: none." in str(unknown_name("verb", "xyzzy", []))
