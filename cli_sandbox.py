"""`sim2live sandbox ...`: is code contained on this machine, and what docker left behind.

Exit codes as in `cli`: 1 where a protection is missing or an attack was not contained.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from .errors import SandboxUnavailableError, unknown_name

if TYPE_CHECKING:
    from .envs.sandbox.probes import Verdict
    from .envs.sandbox.protections import Protection

app = typer.Typer(
    help="Check the sandbox of this machine; clean up after docker.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)

_FOUND = 1
_BACKENDS = ("namespaces", "docker")

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of tables.")]


@app.command(epilog="Example: `sim2live sandbox doctor --backend namespaces`")
def doctor(
    backend: Annotated[
        str, typer.Option(help="`namespaces` or `docker`: which sandbox to check.")
    ] = "namespaces",
    attacks: Annotated[
        bool, typer.Option(help="Run the quick attacks too; they are harmless, also if they work.")
    ] = True,
    as_json: Json = False,
) -> None:
    """Print the protections in force here, then try a few attacks and judge them from outside.

    The exit code is 1 if an attack was not contained or a protection is not in force, second walls
    (Landlock, control groups) excepted: isolation holds without those, as the other lines say.
    """
    if backend not in _BACKENDS:
        raise unknown_name("backend", backend, _BACKENDS)
    console = Console(stderr=as_json)
    found = _protections(backend)
    if not as_json and found:
        _print_protections(console, found)
    verdicts = _try_attacks(backend, console) if attacks else []
    contained = sum(verdict.outcome == "contained" for verdict in verdicts)
    if as_json:
        typer.echo(
            json.dumps(
                {
                    "backend": backend,
                    "protections": [asdict(protection) for protection in found],
                    "attacks": [asdict(verdict) for verdict in verdicts],
                    "contained": contained,
                },
                indent=2,
            )
        )
    elif attacks:
        _print_verdicts(console, verdicts)
        console.print(f"{backend}: contained {contained} of {len(verdicts)}")
    lacking = [p.name for p in found if not p.is_in_force and p.is_extra]
    if lacking:
        console.print(f"without a second wall here: {', '.join(lacking)}", style="yellow")
    if contained < len(verdicts) or not all(p.is_in_force or p.is_extra for p in found):
        raise typer.Exit(_FOUND)


@app.command(epilog="Example: `sim2live sandbox cleanup`")
def cleanup(
    everything: Annotated[
        bool, typer.Option("--all", help="Remove the containers of living processes as well.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Remove containers of docker sandboxes whose process has died."""
    from .envs.sandbox import cleanup_containers

    removed = cleanup_containers(should_remove_all=everything)
    if as_json:
        typer.echo(json.dumps({"removed": removed}, indent=2))
        return
    for name in removed:
        typer.echo(f"removed {name}")
    typer.echo(f"{len(removed)} containers removed")


@app.command(epilog="Example: `sim2live sandbox image --replace`")
def image(
    name: Annotated[str, typer.Option(help="Name and tag; the default is the sandbox's own.")] = "",
    replace: Annotated[
        bool, typer.Option("--replace", help="Make it anew if there is one.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Make the image of docker sandboxes (Debian, Python, git, pytest), without a registry."""
    from .envs.sandbox.docker_errors import DEFAULT_IMAGE
    from .envs.sandbox.docker_image import build_image

    name = name or DEFAULT_IMAGE
    made = build_image(name, should_replace=replace)
    typer.echo(json.dumps({"name": name, "id": made}) if as_json else f"{name} is {made}")


def _protections(backend: str) -> list[Protection]:
    if backend == "docker":
        from .envs.sandbox.docker_errors import missing_docker

        if missing := missing_docker():
            raise SandboxUnavailableError(missing)
        return []
    from .envs.sandbox.protections import protections

    return protections()


def _try_attacks(backend: str, console: Console) -> list[Verdict]:
    from .envs.sandbox import make_sandbox
    from .envs.sandbox.probes import ATTACK_LIMITS, run_probes

    with console.status("trying attacks ..."):
        return run_probes(lambda: make_sandbox(backend, limits=ATTACK_LIMITS))


def _print_protections(console: Console, found: list[Protection]) -> None:
    table = _table("protections of the `namespaces` sandbox here", "protection", "in force", "how")
    for protection in found:
        how = protection.detail
        if not protection.is_in_force and protection.remedy:
            how += f"; to have it: {protection.remedy}"
        table.add_row(protection.name, _yes(protection.is_in_force), how)
    console.print(table)


def _print_verdicts(console: Console, verdicts: list[Verdict]) -> None:
    table = _table("attacks", "attack", "what it tries", "outcome")
    for verdict in verdicts:
        outcome = "; ".join([verdict.outcome, *verdict.reasons])
        style = "green" if verdict.outcome == "contained" else "red"
        table.add_row(verdict.name, verdict.title, f"[{style}]{_escape(outcome)}[/{style}]")
    console.print(table)


def _yes(is_so: bool) -> str:
    return "[green]yes[/green]" if is_so else "[red]no[/red]"


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left")
    for column in columns:
        table.add_column(column)
    return table


def _escape(text: Any) -> str:
    from rich.markup import escape

    return escape(str(text))
