"""A wrapper that writes every finished episode as a line of an ATIF file (`interchange`)."""

from __future__ import annotations

import dataclasses
import fcntl
import os
from pathlib import Path
from typing import Any

import gymnasium

from ..errors import ConfigError
from ..interchange import dumps, to_atif
from ..trajectory import Trajectory


class RecordEpisode(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Appends the trajectory of each episode to a file, one document a line.

    An episode is written when it ends; one that is given up (by `reset` or `close` in the middle)
    is written as it stands, with the end reason `unknown`, if it has a turn. So every episode that
    was begun with an action is in the file.

    The file may be shared: sub-environments of a vector environment, threads and processes append
    to it under a lock, a whole line at a time. Lines then stand in the order in which episodes
    ended; `Trajectory.id` and `seed` say which is which, and `extra["env_id"]` which environment.
    The directory is made if it is missing. Wrap outermost: what an outer wrapper adds to a turn
    after the step (the index of a skill) would miss the last one.

    Args:
        env: an environment with a `trajectory` (all of ours have one).
        path: the file, by custom `*.atif.jsonl`; it is appended to if it exists.

    Raises:
        ConfigError: the environment keeps no `trajectory`.

    Example:
        >>> from functools import partial
        >>> record = partial(RecordEpisode, path="runs/episodes.atif.jsonl")
        >>> envs = gymnasium.make_vec(
        ...     "sim2live/Repair-v0", num_envs=4, wrappers=[record]
        ... )  # doctest: +SKIP
    """

    def __init__(self, env: gymnasium.Env[Any, Any], path: str | os.PathLike[str]) -> None:
        super().__init__(env)
        if not hasattr(type(env.unwrapped), "trajectory"):
            raise ConfigError(
                f"`{type(env.unwrapped).__name__}` keeps no `trajectory`; `RecordEpisode` works "
                "with the environments of sim2live"
            )
        self.path = Path(path)
        self.num_recorded = 0
        """Episodes that this wrapper has written."""
        self._is_running = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin an episode; one that was running is written first."""
        self._give_up()
        return self.env.reset(seed=seed, options=options)

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Take an action; write the episode if it ended."""
        self._is_running = True
        observation, reward, terminated, truncated, info = self.env.step(action)
        if terminated or truncated:
            self._write()
        return observation, reward, terminated, truncated, info

    def close(self) -> None:
        """Write an episode that is still running, and close the environment."""
        self._give_up()
        super().close()

    def _give_up(self) -> None:
        if self._is_running:
            self._write()

    def _write(self) -> None:
        self._is_running = False
        trajectory: Trajectory = self.env.unwrapped.trajectory  # type: ignore[attr-defined]
        spec = self.env.spec
        if spec is not None:
            extra = {**trajectory.extra, "env_id": spec.id}
            trajectory = dataclasses.replace(trajectory, extra=extra)
        append_jsonl(self.path, trajectory)
        self.num_recorded += 1


def append_jsonl(path: str | os.PathLike[str], trajectory: Trajectory) -> None:
    """Append one trajectory to a file that others may append to at the same time.

    If the last writer died in the middle of its line, the new one begins on a fresh line, so that
    only the torn one is lost; a reader names it.
    """
    line = (dumps(to_atif(trajectory)) + "\n").encode("ascii")
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    with open(path, "ab+", buffering=0) as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        end = file.seek(0, os.SEEK_END)
        if end:
            file.seek(end - 1)
            line = line if file.read(1) == b"\n" else b"\n" + line
        view = memoryview(line)
        while view:
            view = view[file.write(view) :]
