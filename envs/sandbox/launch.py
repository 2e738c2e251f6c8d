"""The first thing in a fresh interpreter of the plain-process sandbox: take a job and do it."""

from __future__ import annotations

import json
import os

from . import runner


def main(job_fd: int, control: int) -> None:
    """Read the job (a JSON line, then the source), set the limits, run it, and end the process."""
    with open(job_fd, "rb") as file:
        job = json.loads(file.readline())
        blob = file.read()
    os.set_inheritable(control, False)
    # The number of processes is left alone: the kernel would count all of this user's.
    runner.set_limits(job["limits"], processes=None)
    os.write(control, f"{job['nonce']} {json.dumps({'started': True})}\n".encode())
    code = 70
    try:
        code = runner.run_job(job, blob, control)
    finally:
        os._exit(code)
