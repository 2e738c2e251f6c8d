"""One tree of errors, named by the boundary that failed.

    Sim2LiveError
    ├── ConfigError              an option or argument of the user is wrong (also a ValueError)
    │   └── MissingExtraError    an optional dependency is not installed
    ├── TaskError                a task is malformed or its own checks do not hold
    ├── SandboxError             where code runs
    │   ├── SandboxUnavailableError   no isolation can be had here
    │   └── SandboxWorkerError        a sandbox worker died and was replaced
    ├── ModelError               a policy failed to produce an action
    ├── BridgeError              production logs, store, server
    │   ├── FormatError          a file or record is not what its format says
    │   └── StoreError           the trajectory store cannot be read or written
    ├── RewardError              a trajectory cannot be scored
    └── DetectorError            a detector or monitor cannot judge

A message says what was given, what was expected and what to do. An infrastructure failure is never
shown to a policy as an observation and never scored: the rollout records it as an `EndReason`.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager


class Sim2LiveError(Exception):
    """Base of every error that sim2live raises on purpose."""


class ConfigError(Sim2LiveError, ValueError):
    """An option or argument is wrong; the message says what would be right."""


class MissingExtraError(ConfigError):
    """An optional dependency is not installed; the message names the pip extra."""


class TaskError(Sim2LiveError):
    """A task is malformed, or its reference does not pass its own tests."""


class SandboxError(Sim2LiveError):
    """The place where code runs failed (not the code that ran in it)."""


class SandboxUnavailableError(SandboxError):
    """No isolating sandbox can be had on this machine; the message says what is missing."""


class SandboxWorkerError(SandboxError):
    """A sandbox worker died or hung and was replaced; the call that met it did not complete."""


class ModelError(Sim2LiveError):
    """A policy could not produce an action."""


class BridgeError(Sim2LiveError):
    """The live bridge failed: logs, store or server."""


class FormatError(BridgeError):
    """A file or record is not what its format says it is."""


class StoreError(BridgeError):
    """The trajectory store cannot be read or written."""


class RewardError(Sim2LiveError):
    """A trajectory cannot be scored."""


class DetectorError(Sim2LiveError):
    """A detector or monitor cannot judge what it was given."""


@contextmanager
def boundary(error: type[Sim2LiveError], doing: str) -> Iterator[None]:
    """Turn an unexpected exception inside the block into `error`, once.

    Errors of this tree pass through unchanged, so that the innermost boundary names the failure.

    Args:
        error: the class to raise instead.
        doing: what was being done, for the message (for example "starting the fork server").

    Raises:
        Sim2LiveError: of class `error`, chained to the original exception.
    """
    try:
        yield
    except Sim2LiveError:
        raise
    except Exception as cause:
        raise error(f"{doing} failed: {type(cause).__name__}: {cause}") from cause


def unknown_name(kind: str, name: str, known: Iterable[str]) -> ConfigError:
    """Build the error for a name that nobody knows, with the closest known ones.

    Args:
        kind: what the name stands for, for example "reward model".
        name: what was given.
        known: the names that would have been accepted.

    Returns:
        The error, for the caller to raise.
    """
    names = sorted(known)
    close = difflib.get_close_matches(name, names, n=3)
    hint = f" Did you mean {' or '.join(f'`{c}`' for c in close)}?" if close else ""
    return ConfigError(f"unknown {kind} `{name}`.{hint} Known: {', '.join(names) or 'none'}.")
