"""A sandbox under attack, and what a later execution in it finds."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...errors import SandboxError
from .aftermath import next_check, next_pytest
from .attack_files import ATTACK_LIMITS, PRELUDE, Attack, Escaped
from .base import CheckResult, ExecResult, Limits, Sandbox
from .evidence import about_result
from .witness import Host, Peak


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
        self._normal = next_check(self.sandbox)
        self._normal_pytest: dict[str, Any] = {}

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
        result = self.sandbox.python(source, limits=limits or self.limits)
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
        result = run(source, limits=limits or self.limits)
        self.said += [result.execution.stdout, result.execution.stderr]
        return result

    def pytest(
        self,
        files: Mapping[str, str | bytes],
        args: Sequence[str] = ("-s",),
        limits: Limits | None = None,
    ) -> CheckResult:
        """Run pytest over hostile files and keep what it says.

        Raises:
            Escaped: it went on after its time, or more came back than may.
        """
        self.lay_out()
        for path, content in files.items():
            self.sandbox.write_file(
                path, content if isinstance(content, bytes) else content.encode()
            )
        limits, start_s = limits or self.limits, time.monotonic()
        result = self.sandbox.pytest(args, limits=limits)
        duration_s = time.monotonic() - start_s
        self.said += [result.execution.stdout, result.execution.stderr]
        if found := about_result(limits, result.execution, duration_s):
            raise Escaped("; ".join(found))
        return result

    def lay_out(self) -> None:
        """Put what attack programs import into the work area."""
        self.sandbox.write_file("attacker.py", PRELUDE)
        self.sandbox.write_file("host.json", json.dumps(self.facts).encode())

    def told(self, word: str) -> list[str]:
        """Return what the attack said after `got`, `tried` or `cannot`."""
        pattern = re.compile(rb"^attack: " + word.encode() + rb" (.*)$", re.MULTILINE)
        return [m.decode(errors="replace") for said in self.said for m in pattern.findall(said)]

    def know_pytest(self) -> None:
        """See, before an attack on it, what a run of pytest finds; the work area is emptied."""
        if not self._normal_pytest:
            self._normal_pytest = next_pytest(self.sandbox)
            # Where one server does both, it has more of the standard library loaded from now on.
            self._normal = next_check(self.sandbox)

    def aftermath(self) -> list[str]:
        """Say what is different for the next execution."""
        wanted = {"execution": (next_check, self._normal)}
        if self.attack and self.attack.needs_pytest:
            wanted["pytest"] = (next_pytest, self._normal_pytest)
        told = []
        for kind, (find, normal) in wanted.items():
            try:
                found = find(self.sandbox)
            except (Escaped, SandboxError, OSError, ValueError) as error:
                told.append(f"the next {kind} does not work: {error}")
                continue
            changed = [name for name, value in found.items() if value != normal[name]]
            told += [f"the next {kind} finds other {name}: {found[name]}" for name in changed]
        return told

    @property
    def limits(self) -> Limits:
        """Return what the attack may use."""
        return self.attack.limits if self.attack else ATTACK_LIMITS
