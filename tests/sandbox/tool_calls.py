"""The tools of an agent on a sandbox under attack: what `drive` attacks call them through."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from sim2live.envs.doubles import tiny_task
from sim2live.envs.sandbox.attack_files import Escaped
from sim2live.envs.sandbox.scene import Scene
from sim2live.envs.sandbox_computer import SandboxComputer
from sim2live.trajectory import Outcome, ToolResult

MAX_CHARS = 250_000
"""No answer of a tool is longer, whatever lies in the work area."""
_LATE_S = 2.0


class Tools:
    """Calls tools and holds their answers to what is promised; anything else is an escape.

    An answer is a `ToolResult` with text that can be written down, of bounded length and in time; a
    refusal says why.

    Args:
        scene: the attacked sandbox; every program runs under the attack's limits.
    """

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self.computer = SandboxComputer(_Brief(scene))  # type: ignore[arg-type]
        self.computer.reset(tiny_task())
        scene.lay_out()

    def __call__(self, name: str, **arguments: str) -> ToolResult:
        """Call one tool."""
        from sim2live.trajectory import ToolCall

        start_s = time.monotonic()
        result = self.computer.call(ToolCall(id="c", name=name, arguments=arguments))
        self._in_time(name, start_s)
        text = result.text
        if not isinstance(text, str) or not isinstance(result.ok, bool):
            raise Escaped(f"{name} answered {result!r}"[:300])
        if len(text) > MAX_CHARS:
            raise Escaped(f"{name} answered {len(text)} characters")
        if not result.ok and not (text and result.error_code):
            raise Escaped(f"{name} refused without a reason: {result!r}"[:300])
        self._scene.said.append(text.encode())
        return result

    def run(self, source: str) -> ToolResult:
        """Have the agent run a Python program."""
        self("write_file", path="program.py", text=source)
        return self("run", command="python3 program.py")

    def every(self, path: str, text: str = "planted") -> Iterator[ToolResult]:
        """Try each tool that takes a path."""
        yield self("read_file", path=path)
        yield self("write_file", path=path, text=text)
        yield self("edit_file", path=path, old=text, new=f"{text} anew")

    def look_around(self) -> None:
        """Do what goes through all files: search, list, measure."""
        start_s = time.monotonic()
        for pattern in ("", "canary", "x" * 100):
            self("search", pattern=pattern)
        for path, text in self.computer.files().items():
            path.encode(), text.encode()
        self._in_time("looking around", start_s)

    def grade(self) -> Outcome:
        """Hand the work in; what is wrong must not be found right."""
        start_s = time.monotonic()
        outcome = self.computer.grade(tiny_task()).outcome
        self._in_time("grade", start_s)
        if outcome.is_solved or outcome.hidden_passed:
            raise Escaped(f"wrong work was graded {outcome}")
        return outcome

    def _in_time(self, what: str, start_s: float) -> None:
        late_s = time.monotonic() - start_s - self._scene.limits.wall_time_s
        if late_s > _LATE_S:
            raise Escaped(f"{what} answered {late_s:.1f} s after the time limit")


class _Brief:
    """The scene's sandbox, with the attack's limits in place of an agent's longer ones."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._scene.sandbox, name)
        if name not in ("exec", "check", "judge"):
            return method
        limits = self._scene.limits
        return lambda *words, **options: method(*words, **{**options, "limits": limits})
