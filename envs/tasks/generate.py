"""From a function (a `Subject`) to a whole repair task: broken files, tests, person, numbers.

The pool of a function's inputs (see `analysis`) is shared out among three sets of tests that have
no input in common:

- *visible*: a small test file in the work area. Some of it fails, and where possible some passes;
  there is an order of repairs in which each makes more of it pass.
- *trial*: three cases that this task's person would try by hand; the first one goes wrong, and it
  is the example of the brief.
- *hidden*: what grades the work, `NUM_HIDDEN` inputs. It holds the core, which catches every mutant
  of the reference that can be told from it on the pool, and what catches those single edits of the
  broken code that the visible tests let through.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...errors import ConfigError, TaskError, unknown_name
from ...simulators.base import Brief
from .analysis import Analysis, Mask, analyse
from .base import Task
from .breaking import Break, break_reference, num_showing, repair_order
from .difficulty import ambiguity, consistent_edits, num_rounds, search_miss
from .mutate import candidate_edits
from .subject import Raised, Subject
from .symptoms import SYMPTOMS

CLARITIES: dict[str, tuple[str, ...]] = {
    "clear": ("kind", "place", "example"),
    "partial": ("kind",),
    "vague": (),
}
"""Clarity to the facts that the opening message gives."""

TEST_PATH = "tests/test_visible.py"
NUM_HIDDEN = 48
NUM_HIDDEN_TESTS = 10
NUM_TRIALS = 3
MAX_FAULTS = 3
_ATTEMPTS = 20

_GOALS = (
    "`{}` gives wrong results",
    "`{}` does not work as its description says",
    "there is a bug in `{}`",
    "`{}` is broken",
)
_PLURAL_GOALS = (
    "several results of `{}` are wrong",
    "several things are wrong with `{}`",
    "`{}` has more than one bug",
    "`{}` is broken in a few ways",
)


@dataclass(slots=True, frozen=True)
class _Shares:
    """Which inputs of the pool go where, as indices."""

    visible: list[int]
    trial: list[int]
    hidden: list[int]


def make_task(
    spec: Subject,
    seed: int,
    *,
    num_faults: int = 1,
    clarity: str = "clear",
    max_steps: int = 14,
) -> Task:
    """Break a function and build the task around it; the same arguments give the same task.

    The function stands in the module that its subject writes, in which all else is whole.
    `num_candidates` counts the edits of the module; difficulty and ambiguity look only at those in
    the function, because the goal always names it. `clarity` changes what the opening says and
    nothing else, so one seed gives the same faults at every clarity. With several faults the
    person knows only that several things are wrong, whatever the clarity.

    Args:
        spec: the function to break, of the library (`load_functions`) or of the standard library
            (`stdlib.load_targets`).
        seed: mutation seed, at least 0.
        num_faults: 1 to 3.
        clarity: `clear`, `partial` or `vague`.
        max_steps: turns that the agent gets.

    Raises:
        ConfigError: an argument is out of range.
        TaskError: the function cannot be broken so often.
    """
    _check(seed, num_faults, clarity, max_steps)
    rng = np.random.default_rng([seed, zlib.crc32(spec.name.encode()), num_faults])
    analysis = analyse(spec)
    reference = spec.work_module(rng)
    broken, shares = _break_and_share(reference, spec, analysis, rng, num_faults)
    task_id = f"{spec.id_prefix}/{seed}" + (
        f"-{clarity}" if num_faults == 1 else f"-{num_faults}-faults"
    )
    brief = _brief(task_id, spec, analysis, broken, shares, clarity, rng)
    showing = num_showing(broken.wrong_with, _mask(shares.visible, analysis.core))
    hardness, openness = _measure(spec, broken, brief, showing, max_steps)
    writer = _TestWriter(spec, analysis)
    return Task(
        id=task_id,
        family=spec.family,
        function=spec.qualname,
        module_path=f"{spec.module_name}.py",
        test_path=TEST_PATH,
        files={
            f"{spec.module_name}.py": broken.source,
            TEST_PATH: writer.write([[index] for index in shares.visible], _test_name(spec)),
        },
        reference=reference,
        hidden_tests=writer.write(_deal(shares.hidden, NUM_HIDDEN_TESTS), "generated"),
        trial_tests=writer.write([[index] for index in shares.trial], "tried"),
        brief=brief,
        faults=broken.faults,
        difficulty=hardness,
        ambiguity=openness,
        num_candidates=len(candidate_edits(broken.source)),
        max_steps=max_steps,
        split=spec.split,
        tags=(clarity,) if num_faults == 1 else ("plural",),
    )


def _check(seed: int, num_faults: int, clarity: str, max_steps: int) -> None:
    if seed < 0:
        raise ConfigError(f"`seed` must be at least 0, got {seed}")
    if not 1 <= num_faults <= MAX_FAULTS:
        raise ConfigError(f"`num_faults` must be 1 to {MAX_FAULTS}, got {num_faults}")
    if clarity not in CLARITIES:
        raise unknown_name("clarity", clarity, CLARITIES)
    if max_steps < 1:
        raise ConfigError(f"`max_steps` must be at least 1, got {max_steps}")


def _break_and_share(
    reference: str,
    spec: Subject,
    analysis: Analysis,
    rng: np.random.Generator,
    num_faults: int,
) -> tuple[Break, _Shares]:
    for _ in range(_ATTEMPTS):
        broken = break_reference(reference, spec.qualname, analysis, rng, num_faults)
        shares = _share(broken, spec.qualname, analysis, rng)
        if shares is not None:
            return broken, shares
    raise TaskError(
        f"no test set for `{spec.name}` with {num_faults} faults shows all of them in "
        f"{_ATTEMPTS} tries; ask for fewer faults"
    )


def _share(
    broken: Break, function: str, analysis: Analysis, rng: np.random.Generator
) -> _Shares | None:
    """Share the pool out; None if no order of repairs would show in the visible tests."""
    core = analysis.core
    free = ~core
    visible: list[int] = []
    left = broken.all_faults
    for fault in repair_order(broken.wrong_with, free) or []:
        put_right = broken.wrong_with[left] & ~broken.wrong_with[left - {fault}]
        _take(visible, free & put_right, rng)
        left -= {fault}
    _take(visible, free & ~broken.wrong, rng)
    size = int(rng.integers(max(4, len(visible)), 7))
    _take(visible, free, rng, size - len(visible))
    if not num_showing(broken.wrong_with, _mask(visible, core)):
        return None
    free[visible] = False
    slips = _slips(broken, function, analysis, visible)
    trial: list[int] = []
    _take(trial, free & broken.wrong, rng)
    _take(trial, free, rng, NUM_TRIALS - len(trial))
    free[trial] = False
    hidden = [int(index) for index in np.flatnonzero(core)]
    for wrong in [broken.wrong, *slips]:
        _take(hidden, free & wrong, rng)
    _take(hidden, free, rng, NUM_HIDDEN - len(hidden))
    # Visible order must not tell which case was chosen to fail.
    return _Shares(
        [visible[int(i)] for i in rng.permutation(len(visible))],
        trial,
        [hidden[int(i)] for i in rng.permutation(len(hidden))],
    )


def _slips(broken: Break, function: str, analysis: Analysis, visible: Sequence[int]) -> list[Mask]:
    """Return where edits go wrong that pass the visible tests and that no core input catches."""
    slips = []
    for edit in candidate_edits(broken.source, function):
        source = edit.apply(broken.source)
        if analysis.passes(source, visible):
            wrong = analysis.wrong(source)
            if wrong is not None and wrong.any() and not (wrong & analysis.core).any():
                slips.append(wrong)
    return slips


def _take(chosen: list[int], allowed: Mask, rng: np.random.Generator, count: int = 1) -> None:
    """Append up to `count` allowed inputs that are not chosen yet."""
    options = np.setdiff1d(np.flatnonzero(allowed), chosen)
    drawn = rng.choice(options, size=min(count, len(options)), replace=False)
    chosen += [int(index) for index in drawn]


def _mask(indices: Sequence[int], like: Mask) -> Mask:
    mask = np.zeros_like(like)
    mask[list(indices)] = True
    return mask


def _deal(indices: Sequence[int], num_groups: int) -> list[list[int]]:
    return [list(indices[start::num_groups]) for start in range(num_groups)]


def _brief(
    task_id: str,
    spec: Subject,
    analysis: Analysis,
    broken: Break,
    shares: _Shares,
    clarity: str,
    rng: np.random.Generator,
) -> Brief:
    if len(broken.faults) > 1:
        goal = _PLURAL_GOALS[int(rng.integers(len(_PLURAL_GOALS)))].format(spec.qualname)
        return Brief(task_id=task_id, goal=goal, is_plural=True)
    (fault,) = broken.faults
    phrases = SYMPTOMS[fault.operator]
    case = shares.trial[0]
    call, expected = spec.write_call(analysis.arguments[case]), analysis.expected[case]
    wanted = f"{expected}" if isinstance(expected, Raised) else f"be {expected!r}"
    return Brief(
        task_id=task_id,
        goal=_GOALS[int(rng.integers(len(_GOALS)))].format(spec.qualname),
        kind_hint=phrases[int(rng.integers(len(phrases)))],
        place_hint=f"around line {fault.line}",
        example=f"{call} should {wanted}",
        opening=CLARITIES[clarity],
    )


def _measure(
    spec: Subject, broken: Break, brief: Brief, showing: Sequence[int], max_steps: int
) -> tuple[float, float]:
    """Return difficulty and ambiguity, by enumeration."""
    edits = candidate_edits(broken.source, spec.qualname)
    fault = broken.faults[0]
    kind, line = (None, None) if brief.is_plural else (fault.operator, fault.line)
    known = consistent_edits(edits, kind=kind, line=line)
    opened = consistent_edits(
        edits,
        kind=kind if "kind" in brief.opening else None,
        line=line if "place" in brief.opening else None,
    )
    has_to_ask = brief.opening != CLARITIES["clear"]
    rounds = num_rounds(max_steps, has_to_ask=has_to_ask)
    return search_miss(len(known), showing, rounds), ambiguity(len(opened), len(edits))


def _test_name(spec: Subject) -> str:
    return spec.qualname.replace(".", "_")


_ERROR_OF = """
def error_of(call):
    try:
        call()
    except Exception as error:
        return type(error).__name__
    return None
"""


class _TestWriter:
    """Writes test modules that assert literal results of literal calls."""

    def __init__(self, subject: Subject, analysis: Analysis) -> None:
        self._subject, self._analysis = subject, analysis

    def write(self, groups: Sequence[Sequence[int]], name: str) -> str:
        """Write one test function for each group of inputs, numbered from 1."""
        expected = self._analysis.expected
        has_raised = any(isinstance(expected[i], Raised) for group in groups for i in group)
        blocks = [self._subject.write_imports()] + [_ERROR_OF.lstrip()] * has_raised
        for number, group in enumerate(groups, 1):
            lines = [f"def test_{name}_{number}():"]
            for index in group:
                arguments = self._analysis.arguments[index]
                lines.append(f"    {write_assertion(self._subject, arguments, expected[index])}")
            blocks.append("\n".join(lines) + "\n")
        return "\n\n".join(blocks)


def write_assertion(subject: Subject, arguments: tuple[object, ...], expected: object) -> str:
    """Write the `assert` statement of one case."""
    call = subject.write_call(arguments)
    if isinstance(expected, Raised):
        return f"assert error_of(lambda: {call}) == {expected.name!r}"
    return f"assert {call} == {expected!r}"
