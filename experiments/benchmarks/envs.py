"""How many steps a second each environment plays, and where the time goes.

    python -m sim2live.experiments.benchmarks.envs --quick

Coding environments are played through their discrete skills by an untrained skill policy. No result
is cached: every call reaches a sandbox, and every test run really executes. Tasks are built before
the clock starts, since an environment draws from a finite pool of them.

An environment plays the same tasks again and again while a policy is trained, and what follows from
a text alone (the edits that are possible there, its complexity) is worked out once. So the first
round over the tasks is measured apart (*first*) from what follows (*alone*), which the target is
about.

*Steps* are decisions of the policy; *executions* are those that started code in the sandbox (the
others read or write its files, or talk to the person). Shares are wall time of one environment
played alone, where nothing overlaps: inside the sandbox, inside the policy, and everything else
(*Python*).
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
from rich.console import Console
from rich.table import Table

from ...agents.rollout import EpisodeSpec, Rollout
from ...agents.skill_policy import SkillPolicy
from ...envs import IDS
from ...envs.coding import CodingEnv
from ...envs.sandbox import make_sandbox
from ...envs.sandbox_computer import SandboxComputer
from ...envs.skill_sets import skill_set
from ...envs.tasks.base import Task
from ...envs.wrappers import SkillActions

NUM_MANY = 16
NUM_TASKS = 48
TARGET_STEPS_PER_S = 400
TARGET_PYTHON_FRAC = 0.15
_EXECUTIONS = frozenset({"exec", "python", "check", "judge", "pytest"})


class TimedSandbox:
    """A sandbox that keeps account of the time spent in it.

    Args:
        sandbox: what does the work.
    """

    def __init__(self, sandbox: Any) -> None:
        self._sandbox = sandbox
        self.spent_s = 0.0
        self.num_executions = 0

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._sandbox, name)
        if not callable(found):
            return found

        def timed(*args: Any, **kwargs: Any) -> Any:
            start_s = time.perf_counter()
            try:
                return found(*args, **kwargs)
            finally:
                self.spent_s += time.perf_counter() - start_s
                self.num_executions += name in _EXECUTIONS

        return timed


@dataclass(slots=True, kw_only=True)
class Row:
    """One way of playing one environment."""

    env: str
    way: str
    """`first` (one environment, tasks it never saw), `alone` (it again, later), `threads` (the
    training loop's rollout), `sync` or `async` (`make_vec`)."""
    num_envs: int
    num_resets: int = 0
    num_steps: int = 0
    num_executions: int | None = None
    duration_s: float = 0.0
    sandbox_s: float | None = None
    policy_s: float | None = None

    @property
    def steps_per_s(self) -> float:
        """Steps a second, resets included in the time."""
        return self.num_steps / self.duration_s

    def frac(self, seconds: float | None) -> float | None:
        """Return a share of the time; None if it is not known."""
        return None if seconds is None else seconds / self.duration_s

    @property
    def python_frac(self) -> float | None:
        """Share of the time outside sandbox and policy; None if it is not known."""
        if self.sandbox_s is None or self.policy_s is None:
            return None
        return 1 - (self.sandbox_s + self.policy_s) / self.duration_s


def coding_ids() -> dict[str, type[CodingEnv]]:
    """Return the coding environments by registered id."""
    found: dict[str, type[CodingEnv]] = {}
    for name, entry_point in IDS.items():
        module, _, attribute = entry_point.partition(":")
        made = getattr(importlib.import_module(module), attribute)
        if issubclass(made, CodingEnv):
            found[name] = made
    return found


def _tasks(make: type[CodingEnv]) -> list[Task]:
    """Build the tasks that are played."""
    draw, rng = make.draw_tasks("train"), np.random.default_rng(0)
    return [draw(rng) for _ in range(NUM_TASKS)]


def _policy(make: type[CodingEnv]) -> SkillPolicy:
    skills = skill_set(make.kind)
    return SkillPolicy(skills.num_features, prior=skills.prior, seed=0)


def alone(name: str, make: type[CodingEnv], num_steps: int) -> Iterator[Row]:
    """Play one environment and keep account of sandbox and policy: the first round, and later."""
    sandbox = TimedSandbox(make_sandbox("namespaces"))
    env = SkillActions(make(tasks=_tasks(make), computer=SandboxComputer(sandbox)))
    policy = _policy(make)
    try:
        _play(Row(env=name, way="start", num_envs=1), env, policy, sandbox, num_resets=1)
        first = Row(env=name, way="first", num_envs=1)
        _play(first, env, policy, sandbox, num_resets=NUM_TASKS)
        yield first
        # Tasks are drawn evenly: after three rounds one in twenty has not been seen.
        _play(
            Row(env=name, way="second", num_envs=1), env, policy, sandbox, num_resets=2 * NUM_TASKS
        )
        later = Row(env=name, way="alone", num_envs=1)
        _play(later, env, policy, sandbox, num_steps=num_steps)
        yield later
    finally:
        env.close()


def _play(
    row: Row,
    env: SkillActions,
    policy: SkillPolicy,
    sandbox: TimedSandbox,
    *,
    num_steps: int = 0,
    num_resets: int = 0,
) -> None:
    """Play at least so many steps and episodes, and enter them into a row."""
    row.policy_s = 0.0
    sandbox.spent_s, sandbox.num_executions = 0.0, 0
    start_s = time.perf_counter()
    while row.num_steps < num_steps or row.num_resets < num_resets:
        row.num_resets += 1
        observation, _ = env.reset(seed=0 if row.way == "start" else None)
        is_over = False
        while not is_over:
            act_s = time.perf_counter()
            (action,) = policy.act([observation])
            row.policy_s += time.perf_counter() - act_s
            observation, _, terminated, truncated, _ = env.step(action.value)
            row.num_steps += 1
            is_over = terminated or truncated
    row.duration_s = time.perf_counter() - start_s
    row.sandbox_s, row.num_executions = sandbox.spent_s, sandbox.num_executions


def in_threads(name: str, make: type[CodingEnv], num_steps: int) -> Row:
    """Play many environments with the rollout that training uses."""
    row = Row(env=name, way="threads", num_envs=NUM_MANY)
    sandboxes: list[TimedSandbox] = []

    def make_env() -> CodingEnv:
        sandboxes.append(TimedSandbox(make_sandbox("namespaces")))
        return make(computer=SandboxComputer(sandboxes[-1]))

    tasks, policy = _tasks(make), _policy(make)
    with Rollout(make_env, num_envs=NUM_MANY) as rollout:
        specs = [EpisodeSpec(task=task, seed=seed) for seed, task in enumerate(tasks)]
        rollout.play(policy, specs[:NUM_MANY])
        for sandbox in sandboxes:
            sandbox.num_executions = 0
        while row.num_steps < num_steps:
            start_s = time.perf_counter()
            played = rollout.play(policy, specs)
            row.duration_s += time.perf_counter() - start_s
            row.num_resets += len(played)
            row.num_steps += sum(len(trajectory.turns) for trajectory in played)
    row.num_executions = sum(sandbox.num_executions for sandbox in sandboxes)
    return row


def in_vector(name: str, make: type[CodingEnv] | None, way: str, num_steps: int) -> Row:
    """Play many environments with `gymnasium.make_vec`.

    Args:
        name: registered id.
        make: its class if it is a coding environment, else None: actions are then drawn evenly.
        way: `sync` or `async`.
        num_steps: at least so many steps of all sub-environments together.
    """
    row = Row(env=name, way=way, num_envs=NUM_MANY)
    wrappers = [SkillActions] if make is not None else []
    kwargs: dict[str, Any] = {"tasks": _tasks(make)} if make is not None else {}
    envs = gymnasium.make_vec(
        name, num_envs=NUM_MANY, vectorization_mode=way, wrappers=wrappers, **kwargs
    )
    policy = _policy(make) if make is not None else None
    envs.action_space.seed(0)
    try:
        observations, _ = envs.reset(seed=0)
        start_s = time.perf_counter()
        while row.num_steps < num_steps:
            if policy is None:
                actions = envs.action_space.sample()
            else:
                actions = np.array([a.value for a in policy.act(list(observations))])
            observations, _, terminated, truncated, _ = envs.step(actions)
            row.num_resets += int(np.sum(terminated | truncated))
            row.num_steps += NUM_MANY
        row.duration_s = time.perf_counter() - start_s
    finally:
        envs.close()
    return row


def simple(name: str, num_steps: int) -> Row:
    """Play one environment that has no skills with evenly drawn actions."""
    row = Row(env=name, way="alone", num_envs=1)
    env = gymnasium.make(name)
    env.action_space.seed(0)
    try:
        env.reset(seed=0)
        start_s = time.perf_counter()
        while row.num_steps < num_steps:
            env.reset()
            row.num_resets += 1
            is_over = False
            while not is_over:
                _, _, terminated, truncated, _ = env.step(env.action_space.sample())
                row.num_steps += 1
                is_over = terminated or truncated
        row.duration_s = time.perf_counter() - start_s
    finally:
        env.close()
    return row


def measure(num_steps: int) -> Iterator[Row]:
    """Measure every registered environment in every way."""
    coding = coding_ids()
    for name in IDS:
        make = coding.get(name)
        if make:
            yield from alone(name, make, num_steps)
            yield in_threads(name, make, num_steps)
        else:
            yield simple(name, num_steps)
        for way in ("sync", "async"):
            yield in_vector(name, make, way, num_steps)


@contextmanager
def _progress(console: Console) -> Iterator[Callable[[Row], None]]:
    with console.status("measuring") as status:
        yield lambda row: status.update(f"measured {row.env}, {row.way}")


def show(rows: Sequence[Row], console: Console) -> None:
    """Print the tables."""
    table = Table("environment", "way", "envs", "resets/s", "steps/s", "executions/s")
    for name in ("sandbox", "policy", "Python"):
        table.add_column(name, justify="right")
    for row in rows:
        executions = (
            "-" if row.num_executions is None else f"{row.num_executions / row.duration_s:.0f}"
        )
        shares = (row.frac(row.sandbox_s), row.frac(row.policy_s), row.python_frac)
        table.add_row(
            _short(row),
            row.way,
            str(row.num_envs),
            f"{row.num_resets / row.duration_s:.1f}",
            f"{row.steps_per_s:.0f}",
            executions,
            *("-" if share is None else f"{share:.0%}" for share in shares),
        )
    console.print(table)
    for what, value, limit, is_met in targets(rows):
        console.print(f"{what}: {value:.3g}, target {limit}: {'met' if is_met else 'not met'}")


def targets(rows: Sequence[Row]) -> list[tuple[str, float, str, bool]]:
    """Compare with what is aimed at: what, value, target, and whether it is met."""
    found = []
    for row in rows:
        if row.num_executions is not None and row.way == "threads":
            is_met = row.steps_per_s >= TARGET_STEPS_PER_S
            what = f"{_short(row)}: skill steps a second with {row.num_envs} environments"
            found.append((what, row.steps_per_s, f">= {TARGET_STEPS_PER_S}", is_met))
        if row.python_frac is not None and row.way == "alone":
            is_met = row.python_frac < TARGET_PYTHON_FRAC
            what = f"{_short(row)}: share of time outside sandbox and policy"
            found.append((what, row.python_frac, f"< {TARGET_PYTHON_FRAC}", is_met))
    return found


def _short(row: Row) -> str:
    return row.env.removeprefix("sim2live/")


def to_json(rows: Sequence[Row]) -> str:
    """Return everything as JSON."""
    document = {
        "rows": [
            {
                **dataclasses.asdict(row),
                "steps_per_s": row.steps_per_s,
                "python_frac": row.python_frac,
            }
            for row in rows
        ],
        "targets": [
            {"what": what, "value": value, "target": limit, "is_met": is_met}
            for what, value, limit, is_met in targets(rows)
        ],
    }
    return json.dumps(document, indent=2)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the benchmark; returns 0 whatever the figures are."""
    parser = argparse.ArgumentParser(
        prog="python -m sim2live.experiments.benchmarks.envs",
        description="Measure resets and steps a second of every environment.",
        epilog="example: python -m sim2live.experiments.benchmarks.envs --quick --json",
    )
    parser.add_argument("--quick", action="store_true", help="a fifth of the steps")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    options = parser.parse_args(argv)
    console = Console(stderr=options.json, width=None if sys.stdout.isatty() else 100)
    rows = []
    with _progress(console) as tell:
        for row in measure(400 if options.quick else 2000):
            rows.append(row)
            tell(row)
    if options.json:
        sys.stdout.write(to_json(rows) + "\n")
    else:
        show(rows, console)
    return 0


if __name__ == "__main__":
    sys.exit(main())
