import numpy as np
import pytest

from sim2live.agents.base import Action
from sim2live.agents.loop import rollout_metrics, train
from sim2live.agents.rollout import EpisodeSpec, Rollout
from sim2live.agents.scripted import RandomPolicy
from sim2live.agents.sources import MixedSource, WorldSource, evaluate
from sim2live.envs.doubles import FakeUser, MemoryComputer, tiny_task
from sim2live.envs.repair import RepairEnv
from sim2live.envs.skills import SKILLS
from sim2live.errors import ConfigError, ModelError
from sim2live.reward_models import make_reward
from sim2live.trajectory import EndReason


def rollout(computer=MemoryComputer, **sizes):
    return Rollout(
        lambda: RepairEnv(
            tasks=[tiny_task()], make_user=lambda rng: FakeUser(), computer=computer()
        ),
        **sizes,
    )


def random_policy(seed=0):
    policy = RandomPolicy(len(SKILLS), seed)
    policy.observes = "features"
    return policy


SPECS = [EpisodeSpec(task=tiny_task(), seed=i, group=str(i // 2)) for i in range(12)]


class OneTask:
    """A sampler with a single task."""

    def sample(self, rng):
        return tiny_task()


@pytest.mark.parametrize("sizes", [{"num_envs": 1}, {"num_envs": 5, "num_threads": 3}])
def test_every_episode_comes_back_in_order(sizes):
    with rollout(**sizes) as world:
        played = world.play(random_policy(), SPECS)
    assert [t.seed for t in played] == list(range(12))
    assert [t.extra["group"] for t in played] == [spec.group for spec in SPECS]
    assert all(t.turns and t.reward is not None for t in played)
    assert all(turn.policy_version == "random" for t in played for turn in t.turns)


def test_the_number_of_threads_changes_nothing():
    records = []
    for threads in (1, 6):
        with rollout(num_envs=4, num_threads=threads) as world:
            records.append(world.play(random_policy(3), SPECS))
    assert records[0] == records[1]


def test_a_policy_that_fails_ends_its_episodes_as_model_errors():
    class Failing(RandomPolicy):
        observes = "features"

        def act(self, observations, *, greedy=False):
            raise ModelError("no weights")

    with rollout() as world:
        played = world.play(Failing(len(SKILLS), 0), SPECS[:3])
    assert {t.end for t in played} == {EndReason.ERROR_MODEL}
    assert all(t.reward.total is None for t in played)
    assert "no weights" in played[0].extra["error"]


def test_a_computer_that_breaks_is_data_and_not_a_crash():
    class Breaking(MemoryComputer):
        def reset(self, task, *, seed=0):
            raise OSError("disk full")

    with rollout(Breaking) as world:
        played = world.play(random_policy(), SPECS[:2])
    assert [t.end for t in played] == [EndReason.ERROR_TASK] * 2
    assert [t.seed for t in played] == [0, 1]
    assert "disk full" in played[0].extra["error"]


def test_what_does_not_fit_the_policy_is_truncated():
    class Short(RandomPolicy):
        observes = "features"

        def fits(self, observation):
            return False

    with rollout() as world:
        played = world.play(Short(len(SKILLS), 0), SPECS[:2])
    assert {t.end for t in played} == {EndReason.TRUNCATED_TOKENS}


def test_an_unknown_kind_of_observation_is_refused():
    policy = random_policy()
    policy.observes = "pixels"
    with rollout() as world, pytest.raises(ConfigError, match="expected one of features"):
        world.play(policy, SPECS[:1])


def test_a_world_gives_whole_groups_and_refuses_parts_of_them():
    with rollout() as world:
        source = WorldSource("w", world, OneTask(), group_size=4, seed=1)
        groups = [t.extra["group"] for t in source.collect(random_policy(), 8)]
        assert sorted(groups.count(g) for g in set(groups)) == [4, 4]
        with pytest.raises(ConfigError, match="multiple of 4"):
            source.collect(random_policy(), 6)


def test_a_mixture_draws_by_weight_and_says_what_it_mixes():
    class Fixed:
        def __init__(self, name):
            self.name = name

        def collect(self, policy, n):
            return [self.name] * n

    mixed = MixedSource([Fixed("a"), Fixed("b")], [3.0, 1.0], seed=0)
    assert mixed.name == "mix(a, b)"
    drawn = mixed.collect(None, 4000)
    assert len(drawn) == 4000
    assert 2890 < drawn.count("a") < 3110  # 3000 in the mean, four standard deviations either way
    with pytest.raises(ConfigError, match="one positive weight"):
        MixedSource([Fixed("a")], [0.0], seed=0)


def test_two_evaluations_with_one_seed_meet_the_same_episodes():
    with rollout() as world:
        one = evaluate(random_policy(5), world, [tiny_task()] * 3, seed=9, repeats=2)
        two = evaluate(random_policy(5), world, [tiny_task()] * 3, seed=9, repeats=2)
    assert one == two
    assert len(one) == 6


def test_the_loop_scores_updates_watches_and_can_stop():
    class Learner:
        def __init__(self):
            self.sizes = []

        def update(self, batch):
            assert all(t.reward is not None for t in batch)
            self.sizes.append(len(batch))
            return {"train/x": 1.0}

    learner = Learner()
    with rollout() as world:
        reports = train(
            random_policy(),
            learner,
            WorldSource("w", world, OneTask(), seed=0),
            make_reward("simulated"),
            steps=5,
            batch_size=3,
            first_step=10,
            should_stop=lambda report: report.step == 12,
        )
    assert [report.step for report in reports] == [10, 11, 12]
    assert learner.sizes == [3, 3, 3]
    assert reports[0].metrics["train/x"] == 1.0


def test_metrics_count_everything_that_entered():
    with rollout() as world:
        batch = world.play(random_policy(), SPECS)
    metrics = rollout_metrics(batch)
    assert metrics["rollout/num_episodes"] == 12
    assert metrics["rollout/rewarded_frac"] == 1.0
    solved = np.mean([bool(t.outcome.is_solved) for t in batch])
    assert metrics["rollout/solved_frac"] == pytest.approx(solved)
    total = sum(v for k, v in metrics.items() if k.startswith("reward/"))
    assert total == pytest.approx(metrics["rollout/episode_return_mean"])


def test_an_action_keeps_its_log_probability():
    class Certain(RandomPolicy):
        observes = "features"

        def act(self, observations, *, greedy=False):
            return [Action(value=0, logprob=-0.5) for _ in observations]

    with rollout() as world:
        (trajectory,) = world.play(Certain(len(SKILLS), 0), SPECS[:1])
    assert {turn.action_logprob for turn in trajectory.turns} == {-0.5}
    assert {turn.action for turn in trajectory.turns} == {0}
