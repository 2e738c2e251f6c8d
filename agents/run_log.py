"""What a run leaves behind: `config.json`, `metrics.jsonl`, TensorBoard scalars, trajectories."""

from __future__ import annotations

import json
import math
import os
import platform
import sys
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from .. import __version__
from ..closing import Closing
from ..interchange import to_atif
from ..trajectory import Trajectory

RUN_SCHEMA_VERSION = 1


class RunLog(Closing):
    """Append-only record of a run in a folder; every line is flushed as it is written.

    Args:
        folder: made if it is not there.
        config: the resolved settings, written to `config.json` with versions and the command.
        tensorboard: also write TensorBoard event files under `tensorboard/`.
    """

    def __init__(
        self, folder: Path, config: Mapping[str, Any], *, tensorboard: bool = True
    ) -> None:
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self._metrics = (self.folder / "metrics.jsonl").open("a", encoding="utf-8")
        self._writer = _open_tensorboard(self.folder / "tensorboard") if tensorboard else None
        header = {
            "schema_version": RUN_SCHEMA_VERSION,
            "sim2live": __version__,
            "python": platform.python_version(),
            "command": " ".join(sys.argv),
            "started_s": time.time(),
            "config": dict(config),
        }
        text = json.dumps(header, indent=2, default=str)
        (self.folder / "config.json").write_text(text, encoding="utf-8")

    def scalars(self, series: str, step: int, metrics: Mapping[str, float]) -> None:
        """Record one step of one series (`simulated`, `live` ...) under stable names."""
        row = {"series": series, "step": step}
        row.update({k: (v if math.isfinite(v) else None) for k, v in metrics.items()})
        self._append(self._metrics, row)
        if self._writer is not None:
            for name, value in metrics.items():
                if math.isfinite(value):
                    self._writer.add_scalar(f"{series}/{name}", value, step)

    def trajectories(self, name: str, trajectories: Iterable[Trajectory]) -> Path:
        """Append trajectories to `<name>.atif.jsonl`."""
        path = self.folder / f"{name}.atif.jsonl"
        with path.open("a", encoding="utf-8") as file:
            for trajectory in trajectories:
                file.write(json.dumps(to_atif(trajectory)) + "\n")
        return path

    def record(self, name: str, value: Any) -> Path:
        """Write one JSON document, beside the old one and swapped in."""
        path = self.folder / f"{name}.json"
        beside = path.with_suffix(".json.new")
        beside.write_text(json.dumps(value, indent=2, default=str), encoding="utf-8")
        os.replace(beside, path)
        return path

    def close(self) -> None:
        """Flush and close."""
        self._metrics.close()
        if self._writer is not None:
            self._writer.close()

    @staticmethod
    def _append(file: Any, row: Mapping[str, Any]) -> None:
        file.write(json.dumps(row) + "\n")
        file.flush()


def _open_tensorboard(folder: Path) -> Any:
    from torch.utils.tensorboard import SummaryWriter

    return SummaryWriter(log_dir=str(folder))
