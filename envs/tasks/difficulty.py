"""How hard a repair task is, and how much its opening leaves open: both counted, never typed in.

**Difficulty** is the chance that a search misses which tries the repairs in random order. Let n be
the number of single edits that fit everything the person can tell, k the number of faults, and B
the rounds of edit and test that fit into the episode. The search tries edits without repeating one
until a right one shows by more passing tests, keeps it, and starts over for the next fault. If h_s
of the right repairs show at stage s (counted on the visible tests), it needs T_s tries there:

    P(T_s = t) = C(n - t, h_s - 1) / C(n, h_s),        difficulty = P(T_1 + ... + T_k > B),

which for one fault is 1 - min(1, B / n). It assumes that no wrong edit makes more tests pass, that
n stays the same after a repair, and that a stage is reached in the way that leaves most repairs
showing (the true chance to miss is then a little higher). Reading the tests and the code beats such
a search; that is what there is to learn.

**Ambiguity** is log(m) / log(N): m edits fit what the opening says, of N in the function that it
names. It is 0 if the opening leaves one, and 1 if it names the function only. What a failing
example rules out is not counted, because that takes running the code.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ...errors import ConfigError
from .mutate import CandidateEdit


def consistent_edits(
    edits: Sequence[CandidateEdit], *, kind: str | None = None, line: int | None = None
) -> list[CandidateEdit]:
    """Return the edits that fit what is known: the operator, the line, both, or neither."""
    return [
        edit
        for edit in edits
        if (kind is None or edit.operator == kind) and (line is None or edit.line == line)
    ]


def num_rounds(max_steps: int, *, has_to_ask: bool) -> int:
    """Return how many rounds of edit and test fit into an episode.

    One step each goes to reading the module, to the first test run and to handing in, and one to
    asking, unless the opening has told all.
    """
    return max(0, (max_steps - 3 - has_to_ask) // 2)


def search_miss(num_edits: int, showing: Sequence[int], rounds: int) -> float:
    """Return the chance in [0, 1] that the search of this module's docstring misses.

    Args:
        num_edits: n, edits to choose from.
        showing: h_s for each stage, first to last: one number for each fault.
        rounds: B, edits that can be tried.

    Raises:
        ConfigError: there is no stage, or not 1 <= h_s <= n.
    """
    if not showing or not all(1 <= right <= num_edits for right in showing):
        raise ConfigError(
            f"expected numbers from 1 to {num_edits} in `showing`, got {list(showing)}"
        )
    total = np.zeros(rounds + 1)
    total[0] = 1.0  # distribution of the tries so far, up to B
    for right in showing:
        wait = np.zeros(rounds + 1)
        for tries in range(1, min(rounds, num_edits) + 1):
            wait[tries] = math.comb(num_edits - tries, right - 1) / math.comb(num_edits, right)
        total = np.convolve(total, wait)[: rounds + 1]
    return float(np.clip(1.0 - total.sum(), 0.0, 1.0))


def ambiguity(num_consistent: int, num_edits: int) -> float:
    """Return log(m) / log(N), in [0, 1]; 0 if there is nothing to choose.

    Raises:
        ConfigError: unless 1 <= m <= N.
    """
    if not 1 <= num_consistent <= num_edits:
        raise ConfigError(f"expected 1 <= m <= N, got {num_consistent} and {num_edits}")
    if num_consistent == 1:
        return 0.0
    return math.log(num_consistent) / math.log(num_edits)
