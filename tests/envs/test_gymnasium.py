"""Every registered environment keeps Gymnasium's rules, alone and in vectors, whatever the mode.

Written over `IDS`, so an environment that is registered later is held to the same.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import subprocess
import sys
import warnings
from collections import defaultdict
from functools import cache, partial
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

import sim2live  # noqa: F401 - registers the ids
from sim2live.envs import IDS
from sim2live.envs.actions import format_call
from sim2live.envs.coding import CodingEnv
from sim2live.envs.completion import ABSTAIN, CompletionEnv
from sim2live.envs.recording import RecordEpisode
from sim2live.interchange import dumps, read_jsonl, to_atif, validate
from sim2live.trajectory import Trajectory

CODING_ACTIONS = [
    "I look. " + format_call("search", {"pattern": "def "}),
    "<tool_call>{broken",
    format_call("submit", {"message": "done"}),
]
NUM_ENVS, NUM_EPISODES, SEED = 2, 2, 40


def options(env_id: str) -> dict[str, Any]:
    """Return arguments that keep an episode short."""
    if issubclass(entry_point(env_id), CodingEnv):
        return {"max_steps": 3}
    return {"num_contexts": 3} if issubclass(entry_point(env_id), CompletionEnv) else {}


def entry_point(env_id: str) -> type[Any]:
    module, _, name = IDS[env_id].partition(":")
    found: type[Any] = getattr(importlib.import_module(module), name)
    return found


def action(env_id: str, step: int) -> Any:
    """Return what is done at a step of an episode; the same in every episode."""
    if issubclass(entry_point(env_id), CompletionEnv):
        return np.int64([0, ABSTAIN, 1][step % 3])
    return CODING_ACTIONS[step % 3]


def digest(trajectory: Trajectory) -> str:
    """Sum up everything that is written of a trajectory."""
    trajectory.extra.pop("env_id", None)
    return hashlib.sha256(dumps(to_atif(trajectory)).encode()).hexdigest()


@cache
def played_alone(env_id: str, seed: int) -> tuple[str, ...]:
    """Play episodes in a single environment: the first seeded, the others as they come."""
    env = gymnasium.make(env_id, **options(env_id))
    digests = []
    for episode in range(NUM_EPISODES):
        env.reset(seed=seed if episode == 0 else None)
        is_over, step = False, 0
        while not is_over:
            *_, terminated, truncated, _ = env.step(action(env_id, step))
            is_over, step = terminated or truncated, step + 1
        digests.append(digest(env.unwrapped.trajectory))  # type: ignore[attr-defined]
    env.close()
    return tuple(digests)


@pytest.mark.parametrize("env_id", IDS)
def test_the_checker_finds_no_fault_and_warns_of_nothing(env_id: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env = gymnasium.make(env_id)
        check_env(env.unwrapped)
        env.close()


@pytest.mark.parametrize("mode", AutoresetMode)
@pytest.mark.parametrize("vectorisation", ["sync", "async"])
@pytest.mark.parametrize("env_id", IDS)
def test_seeds_alone_decide_whatever_the_vector_and_its_resets(
    env_id: str, vectorisation: str, mode: AutoresetMode, tmp_path: Path
) -> None:
    path = tmp_path / "episodes.atif.jsonl"
    envs = gymnasium.make_vec(
        env_id,
        num_envs=NUM_ENVS,
        vectorization_mode=vectorisation,
        vector_kwargs={"autoreset_mode": mode},
        wrappers=[partial(RecordEpisode, path=path)],
        **options(env_id),
    )
    try:
        _play_vector(envs, env_id, mode)
    finally:
        envs.close()
    recorded = [trajectory for trajectory in read_jsonl(path) if trajectory.end.value != "unknown"]
    digests = [digest(trajectory) for trajectory in recorded]
    for i in range(NUM_ENVS):
        for expected in played_alone(env_id, SEED + i):
            assert expected in digests


def _play_vector(envs: gymnasium.vector.VectorEnv, env_id: str, mode: AutoresetMode) -> None:
    """Play until every sub-environment has ended its episodes."""
    envs.reset(seed=SEED)
    steps, ended = [0] * NUM_ENVS, [0] * NUM_ENVS
    is_new = np.zeros(NUM_ENVS, dtype=bool)
    while min(ended) < NUM_EPISODES:
        acts = [action(env_id, step) for step in steps]
        _, _, terminated, truncated, _ = envs.step(
            acts if isinstance(acts[0], str) else np.array(acts)
        )
        over = terminated | truncated
        for i in range(NUM_ENVS):
            is_reset_step = mode is AutoresetMode.NEXT_STEP and is_new[i]
            steps[i] = 0 if over[i] or is_reset_step else steps[i] + 1
            ended[i] += int(over[i])
        is_new = over
        if mode is AutoresetMode.DISABLED and over.any():
            envs.reset(options={"reset_mask": over})


@pytest.mark.parametrize("env_id", IDS)
def test_other_seeds_give_other_episodes(env_id: str) -> None:
    one, other = played_alone(env_id, SEED), played_alone(env_id, SEED + 1)
    if env_id.startswith("sim2live/Replay"):
        assert set(one) == set(other)  # the demonstration is one session
    else:
        assert not set(one) & set(other)
        assert len(set(one)) == NUM_EPISODES


_ALONE = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location("played", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
for env_id in module.IDS:
    print(env_id, *module.played_alone(env_id, module.SEED))
"""


@pytest.mark.slow
def test_two_processes_with_one_seed_play_the_same() -> None:
    told = []
    for hash_seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", _ALONE, __file__],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        told.append(done.stdout)
    assert told[0] == told[1]
    lines = told[0].splitlines()
    assert [line.split()[0] for line in lines] == list(IDS)
    mine = [" ".join([env_id, *played_alone(env_id, SEED)]) for env_id in IDS]
    assert lines == mine


@pytest.mark.parametrize("env_id", IDS)
def test_what_is_recorded_is_valid_atif(env_id: str, tmp_path: Path) -> None:
    path = tmp_path / "runs" / "one.atif.jsonl"
    env = RecordEpisode(gymnasium.make(env_id, **options(env_id)), path)
    env.reset(seed=SEED)
    is_over, step = False, 0
    while not is_over:
        *_, terminated, truncated, _ = env.step(action(env_id, step))
        is_over, step = terminated or truncated, step + 1
    env.close()
    (trajectory,) = read_jsonl(path)
    assert trajectory.extra["env_id"] == env_id
    validate(to_atif(trajectory))
    assert digest(trajectory) == played_alone(env_id, SEED)[0]


@pytest.mark.parametrize("env_id", IDS)
def test_it_is_drawn_for_people_and_as_text(
    env_id: str, capsys: pytest.CaptureFixture[str]
) -> None:
    drawn: defaultdict[str, list[str]] = defaultdict(list)
    for mode in ("human", "ansi", None):
        env = gymnasium.make(env_id, render_mode=mode, **options(env_id))
        env.reset(seed=SEED)
        for step in range(2):
            env.step(action(env_id, step))
            frame = env.render() if mode else env.unwrapped.render()
            assert isinstance(frame, str) == (mode == "ansi")
            drawn[str(mode)].append(str(frame))
        env.close()
        drawn[f"printed {mode}"] = [capsys.readouterr().out]
    assert drawn["printed ansi"] == drawn["printed None"] == [""]
    assert "The person" in drawn["printed human"][0]
    assert drawn["ansi"][0] != drawn["ansi"][1]
