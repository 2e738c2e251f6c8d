from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from sim2live.cli import app
from sim2live.envs.sandbox import missing_isolation, protections
from sim2live.envs.sandbox.docker_errors import missing_docker
from sim2live.envs.sandbox.probes import Verdict
from sim2live.errors import ConfigError, SandboxUnavailableError

runner = CliRunner()


def run(*arguments: str, code: int = 0) -> str:
    result = runner.invoke(app, ["sandbox", *arguments])
    assert result.exit_code == code, (result.output, result.exception)
    return result.stdout


@pytest.fixture
def isolated() -> None:
    if missing := missing_isolation():
        pytest.skip(f"no isolation on this machine: {missing}")


@pytest.mark.parametrize("verb", ["doctor", "cleanup", "image"])
def test_every_verb_has_help_with_an_example_and_json(verb):
    output = run(verb, "--help")
    assert "Example" in output
    assert "--json" in output


@pytest.mark.usefixtures("isolated")
def test_the_doctor_tries_attacks_and_counts_them(monkeypatch):
    verdicts = [
        Verdict(name="one", title="Tries one thing.", outcome="contained"),
        Verdict(
            name="two",
            title="Tries [another].",
            outcome="escaped",
            reasons=("read the canary",),
        ),
    ]
    monkeypatch.setattr("sim2live.envs.sandbox.probes.run_probes", lambda make: verdicts)
    output = run("doctor", code=1)
    assert "namespaces: contained 1 of 2" in output
    assert "escaped; read the canary" in " ".join(output.split())
    report = json.loads(run("doctor", "--json", code=1))
    assert (report["contained"], len(report["attacks"])) == (1, 2)


@pytest.mark.usefixtures("isolated")
def test_a_missing_protection_is_named_with_its_remedy_and_fails(monkeypatch):
    made = protections.Protection
    found = [
        made(name="network", is_in_force=True, detail="none", remedy=""),
        made(name="memory", is_in_force=False, detail="not limited", remedy="mount cgroups"),
    ]
    monkeypatch.setattr(protections, "protections", lambda: found)
    output = " ".join(run("doctor", "--no-attacks", code=1).split())
    assert "to have it: mount cgroups" in output


@pytest.mark.usefixtures("isolated")
def test_a_missing_second_wall_is_named_and_does_not_fail(monkeypatch):
    made = protections.Protection
    found = [
        made(name="network", is_in_force=True, detail="none"),
        made(name="Landlock", is_in_force=False, detail="none", remedy="a kernel", is_extra=True),
    ]
    monkeypatch.setattr(protections, "protections", lambda: found)
    output = " ".join(run("doctor", "--no-attacks", code=0).split())
    assert "without a second wall here: Landlock" in output


@pytest.mark.slow
@pytest.mark.usefixtures("isolated")
def test_the_quick_attacks_are_contained_here():
    report = json.loads(runner.invoke(app, ["sandbox", "doctor", "--json"]).stdout)
    assert report["attacks"]
    assert [a["name"] for a in report["attacks"] if a["outcome"] != "contained"] == []


def test_an_unknown_backend_is_refused():
    result = runner.invoke(app, ["sandbox", "doctor", "--backend", "chroot"])
    assert isinstance(result.exception, ConfigError)
    assert "namespaces" in str(result.exception)


def test_cleanup_says_what_it_removed(monkeypatch):
    asked = []

    def cleanup(*, should_remove_all: bool) -> list[str]:
        asked.append(should_remove_all)
        return ["left-over"]

    monkeypatch.setattr("sim2live.envs.sandbox.cleanup_containers", cleanup)
    assert run("cleanup") == "removed left-over\n1 containers removed\n"
    assert json.loads(run("cleanup", "--all", "--json")) == {"removed": ["left-over"]}
    assert asked == [False, True]


def test_without_a_daemon_docker_verbs_say_what_to_do(monkeypatch):
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere.sock")
    assert missing_docker() is not None
    for arguments in (["cleanup"], ["doctor", "--backend", "docker"]):
        result = runner.invoke(app, ["sandbox", *arguments])
        assert isinstance(result.exception, SandboxUnavailableError), arguments
