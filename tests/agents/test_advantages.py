from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim2live.agents import advantages as adv
from sim2live.errors import ConfigError
from sim2live.trajectory import Source, Trajectory

ALL = np.ones(4, dtype=bool)


def trajectory(task: str, group: str | None = None) -> Trajectory:
    extra = {} if group is None else {"group": group}
    return Trajectory(id="x", task_id=task, source=Source.LIVE, extra=extra)


def test_closed_forms() -> None:
    rewards = [1.0, 3.0, 0.0, 4.0]
    groups = ["a", "a", "b", "b"]
    assert adv.none(rewards, ALL).tolist() == rewards
    assert adv.batch_mean(rewards, ALL).tolist() == [-1.0, 1.0, -2.0, 2.0]
    assert adv.rloo(rewards, groups, ALL).tolist() == [-2.0, 2.0, -4.0, 4.0]
    assert adv.grpo(rewards, groups, ALL, scale_std=False).tolist() == [-1.0, 1.0, -2.0, 2.0]
    # Sample standard deviations are sqrt(2) and sqrt(8).
    expected = [-1 / np.sqrt(2), 1 / np.sqrt(2), -2 / np.sqrt(8), 2 / np.sqrt(8)]
    np.testing.assert_allclose(adv.grpo(rewards, groups, ALL, eps=0.0), expected)
    np.testing.assert_allclose(adv.value([2.0, 5.0], [0.5, 6.0]), [1.5, -1.0])


@pytest.mark.parametrize("scale_std", [True, False])
@given(data=st.lists(st.tuples(st.floats(-100, 100), st.booleans()), min_size=4, max_size=24))
def test_group_advantages_sum_to_zero_over_scored_members(
    data: list[tuple[float, bool]], scale_std: bool
) -> None:
    rewards = np.array([reward for reward, _ in data])
    mask = np.array([counts for _, counts in data])
    groups = ["g0" if i < len(data) // 2 else "g1" for i in range(len(data))]
    for result in (
        adv.grpo(rewards, groups, mask, scale_std=scale_std),
        adv.rloo(rewards, groups, mask),
    ):
        assert np.all(result[~mask] == 0.0)
        for group in ("g0", "g1"):
            member = np.array([g == group for g in groups])
            assert abs(result[member].sum()) < 1e-9 * (1 + np.abs(result).sum())


def test_excluded_rewards_never_enter_a_baseline() -> None:
    groups = ["a"] * 4
    mask = np.array([True, True, True, False])
    for poison in (1e9, np.nan):
        rewards = [1.0, 2.0, 6.0, poison]
        np.testing.assert_allclose(adv.none(rewards, mask), [1, 2, 6, 0])
        np.testing.assert_allclose(adv.batch_mean(rewards, mask), [-2, -1, 3, 0])
        np.testing.assert_allclose(adv.rloo(rewards, groups, mask), [-3, -1.5, 4.5, 0])
        grpo = adv.grpo(rewards, groups, mask, scale_std=False)
        np.testing.assert_allclose(grpo, [-2, -1, 3, 0])


def test_equal_rewards_in_a_group_give_exactly_zero() -> None:
    # 0.1 + 0.1 + 0.1 is not 0.3, so a mean may miss by one unit and the tiny std would magnify it.
    assert adv.grpo([0.1] * 3, ["a"] * 3, ALL[:3], eps=1e-12).tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("method", [adv.rloo, adv.grpo])
def test_a_group_of_one_raises_and_names_the_way_out(method: object) -> None:
    with pytest.raises(ConfigError, match=r"`lonely`.*'none', 'batch_mean' or 'value'"):
        method([1.0, 2.0, 3.0], ["a", "a", "lonely"], ALL[:3])  # type: ignore[operator]


@pytest.mark.parametrize("method", [adv.rloo, adv.grpo])
def test_a_group_reduced_to_one_by_exclusions_has_advantage_zero(method: object) -> None:
    mask = np.array([True, False, False])
    assert method([5.0, 0.0, 0.0], ["a"] * 3, mask).tolist() == [0, 0, 0]  # type: ignore[operator]


def test_all_excluded_gives_zeros() -> None:
    mask = np.zeros(2, dtype=bool)
    assert adv.batch_mean([np.nan, np.nan], mask).tolist() == [0.0, 0.0]
    assert adv.grpo([np.nan, np.nan], ["a", "a"], mask).tolist() == [0.0, 0.0]


def test_rewards_to_go_terminated_and_truncated() -> None:
    assert adv.rewards_to_go([1.0, 0.0, 2.0]).tolist() == [3.0, 2.0, 2.0]
    assert adv.rewards_to_go([1.0, 0.0, 2.0], final_value=10.0).tolist() == [13.0, 12.0, 12.0]


def test_turn_mean_compares_turns_of_the_same_index() -> None:
    assert adv.turn_mean([1.0, 10.0, 3.0, 20.0, 7.0], [0, 1, 0, 1, 2]).tolist() == [
        -1.0,
        -5.0,
        1.0,
        5.0,
        0.0,
    ]


def test_group_id_is_the_label_or_the_task() -> None:
    batch = [trajectory("t1"), trajectory("t1", "seed-7")]
    assert adv.group_ids(batch) == ["t1", "seed-7"]


def test_group_baselines_apply_only_where_every_group_has_two_answers() -> None:
    assert adv.applicable_baselines([trajectory("a"), trajectory("b"), trajectory("a")]) == (
        "none",
        "batch_mean",
        "value",
    )
    assert "group" in adv.applicable_baselines([trajectory("a"), trajectory("a")])
