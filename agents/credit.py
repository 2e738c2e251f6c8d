"""From scored trajectories to one return and one advantage for each trained turn.

Legend: B trajectories, N trained turns. A *place* is (index of a scored trajectory, index of one of
its turns); the arrays returned are in the order of the places.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from ..errors import RewardError
from ..trajectory import Trajectory
from . import advantages as adv
from .learner_config import LearnerConfig

Place = tuple[int, int]

SUM_TOLERANCE = 1e-6
"""How far per-turn rewards may add up beside the total, absolutely and relative to it."""


def is_scored(trajectory: Trajectory) -> bool:
    """Say whether a trajectory has a reward to learn from; an excluded one has not.

    Raises:
        RewardError: it was never given to a reward model, though nothing of ours failed in it.
    """
    if trajectory.reward is None:
        if trajectory.end.is_error:
            return False
        raise RewardError(
            f"trajectory `{trajectory.id}` has no reward report; score it before `update`. (To "
            "leave it out, set `reward.excluded` with the reason, so that it is counted.)"
        )
    return trajectory.reward.total is not None and trajectory.reward.excluded is None


def total_reward(trajectory: Trajectory) -> float:
    """Return the reward of a scored trajectory.

    Raises:
        RewardError: it is NaN or infinite.
    """
    assert trajectory.reward is not None and trajectory.reward.total is not None
    total = float(trajectory.reward.total)
    if not math.isfinite(total):
        raise RewardError(
            f"trajectory `{trajectory.id}` has reward {total} from reward model "
            f"`{trajectory.reward.reward_model}`; expected a finite number."
        )
    return total


def per_turn_rewards(trajectory: Trajectory) -> list[float]:
    """Return the reward of each turn of a scored trajectory.

    Raises:
        RewardError: there is not one for each turn, or they do not add up to the total.
    """
    total = total_reward(trajectory)
    assert trajectory.reward is not None
    rewards = trajectory.reward.per_turn
    if len(rewards) != len(trajectory.turns):
        raise RewardError(
            f"trajectory `{trajectory.id}` has {len(trajectory.turns)} turns and {len(rewards)} "
            "per-turn rewards; use_per_turn=True needs one for each turn."
        )
    if not math.isclose(math.fsum(rewards), total, rel_tol=SUM_TOLERANCE, abs_tol=SUM_TOLERANCE):
        raise RewardError(
            f"trajectory `{trajectory.id}`: per-turn rewards add up to {math.fsum(rewards):g}, the "
            f"total is {total:g}; they must agree, or credit would be made or lost."
        )
    return list(rewards)


def turn_returns(
    scored: Sequence[Trajectory],
    places: Sequence[Place],
    config: LearnerConfig,
    final_values: Mapping[int, float],
) -> adv.FloatArray:
    """Return what each trained turn is credited with, (N,).

    Args:
        scored: trajectories with a reward.
        places: the trained turns.
        config: says whether a turn is credited with its rewards to go or with the whole.
        final_values: for each scored trajectory with a trained turn, the value of the state it was
            cut in; 0 if it ended by itself.

    Raises:
        RewardError: a reward is not finite or does not fit its turns.
    """
    credit: dict[int, adv.FloatArray] = {}
    for b, final in final_values.items():
        if config.use_per_turn:
            credit[b] = adv.rewards_to_go(per_turn_rewards(scored[b]), final_value=final)
        else:
            credit[b] = np.full(len(scored[b].turns), total_reward(scored[b]) + final)
    return np.asarray([credit[b][k] for b, k in places], dtype=np.float64)


def turn_advantages(
    batch: Sequence[Trajectory],
    places: Sequence[Place],
    config: LearnerConfig,
    returns: adv.FloatArray,
    values: adv.FloatArray | None,
) -> adv.FloatArray:
    """Return the advantage of each trained turn, (N,).

    Args:
        batch: all trajectories, excluded ones too: they count as collected members of their group.
        places: the trained turns, by index among the *scored* trajectories.
        config: which baseline.
        returns: (N,) from `turn_returns`.
        values: (N,) value of each turn's state, for the value baseline.

    Raises:
        ConfigError: a group baseline was asked for and a group has one trajectory.
    """
    baseline = config.resolved_baseline
    if baseline == "value":
        assert values is not None  # the learner refuses a policy without a value head
        return adv.value(returns, values)
    if baseline == "batch_mean" and config.use_per_turn:
        return adv.turn_mean(returns, [k for _, k in places])
    mask = np.asarray([is_scored(trajectory) for trajectory in batch], dtype=np.bool_)
    rewards = [total_reward(t) if counts else 0.0 for t, counts in zip(batch, mask, strict=True)]
    owner = np.asarray([b for b, _ in places], dtype=np.int64)
    if baseline == "group":
        groups = adv.group_ids(batch)
        if config.algorithm == "rloo":
            return adv.rloo(rewards, groups, mask)[mask][owner]
        return adv.grpo(rewards, groups, mask, scale_std=config.scale_std)[mask][owner]
    if baseline == "batch_mean":
        return adv.batch_mean(rewards, mask)[mask][owner]
    return returns
