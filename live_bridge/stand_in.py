"""A stand-in for production: a world that the training side may serve but never look inside.

Nobody's private logs ship with this project, so demonstrations need real-looking traffic. This
world's people are another mixture than the simulator's and drift; its computer loses connections;
its tasks are harder on average. Everything computed from it says *stand-in*.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..agents.base import Policy
from ..agents.rollout import Rollout
from ..agents.sources import WorldSource
from ..envs.repair import MakeUser, RepairEnv
from ..envs.sandbox import make_sandbox
from ..envs.sandbox_computer import SandboxComputer
from ..envs.tasks import TaskSampler
from ..envs.tasks.base import Task
from ..envs.unreliable import UnreliableComputer
from ..simulators.population import production_stand_in, simulator_population
from ..trajectory import Outcome, Source, Trajectory

LABEL = "stand-in for production"

FAILURE_PROB: Mapping[str, float] = {"edit_file": 0.2, "write_file": 0.2, "run_tests": 0.1}
"""How often the stand-in's computer loses a call, by tool."""

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
) -> Rollout:
    """Build a world from its two parts, each `simulated` or `live` (the stand-in's).

    The two mixed worlds are the hybrids of the attribution. No real production can be mixed like
    this; that it can be done here is what lets the stand-in check the estimators.
    """
    live = production_stand_in(seed)
    make_user: MakeUser = (
        live.sample_user if person == "live" else simulator_population().sample_user
    )
    is_live = computer == "live" and person == "live"

    def make_env() -> RepairEnv:
        inner = SandboxComputer(make_sandbox(sandbox))
        return RepairEnv(
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
    """

    name = "live (stand-in)"

    def __init__(self, *, sandbox: str = "namespaces", seed: int = 0, split: str = "train") -> None:
        self.rollout = make_world(computer="live", person="live", sandbox=sandbox, seed=seed)
        self._source = WorldSource(
            self.name, self.rollout, TaskSampler(split, hard_frac=HARD_FRAC, seed=seed), seed=seed
        )
        self.truth: dict[str, Outcome] = {}
        self.tasks: dict[str, Task] = {}
        """Every task that was served, by id."""

    def collect(self, policy: Policy, n: int) -> list[Trajectory]:
        """Serve the policy to the next `n` people and return what can be seen of it."""
        specs = self._source.specs(n)
        self.tasks.update({spec.task.id: spec.task for spec in specs})
        trajectories = self.rollout.play(policy, specs)
        for trajectory in trajectories:
            self.truth[trajectory.id] = trajectory.outcome
            trajectory.outcome = Outcome()
            trajectory.extra.pop("group", None)
            trajectory.tags = (*trajectory.tags, LABEL)
        return trajectories

    def close(self) -> None:
        """Close the world."""
        self.rollout.close()
