"""Attacks on a sandbox, and the judge who decides from outside whether they were contained.

What an attack is stands in `attack_files.py`. Contained means: nothing on the host was touched (see
`witness.Host`), no secret came out, no process is left, time, memory and processes stayed within
their limits, no hidden test passed, the attack itself does not say that it got something, and the
next execution finds everything as the first one did. An attack that did not get as far as trying
counts as `not tried`, never as contained.

The files in `attacks/` are the quick subset that can be run on anyone's machine (`run_probes`).
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from ...errors import SandboxError
from . import evidence
from .attack_files import (
    ATTACK_LIMITS,
    FOLDER,
    PATIENT_LIMITS,
    Attack,
    Escaped,
    NotTried,
    load_attacks,
    missing_calls,
    read_attack,
)
from .base import Sandbox, Snapshot
from .bystander import Bystander
from .carrying_out import carry_out
from .scene import Scene
from .witness import Host

__all__ = [
    "ATTACK_LIMITS",
    "Attack",
    "Escaped",
    "NotTried",
    "Scene",
    "Verdict",
    "judge",
    "load_attacks",
    "read_attack",
    "run_attacks",
    "run_probes",
]


@dataclass(slots=True, kw_only=True, frozen=True)
class Verdict:
    """What became of one attack."""

    name: str
    title: str
    outcome: str
    """`contained`, `escaped` or `not tried`."""
    reasons: tuple[str, ...] = ()
    """Evidence of an escape, or why it was not tried."""
    duration_s: float = 0.0


def run_probes(make: Callable[[], Sandbox]) -> list[Verdict]:
    """Run the quick subset of attacks, which is harmless also where a sandbox fails.

    Args:
        make: makes a sandbox with `ATTACK_LIMITS`.

    Raises:
        SandboxError: no sandbox could be made.
    """
    return run_attacks(make, load_attacks(FOLDER))


def run_attacks(
    make: Callable[[], Sandbox],
    attacks: Sequence[Attack],
    tell: Callable[[Verdict], None] = lambda verdict: None,
) -> list[Verdict]:
    """Run attacks one after another and judge each.

    Args:
        make: makes a sandbox; a new one is made after an attack that escaped.
        attacks: what to try.
        tell: called with each verdict as it is reached.
    """
    verdicts = []
    with Host() as host:
        scene = Scene(make, host)
        try:
            for attack in attacks:
                verdict = judge(attack, scene)
                verdicts.append(verdict)
                tell(verdict)
                if verdict.outcome == "escaped":
                    scene.close()
                    scene = Scene(make, host)
        finally:
            scene.close()
    return verdicts


def judge(attack: Attack, scene: Scene) -> Verdict:
    """Carry out one attack and collect the evidence."""
    scene.attack, scene.said, scene.peak = attack, [], None
    with contextlib.suppress(SandboxError):
        scene.sandbox.restore(Snapshot(files={}))
    found: list[str] = []
    excuses = missing_calls(attack)
    start_s = time.monotonic()
    if not excuses:
        with scene.host.watch() as scene.peak, _other_episode(attack, scene, found):
            try:
                if attack.needs_pytest:
                    scene.know_pytest()
                carry_out(attack, scene, found)
            except Escaped as success:
                found.append(str(success))
            except NotTried as excuse:
                excuses.append(str(excuse))
            except SandboxError as error:
                found.append(f"the sandbox failed: {type(error).__name__}: {error}")
            except Exception as error:  # noqa: BLE001 - whatever an attack made the caller raise
                found.append(f"the caller got {type(error).__name__}: {error}")
        found += evidence.collect(attack, scene)
    duration_s = time.monotonic() - start_s
    outcome = "contained"
    if found:
        outcome = "escaped"
    elif excuses or not scene.told("tried"):
        outcome = "not tried"
        said = b" ".join(scene.said)[-300:].decode(errors="replace")
        excuses += scene.told("cannot") or ([] if excuses else [f"it ended early: {said}"])
    return Verdict(
        name=attack.name,
        title=attack.title,
        outcome=outcome,
        reasons=tuple(dict.fromkeys(found or excuses)) if outcome != "contained" else (),
        duration_s=duration_s,
    )


@contextlib.contextmanager
def _other_episode(attack: Attack, scene: Scene, found: list[str]) -> Iterator[None]:
    """Have another episode run meanwhile, and ask it afterwards what it noticed."""
    scene.other_facts = {}
    if not attack.needs_other:
        yield
        return
    with Bystander(scene.other, PATIENT_LIMITS) as other:
        scene.other_facts = other.facts
        yield
    found += other.noticed
