import numpy as np

from sim2live.experiments.mismatch.two_sample import MAX_VIEWS, two_sample_test
from sim2live.experiments.mismatch.verdicts import Verdict


def test_users_who_differ_from_each_other_do_not_fool_the_two_sample_test() -> None:
    """Both sides have a rate per user; exchanging single views would call that a difference."""
    rng = np.random.default_rng(0)
    users = np.repeat(np.arange(20), 20)
    found = 0
    for _ in range(40):
        sides = [(rng.random(400) < rng.beta(0.3, 0.3, 20)[users]).astype(float) for _ in range(2)]
        result = two_sample_test(
            sides[0][:, None],
            sides[1][:, None],
            np.zeros((400, 1)),
            users,
            labels=["a"],
            context_names=["c"],
            rng=rng,
            permutations=99,
        )
        found += result.verdict is Verdict.MISMATCH
    assert found <= 6  # 40 tests at 5%: more than 6 happen with probability 0.003


def test_the_two_sample_test_sees_a_conditional_difference() -> None:
    """Equal rates on both sides, but the real people react in one context, the others elsewhere."""
    rng = np.random.default_rng(1)
    users, context = np.repeat(np.arange(20), 20), rng.choice([0.0, 1.0], (400, 1))
    real = (rng.random((400, 1)) < 0.2 + 0.4 * context).astype(float)
    simulated = (rng.random((400, 1)) < 0.6 - 0.4 * context).astype(float)
    result = two_sample_test(
        real, simulated, context, users, labels=["a"], context_names=["c"], rng=rng
    )
    assert result.verdict is Verdict.MISMATCH
    assert result.features[0][0] == "a x c"
    assert result.features[0][1] > 0


def test_many_views_are_thinned_and_few_are_refused() -> None:
    rng = np.random.default_rng(2)
    for n, verdict in ((2 * MAX_VIEWS, Verdict.MISMATCH), (150, Verdict.NOT_IDENTIFIABLE)):
        real, simulated = np.ones((n, 1)), np.zeros((n, 1))
        result = two_sample_test(
            real,
            simulated,
            np.zeros((n, 1)),
            np.arange(n) % 30,
            labels=["a"],
            context_names=["c"],
            rng=rng,
            permutations=99,
        )
        assert result.verdict is verdict
        assert result.num_views == min(n, MAX_VIEWS)


def test_silence_on_both_sides_tells_nothing() -> None:
    silence, users = np.zeros((400, 1)), np.arange(400) % 20
    result = two_sample_test(
        silence,
        silence,
        silence,
        users,
        labels=["a"],
        context_names=["c"],
        rng=np.random.default_rng(0),
    )
    assert result.verdict is Verdict.NOT_IDENTIFIABLE
    assert "nobody reacted" in result.reason
