"""What `RecordEpisode` writes, and that many may write to one file."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import gymnasium
import pytest

from sim2live.envs.actions import format_call
from sim2live.envs.doubles import REFERENCE, FakeUser, MemoryComputer, tiny_task
from sim2live.envs.recording import RecordEpisode, append_jsonl
from sim2live.envs.repair import RepairEnv
from sim2live.errors import ConfigError, FormatError
from sim2live.interchange import read_jsonl
from sim2live.trajectory import EndReason, Source, Trajectory

FIX = format_call("write_file", {"path": "clamping.py", "text": REFERENCE})
SUBMIT = format_call("submit", {"message": "done"})


def recorder(path: Path) -> RecordEpisode:
    env = RepairEnv(
        tasks=[tiny_task()], make_user=lambda rng: FakeUser(), computer=MemoryComputer()
    )
    return RecordEpisode(env, path)


def test_each_finished_episode_is_a_line_that_reads_back_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "new" / "e.atif.jsonl"
    env = recorder(path)
    records = []
    for seed in range(3):
        env.reset(seed=seed)
        env.step(FIX)
        assert env.step(SUBMIT)[2]
        records.append(env.unwrapped.trajectory)
        assert list(read_jsonl(path)) == records, "written when it ends, not later"
    env.close()
    assert list(read_jsonl(path)) == records
    assert env.num_recorded == 3


def test_what_is_given_up_is_written_as_it_stands_unless_nothing_was_done(tmp_path: Path) -> None:
    path = tmp_path / "e.atif.jsonl"
    env = recorder(path)
    env.reset(seed=0)
    env.reset(seed=1)
    env.step(FIX)
    env.reset(seed=2)
    env.step(FIX)
    env.step(FIX)
    env.close()
    records = list(read_jsonl(path))
    assert [len(record.turns) for record in records] == [1, 2]
    assert {record.end for record in records} == {EndReason.UNKNOWN}


def test_a_file_is_appended_to(tmp_path: Path) -> None:
    path = tmp_path / "e.atif.jsonl"
    for seed in range(2):
        env = recorder(path)
        env.reset(seed=seed)
        env.step(FIX)
        env.close()
    assert len({record.id for record in read_jsonl(path)}) == 2


def test_writers_at_the_same_time_never_mix_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "e.atif.jsonl"

    def write(number: int) -> None:
        append_jsonl(
            path,
            Trajectory(
                id=str(number), task_id="t", source=Source.SIMULATED, instruction="x" * 100_000
            ),
        )

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(40)))
    assert {record.id for record in read_jsonl(path)} == {str(number) for number in range(40)}


def test_a_torn_line_costs_only_itself(tmp_path: Path) -> None:
    path = tmp_path / "e.atif.jsonl"
    whole = Trajectory(id="a", task_id="t", source=Source.SIMULATED)
    append_jsonl(path, whole)
    with path.open("ab") as file:
        file.write(b'{"schema_version": "ATIF')
    append_jsonl(path, whole)
    first, torn, last = path.read_bytes().splitlines()
    assert first == last and torn.startswith(b'{"schema')
    with pytest.raises(FormatError, match="line 2"):
        list(read_jsonl(path))


def test_an_environment_without_a_trajectory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="keeps no `trajectory`"):
        RecordEpisode(gymnasium.make("CartPole-v1"), tmp_path / "e.jsonl")
