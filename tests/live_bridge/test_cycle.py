import json

import pytest

from sim2live.agents.learner import PolicyGradientLearner
from sim2live.agents.learner_config import LearnerConfig
from sim2live.agents.skill_policy import SkillPolicy
from sim2live.envs.skill_features import NUM_FEATURES, PRIOR
from sim2live.envs.tasks import TaskSampler
from sim2live.errors import ConfigError
from sim2live.live_bridge.cycle import CycleConfig, RealTimeCycle
from sim2live.live_bridge.replay_source import ReplaySource
from sim2live.live_bridge.stand_in import LABEL, StandInTraffic, make_world
from sim2live.reward_models import make_reward
from sim2live.trajectory import Outcome, Source


@pytest.fixture(scope="module")
def traffic():
    traffic = StandInTraffic(seed=1)
    yield traffic
    traffic.close()


def policy(seed=0):
    return SkillPolicy(NUM_FEATURES, prior=PRIOR, seed=seed)


def test_live_sessions_show_what_production_would_show(traffic):
    sessions = traffic.collect(policy(), 8)
    for session in sessions:
        assert session.source is Source.LIVE
        assert session.outcome == Outcome()
        assert LABEL in session.tags
        assert "group" not in session.extra
        assert "trials" not in session.extra
        assert session.id in traffic.truth
        assert session.task_id in traffic.tasks
    assert len({session.user_id for session in sessions}) > 1


def run_cycle(traffic, folder, margin):
    served = policy()
    learner = PolicyGradientLearner(
        served, LearnerConfig(algorithm="reinforce", baseline="batch_mean", lr=0.05)
    )
    with make_world(num_envs=4) as world:
        cycle = RealTimeCycle(
            served,
            learner,
            traffic,
            make_reward("live"),
            gate_world=world,
            gate_tasks=TaskSampler("gate", hard_frac=0.0, seed=0).tasks(6),
            config=CycleConfig(num_sessions=16, minibatch_size=8, margin=margin),
            folder=folder,
        )
        before = served.state_dict()
        return served, before, cycle.run()


def test_a_checkpoint_that_does_not_pass_the_gate_is_taken_back(traffic, tmp_path):
    served, before, report = run_cycle(traffic, tmp_path, margin=0.001)
    assert report.decision.decision != "promote"
    assert served.version == report.served_version == "v0"
    assert report.candidate_version == "v2"
    for name, weights in served.state_dict()["weights"].items():
        assert (weights == before["weights"][name]).all()


def test_each_cycle_leaves_a_record_and_a_checkpoint(traffic, tmp_path):
    _, _, report = run_cycle(traffic, tmp_path, margin=0.2)
    row = json.loads((tmp_path / "cycles.jsonl").read_text().splitlines()[0])
    assert row["num_sessions"] == 16
    assert row["decision"]["decision"] == report.decision.decision
    assert (tmp_path / "deployed.pt").exists()


def test_group_methods_are_refused_on_live_traffic(traffic):
    served = policy()
    learner = PolicyGradientLearner(served, LearnerConfig(algorithm="rloo"))
    sessions = traffic.collect(served, 6)
    model = make_reward("live")
    for session in sessions:
        session.reward = model.score(session)
    with pytest.raises(ConfigError, match="batch_mean"):
        learner.update(sessions)


def test_sizes_of_a_cycle_must_be_positive():
    with pytest.raises(ConfigError, match="must be positive"):
        CycleConfig(num_sessions=0)


def test_logged_sessions_can_be_learnt_from_again(traffic):
    behaviour = policy()
    sessions = traffic.collect(behaviour, 8)
    seen = [turn.features.copy() for s in sessions for turn in s.turns]
    for session in sessions:
        for turn in session.turns:
            turn.features = None  # as after reading a store
    source = ReplaySource(sessions, seed=0)
    again = [turn.features for s in sessions for turn in s.turns]
    assert all((a == b).all() for a, b in zip(again, seen, strict=True))
    batch = source.collect(behaviour, 12)
    assert {t.source for t in batch} == {Source.REPLAYED}
    assert 0.0 <= source.coverage <= 1.0
    model = make_reward("live")
    for trajectory in batch:
        trajectory.reward = model.score(trajectory)
    metrics = PolicyGradientLearner(behaviour).update(batch)
    assert metrics["train/mean_importance_weight"] == pytest.approx(1.0, abs=1e-4)


def test_foreign_logs_cannot_be_learnt_from_and_the_error_says_why(traffic):
    sessions = traffic.collect(policy(), 2)
    for session in sessions:
        for turn in session.turns:
            turn.action_logprob = None
    with pytest.raises(ConfigError, match="recorded skills with their log-probabilities"):
        ReplaySource(sessions)
