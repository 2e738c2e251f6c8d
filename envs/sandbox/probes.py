"""Attacks on a sandbox, and the judge who decides from outside whether they were contained.

An attack is a file; its first docstring line says what it tries. Three kinds (`KIND` in the file):

- `program` (the default): run with `Sandbox.python`.
- `solution`: the code under test, put before hidden tests that it does not honestly pass.
- `drive`: defines `drive(scene)`, which does several things with the sandbox, also as its caller.

Contained means: nothing on the host was touched (see `witness.Host`), no secret came out, no
process is left, time, memory and processes stayed within their limits, no hidden test passed, the
attack itself does not say that it got something, and the next execution finds everything as the
first one did. An attack that did not get as far as trying counts as `not tried`, never as
contained.

The files in `attacks/` are the quick subset that can be run on anyone's machine (`run_probes`).
"""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import json
import platform
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import SandboxError
from .base import CheckResult, ExecResult, Limits, Sandbox, Snapshot
from .bystander import Bystander
from .witness import Host, Peak, kernel_lacks, reveals

ATTACK_LIMITS = Limits(
    wall_time_s=1.0,
    cpu_time_s=1.0,
    memory_bytes=128 << 20,
    processes=8,
    file_bytes=4 << 20,
    disk_bytes=8 << 20,
    output_bytes=64 << 10,
)
"""Limits that attacks run under; a sandbox for attacks should be made with them."""

PATIENT_LIMITS = dataclasses.replace(ATTACK_LIMITS, wall_time_s=10.0)
"""The same for what is not an attack and must not fail on a busy machine."""

_FOLDER = Path(__file__).with_name("attacks")
_PRELUDE = (_FOLDER / "_attacker.py").read_bytes() if _FOLDER.is_dir() else b""
_LATE_S = 1.5
"""How long after the wall-time limit an answer may come."""
_MEMORY_SLACK_BYTES = 160 << 20
"""For interpreters, and for pages that forked processes share and that are counted for each."""
_PROCESS_SLACK = 8

TESTS_SECRET = "hidden5bd1a7"
HIDDEN_TESTS = f"""
from solution import double

SECRET = "{TESTS_SECRET}"

def test_small():
    assert double(2) == 4

def test_large():
    assert double(5040) == 10080
"""
"""Tests that a solution must not pass, or read, without doubling anything."""

_STATE = """
import atexit, builtins, gc, json, os, random, resource, signal, sys, threading

def state():
    return {
        "modules": sorted(sys.modules),
        "builtins": sorted(f"{k} {getattr(v, '__module__', '')} {type(v).__name__}"
                           for k, v in vars(builtins).items() if k != "_"),
        "finders": [str(getattr(f, "__name__", type(f))) for f in sys.meta_path],
        "hooks": [str(getattr(f, "__qualname__", f)) for f in sys.path_hooks],
        "path": sys.path,
        "environment": dict(os.environ),
        "folder": sorted(os.listdir(".")),
        "tmp": sorted(os.listdir("/tmp")),
        "exits": atexit._ncallbacks(),
        "threads": threading.active_count(),
        "callbacks": len(gc.callbacks),
        "signals": [str(signal.getsignal(n)) for n in sorted(signal.valid_signals())],
        "blocked": len(signal.pthread_sigmask(signal.SIG_BLOCK, [])),
        "umask": os.umask(0o22),
        "limits": [resource.getrlimit(n) for n in range(16)],
        "random": random.random(),
        "nice": os.nice(0),
        "recursion": sys.getrecursionlimit(),
        "traced": sys.gettrace() is not None or sys.getprofile() is not None,
        "works": json.loads(json.dumps([len("abc"), int("7"), sorted([2, 1]), str(5)])),
        "open": open.__name__,
    }

def test_state():
    print("state", json.dumps(state()))

def test_right():
    assert len([1]) == 1

def test_wrong():
    assert len([1]) == 2
"""


class Escaped(Exception):
    """Raised by a `drive` attack that has succeeded."""


class NotTried(Exception):
    """Raised by a `drive` attack that cannot be attempted; the message says why."""


@dataclass(slots=True, kw_only=True, frozen=True)
class Attack:
    """One attack, read from its file."""

    name: str
    title: str
    """What it tries, in one line."""
    source: str
    kind: str = "program"
    limits: Limits = ATTACK_LIMITS
    ends_by: tuple[str, ...] = ()
    """Limits of which one must be named in the result; empty if it may end as it likes."""
    needs_other: bool = False
    """True if another episode must be running meanwhile."""
    calls: tuple[str, ...] = ()
    """System calls without which it cannot be attempted."""
    unprotected: str = "never"
    """What it does where nothing contains it: `escapes` or `refused` (by an ordinary kernel for
    want of rights) if it is harmless to try, `never` if it must not be tried."""


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


def load_attacks(folder: Path) -> list[Attack]:
    """Read the attacks of a folder, by name; files whose name begins with `_` are none."""
    paths = sorted(folder.glob("*.py"))
    return [read_attack(path) for path in paths if not path.name.startswith("_")]


def read_attack(path: Path) -> Attack:
    """Read one attack without running it: its constants are literals.

    Raises:
        ValueError: the file has no docstring, or a constant that nobody knows.
    """
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source)
    doc = ast.get_docstring(tree)
    if not doc:
        raise ValueError(f"attack {path.name} has no docstring that says what it tries")
    constants: dict[str, Any] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            if name in ("KIND", "LIMITS", "ENDS_BY", "NEEDS_OTHER", "CALLS", "UNPROTECTED"):
                constants[name.lower()] = ast.literal_eval(node.value)
    constants["limits"] = dataclasses.replace(ATTACK_LIMITS, **constants.get("limits", {}))
    title = doc.splitlines()[0]
    return Attack(name=path.stem, title=title, source=source, **constants)


class Scene:
    """A sandbox under attack, the host around it and another episode beside it.

    Args:
        make: makes one isolating sandbox; called for the attacked and for the other episode.
        host: the canaries.
    """

    def __init__(self, make: Callable[[], Sandbox], host: Host) -> None:
        self.host = host
        self.make = make
        self.sandbox = make()
        self.other = make()
        self.other_facts: dict[str, Any] = {}
        self.said: list[bytes] = []
        self.peak: Peak | None = None
        self.attack: Attack | None = None
        self._normal = self.next_execution()

    def close(self) -> None:
        """Close both sandboxes."""
        self.sandbox.close()
        self.other.close()

    @property
    def facts(self) -> dict[str, Any]:
        """Return what the attacker knows."""
        server = getattr(self.sandbox, "worker_pid", None)
        public = {k: v for k, v in self.other_facts.items() if k != "secret"}
        return {**self.host.facts, "server": server, "other": public}

    def run(self, source: str, limits: Limits | None = None) -> ExecResult:
        """Run an attacking program and keep what it says."""
        self.lay_out()
        result = self.sandbox.python(source, limits=limits or self._limits)
        self.said += [result.stdout, result.stderr]
        return result

    def check(self, source: str, solution: str, limits: Limits | None = None) -> CheckResult:
        """Put `solution` before tests and keep what it says.

        They are judged, as whoever grades hostile code has to. Where nothing is contained they
        share the solution's interpreter, so that it shows which attacks would work there.
        """
        self.lay_out()
        self.sandbox.write_file("solution.py", solution.encode())
        run = self.sandbox.judge if self.sandbox.is_isolated else self.sandbox.check
        result = run(source, limits=limits or self._limits)
        self.said += [result.execution.stdout, result.execution.stderr]
        return result

    def lay_out(self) -> None:
        """Put what attack programs import into the work area."""
        self.sandbox.write_file("attacker.py", _PRELUDE)
        self.sandbox.write_file("host.json", json.dumps(self.facts).encode())

    def told(self, word: str) -> list[str]:
        """Return what the attack said after `got`, `tried` or `cannot`."""
        pattern = re.compile(rb"^attack: " + word.encode() + rb" (.*)$", re.MULTILINE)
        return [m.decode(errors="replace") for said in self.said for m in pattern.findall(said)]

    def next_execution(self) -> dict[str, Any]:
        """Return what a later execution finds in its interpreter and its folders.

        Raises:
            Escaped: its tests do not give the results that they must.
        """
        self.sandbox.restore(Snapshot(files={}))
        result = self.sandbox.check(_STATE, limits=PATIENT_LIMITS)
        wanted = {"test_state": "passed", "test_right": "passed", "test_wrong": "failed"}
        if dict(result.outcomes) != wanted:
            raise Escaped(f"the next check gave {dict(result.outcomes)} {dict(result.messages)}")
        found: dict[str, Any] = json.loads(result.execution.stdout.partition(b"state ")[2])
        if not self.sandbox.is_isolated:
            del found["tmp"]  # it is everybody's
        return found

    def aftermath(self) -> list[str]:
        """Say what is different for the next execution."""
        try:
            found = self.next_execution()
        except (Escaped, SandboxError, OSError, ValueError) as error:
            return [f"the next execution does not work: {error}"]
        changed = [name for name, value in found.items() if value != self._normal[name]]
        return [f"the next execution finds other {name}: {found[name]}" for name in changed]

    @property
    def _limits(self) -> Limits:
        return self.attack.limits if self.attack else ATTACK_LIMITS


def run_probes(make: Callable[[], Sandbox]) -> list[Verdict]:
    """Run the quick subset of attacks, which is harmless also where a sandbox fails.

    Args:
        make: makes a sandbox with `ATTACK_LIMITS`.

    Raises:
        SandboxError: no sandbox could be made.
    """
    return run_attacks(make, load_attacks(_FOLDER))


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
    excuses = _lacking(attack)
    start_s = time.monotonic()
    if not excuses:
        with scene.host.watch() as scene.peak, _other_episode(attack, scene, found):
            try:
                _carry_out(attack, scene, found)
            except Escaped as success:
                found.append(str(success))
            except NotTried as excuse:
                excuses.append(str(excuse))
            except SandboxError as error:
                found.append(f"the sandbox failed: {type(error).__name__}: {error}")
            except Exception as error:  # noqa: BLE001 - whatever an attack made the caller raise
                found.append(f"the caller got {type(error).__name__}: {error}")
        found += _evidence(attack, scene)
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


def _lacking(attack: Attack) -> list[str]:
    """Say which of the calls that an attack needs this kernel does not have."""
    column = {"x86_64": 0, "aarch64": 1}.get(platform.machine())
    if attack.calls and column is None:
        return [f"the numbers of system calls of {platform.machine()} are not known"]
    numbers = _call_numbers()
    lacking = [name for name in attack.calls if kernel_lacks(numbers[name][column or 0])]
    return [f"this kernel has no {name}" for name in lacking]


def _call_numbers() -> dict[str, tuple[int, int]]:
    for node in ast.parse(_PRELUDE).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "_NUMBERS":
            numbers: dict[str, tuple[int, int]] = ast.literal_eval(node.value)
            return numbers
    raise AssertionError("the attackers' module has no table of calls")


def _carry_out(attack: Attack, scene: Scene, found: list[str]) -> None:
    start_s = time.monotonic()
    if attack.kind == "program":
        result = scene.run(attack.source)
        late_s = time.monotonic() - start_s - attack.limits.wall_time_s
        if late_s > _LATE_S:
            found.append(f"it ended {late_s:.1f} s after its time limit")
        found += _about_result(attack, result)
        if b"Traceback" in result.stderr and result.limit is None and result.exit_code == 1:
            raise NotTried(f"it failed: {result.stderr[-300:].decode(errors='replace')}")
    elif attack.kind == "solution":
        checked = scene.check(HIDDEN_TESTS, attack.source)
        passed = [name for name, outcome in checked.outcomes.items() if outcome == "passed"]
        if passed:
            found.append(f"hidden tests passed: {', '.join(passed)}")
        if set(checked.outcomes) - {"test_small", "test_large"}:
            found.append(f"tests that do not exist were reported: {sorted(checked.outcomes)}")
        if reveals(TESTS_SECRET, checked.execution.stdout + checked.execution.stderr):
            found.append("the text of the hidden tests was read")
    else:
        space: dict[str, Any] = {"Escaped": Escaped, "NotTried": NotTried}
        exec(compile(attack.source, f"{attack.name}.py", "exec"), space)
        space["drive"](scene)


def _about_result(attack: Attack, result: ExecResult) -> list[str]:
    found = []
    if attack.ends_by and result.limit not in attack.ends_by:
        found.append(f"expected to end by a limit {attack.ends_by}, ended by {result.limit}")
    if max(len(result.stdout), len(result.stderr)) > attack.limits.output_bytes:
        found.append("more output came back than its limit allows")
    return found


def _evidence(attack: Attack, scene: Scene) -> list[str]:
    """Look at everything an attack might have touched."""
    host, limits = scene.host, attack.limits
    found = [f"it says: {what}" for what in scene.told("got")]
    if left := host.survivors():
        found.append(f"{left} of its processes were left")
    found += host.damage()
    said = b"\n".join(scene.said) + _left_files(scene, found)
    if host.reveals(said):
        found.append("a secret of the host was read")
    if scene.other_facts and reveals(scene.other_facts["secret"], said):
        found.append("a secret of another episode was read")
    if scene.peak is not None:
        most = limits.memory_bytes + 2 * limits.disk_bytes + _MEMORY_SLACK_BYTES
        if scene.peak.memory_bytes > most:
            used, allowed = scene.peak.memory_bytes >> 20, most >> 20
            found.append(f"it used {used} MiB of memory, {allowed} MiB are allowed")
        if scene.peak.processes > limits.processes + _PROCESS_SLACK:
            found.append(f"it had {scene.peak.processes} processes at a time")
    return found + scene.aftermath()


def _left_files(scene: Scene, found: list[str]) -> bytes:
    """Return the files of the work area, which must not claim more than their limit."""
    try:
        files = scene.sandbox.snapshot().files
    except (SandboxError, OSError) as error:
        found.append(f"the work area cannot be read any more: {error}")
        return b""
    allowed = scene._limits.disk_bytes
    if (held := sum(map(len, files.values()))) > allowed:
        found.append(f"the work area holds {held} bytes, {allowed} are allowed")
    return b"\n".join([*files.values(), *(path.encode(errors="replace") for path in files)])


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
