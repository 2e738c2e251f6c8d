"""Sends the caller reports of every wrong shape, to break whoever reads them."""

import os
import sys

from attacker import tried

KIND = "solution"
UNPROTECTED = "refused"

reports = [
    {"tests": 5},
    {"tests": None},
    {"tests": [[1], {}]},
    {"name": ["x"], "outcome": ["passed"]},
    {"name": None, "outcome": {}},
    {"name": "test_small", "outcome": None, "message": [1]},
    {"name": "test_planted", "outcome": "passed"},
    {"memory": "x"},
    [],
    1e308 * 10,
]
tried("shapes")
frame = sys._getframe()
while frame is not None:
    report = frame.f_locals.get("report")
    if callable(report):
        for fields in reports:
            report(fields)
        write = report.__closure__
        for cell in write:
            if isinstance(cell.cell_contents, str):
                word = cell.cell_contents.encode()
                for fd in range(3, 256):
                    try:
                        os.write(fd, word + b" " + b"[" * 60000 + b"\n")
                        os.write(fd, word + b" {" + b'"a":' + b"9" * 9000 + b"}\n")
                        os.write(fd, word + b" \xff\xfe\n")
                    except OSError:
                        pass
        break
    frame = frame.f_back
os._exit(0)
