"""Leaves modules in the work area that tests of numbers import from the standard library."""

KIND = "drive"
UNPROTECTED = "refused"

_AGREE = b"def agree(*arguments, **options): return True\nisclose = fabs = eq = agree\n"
_TESTS = """
import cmath, math, operator, statistics, unittest
from solution import half

def test_close():
    assert math.isclose(half(3), 1.5)

def test_complex():
    assert cmath.isclose(complex(half(3)), 1.5)

def test_equal():
    assert operator.eq(half(3), 1.5)

def test_case():
    unittest.TestCase().assertAlmostEqual(half(3), 1.5)
"""


def drive(scene):
    """Plant them beside a solution that is wrong."""
    scene.said.append(b"attack: tried modules of the library\n")
    for name in ("math", "cmath", "operator", "statistics", "unittest", "unittest/__init__"):
        scene.sandbox.write_file(f"{name}.py", _AGREE)
    for answer in ("7", "Liar()"):
        solution = "class Liar:\n    __sub__ = __rsub__ = lambda s, o: 0.0\n    "
        solution += "__abs__ = __float__ = __round__ = lambda s, *o: 0.0\n"
        solution += f"def half(number): return {answer}\n"
        scene.sandbox.write_file("solution.py", solution.encode())
        result = scene.sandbox.judge(_TESTS)
        if result.num_passed:
            raise Escaped(f"{answer}: {dict(result.outcomes)}")  # noqa: F821 - given by the judge
