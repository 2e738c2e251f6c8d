"""Rows for people: the same figures in the terminal, in the JSON output and in the report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.table import Table

from ..hack_detectors.base import Finding
from ..live_bridge.cycle import CycleReport
from ..live_bridge.formats import UNKNOWN
from ..live_bridge.ingest import IngestReport
from ..trajectory import Trajectory, Turn
from .hack_lab import HackReport
from .report import format_number

_MAX_TURNS, _MAX_CHARS, _MAX_DIAGNOSTICS = 8, 400, 5


def cycle_row(report: CycleReport) -> dict[str, Any]:
    """Write one real-time cycle as a row."""
    decision = report.decision
    return {
        "cycle": report.cycle + 1,
        "served_version": report.served_version,
        "candidate_version": report.candidate_version,
        "num_sessions": report.num_sessions,
        "num_users": report.num_users,
        "served_success": report.served_success,
        "candidate_success": report.candidate_success,
        "difference": decision.difference.estimate,
        "low": decision.difference.low,
        "high": decision.difference.high,
        "certifiable_margin": decision.certifiable_margin,
        "decision": decision.decision,
        "reason": decision.reason,
    }


def hack_part(hack: HackReport) -> dict[str, Any]:
    """Write the hack lab's result as the report takes it."""
    return {
        "explanation": (
            "The reward first discards every sample with a broken tool call, then counts it as a "
            f"negative (from update {hack.repaired_from}). Estimator: {hack.estimator} Broken "
            f"calls on hard tasks: {hack.hard_at_start:.0%} at the start, {hack.hard_at_end:.0%} "
            f"at the end of the flawed phase, {hack.hard_after_repair:.0%} after the repair. "
            "Against the mean of its own task's group a discarded sample gains nothing, so group "
            "methods do not learn this hack; live traffic has no groups."
        ),
        "curve": [asdict(point) for point in hack.curve],
        "repaired_from": hack.repaired_from,
        "first_fired": hack.first_fired,
        "alarms": [asdict(alarm) for alarm in hack.alarms],
        "ledger": hack.ledger,
    }


def finding_rows(findings: Sequence[tuple[Trajectory, Finding]]) -> dict[str, Any]:
    """Write findings with the turns around them."""
    rows = []
    for trajectory, finding in findings:
        where = f"{trajectory.id}, task {trajectory.task_id}"
        if finding.turn is not None:
            where += f", turn {finding.turn}"
        rows.append(
            {
                "kind": finding.kind,
                "detector": finding.detector,
                "verdict": finding.verdict.value,
                "severity": finding.severity.value,
                "score": finding.score,
                "where": where,
                "evidence": list(finding.evidence),
                "counter_evidence": list(finding.counter_evidence),
                "turns": [
                    turn_text(index, turn)
                    for index, turn in enumerate(trajectory.turns[:_MAX_TURNS])
                ],
            }
        )
    return {
        "explanation": "The first findings of the run, each with the turns of its session.",
        "rows": rows,
    }


def turn_text(index: int, turn: Turn) -> str:
    """Write one turn as a person reads it, long texts cut."""
    lines = [f"{m.role}: {_cut(m.text)}" for m in turn.observation if m.role != "system"]
    lines.append(f"[{index}] agent: {_cut(turn.text)}")
    for call in turn.tool_calls:
        shown = call.raw if call.arguments is None else f"{call.name} {call.arguments}"
        lines.append(f"    call: {_cut(shown)}" + (f"  ! {call.error}" if call.error else ""))
    lines += [f"    result: {_cut(result.text)}" for result in turn.results]
    for reaction in turn.reactions:
        said = f': "{_cut(reaction.text)}"' if reaction.text else ""
        lines.append(f"    person: {reaction.kind.value}{said}")
    return "\n".join(lines)


def mismatch_tables(result: dict[str, Any]) -> list[Table]:
    """Draw the tables of `sim2live mismatch`."""
    tables = []
    if "mismatch" in result:
        part = result["mismatch"]
        table = _table(
            f"Simulation against {part['live_name']}",
            ("line", "estimate", "95% interval", "sessions", "users", "how", "verdict"),
        )
        for line in part["lines"]:
            table.add_row(
                line["name"],
                format_number(line["estimate"]),
                _interval(line),
                format_number(line["n"]),
                format_number(line["num_users"]),
                line["how"],
                line["verdict"],
            )
        table.caption = part["explanation"]
        tables.append(table)
    part = result["reactions"]
    table = _table(
        f"The simulated person against the people of {part['live_name']} (open-loop)",
        ("reaction", "views", "real", "sim.", "diff.", "95% interval", "verdict"),
    )
    for line in part["lines"]:
        table.add_row(
            line["kind"],
            format_number(line["num_views"]),
            format_number(line["real_rate"]),
            format_number(line["simulated_rate"]),
            format_number(line["difference"]),
            _interval(line),
            line["verdict"],
        )
    table.caption = part["explanation"]
    tables.append(table)
    return tables


def _interval(line: dict[str, Any]) -> str:
    if line["low"] is None:
        return "-"
    return f"[{line['low']:+.3f}, {line['high']:+.3f}]"


def ingest_tables(report: IngestReport, store: Path) -> list[Table]:
    """Draw the tables of `sim2live ingest`: files, reactions, and what was not read."""
    files = _table(
        f"Ingested into {store}",
        ("file", "format", "new", "turns/calls/results", "reactions", "records", "lost"),
    )
    unknown = [Path(file.path).name for file in report.files if file.format == UNKNOWN]
    for file in report.files:
        if file.format == UNKNOWN:
            continue
        files.add_row(
            _short(Path(file.path).name),
            file.error or file.format,
            str(file.num_added),
            f"{file.num_turns}/{file.num_calls}/{file.num_results}",
            ", ".join(f"{kind} {n}" for kind, n in sorted(file.reactions.items())) or "-",
            str(file.num_records),
            str(file.loss.skipped.total()),
        )
    balance = "add up" if report.is_balanced else "DO NOT ADD UP"
    kept_aside = sum(report.kept_aside.values())
    files.caption = (
        f"{report.total('num_records')} records = {report.num_converted} converted + {kept_aside} "
        f"kept aside + {report.skipped.total()} skipped; the sums {balance}. Redacted: "
        + (", ".join(f"{kind} {n}" for kind, n in report.redactions.items()) or "nothing")
        + f". Files in no known format: {len(unknown)}"
        + (f" ({', '.join(unknown[:4])} ...)" if unknown else "")
    )
    lost = _table("Not converted", ("what", "reason", "records"))
    for what, counts in (("kept aside", report.kept_aside), ("skipped", report.skipped)):
        for reason, count in counts.most_common():
            lost.add_row(what, reason, str(count))
    for file in report.files:
        for diagnostic in file.loss.diagnostics[:_MAX_DIAGNOSTICS]:
            lost.add_row("note", str(diagnostic), "1")
    return [files, lost]


def _table(title: str, columns: Sequence[str]) -> Table:
    table = Table(title=title, title_justify="left", caption_justify="left")
    for column in columns:
        table.add_column(column)
    return table


def _short(name: str, most: int = 26) -> str:
    """Cut the middle out of a long file name, so that its beginning and ending stay."""
    return name if len(name) <= most else f"{name[: most // 2 - 1]}..{name[-(most // 2 - 1) :]}"


def _cut(text: str | None) -> str:
    if text is None:
        return "(absent)"
    return text if len(text) <= _MAX_CHARS else text[:_MAX_CHARS] + " [...]"
