"""A stand-in for production: a world that the training side may serve but never look inside.

Nobody's private logs ship with this project, so demonstrations need real-looking traffic. This
world's people are another mixture than the simulator's and drift; its computer loses connections;
its tasks are harder on average. Everything computed from it says *stand-in*.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping

import numpy as np

from ..agents.base import Policy
from ..agents.rollout import Rollout
from ..agents.sources import WorldSource
from ..envs.check_cache import CheckCache
from ..envs.coding import CodingEnv
from ..envs.kinds import env_class
from ..envs.machines import Machines
from ..envs.sandbox import make_sandbox
from ..envs.sandbox_computer import SandboxComputer
from ..envs.tasks import TaskSampler
from ..envs.tasks.base import Task, TaskKind
from ..envs.unreliable import UnreliableComputer
from ..simulators.base import Trial
from ..simulators.logged import Backstage
from ..simulators.population import DAY_S, production_stand_in, simulator_population
from ..simulators.scripted import ScriptedUser
from ..trajectory import Outcome, Source, Trajectory

LABEL = "stand-in for production"

FAILURE_PROB: Mapping[str, float] = {"edit_file": 0.2, "write_file": 0.2, "run_tests": 0.1}
"""How often the stand-in's computer loses a call, by tool."""

SESSIONS_A_DAY = 2000
"""Traffic of the stand-in; its people drift by the day."""

HARD_FRAC = 0.4
"""Share of hard tasks in the stand-in's traffic (the simulator's is `SIMULATOR_HARD_FRAC`)."""

SIMULATOR_HARD_FRAC = 0.3


def make_world(
    *,
    computer: str = "simulated",
    person: str = "simulated",
    sandbox: str = "namespaces",
    seed: int = 0,
    num_envs: int = 16,
    time_s: Callable[[], float] = lambda: 0.0,
    machines: Machines | None = None,
    kind: TaskKind = TaskKind.REPAIR,
) -> Rollout:
    """Build a world from its two parts, each `simulated` or `live` (the stand-in's).

    The two mixed worlds are the hybrids of the attribution. No real production can be mixed like
    this; that it can be done here is what lets the stand-in check the estimators.

    Args:
        computer: `simulated` or `live`.
        person: `simulated` or `live`.
        sandbox: kind of sandbox that code runs in.
        seed: fixes who the stand-in's people are.
        num_envs: episodes that run at once.
        time_s: tells how long the stand-in has been running; its people drift.
        machines: sandboxes shared with worlds that do not run at the same time (`sandbox` is then
            theirs); by default the world has its own.
        kind: what is asked of the agent.
    """
    people = production_stand_in(seed) if person == "live" else simulator_population()
    cache, numbers = CheckCache(), itertools.count()

    def make_user(rng: np.random.Generator) -> ScriptedUser:
        return people.sample_user(rng, time_s())

    is_live = computer == "live" and person == "live"

    make = env_class(kind)

    def make_env() -> CodingEnv:
        if machines is not None:
            inner = machines.computer(next(numbers))
        else:
            inner = SandboxComputer(make_sandbox(sandbox), cache)
        return make(
            tasks=None,
            make_user=make_user,
            computer=UnreliableComputer(inner, FAILURE_PROB) if computer == "live" else inner,
            source=Source.LIVE if is_live else Source.SIMULATED,
        )

    return Rollout(make_env, num_envs=num_envs)


class StandInTraffic:
    """A live source: the stand-in's people bring one request each and get one response.

    What comes back is what production would show: no outcome, no hidden tests, no group of
    siblings. The truth is kept aside in `truth` for studies, out of the learner's way.

    Args:
        sandbox: kind of sandbox that plays the clients' machines.
        seed: fixes tasks, people and chance.
        split: which tasks people bring.
        machines: see `make_world`.
    """

    name = "live (stand-in)"

    def __init__(
        self,
        *,
        sandbox: str = "namespaces",
        seed: int = 0,
        split: str = "train",
        machines: Machines | None = None,
    ) -> None:
        self._num_served = 0
        self.rollout = make_world(
            computer="live",
            person="live",
            sandbox=sandbox,
            seed=seed,
            time_s=lambda: self._num_served * DAY_S / SESSIONS_A_DAY,
            machines=machines,
        )
        self._source = WorldSource(
            self.name, self.rollout, TaskSampler(split, hard_frac=HARD_FRAC, seed=seed), seed=seed
        )
        self.truth: dict[str, Outcome] = {}
        self.tasks: dict[str, Task] = {}
        """Every task that was served, by id."""
        self.trials: dict[str, dict[int, Trial]] = {}
        """What the people saw on trying the work, by session and turn."""

    def collect(self, policy: Policy, n: int) -> list[Trajectory]:
        """Serve the policy to the next `n` people and return what can be seen of it."""
        specs = self._source.specs(n)
        self.tasks.update({spec.task.id: spec.task for spec in specs})
        trajectories = self.rollout.play(policy, specs)
        self._num_served += n
        for trajectory in trajectories:
            self._hide(trajectory)
        return trajectories

    def backstage(self, trajectory: Trajectory) -> Backstage:
        """Return what only the stand-in knows of a session, for the teacher-forced comparison."""
        task = self.tasks.get(trajectory.task_id)
        return Backstage(
            brief=task.brief if task else None, trials=self.trials.get(trajectory.id, {})
        )

    def _hide(self, trajectory: Trajectory) -> None:
        """Keep aside what production would not show."""
        self.truth[trajectory.id] = trajectory.outcome
        trajectory.outcome = Outcome()
        trials = trajectory.extra.pop("trials", {})
        self.trials[trajectory.id] = {
            int(turn): Trial(num_tried=tried, num_wrong=wrong)
            for turn, (tried, wrong) in trials.items()
        }
        trajectory.extra.pop("group", None)
        trajectory.tags = (*trajectory.tags, LABEL)

    def close(self) -> None:
        """Close the world."""
        self.rollout.close()
