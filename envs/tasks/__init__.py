"""What agents are asked to do: repair tasks, generated from a library of our own functions.

    base         what a task is: files, hidden tests, brief, difficulty, ambiguity
    library/     correct functions in eight families, each with a generator of arguments
    mutate       the operators that break a function, and that repair it
    symptoms     how people word each kind of mistake, and how to read that back
    analysis     a pool of inputs for each function, and which mutants they catch
    breaking     choosing mutations that show, can be undone, and never hang
    difficulty   how hard and how ambiguous a task is, by enumeration
    generate     from function and seed to a whole task
    sampler      balanced, cached drawing of tasks; families are split once and for all
    budget       running our own broken code within a budget of steps

Start at `TaskSampler("train").sample(rng)`, or at `make_task(load_functions()["tax_due"], seed=0)`.
"""

from .base import Exam, Fault, PytestExam, ScriptExam, Task, TaskKind
from .generate import CLARITIES, make_task
from .library import FAMILIES, SPLITS, FunctionSpec, family_functions, load_functions
from .mutate import (
    OPERATORS,
    CandidateEdit,
    Operator,
    candidate_edits,
    kinds_mentioned,
    lines_mentioned,
)
from .sampler import TaskSampler

__all__ = [
    "CLARITIES",
    "FAMILIES",
    "OPERATORS",
    "SPLITS",
    "CandidateEdit",
    "Exam",
    "Fault",
    "FunctionSpec",
    "Operator",
    "PytestExam",
    "ScriptExam",
    "Task",
    "TaskKind",
    "TaskSampler",
    "candidate_edits",
    "family_functions",
    "kinds_mentioned",
    "lines_mentioned",
    "load_functions",
    "make_task",
]
