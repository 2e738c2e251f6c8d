import pytest

from sim2live.envs.doubles import BROKEN, REFERENCE, MemoryComputer, tiny_task
from sim2live.envs.unreliable import UnreliableComputer
from sim2live.errors import ConfigError
from sim2live.trajectory import ToolCall


def write():
    return ToolCall(id="c", name="write_file", arguments={"path": "clamping.py", "text": REFERENCE})


def results(probability, n, seed=0):
    computer = UnreliableComputer(MemoryComputer(), {"write_file": probability})
    computer.reset(tiny_task(), seed=seed)
    return [computer.call(write()).ok for _ in range(n)]


def test_a_failed_call_changes_nothing_and_says_so():
    computer = UnreliableComputer(MemoryComputer(), {"write_file": 1.0})
    computer.reset(tiny_task(), seed=0)
    result = computer.call(write())
    assert result.ok is False
    assert "try again" in result.text
    assert computer.files()["clamping.py"] == BROKEN


def test_the_share_of_failures_is_the_probability():
    failed = results(0.25, 2000).count(False)
    assert 430 < failed < 570  # 500 in the mean, 3.6 standard deviations either way


def test_tools_that_are_not_named_never_fail():
    computer = UnreliableComputer(MemoryComputer(), {"run_tests": 1.0})
    computer.reset(tiny_task(), seed=0)
    assert computer.call(write()).ok


def test_failures_follow_the_seed():
    assert results(0.5, 50, seed=4) == results(0.5, 50, seed=4) != results(0.5, 50, seed=5)


def test_a_probability_outside_the_unit_interval_is_refused():
    with pytest.raises(ConfigError, match=r"must lie in \[0, 1\]"):
        UnreliableComputer(MemoryComputer(), {"run_tests": 1.5})
