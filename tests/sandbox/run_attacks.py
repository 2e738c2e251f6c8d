"""Runs all attacks on one backend and prints what became of each.

    python tests/sandbox/run_attacks.py --backend namespaces
    python tests/sandbox/run_attacks.py --backend namespaces --user 31337  # as root: as that user
    python tests/sandbox/run_attacks.py --backend process --user 31337     # the harmless ones only

Exit status 0 if all were contained. With `--user` everything (attackers, sandbox and canaries) runs
as an ordinary user, from whose view the folders of the interpreter are made reachable.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import errno
import fnmatch
import json
import os
import socket
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

_HERE = Path(__file__).resolve().parent
_FOLDERS = (_HERE.parents[1] / "envs" / "sandbox" / "attacks", _HERE / "attacks")


def main() -> int:
    """Run and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--backend", default="namespaces")
    parser.add_argument("--user", type=int, help="run as this user id (needs root)")
    parser.add_argument("--only", default="*", help="names to run, with * and ?")
    parser.add_argument("--json", help="file to write the verdicts to; `-` prints them")
    arguments = parser.parse_args()
    if arguments.user:
        rest = [word for word in _without_user(sys.argv[1:])]
        command = [sys.executable, str(_HERE / "as_user.py"), str(arguments.user)]
        return subprocess.call([*command, str(Path(__file__).resolve()), *rest])
    if arguments.backend == "process" and os.geteuid() == 0:
        parser.error("nothing contains attacks in `process`: give `--user` with an id nobody has")
    with _alone():
        return _run(arguments.backend, arguments.only, arguments.json)


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    """Wait until no other run is going on, whoever's it is.

    Shared memory that belongs to no process can only be measured for the machine as a whole.
    """
    with socket.socket(socket.AF_UNIX) as lock:
        while True:
            try:
                lock.bind("\0sim2live-run-attacks")
                break
            except OSError as error:
                if error.errno != errno.EADDRINUSE:
                    raise
                time.sleep(0.1)
        yield


def _without_user(words: list[str]) -> list[str]:
    place = words.index("--user")
    return words[:place] + words[place + 2 :]


def _run(backend: str, only: str, json_path: str | None) -> int:
    from sim2live.envs.sandbox import make_sandbox
    from sim2live.envs.sandbox.probes import ATTACK_LIMITS, Verdict, load_attacks, run_attacks

    warnings.simplefilter("ignore")  # the warning of `process` is known
    attacks = [attack for folder in _FOLDERS for attack in load_attacks(folder)]
    attacks = [attack for attack in attacks if fnmatch.fnmatch(attack.name, only)]
    if backend == "process":
        attacks = [attack for attack in attacks if attack.unprotected != "never"]
    table = sys.stderr if json_path == "-" else sys.stdout

    def tell(verdict: Verdict) -> None:
        reasons = f": {'; '.join(verdict.reasons)[:300]}" if verdict.reasons else ""
        line = f"{verdict.outcome:10} {verdict.duration_s:5.2f} s  {verdict.name}{reasons}"
        print(line, flush=True, file=table)

    verdicts = run_attacks(lambda: make_sandbox(backend, limits=ATTACK_LIMITS), attacks, tell)
    document = json.dumps([dataclasses.asdict(verdict) for verdict in verdicts])
    if json_path == "-":
        print(document)
    elif json_path:
        Path(json_path).write_text(document, encoding="utf-8")
    num_contained = sum(verdict.outcome == "contained" for verdict in verdicts)
    who = "root" if os.geteuid() == 0 else "an ordinary user"
    seconds = sum(verdict.duration_s for verdict in verdicts)
    said = f"contained {num_contained} of {len(verdicts)}"
    print(f"{backend} as {who}: {said}, {seconds:.0f} s", file=table)
    return 0 if num_contained == len(verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
