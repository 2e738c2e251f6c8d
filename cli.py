"""The `sim2live` command: thin verbs over `experiments` and `live_bridge`.

Exit codes: 0 done; 1 something was found that wants attention (hacks by `detect`, records skipped
by `ingest --strict`); 2 the command was given something wrong. Heavy modules are imported inside
the verbs, so that `--help` answers at once.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from . import cli_sandbox
from .errors import Sim2LiveError

app = typer.Typer(
    name="sim2live",
    help="Does what a coding agent learned in simulation hold with real users, and is it gaming "
    "the reward?",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)
app.add_typer(cli_sandbox.app, name="sandbox")

FOUND, WRONG = 1, 2

Seed = Annotated[int, typer.Option(help="One seed gives one result.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of tables.")]
Sandbox = Annotated[
    str, typer.Option(help="Where code runs: `namespaces`, `docker`, or `process` (unprotected).")
]


def main() -> None:
    """Run the command; what goes wrong on purpose ends in one line, not in a traceback."""
    try:
        app()
    except Sim2LiveError as error:
        Console(stderr=True, highlight=False).print(f"[red]sim2live:[/red] {_escape(str(error))}")
        sys.exit(WRONG)
    except KeyboardInterrupt:
        Console(stderr=True).print("stopped; what was written so far is kept")
        sys.exit(130)


@app.command(epilog="Example: `sim2live demo --seed 1 --out runs/demo`")
def demo(
    out: Annotated[Path, typer.Option(help="Folder for the report and the records.")] = Path(
        "runs/demo"
    ),
    seed: Seed = 0,
    scale: Annotated[
        float, typer.Option(help="Length of every part relative to the default; 0.2 is a glance.")
    ] = 1.0,
    sandbox: Sandbox = "namespaces",
    as_json: Json = False,
) -> None:
    """Run the main job: learn in simulation, meet live users, get hacked, notice, repair."""
    from .experiments.demo import DemoConfig, run_demo

    console = Console(stderr=as_json)
    config = DemoConfig(seed=seed, scale=scale, sandbox=sandbox, out=out)
    summary = run_demo(config, console)
    if as_json:
        _print_json(summary)


@app.command(
    epilog="Example: `sim2live train --source simulated --policy skills --steps 60 --out runs/sim`"
)
def train(
    source: Annotated[
        str, typer.Option(help="`simulated`, `replayed`, `live` (the stand-in) or `mix`.")
    ] = "simulated",
    env: Annotated[
        str,
        typer.Option(help="Kind of work: `repair`; for the simulated source also `implement`."),
    ] = "repair",
    policy: Annotated[
        str, typer.Option(help="`skills`, or `hf:PATH` for a local language model folder.")
    ] = "skills",
    steps: Annotated[int, typer.Option(help="Policy updates.")] = 60,
    batch_size: Annotated[int, typer.Option(help="Episodes an update.")] = 32,
    group_size: Annotated[int, typer.Option(help="Episodes a task (simulated source).")] = 4,
    algorithm: Annotated[
        str | None, typer.Option(help="`reinforce`, `rloo` or `grpo`; default by source.")
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(help="For `reinforce`: `none`, `batch_mean` or `value`; default by source."),
    ] = None,
    lr: Annotated[float | None, typer.Option(help="Learning rate; default by policy.")] = None,
    kl_coef: Annotated[
        float, typer.Option(help="KL penalty towards the untrained policy; 0.05 keeps all skills.")
    ] = 0.0,
    flaw: Annotated[
        list[str] | None,
        typer.Option(
            help="Flaw of the reward to switch on: `discard_invalid`, `questions_free`, "
            "`max_complexity`. May be repeated."
        ),
    ] = None,
    mix: Annotated[str, typer.Option(help="Weights of the mixture.")] = "simulated=0.5,live=0.5",
    logs: Annotated[Path | None, typer.Option(help="Store for the `replayed` source.")] = None,
    resume: Annotated[Path | None, typer.Option(help="Checkpoint to go on from.")] = None,
    eval_tasks: Annotated[int, typer.Option(help="Held-out tasks; 0 leaves them out.")] = 40,
    out: Annotated[Path, typer.Option(help="Folder for checkpoints and records.")] = Path(
        "runs/train"
    ),
    sandbox: Sandbox = "namespaces",
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Train a policy on simulated, replayed, live or mixed experience."""
    from .experiments.training import TrainConfig, run_training

    is_grouped = source == "simulated"
    config = TrainConfig(
        source=source,
        env=env,
        mix=mix,
        policy=policy,
        algorithm=algorithm or ("grpo" if is_grouped else "reinforce"),
        baseline=baseline or ("group" if is_grouped and algorithm != "reinforce" else "batch_mean"),
        steps=steps,
        batch_size=batch_size,
        group_size=group_size,
        lr=lr if lr is not None else (2e-2 if policy == "skills" else 1e-5),
        kl_coef=kl_coef,
        flaws=tuple(flaw or ()),
        logs=logs,
        resume=resume,
        eval_tasks=eval_tasks,
        out=out,
        sandbox=sandbox,
        seed=seed,
    )
    console = Console(stderr=True)
    with _progress(console, "training", steps) as advance:
        summary = run_training(config, lambda report: advance(_brief(report.metrics)))
    if as_json:
        _print_json(summary)
        return
    _print_rows(
        "Training",
        [
            ("source", summary["source"]),
            ("estimator", summary["estimator"]),
            ("held-out success before", _percent(summary["heldout_success_before"])),
            ("held-out success after", _percent(summary["heldout_success_after"])),
            ("monitor alarms", len(summary["alarms"])),
            ("detector findings", summary["num_findings"]),
            ("checkpoint", summary["checkpoint"]),
            ("report", f"sim2live report {out}"),
        ],
    )


@app.command(epilog="Example: `sim2live ingest ~/logs --out runs/real`")
def ingest(
    paths: Annotated[list[Path], typer.Argument(help="Files or folders with logs of any format.")],
    out: Annotated[Path, typer.Option(help="Store to add to; made if it is not there.")],
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with 1 if any record had to be skipped.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Read production logs into a store, with a report of everything that was not read."""
    from .live_bridge.ingest import ingest_paths
    from .live_bridge.store import Store

    with Store(out) as store:
        report = ingest_paths(paths, store)
    if as_json:
        _print_json(report.to_json())
    else:
        from .experiments.tables import ingest_tables

        for table in ingest_tables(report, out):
            Console().print(table)
    raise typer.Exit(FOUND if strict and report.num_skipped else 0)


@app.command(epilog="Example: `sim2live replay runs/real`")
def replay(
    store: Annotated[Path, typer.Argument(help="Store made by `sim2live ingest`.")],
    policy: Annotated[
        Path | None,
        typer.Option(help="Checkpoint of a skills policy whose proposals are held to the log."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Replay every stored session as an environment and say what the log can answer."""
    from .experiments.replaying import replay_store

    rows = replay_store(store, policy)
    if as_json:
        _print_json(rows)
        return
    table = _table("Replay (open loop)", "session", "turns", "answered from the log", "coverage")
    for row in rows["sessions"]:
        table.add_row(
            row["id"], str(row["num_turns"]), str(row["num_answered"]), _percent(row["coverage"])
        )
    Console().print(table)
    Console().print(rows["summary"])


@app.command(
    epilog="Examples: `sim2live mismatch --logs runs/real`, "
    "`sim2live mismatch --logs stand-in --sim default`"
)
def mismatch(
    logs: Annotated[
        str, typer.Option(help="Store of real sessions, or `stand-in` for the stand-in production.")
    ],
    sim: Annotated[str, typer.Option(help="Persona of the simulated user.")] = "default",
    policy: Annotated[
        Path | None, typer.Option(help="Checkpoint that is served (stand-in only).")
    ] = None,
    sessions: Annotated[int, typer.Option(help="Live sessions (stand-in only).")] = 300,
    out: Annotated[Path, typer.Option(help="Folder for the record.")] = Path("runs/mismatch"),
    sandbox: Sandbox = "namespaces",
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Measure how far simulation is from production, and whose doing it is."""
    from .experiments.mismatch.study import compare_with_logs, study_stand_in

    console = Console(stderr=as_json)
    with console.status("measuring"):
        if logs == "stand-in":
            result = study_stand_in(
                sim=sim, checkpoint=policy, num_live=sessions, sandbox=sandbox, seed=seed, out=out
            )
        else:
            result = compare_with_logs(Path(logs), sim=sim, seed=seed, out=out)
    if as_json:
        _print_json(result)
        return
    from .experiments.tables import mismatch_tables

    for table in mismatch_tables(result):
        console.print(table)


@app.command(epilog="Example: `sim2live detect runs/real`")
def detect(
    paths: Annotated[list[Path], typer.Argument(help="Stores, ATIF files, or logs of any format.")],
    as_json: Json = False,
) -> None:
    """Look for reward hacks in recorded sessions and show the turns."""
    from .experiments.detecting import detect_paths

    result = detect_paths(paths)
    if as_json:
        _print_json(result)
    else:
        console = Console()
        for item in result["findings"]:
            console.rule(f"{item['kind']} · {item['verdict']} · {item['severity']}", align="left")
            console.print(item["where"], style="dim")
            for text in item["evidence"]:
                console.print(text, markup=False, highlight=False)
        console.print(result["summary"])
    raise typer.Exit(FOUND if result["num_hacks"] else 0)


@app.command(epilog="Example: `sim2live report runs/demo`")
def report(
    run: Annotated[Path, typer.Argument(help="Folder of a run.")], as_json: Json = False
) -> None:
    """Write the HTML report of a run again from its records."""
    from .experiments.report import write_report

    path = write_report(run)
    if as_json:
        _print_json({"report": str(path)})
    else:
        Console().print(f"report: {path}", soft_wrap=True, highlight=False)


@contextmanager
def _progress(console: Console, what: str, total: int) -> Iterator[Any]:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.progress import TimeRemainingColumn as Remaining

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), Remaining())
    with Progress(*columns, TextColumn("{task.fields[note]}"), console=console) as progress:
        task = progress.add_task(what, total=total, note="")
        yield lambda note: progress.update(task, advance=1, note=note)


def _brief(metrics: dict[str, float]) -> str:
    names = {"rollout/solved_frac": "solved", "rollout/episode_return_mean": "return"}
    return "  ".join(f"{name} {metrics[key]:.2f}" for key, name in names.items() if key in metrics)


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left")
    for column in columns:
        table.add_column(column)
    return table


def _print_rows(title: str, rows: Sequence[tuple[str, Any]]) -> None:
    table = Table(title=title, title_justify="left", show_header=False)
    for name, value in rows:
        table.add_row(name, str(value))
    Console().print(table)


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.0f}%"


def _print_json(value: Any) -> None:
    typer.echo(json.dumps(value, indent=2, default=str))


def _escape(text: str) -> str:
    from rich.markup import escape

    return escape(text)
