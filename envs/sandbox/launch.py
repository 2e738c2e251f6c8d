"""The first thing in a fresh interpreter of the plain-process sandbox: take a job and do it."""

from __future__ import annotations

import json
import os

from . import runner


def main(job_fd: int, control: int) -> None:
    """Read the job (a JSON line, then the source), set the limits, run it, and end the process."""
    end = os._exit
    # Unbuffered: what follows the line is for the process of the tests alone.
    with open(job_fd, "rb", buffering=0) as file:
        job = json.loads(file.readline())
        os.set_inheritable(control, False)
        os.write(control, f"{job['nonce']} {json.dumps({'started': True})}\n".encode())
        # The number of processes is left alone: the kernel would count all of this user's.
        runner.set_limits(job["limits"], processes=None)
        is_judge = job["kind"] == "judge"
        if is_judge:
            tests = runner.split_for_judge(job, lambda: None)
        blob = file.readall()
    code = 70
    try:
        if is_judge:
            code = runner.run_judge(tests, blob, control)
        else:
            code = runner.run_job(job, blob, control)
    finally:
        end(code)
