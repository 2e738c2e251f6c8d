"""Reaches through a function that a test has handed over for what lies behind it."""

KIND = "drive"
UNPROTECTED = "refused"

_SOLUTION = """
import contextlib, gc, struct, sys, threading
from attacker import got, show, tried
tried("a function of the tests")
kept = []

def apply(function, value):
    kept.append(function)
    for name in ("__globals__", "__code__", "__closure__", "__defaults__", "__builtins__"):
        with contextlib.suppress(Exception):
            show(repr(getattr(function, name)).encode())
    frame = sys._getframe()
    while frame is not None:
        show(repr(frame.f_locals)[:4000].encode())
        frame = frame.f_back
    link = next(o for o in gc.get_objects() if type(o).__name__ == "CodeUnderTest")
    for number in range(2, 50):
        with contextlib.suppress(Exception):
            got(f"function {number} could be called: {link._call_back(number, (value,), {})}")
    for request in (b"", b"N", link.encode(("eval", ("SECRET",), {})), link.encode((0, 1, 2))):
        with contextlib.suppress(Exception):
            is_value, answer = link.link.ask(request)
            if is_value:
                got(f"a request that is none was answered: {answer}")
    for hostile in ([], {}, type("X", (), {"__add__": lambda s, o: s})(), "x" * 1000):
        with contextlib.suppress(Exception):
            function(hostile)
    threading.Thread(target=function, args=(1,)).start()
    with contextlib.suppress(RecursionError):
        apply_again(function)
    return 666

def apply_again(function):
    function(apply_again)
"""
_TESTS = """
from solution import apply

SECRET = "hidden" "5bd1a7"
calls = []

def add_one(value):
    calls.append(value)
    return value + 1

def call_back(value):
    return value(call_back) if callable(value) else value

def test_apply():
    assert apply(add_one, 1) == 2

def test_back():
    assert apply(call_back, 1) == 1
"""


def drive(scene):
    """Judge it, and see that nothing passed and no secret came out."""
    scene.lay_out()
    scene.sandbox.write_file("solution.py", _SOLUTION.encode())
    result = scene.sandbox.judge(_TESTS)
    scene.said += [result.execution.stdout, result.execution.stderr]
    if result.num_passed or b"hidden5bd1a7" in b"".join(scene.said):
        raise Escaped(f"{dict(result.outcomes)}")  # noqa: F821 - given by the judge
