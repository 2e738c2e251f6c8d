"""`python -m sim2live.envs.tasks.stdlib`: make a task of every target and print what came of it."""

from __future__ import annotations

import argparse
import time

from rich.console import Console
from rich.table import Table

from ....errors import TaskError
from ..generate import make_task
from ..scores import MutationScore, add_up, mutation_score
from . import SPLITS, family_targets, left_out
from .target import interpreter

_COLUMNS = (
    "family",
    "split",
    "targets",
    "tasks",
    "let through",
    "killed",
    "pool",
    "fresh",
    "CPU s",
)


def main() -> None:
    """Print a line for each family."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=1, help="tasks to make of each target")
    parser.add_argument(
        "--fresh", type=int, default=500, help="fresh inputs for the mutation score"
    )
    options = parser.parse_args()
    console = Console(width=110)
    table = Table(*_COLUMNS, title=f"Repair tasks from the standard library of {interpreter()}")
    everything: list[MutationScore] = []
    num_targets = num_tasks = 0
    began = time.process_time()
    for family, split in SPLITS.items():
        scores, failed, start = [], [], time.process_time()
        for target in family_targets(family):
            for seed in range(options.seeds):
                try:
                    task = make_task(target, seed)
                except TaskError as error:
                    failed.append(f"{target.name}: {error}")
                    continue
                scores.append(mutation_score(target, task, num_fresh=options.fresh))
        for line in failed:
            console.print(f"no task of {line}", markup=False)
        num_targets += len(family_targets(family))
        num_tasks += len(scores)
        everything += scores
        table.add_row(
            family,
            split,
            str(len(family_targets(family))),
            *_cells(len(scores), add_up(scores)),
            f"{time.process_time() - start:.1f}",
        )
    table.add_row(
        "all",
        "",
        str(num_targets),
        *_cells(num_tasks, add_up(everything)),
        f"{time.process_time() - began:.1f}",
    )
    console.print(table)
    for name, reason in left_out().items():
        console.print(f"left out: {name}: {reason}", markup=False)


def _cells(num_tasks: int, score: MutationScore) -> list[str]:
    return [
        str(num_tasks),
        str(score.let_through),
        str(score.killed),
        f"{score.on_pool:.3f}",
        f"{score.on_fresh:.3f} ({score.fresh_killed}/{score.fresh_let_through})",
    ]


if __name__ == "__main__":
    main()
