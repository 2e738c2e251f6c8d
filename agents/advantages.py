"""Advantages: how much better an answer was than what it is compared with.

Pure functions of arrays. Legend: B trajectories, N turns. `mask` is (B,) bool, True = counts: a
trajectory whose reward is None (excluded) has False there, gets advantage 0 and never enters a
baseline.

Which baseline is used decides which reward hacks a policy can learn. With `none` or `batch_mean`
an excluded answer escapes the penalty that an ordinary failure pays, so a policy can learn to get
itself excluded on tasks that it expects to fail. With a baseline inside a group of answers to one
task, the scored answers of the group have advantages that sum to zero, and nothing is gained.

Not covered: generalised advantage estimation and discounting (sessions are short and undiscounted).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ..errors import ConfigError
from ..trajectory import Trajectory

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

SINGLE_SAMPLE_BASELINES = ("none", "batch_mean", "value")
"""Baselines that need only one answer to each task."""


def none(rewards: npt.ArrayLike, mask: npt.ArrayLike) -> FloatArray:
    """Return A_i = r_i (no baseline), (B,). Unbiased, with the largest variance."""
    counts = np.asarray(mask, dtype=np.bool_)
    return np.where(counts, np.asarray(rewards, dtype=np.float64), 0.0)


def batch_mean(rewards: npt.ArrayLike, mask: npt.ArrayLike) -> FloatArray:
    """Return A_i = r_i - mean of the counted rewards, (B,).

    The mean contains r_i itself, which shrinks the expected gradient by the factor 1 - 1/n for n
    counted trajectories and leaves its direction alone.
    """
    values, counts = none(rewards, mask), np.asarray(mask, dtype=np.bool_)
    if not counts.any():
        return values
    return np.where(counts, values - values[counts].mean(), 0.0)


def value(returns: npt.ArrayLike, values: npt.ArrayLike) -> FloatArray:
    """Return A_t = G_t - V(s_t) for each turn, (N,). Unbiased, since V does not see the action."""
    return np.asarray(returns, dtype=np.float64) - np.asarray(values, dtype=np.float64)


def rloo(rewards: npt.ArrayLike, groups: Sequence[str], mask: npt.ArrayLike) -> FloatArray:
    """Return A_i = r_i - mean of the *other* counted rewards of its group, (B,).

    A group that exclusions have reduced to one counted answer has nothing to be compared with and
    gets advantage 0.

    Raises:
        ConfigError: a group was collected with one answer only.

    Reference: Ahmadian et al. 2024, arXiv 2402.14740; n counts scored answers only.
    """
    check_group_sizes(groups)
    values, counts = none(rewards, mask), np.asarray(mask, dtype=np.bool_)
    result = np.zeros_like(values)
    for rows in _group_rows(groups, counts):
        n = len(rows)
        if n > 1:
            others = (values[rows].sum() - values[rows]) / (n - 1)
            result[rows] = values[rows] - others
    return result


def grpo(
    rewards: npt.ArrayLike,
    groups: Sequence[str],
    mask: npt.ArrayLike,
    *,
    scale_std: bool = True,
    eps: float = 1e-4,
) -> FloatArray:
    """Return A_i = (r_i - mean of its group) / (std of its group + eps), (B,).

    The standard deviation is the sample one (n - 1). `scale_std=False` leaves the division out, as
    Dr.GRPO does: dividing weighs tasks by how alike their answers are. A group that exclusions have
    reduced to one counted answer gets advantage 0.

    Raises:
        ConfigError: a group was collected with one answer only.

    Reference: Shao et al. 2024, arXiv 2402.03300; Liu et al. 2025, arXiv 2503.20783 (Dr.GRPO).
    """
    check_group_sizes(groups)
    values, counts = none(rewards, mask), np.asarray(mask, dtype=np.bool_)
    result = np.zeros_like(values)
    for rows in _group_rows(groups, counts):
        if len(rows) > 1:
            centred = values[rows] - values[rows].mean()
            # Equal rewards must give exactly zero, whatever rounding does to their mean.
            if np.ptp(values[rows]) == 0.0:
                centred = np.zeros_like(centred)
            scale = values[rows].std(ddof=1) + eps if scale_std else 1.0
            result[rows] = centred / scale
    return result


def rewards_to_go(per_turn: npt.ArrayLike, *, final_value: float = 0.0) -> FloatArray:
    """Return G_t = r_t + r_{t+1} + ... + final_value for each turn of one trajectory, (N,).

    `final_value` is the estimated value of the state in which a limit cut the episode; it is 0 for
    an episode that ended by itself.
    """
    rewards = np.asarray(per_turn, dtype=np.float64)
    return np.cumsum(rewards[::-1])[::-1] + final_value


def turn_mean(returns: npt.ArrayLike, turn_index: npt.ArrayLike) -> FloatArray:
    """Return A = G - mean of G over the turns with the same index in their trajectory, (N,)."""
    values, index = np.asarray(returns, dtype=np.float64), np.asarray(turn_index, dtype=np.int64)
    if not len(values):
        return values
    means = np.bincount(index, weights=values) / np.maximum(np.bincount(index), 1)
    return values - means[index]


def group_ids(batch: Sequence[Trajectory]) -> list[str]:
    """Return each trajectory's group: `extra["group"]` where the source set it, else its task."""
    return [str(trajectory.extra.get("group") or trajectory.task_id) for trajectory in batch]


def applicable_baselines(batch: Sequence[Trajectory]) -> tuple[str, ...]:
    """Return the baselines that can be used with these trajectories.

    Live traffic gives one answer to each request (a person is not asked to sit through eight), so
    there is no group to compare it with.
    """
    sizes = Counter(group_ids(batch)).values()
    grouped = bool(sizes) and min(sizes) > 1
    return (*SINGLE_SAMPLE_BASELINES, "group") if grouped else SINGLE_SAMPLE_BASELINES


def check_group_sizes(groups: Sequence[str]) -> None:
    """Refuse groups of one answer, excluded answers included.

    Raises:
        ConfigError: naming the first such group and what to use instead.
    """
    alone = [group for group, size in Counter(groups).items() if size == 1]
    if alone:
        raise ConfigError(
            f"{len(alone)} of {len(set(groups))} groups have one trajectory (first: `{alone[0]}`), "
            "and a group baseline needs at least 2 answers to the same task: alone, an answer is "
            "its own mean. Live traffic gives one answer per request, so group methods (rloo, "
            "grpo) do not apply to it: use algorithm='reinforce' with baseline='none', "
            "'batch_mean' or 'value', or collect groups of 2 or more from a simulated source."
        )


def _group_rows(groups: Sequence[str], counts: BoolArray) -> list[npt.NDArray[np.int64]]:
    """Return the rows of the counted members of each group, in order of first appearance."""
    rows: dict[str, list[int]] = {}
    for i, group in enumerate(groups):
        if counts[i]:
            rows.setdefault(group, []).append(i)
    return [np.asarray(members, dtype=np.int64) for members in rows.values()]
