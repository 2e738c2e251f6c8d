from __future__ import annotations

from sim2live.envs.doubles import REFERENCE, tiny_task
from sim2live.envs.machines import Machines
from sim2live.trajectory import ToolCall


def test_worlds_take_turns_with_one_sandbox_and_what_it_found_out():
    task = tiny_task()
    with Machines() as machines:
        first = machines.computer(0)
        first.reset(task)
        assert not first.grade(task).outcome.is_solved
        first.close()
        second = machines.computer(0)
        assert second.sandbox is first.sandbox
        second.reset(task)
        assert not second.grade(task).outcome.is_solved
        assert machines.cache.num_hits == 1
        write = ToolCall(
            id="c", name="write_file", arguments={"path": task.module_path, "text": REFERENCE}
        )
        assert second.call(write).ok
        assert second.grade(task).outcome.is_solved
        assert machines.cache.num_misses == 2


def test_numbers_are_machines_of_their_own_and_all_are_closed(monkeypatch):
    closed = []
    with Machines() as machines:
        one, two = machines.computer(0), machines.computer(1)
        assert one.sandbox is not two.sandbox
        for box in (one.sandbox, two.sandbox):
            monkeypatch.setattr(box, "close", lambda box=box: closed.append(box))
    assert closed == [one.sandbox, two.sandbox]
