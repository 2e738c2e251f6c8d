"""Every attack on every isolating backend; and, on the unprotected one, that the judge sees them.

The attacks run in a subprocess (`run_attacks.py`), which prints a table on its own, too.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sim2live.envs.sandbox import make_sandbox, probes
from sim2live.envs.sandbox.namespaces import missing_isolation
from sim2live.envs.sandbox.probes import ATTACK_LIMITS, Attack, Verdict, load_attacks, run_attacks
from sim2live.errors import ConfigError

_HERE = Path(__file__).resolve().parent
_FOLDERS = (Path(probes.__file__).with_name("attacks"), _HERE / "attacks")
_RUN = str(_HERE / "run_attacks.py")
_USER = str(20_000 + os.getpid() % 10_000)
"""An ordinary user that nobody else is: the kernel counts processes by user."""
_TIMEOUT_S = 800

KNOWN: dict[str, dict[str, str]] = {"namespaces": {}, "namespaces_as_user": {}, "docker": {}}
"""Attacks that are not contained yet, and why. One that is contained must leave this table."""


def _attacks() -> list[Attack]:
    return [attack for folder in _FOLDERS for attack in load_attacks(folder)]


def _run_all(backend: str, *, as_user: bool) -> list[Verdict]:
    command = [sys.executable, _RUN, "--backend", backend, "--json", "-"]
    if as_user:
        command += ["--user", _USER]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False, cwd=_HERE
    )
    assert done.stdout, done.stderr
    return [Verdict(**entry) for entry in json.loads(done.stdout)]


def _summary(who: str, verdicts: list[Verdict]) -> str:
    contained = sum(verdict.outcome == "contained" for verdict in verdicts)
    others = ", ".join(verdict.name for verdict in verdicts if verdict.outcome != "contained")
    rest = f" (not: {others})" if others else ""
    return f"{who}: contained {contained} of {len(verdicts)}{rest}"


def _lacks_of_kernel(verdict: Verdict) -> bool:
    return verdict.outcome == "not tried" and all(
        reason.startswith("this kernel has no ") for reason in verdict.reasons
    )


def _skip_docker() -> None:
    """Skip where no Docker engine answers, unless one was promised."""
    import docker

    try:
        docker.from_env(timeout=5).ping()
    except docker.errors.DockerException as error:
        if os.environ.get("SIM2LIVE_REQUIRE_DOCKER") == "1":
            pytest.fail(f"SIM2LIVE_REQUIRE_DOCKER=1, but no Docker engine answers: {error}")
        pytest.skip(f"no Docker engine answers ({error}); start one to run this")
    try:
        make_sandbox("docker").close()
    except ConfigError as error:
        if os.environ.get("SIM2LIVE_REQUIRE_DOCKER") == "1":
            raise
        pytest.skip(f"there is no docker sandbox: {error}")


def _skip_namespaces() -> None:
    if missing := missing_isolation():
        pytest.skip(f"no isolation on this machine: {missing}")


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("backend", ["namespaces", "namespaces_as_user", "docker"])
def test_every_attack_is_contained(
    backend: str, record_property: Callable[[str, object], None]
) -> None:
    is_root = os.geteuid() == 0
    if backend == "docker":
        _skip_docker()
    else:
        _skip_namespaces()
    if backend == "namespaces" and not is_root:
        pytest.skip("not root: `namespaces` runs as this ordinary user in the next test")
    as_user = backend == "namespaces_as_user"
    verdicts = _run_all(backend.removesuffix("_as_user"), as_user=as_user and is_root)
    who = "namespaces as an ordinary user" if as_user else f"{backend} as root"
    record_property("sandbox", _summary("docker" if backend == "docker" else who, verdicts))
    assert {verdict.name for verdict in verdicts} == {attack.name for attack in _attacks()}
    known = KNOWN[backend]
    failed = {
        verdict.name: verdict.reasons
        for verdict in verdicts
        if verdict.outcome != "contained" and not _lacks_of_kernel(verdict)
    }
    assert {name: why for name, why in failed.items() if name not in known} == {}
    assert sorted(set(known) - set(failed)) == [], "contained now: take them out of `KNOWN`"


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_judge_sees_the_same_attacks_succeed_where_nothing_contains_them(
    record_property: Callable[[str, object], None],
) -> None:
    """As an ordinary user that owns nothing, on canaries, and only what is harmless."""
    harmless = {attack.name: attack for attack in _attacks() if attack.unprotected != "never"}
    verdicts = _run_all("process", as_user=os.geteuid() == 0)
    outcomes = {verdict.name: verdict.outcome for verdict in verdicts}
    assert set(outcomes) == set(harmless)
    escaped = [name for name, outcome in outcomes.items() if outcome == "escaped"]
    record_property(
        "sandbox",
        f"process (unprotected): the judge saw {len(escaped)} of {len(harmless)} harmless attacks "
        f"succeed; {len(_attacks()) - len(harmless)} are never run unprotected",
    )
    must = {name for name, attack in harmless.items() if attack.unprotected == "escapes"}
    lacking = {verdict.name for verdict in verdicts if _lacks_of_kernel(verdict)}
    assert sorted(must - set(escaped) - lacking) == []
    assert len(escaped) >= len(harmless) / 3


def test_there_are_at_least_60_attacks_each_with_a_line_on_what_it_tries() -> None:
    attacks = _attacks()
    names = [attack.name for attack in attacks]
    assert len(names) >= 60 and len(set(names)) == len(names)
    for attack in attacks:
        assert attack.title.endswith(".") and len(attack.title) > 20, attack.name
        assert attack.unprotected in ("escapes", "refused", "never"), attack.name
        assert attack.kind in ("program", "solution", "drive"), attack.name
    assert {name for known in KNOWN.values() for name in known} <= set(names)


def test_the_shipped_attacks_are_contained() -> None:
    _skip_namespaces()
    verdicts = probes.run_probes(lambda: make_sandbox("namespaces", limits=ATTACK_LIMITS))
    assert len(verdicts) >= 12
    assert {v.name: v.reasons for v in verdicts if v.outcome != "contained"} == {}


def _judged(tmp_path: Path, source: str) -> Verdict:
    """Judge one made-up attack; not in `namespaces` where there is none, but it needs no walls."""
    path = tmp_path / "made_up.py"
    path.write_text(source, encoding="utf-8")
    name = "process" if missing_isolation() else "namespaces"
    (verdict,) = run_attacks(
        lambda: make_sandbox(name, limits=ATTACK_LIMITS), [probes.read_attack(path)]
    )
    return verdict


@pytest.mark.parametrize(
    ("source", "outcome", "reason"),
    [
        ("pass", "not tried", "it ended early"),
        ("from attacker import cannot\ncannot('no such call')", "not tried", "no such call"),
        ("from attacker import tried\ntried()\n1 / 0", "not tried", "ZeroDivisionError"),
        ("from attacker import tried\ntried()", "contained", ""),
        ("from attacker import got, tried\ntried()\ngot('in')", "escaped", "it says: in"),
        (
            "from attacker import tried\nENDS_BY = ('memory',)\ntried()",
            "escaped",
            "expected to end by a limit",
        ),
        ("CALLS = ('swapon',)\nfrom attacker import tried\ntried()", "contained", ""),
        (
            "KIND = 'solution'\nfrom attacker import tried\ntried()\ndouble = lambda x: 2 * x",
            "escaped",
            "hidden tests passed: test_small, test_large",
        ),
        (
            "KIND = 'solution'\nfrom attacker import tried\ntried()\nprint('hidden' '5bd1a7')",
            "escaped",
            "the text of the hidden tests was read",
        ),
        (
            "KIND = 'drive'\ndef drive(scene):\n"
            "    scene.said.append(b'attack: tried it\\n')\n"
            "    scene.host.canary.write_text('x')",
            "escaped",
            "the canary file was changed",
        ),
        (
            "KIND = 'drive'\ndef drive(scene):\n    scene.said.append(scene.host.secret.encode())",
            "escaped",
            "a secret of the host was read",
        ),
        ("KIND = 'drive'\ndef drive(scene):\n    1 / 0", "escaped", "the caller got ZeroDivision"),
        (
            "KIND = 'drive'\ndef drive(scene):\n    scene._normal['umask'] = -1",
            "escaped",
            "the next execution finds other umask",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore:the `process` sandbox")
def test_the_judge(tmp_path: Path, source: str, outcome: str, reason: str) -> None:
    verdict = _judged(tmp_path, f'"""Tries something."""\n{source}\n')
    assert verdict.outcome == outcome, verdict
    assert reason in "; ".join(verdict.reasons)


def test_an_attack_must_say_what_it_tries(tmp_path: Path) -> None:
    path = tmp_path / "silent.py"
    path.write_text("pass\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"silent\.py has no docstring"):
        probes.read_attack(path)
