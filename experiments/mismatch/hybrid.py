"""Attribution by running worlds with one part swapped, where that is possible.

With a stand-in for production both parts can really be exchanged: a simulated computer with a live
person, and the other way round. That gives the computer and person terms in closed loop, without a
critic, and so checks what `attribution.py` says from logs alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy.typing as npt

from ...intervals import Clusters, Interval, contrast_interval


@dataclass(slots=True, kw_only=True, frozen=True)
class HybridCheck:
    """Closed-loop terms from worlds with one part swapped at a time; each pair adds up to `gap`."""

    gap: Interval
    computer_first: tuple[Interval, Interval]
    """Computer and person, computer swapped first: J_ss - J_ls and J_ls - J_ll."""
    person_first: tuple[Interval, Interval]
    """Computer and person, person swapped first: J_sl - J_ll and J_ss - J_sl."""
    shapley: tuple[Interval, Interval]
    """Computer and person, mean of both orders."""
    interaction: Interval
    """J_ss - J_ls - J_sl + J_ll: how much the orders disagree; zero if the parts just add."""


def hybrid_check(
    ss: tuple[npt.ArrayLike, Clusters | None],
    ls: tuple[npt.ArrayLike, Clusters | None],
    sl: tuple[npt.ArrayLike, Clusters | None],
    ll: tuple[npt.ArrayLike, Clusters | None],
    *,
    level: float = 0.95,
) -> HybridCheck:
    """Attribute the gap by running all four worlds (only a stand-in for production allows it).

    The first letter names the computer, the second the person: s simulated, l live. These are
    closed-loop values: the swapped part acts through the whole session. They need not equal the
    one-step terms of `attribute`, which swap at live states, but both split the same gap.

    Args:
        ss: realised values and cluster ids (user, or None if independent) of the simulated world.
        ls: live computer, simulated person.
        sl: simulated computer, live person.
        ll: the live world. Ids shared between worlds are treated as the same person.
        level: two-sided confidence level.
    """
    worlds = [ss, ls, sl, ll]

    def contrast(*coefficients: float) -> Interval:
        return contrast_interval(worlds, coefficients, level)

    return HybridCheck(
        gap=contrast(1, 0, 0, -1),
        computer_first=(contrast(1, -1, 0, 0), contrast(0, 1, 0, -1)),
        person_first=(contrast(0, 0, 1, -1), contrast(1, 0, -1, 0)),
        shapley=(contrast(0.5, -0.5, 0.5, -0.5), contrast(0.5, 0.5, -0.5, -0.5)),
        interaction=contrast(1, -1, -1, 1),
    )
