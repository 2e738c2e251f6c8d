"""One training run from options: policy, source, learner, reward, watchers, record."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, cast

from ..agents.base import Source
from ..agents.checkpoint import load as load_checkpoint
from ..agents.checkpoint import save as save_checkpoint
from ..agents.learner import PolicyGradientLearner
from ..agents.learner_config import LearnerConfig
from ..agents.loop import StepReport, train
from ..agents.rollout import Rollout
from ..agents.run_log import RunLog
from ..agents.sources import MixedSource, WorldSource, evaluate
from ..envs.kinds import Sampler, make_sampler, task_kind
from ..envs.machines import Machines
from ..envs.skill_sets import skill_set
from ..envs.tasks.base import TaskKind
from ..errors import ConfigError, unknown_name
from ..hack_detectors import load_detectors, load_monitors
from ..live_bridge.replay_source import ReplaySource
from ..live_bridge.stand_in import SIMULATOR_HARD_FRAC, StandInTraffic, make_world
from ..live_bridge.store import Store
from ..reward_models import Flaws, make_reward

SOURCES = ("simulated", "replayed", "live", "mix")


@dataclass(slots=True, kw_only=True, frozen=True)
class TrainConfig:
    """Everything that decides a training run."""

    source: str = "simulated"
    """`simulated`, `replayed` (needs `logs`), `live` (the stand-in), or `mix`."""
    env: str = "repair"
    """Kind of work: `repair`, or one that only the `simulated` source has."""
    mix: str = "simulated=0.5,live=0.5"
    """Weights of the mixture, used by `mix` only."""
    policy: str = "skills"
    """`skills`, or `hf:PATH` for a local Transformers or GGUF model folder."""
    algorithm: str = "grpo"
    baseline: str = "group"
    steps: int = 60
    batch_size: int = 32
    group_size: int = 4
    """Episodes a task; used where the source can play a task again."""
    lr: float = 0.02
    entropy_coef: float = 0.01
    kl_coef: float = 0.0
    """Weight of the KL penalty towards the policy as it was before any training."""
    flaws: tuple[str, ...] = ()
    """Flaws of the reward to switch on: `discard_invalid`, `questions_free`, `max_complexity`."""
    logs: Path | None = None
    """Store that `replayed` reads."""
    resume: Path | None = None
    """Checkpoint to go on from (weights, optimiser, step)."""
    eval_tasks: int = 40
    """Held-out tasks for the success rate before and after; 0 leaves it out."""
    max_new_tokens: int = 96
    """Length of a language model's actions."""
    sandbox: str = "namespaces"
    seed: int = 0
    out: Path = field(default_factory=lambda: Path("runs/train"))

    def __post_init__(self) -> None:
        if self.source not in SOURCES:
            raise unknown_name("source", self.source, SOURCES)
        if self.steps < 1 or self.batch_size < 1 or self.group_size < 1:
            raise ConfigError(
                f"steps, batch size and group size must be positive, got {self.steps}, "
                f"{self.batch_size}, {self.group_size}"
            )
        if self.source == "replayed" and self.logs is None:
            raise ConfigError("--source replayed needs --logs STORE; make one with sim2live ingest")

        if self.kind is not TaskKind.REPAIR and self.source != "simulated":
            raise ConfigError(
                f"--env {self.env} can be played by --source simulated only, got {self.source}"
            )

    @property
    def kind(self) -> TaskKind:
        """Kind of work.

        Raises:
            ConfigError: there is no such kind.
        """
        return task_kind(self.env)

    @property
    def has_groups(self) -> bool:
        """True if the source can play one task several times."""
        return self.source == "simulated"


def run_training(
    config: TrainConfig, on_step: Callable[[StepReport], None] | None = None
) -> dict[str, Any]:
    """Train as configured, leave a record in `config.out`, and return its summary."""
    with ExitStack() as stack:
        log = stack.enter_context(RunLog(config.out, {**asdict(config)}))
        policy = make_policy(config)
        untrained = make_policy(config) if config.kl_coef else None
        learner = PolicyGradientLearner(policy, _learner_config(config), reference=untrained)
        first_step = _restore(config, policy, learner)
        machines = stack.enter_context(Machines(config.sandbox))  # its worlds take turns
        source = _make_source(config, policy, machines, stack)
        world = stack.enter_context(make_world(machines=machines, kind=config.kind))
        held_out = _sampler(config, "heldout", hard_frac=0.0).tasks(config.eval_tasks)
        before = _success(policy, world, held_out, config.seed)

        def keep(report: StepReport) -> None:
            report.metrics["sandbox/check_cache_hit_frac"] = machines.cache.hit_frac
            log.scalars(source.name, report.step, report.metrics)
            log.trajectories("trajectories", report.batch[:2])
            _save(config.out / "checkpoint.pt", config, policy, learner, report.step + 1)
            if on_step is not None:
                on_step(report)

        kind = "simulated" if config.has_groups else "live"
        reports = train(
            policy,
            learner,
            source,
            make_reward(kind, Flaws(**dict.fromkeys(config.flaws, True))),
            steps=config.steps,
            batch_size=config.batch_size,
            monitors=load_monitors(seed=config.seed),
            detectors=load_detectors(),
            on_step=keep,
            first_step=first_step,
        )
        summary = {
            "source": source.name,
            "policy": config.policy,
            "estimator": learner.estimator,
            "steps": [first_step, first_step + config.steps],
            "heldout_success_before": before,
            "heldout_success_after": _success(policy, world, held_out, config.seed),
            "alarms": [asdict(alarm) for report in reports for alarm in report.alarms],
            "num_findings": sum(len(report.findings) for report in reports),
            "last_metrics": reports[-1].metrics,
            "checkpoint": str(config.out / "checkpoint.pt"),
        }
        log.record("train", summary)
        return summary


def make_policy(config: TrainConfig) -> Any:
    """Build the policy that `config.policy` names."""
    if config.policy == "skills":
        from ..agents.skill_policy import SkillPolicy

        skills = skill_set(config.kind)
        return SkillPolicy(skills.num_features, prior=skills.prior, seed=config.seed)
    kind, _, path = config.policy.partition(":")
    if kind == "hf" and path:
        from ..agents.hf_policy import TransformersPolicy

        if not Path(path).exists():
            raise ConfigError(
                f"--policy {config.policy}: there is no `{path}`; give the folder of a local "
                "Transformers model, or a folder with one .gguf file"
            )
        return TransformersPolicy.from_pretrained(
            path, max_new_tokens=config.max_new_tokens, seed=config.seed
        )
    raise unknown_name("policy", config.policy, ("skills", "hf:PATH"))


def _learner_config(config: TrainConfig) -> LearnerConfig:
    algorithm, baseline = config.algorithm, config.baseline
    if not config.has_groups and algorithm in ("rloo", "grpo"):
        raise ConfigError(
            f"--algorithm {algorithm} compares several responses to one request, and the source "
            f"`{config.source}` gives one; use --algorithm reinforce with --baseline batch_mean, "
            "value or none"
        )
    return LearnerConfig(
        algorithm=cast(Any, algorithm),
        baseline=cast(Any, baseline),
        lr=config.lr,
        entropy_coef=config.entropy_coef,
        kl_coef=config.kl_coef,
        epochs=2 if algorithm == "grpo" else 1,
    )


def _make_source(config: TrainConfig, policy: Any, machines: Machines, stack: ExitStack) -> Source:
    if config.source != "mix":
        return _one_source(config.source, config, policy, machines, stack)
    names, weights = _parse_mix(config.mix)
    sources = [_one_source(name, config, policy, machines, stack) for name in names]
    return MixedSource(sources, weights, seed=config.seed)


def _one_source(
    name: str, config: TrainConfig, policy: Any, machines: Machines, stack: ExitStack
) -> Source:
    if name == "live":
        traffic = StandInTraffic(seed=config.seed, machines=machines)
        stack.callback(traffic.close)
        return traffic
    if name == "replayed":
        if config.logs is None:
            raise ConfigError("the mixture names `replayed`: give --logs STORE")
        with Store(config.logs, create=False) as store:
            return ReplaySource(list(store.iter()), observes=policy.observes, seed=config.seed)
    if name != "simulated":
        raise unknown_name("source", name, SOURCES)
    return WorldSource(
        "simulated",
        stack.enter_context(make_world(machines=machines, kind=config.kind)),
        _sampler(config, "train", hard_frac=SIMULATOR_HARD_FRAC),
        group_size=config.group_size if config.has_groups else 1,
        seed=config.seed,
    )


def _sampler(config: TrainConfig, split: str, *, hard_frac: float) -> Sampler:
    """Return the tasks of a split; only repairs come in easy and hard."""
    options = {"hard_frac": hard_frac} if config.kind is TaskKind.REPAIR else {}
    return make_sampler(config.kind, split, seed=config.seed, **options)


def _parse_mix(text: str) -> tuple[list[str], list[float]]:
    try:
        pairs = [part.split("=") for part in text.split(",")]
        return [name.strip() for name, _ in pairs], [float(weight) for _, weight in pairs]
    except ValueError as error:
        raise ConfigError(
            f"--mix {text!r} is not of the form simulated=0.5,live=0.5 ({error})"
        ) from error


def _success(policy: Any, world: Rollout, tasks: list[Any], seed: int) -> float | None:
    if not tasks:
        return None
    played = evaluate(policy, world, tasks, seed=seed)
    return sum(bool(t.outcome.is_solved) for t in played) / len(played)


def _save(path: Path, config: TrainConfig, policy: Any, learner: Any, step: int) -> None:
    save_checkpoint(
        path,
        policy=policy.state_dict(),
        learner=learner.state_dict(),
        step=step,
        kind=_policy_kind(config),
    )


def _policy_kind(config: TrainConfig) -> str:
    """Name what a checkpoint's weights fit: skills differ by kind of work."""
    has_other_skills = config.policy == "skills" and config.kind is not TaskKind.REPAIR
    return f"{config.policy}:{config.env}" if has_other_skills else config.policy


def _restore(config: TrainConfig, policy: Any, learner: Any) -> int:
    if config.resume is None:
        return 0
    parts = load_checkpoint(config.resume)
    if parts.get("kind") != _policy_kind(config):
        raise ConfigError(
            f"`{config.resume}` holds a policy of kind `{parts.get('kind')}`, but --policy and "
            f"--env ask for `{_policy_kind(config)}`"
        )
    policy.load_state_dict(parts["policy"])
    learner.load_state_dict(parts["learner"])
    return int(parts["step"])
