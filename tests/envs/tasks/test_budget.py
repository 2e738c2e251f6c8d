"""Running broken code of our own: endless code stops, arguments stay fresh."""

import pytest

from sim2live.envs.tasks.budget import BudgetedFunction, BudgetSpentError, pack

ENDLESS = "def f(n):\n    while True:\n        n += 1\n"
DEEP = "def f(n):\n    return f(n + 1)\n"
STUBBORN = (
    "def f(n):\n    while True:\n        try:\n            while True:\n                n += 1\n"
    "        except Exception:\n            pass\n"
)


@pytest.mark.parametrize("source", [ENDLESS, STUBBORN])
def test_an_endless_loop_is_stopped_even_if_it_catches_exceptions(source):
    with pytest.raises(BudgetSpentError):
        BudgetedFunction(source, "f").is_right(pack((0,)), 1)


def test_endless_recursion_is_stopped():
    with pytest.raises(BudgetSpentError):
        BudgetedFunction(DEEP, "f", budget=50).call(pack((0,)))


def test_steps_are_counted_per_call_and_deterministic():
    function = BudgetedFunction(
        "def f(n):\n    for i in range(n):\n        pass\n    return n\n", "f"
    )
    assert [function.call(pack((n,))) for n in (5, 3)] == [5, 3]
    assert function.used == 4  # the call and three rounds


def test_an_exception_is_a_wrong_answer_and_a_changed_argument_does_not_leak():
    function = BudgetedFunction("def f(a):\n    a.append(1)\n    return a\n", "f")
    blob = pack(([],))
    assert function.is_right(blob, [1])
    assert function.is_right(blob, [1])
    assert not function.is_right(pack((3,)), [1])


def test_only_the_function_and_its_imports_are_loaded():
    source = "import math\n\n\nboom = 1 / 0\n\n\ndef f(x):\n    return math.gcd(x, 6)\n"
    assert BudgetedFunction(source, "f").is_right(pack((4,)), 2)
