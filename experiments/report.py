"""One self-contained HTML file from what a run left in its folder.

The report reads only files (`metrics.jsonl`, `summary.json`, `mismatch.json`, `reactions.json`,
`hack.json`, `findings.json`, `cycles.json`), so it can be written again at any time:
`sim2live report RUN`. Parts whose file is missing are left out.
"""

from __future__ import annotations

import json
import math
import os
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from ..errors import ConfigError

PARTS = ("summary", "mismatch", "reactions", "hack", "findings", "cycles")

_CURVES = {
    "rollout/solved_frac": "share of episodes solved",
    "rollout/episode_return_mean": "mean reward of rewarded episodes",
    "rollout/invalid_frac": "share of episodes with an invalid call",
    "rollout/asked_frac": "share of episodes with a question",
}


def write_report(folder: Path) -> Path:
    """Write `report.html` into a run's folder.

    Args:
        folder: a run folder.

    Returns:
        Path of the report.

    Raises:
        ConfigError: the folder is not there or holds nothing of a run.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined

    folder = Path(folder)
    parts = {name: _read_json(folder / f"{name}.json") for name in PARTS}
    metrics = read_metrics(folder)
    if not metrics and not any(parts.values()):
        raise ConfigError(
            f"`{folder}` holds no run: expected metrics.jsonl or one of "
            f"{', '.join(f'{name}.json' for name in PARTS)}. Make one with `sim2live demo --out "
            f"{folder}` or `sim2live train --out {folder}`."
        )
    environment = Environment(
        loader=PackageLoader("sim2live.experiments", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = format_number
    figures = _figures(metrics, parts["hack"])
    html = environment.get_template("report.html.jinja").render(
        config=_read_json(folder / "config.json") or {},
        figures=figures,
        folder=folder.name,
        **parts,
    )
    path = folder / "report.html"
    beside = folder / "report.html.new"
    beside.write_text(html, encoding="utf-8", errors="replace")
    os.replace(beside, path)
    return path


def read_metrics(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """Read `metrics.jsonl` as rows by series; a line cut short by a crash is passed over."""
    rows: dict[str, list[dict[str, Any]]] = defaultdict(list)
    path = Path(folder) / "metrics.jsonl"
    if not path.exists():
        return rows
    with path.open(encoding="utf-8") as file:
        for line in file:
            if line.endswith("\n"):
                row = json.loads(line)
                rows[row["series"]].append(row)
    return rows


def format_number(value: Any) -> str:
    """Write a number as people read it: three significant places, no exponent, `-` for nothing."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "-"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.3f}"


def _figures(metrics: dict[str, list[dict[str, Any]]], hack: Any) -> list[dict[str, str]]:
    import plotly.graph_objects as go

    drawn: list[tuple[str, Any]] = []
    for metric, title in _CURVES.items():
        lines = [
            go.Scatter(x=xs, y=ys, name=series, mode="lines")
            for series, rows in metrics.items()
            for xs, ys in [_points(rows, metric)]
            if xs
        ]
        if lines:
            drawn.append((title, go.Figure(lines)))
    for series, rows in metrics.items():
        names = sorted({key for row in rows for key in row if key.startswith("reward/")})
        lines = [
            go.Scatter(x=xs, y=ys, name=name.removeprefix("reward/"), mode="lines")
            for name in names
            for xs, ys in [_points(rows, name)]
        ]
        if lines:
            drawn.append((f"reward components over time: {series}", go.Figure(lines)))
    if hack:
        drawn.insert(0, ("broken tool calls, by difficulty", _hack_figure(go, hack)))
    return [
        {"title": title, "html": _to_html(figure, with_library=index == 0)}
        for index, (title, figure) in enumerate(drawn)
    ]


def _hack_figure(go: Any, hack: dict[str, Any]) -> Any:
    curve = hack["curve"]
    figure = go.Figure(
        [
            go.Scatter(x=_column(curve, "update"), y=_column(curve, key), name=name, mode="lines")
            for key, name in (("hard", "hard tasks"), ("other", "other tasks"))
        ]
    )
    marks = [(f"repaired from {hack['repaired_from']}", hack["repaired_from"])]
    marks += [(name, update) for name, update in hack["first_fired"].items() if update is not None]
    for height, (name, update) in enumerate(marks):
        figure.add_vline(x=update, line_dash="dot")
        figure.add_annotation(
            x=update, y=1.0 - 0.09 * height, text=name, showarrow=False, xanchor="left"
        )
    return figure


def _to_html(figure: Any, *, with_library: bool) -> str:
    figure.update_layout(
        template="plotly_white",
        height=320,
        margin={"l": 50, "r": 20, "t": 20, "b": 40},
        xaxis_title="update",
    )
    return str(
        figure.to_html(
            full_html=False,
            include_plotlyjs=with_library,
            config={"displaylogo": False, "displayModeBar": False},
        )
    )


def _points(rows: Iterable[dict[str, Any]], metric: str) -> tuple[list[Any], list[Any]]:
    pairs = [(row["step"], row[metric]) for row in rows if row.get(metric) is not None]
    return [x for x, _ in pairs], [y for _, y in pairs]


def _column(rows: Sequence[dict[str, Any]], key: str) -> list[Any]:
    return [row[key] for row in rows]


def _read_json(path: Path) -> Any:
    if not path.exists():
        return None
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ConfigError(
            f"`{path}` is not valid JSON ({error}); delete it or run again"
        ) from error
