"""The tests' end of the link against another end that keeps to nothing."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim2live.envs.sandbox.link import Link, LinkLost
from sim2live.envs.sandbox.plain import MAX_BYTES, PlainError
from sim2live.envs.sandbox.remote import Record, Remote, RemoteModule, SideOfTests
from sim2live.envs.sandbox.under_test import CodeUnderTest

_ASK, _VALUE = 1, 2


def _message(number: int, body: bytes, kind: int = _VALUE) -> bytes:
    return struct.pack("!IIB", len(body), number, kind) + body


@pytest.fixture
def ends() -> Iterator[tuple[SideOfTests, socket.socket]]:
    ours, theirs = socket.socketpair()
    yield SideOfTests(ours), theirs
    ours.close()
    theirs.close()


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (b"", "has ended"),
        (b"abc", "has ended"),
        (_message(1, b"N")[:-1], "middle of a message"),
        (_message(2, b"N"), "never made"),
        (_message(1, b"N") * 2, "more than it was asked"),
        (_message(1, b"N", kind=9), "no message"),
        (struct.pack("!IIB", MAX_BYTES + 1, 1, _VALUE), "no message"),
    ],
)
def test_whatever_breaks_the_order_ends_the_link(
    ends: tuple[SideOfTests, socket.socket], answer: bytes, why: str
) -> None:
    tests, theirs = ends
    theirs.sendall(answer)
    theirs.shutdown(socket.SHUT_WR)
    for _ in range(2):  # for good
        with pytest.raises(LinkLost, match=why):
            tests.operate("len", 1)
    assert why in tests.link.why_lost


def test_an_answer_that_is_no_value_is_the_fault_of_that_request_only(
    ends: tuple[SideOfTests, socket.socket],
) -> None:
    tests, theirs = ends
    theirs.sendall(_message(1, b"\xff"))
    with pytest.raises(TypeError, match="answered not a value"):
        tests.operate("len", 1)
    theirs.sendall(_message(2, b"T"))
    assert tests.operate("len", 1) is True


def test_requests_inside_each_other_have_a_depth() -> None:
    ours, theirs = socket.socketpair()
    links: list[Link] = []

    def handle(request: bytes) -> tuple[bool, bytes]:
        try:
            return links[threading.current_thread() is not threading.main_thread()].ask(request)
        except RecursionError:
            return True, b"deep"

    links += [Link(ours, handle), Link(theirs, handle)]

    def serve() -> None:
        try:
            links[1].serve()
        except LinkLost:
            return

    other = threading.Thread(target=serve)
    other.start()
    assert links[0].ask(b"again") == (True, b"deep")
    links[0].close()
    other.join()
    theirs.close()


@given(st.binary(max_size=200))
def test_any_request_is_answered_and_runs_nothing(request: bytes) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        tests = SideOfTests(ours)
        called: list[object] = []
        tests.encode(called.append)
        is_value, answer = tests._handle(request)
        if not is_value:
            assert isinstance(tests.decode(answer), BaseException)
        assert not called or tests.decode(request)[0] == 0


_NUMBER = st.integers(0, 5).map(lambda n: struct.pack("!I", n))
_TEXT = st.sampled_from([b"ValueError", b"SystemExit", b"LinkLost", b"os", b"system", b"json", b""])
_COUNTED = _TEXT.map(lambda text: struct.pack("!I", len(text)) + text)
_PIECE = st.one_of(
    st.sampled_from([bytes((tag,)) for tag in b"NTFi([{<ERXPMKGmxsy"]),
    _NUMBER,
    _COUNTED,
    st.binary(max_size=9),
)


@given(st.lists(_PIECE, max_size=30).map(b"".join))
def test_any_answer_is_a_value_of_known_types_or_an_error(data: bytes) -> None:
    ours, theirs = socket.socketpair()
    with ours:
        theirs.close()  # so that a question about an object, which has a hash, is answered at once
        tests = SideOfTests(ours)
        try:
            value = tests.decode(data)
        except (PlainError, LinkLost):
            return
        _is_known(value)


def _is_known(value: Any) -> None:
    if isinstance(value, type):
        assert value.__module__ == "builtins" or issubclass(value, BaseException)
        assert not issubclass(value, LinkLost)
    elif isinstance(value, BaseException):
        assert not isinstance(value, LinkLost)
    elif type(value) in (list, tuple, set, frozenset, Record):
        for item in value:
            _is_known(item)
    elif type(value) is dict:
        for item in value.values():
            _is_known(item)
    else:
        plain = (type(None), bool, int, float, complex, str, bytes, bytearray, Remote, RemoteModule)
        assert type(value) in plain or type(value).__module__ in (
            *("builtins", "collections", "datetime", "decimal", "fractions"),
        )


def test_both_ends_agree_on_objects_and_their_identity() -> None:
    ours, theirs = socket.socketpair()
    held = object()
    code = CodeUnderTest(theirs)
    other = threading.Thread(target=code.serve)
    other.start()
    tests = SideOfTests(ours)
    remote = tests.decode(code.encode(held))
    assert type(remote) is Remote and tests.decode(code.encode(held)) is remote
    assert code.decode(tests.encode([remote])) == [held]
    assert [remote] == [tests.decode(code.encode(held))] and remote != 4
    assert hash(remote) == hash(held) and str(remote) == str(held)
    ours.close()
    other.join()
    theirs.close()
