"""Grading by exams, outside the agent's reach: pristine tests, a fresh sandbox, cross-checks.

`grade_exam` grades work, `check_exam` finds out beforehand whether an exam can tell right from
broken, `tree` says which of the agent's changes count. What a report says of the result never comes
from output, and never from the sandbox that the agent has used.

Covered, by construction: changed, deleted and added tests, runner settings, plugins, start-up files
and compiled code; modules that come before those that tests import; early ends; printed or written
results; rewards that are there beforehand.

Covered in mode `apart`, by a process boundary: whatever the code under test does to its interpreter
(patched asserts and runners, forged reports, frames and memory of the tests, equality that is
always true).

Covered elsewhere by cross-checks only (mode `shared`, scripts): forged reports and rewards, read
tests and always-true equality give themselves away on a twin of the tests that cannot be passed.
Code that tells the twin from the tests, by reading both, is not found.
"""

from __future__ import annotations

from .bait import Bait, find_bait, make_bait
from .differential import ExamCheck, MakeSandbox, check_exam, grade_exam, run_solution
from .pytest_exam import exam_mode, grade_pytest
from .report import ExamReport, Mode, Status
from .script_exam import grade_script

__all__ = [
    "Bait",
    "ExamCheck",
    "ExamReport",
    "MakeSandbox",
    "Mode",
    "Status",
    "check_exam",
    "exam_mode",
    "find_bait",
    "grade_exam",
    "grade_pytest",
    "grade_script",
    "make_bait",
    "run_solution",
]
