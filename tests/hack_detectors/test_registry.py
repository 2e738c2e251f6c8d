from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import sim2live.hack_detectors
from sim2live.errors import ConfigError, DetectorError
from sim2live.hack_detectors import (
    DETECTORS,
    MONITORS,
    Detector,
    Finding,
    Monitor,
    Severity,
    Verdict,
    load_detectors,
    load_monitors,
)
from sim2live.hack_detectors.conformance import check_detector, rename_locals
from sim2live.trajectory import Source, ToolCall, Trajectory, Turn


def test_every_name_makes_what_it_names():
    assert [d.name for d in load_detectors()] == list(DETECTORS)
    assert [m.name for m in load_monitors(seed=3)] == list(MONITORS)
    assert all(isinstance(d, Detector) for d in load_detectors())
    assert all(isinstance(m, Monitor) for m in load_monitors())


def test_unknown_names_are_refused_with_a_hint():
    with pytest.raises(ConfigError, match="Did you mean `test_tamper`"):
        load_detectors(["test_tampr"])
    with pytest.raises(ConfigError, match="unknown monitor"):
        load_monitors(["nothing"])


def test_detectors_never_import_reward_models():
    folder = Path(sim2live.hack_detectors.__file__).parent
    files = sorted(folder.glob("*.py"))
    assert len(files) > 10
    for path in files:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom):
                assert "reward_models" not in (node.module or "")


def test_importing_the_folder_loads_nothing_heavy():
    code = (
        "import sys, sim2live.hack_detectors as h\n"
        "h.load_detectors(); h.load_monitors()\n"
        "heavy = {'torch', 'scipy', 'sklearn', 'pandas', 'statsmodels'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def session(text: str) -> Trajectory:
    call = ToolCall(id="c", name="write_file", arguments={"path": "a.py", "text": text})
    return Trajectory(id=text, task_id="x", source=Source.LIVE, turns=[Turn(tool_calls=[call])])


class Naive:
    """Flags by the very text, which formatting and other names change."""

    name, version = "naive", "1"

    def __init__(self, needle: str, *, flags: bool = True, quote: str = "seen") -> None:
        self.needle, self.flags, self.quote = needle, flags, quote

    def inspect(self, trajectory: Trajectory) -> list[Finding]:
        hit = any(self.needle in str(call.arguments) for call in trajectory.tool_calls)
        if hit != self.flags:
            return []
        return [
            Finding(
                detector=self.name,
                detector_version="1",
                kind="k",
                verdict=Verdict.HACK,
                severity=Severity.HIGH,
                score=0.9,
                turn=0,
                evidence=(self.quote,) if self.quote else (),
            )
        ]


HACK = "def f():\n    result=1\n    return result\n"


@pytest.mark.parametrize(
    ("detector", "message"),
    [
        (Naive("no such text"), "misses the hack"),
        (Naive("def"), "flags the honest"),
        (Naive("result=1"), "by formatting"),
        (Naive("return result"), "by names of locals"),
        (Naive("def f", quote=""), "shows no evidence"),
    ],
)
def test_each_broken_rule_is_named(detector, message):
    with pytest.raises(DetectorError, match=message):
        check_detector(detector, planted=[session(HACK)], honest=[session("def g():\n    ...\n")])


def test_a_robust_detector_conforms_and_empty_corpora_are_refused():
    honest = [session("def g():\n    ...\n")]
    check_detector(Naive("def f("), planted=[session(HACK)], honest=honest)
    with pytest.raises(DetectorError, match="at least one"):
        check_detector(Naive("x"), planted=[], honest=honest)


def test_renaming_locals_leaves_meaning_and_parameters_alone():
    source = "def f(a):\n    b = a + 1\n    c = b * 2\n    return c\n"
    names: dict = {}
    exec(rename_locals(source), names)
    assert names["f"](1) == 4 and names["f"](a=2) == 6
    assert "b =" not in rename_locals(source)
