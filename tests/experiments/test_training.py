"""Training by kind of work: the right world, skills and checkpoints, or a clear refusal."""

from pathlib import Path

import pytest

from sim2live.envs.kinds import env_class, make_sampler, task_kind
from sim2live.envs.skill_sets import skill_set
from sim2live.envs.tasks.base import TaskKind
from sim2live.errors import ConfigError
from sim2live.experiments.training import TrainConfig, run_training

KINDS = [task_kind(name) for name in ("repair", "implement")]


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_has_an_environment_and_tasks_of_that_kind(kind: TaskKind) -> None:
    assert env_class(kind).kind is kind
    for split in ("train", "gate", "heldout"):
        tasks = make_sampler(kind, split, seed=0).tasks(4)
        assert {task.kind for task in tasks} == {kind}
        assert {task.split for task in tasks} == {split}


def test_training_on_implement_leaves_a_checkpoint_that_repair_refuses(tmp_path: Path) -> None:
    small = {"steps": 1, "batch_size": 4, "eval_tasks": 2, "algorithm": "rloo"}
    config = TrainConfig(env="implement", out=tmp_path / "a", **small)  # type: ignore[arg-type]
    summary = run_training(config)
    assert summary["source"] == "simulated"
    checkpoint = Path(summary["checkpoint"])
    again = TrainConfig(env="implement", out=tmp_path / "b", resume=checkpoint, **small)  # type: ignore[arg-type]
    assert run_training(again)["steps"] == [1, 2]
    other = TrainConfig(out=tmp_path / "c", resume=checkpoint, **small)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="`skills:implement`"):
        run_training(other)


def test_the_skills_of_two_kinds_differ() -> None:
    assert skill_set(KINDS[0]).num_features != skill_set(KINDS[1]).num_features


@pytest.mark.parametrize("source", ["live", "mix"])
def test_only_the_simulated_source_plays_other_kinds(source: str) -> None:
    with pytest.raises(ConfigError, match="--source simulated only"):
        TrainConfig(env="implement", source=source)


def test_an_unknown_kind_names_those_there_are() -> None:
    with pytest.raises(ConfigError, match="implement"):
        TrainConfig(env="implment")
