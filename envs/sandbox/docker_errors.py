"""Reaching the Docker daemon, and saying what to do when something about it fails.

Whatever the SDK raises becomes a `SandboxError` with instructions, here and nowhere else.
"""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Iterator
from typing import Any

from ...errors import SandboxError, SandboxUnavailableError, SandboxWorkerError

DEFAULT_IMAGE = "sim2live-python:bookworm"
BUILD_COMMAND = "python -m sim2live.envs.sandbox.docker_image --pytest"
_TIMEOUT_S = 30
# Words of the daemon, the SDK or the system (the first that fit decide), and what to do about them.
_ADVICE: tuple[tuple[tuple[str, ...], type[SandboxError], str], ...] = (
    (
        ("no space left on device",),
        SandboxUnavailableError,
        "the daemon's disk is full. `docker system df` shows what takes the room, `docker system "
        "prune` frees what nothing uses ({text})",
    ),
    (
        ("executable file not found",),
        SandboxUnavailableError,
        "the image `{image}` has no `python3`, which the sandbox needs (3.11 or newer). `{build}` "
        "makes an image that has it",
    ),
    (
        ("permissionerror", "permission denied while trying to connect"),
        SandboxUnavailableError,
        "this user may not use the daemon's socket ({where}). Add the user to the group `docker` "
        "and log in again (that makes it as powerful as root), or set DOCKER_HOST to a rootless "
        "daemon",
    ),
    (
        ("timed out",),
        SandboxWorkerError,
        f"the Docker daemon did not answer in {_TIMEOUT_S} s; look at its log, or start it again",
    ),
    (
        ("connectionrefusederror", "filenotfounderror", "name or service not known"),
        SandboxUnavailableError,
        "no Docker daemon answers at {where}. Start it (`systemctl start docker`, or "
        "`.ci/docker-engine` where no service manager runs), or set DOCKER_HOST",
    ),
    (
        ("connection aborted", "connection reset", "remote end closed", "broken pipe"),
        SandboxWorkerError,
        "the Docker daemon went away in the middle ({text}); start it again and make a new sandbox",
    ),
)


def connect() -> Any:
    """Return a client of the daemon that the environment names (`DOCKER_HOST` or the default).

    Raises:
        SandboxUnavailableError: no daemon answers there, or its socket may not be used.
    """
    import docker

    with translated("connecting to the Docker daemon"):
        _try_socket()
        return docker.from_env(timeout=_TIMEOUT_S)


def _try_socket() -> None:
    """Find out with a socket of our own: the SDK leaves its open when it cannot connect."""
    scheme, _, path = _where().partition("://")
    if scheme == "unix":
        with socket.socket(socket.AF_UNIX) as tried:
            tried.settimeout(_TIMEOUT_S)
            tried.connect(path)


@contextlib.contextmanager
def using(client: Any) -> Iterator[Any]:
    """Give `client`, or one of our own for the block if it is None."""
    used = connect() if client is None else client
    try:
        yield used
    finally:
        if client is None:
            used.close()


def missing_docker() -> str | None:
    """Return why no Docker daemon can be used here, or None if one answers."""
    try:
        with using(None):
            return None
    except SandboxError as error:
        return str(error)


@contextlib.contextmanager
def translated(doing: str, image: str = DEFAULT_IMAGE) -> Iterator[None]:
    """Turn errors of the SDK inside the block into errors that say what to do.

    Args:
        doing: what was being done, for the message.
        image: the image it was done with.

    Raises:
        SandboxUnavailableError: no sandbox can be had until something is put right.
        SandboxWorkerError: something else failed; a new sandbox may work.
    """
    from docker.errors import DockerException
    from requests.exceptions import RequestException

    try:
        yield
    except SandboxError:
        raise
    except (DockerException, RequestException, OSError) as cause:
        raise _explain(doing, cause, image) from cause


def _explain(doing: str, cause: Exception, image: str) -> SandboxError:
    from docker.errors import ImageNotFound
    from requests.exceptions import Timeout

    text = str(getattr(cause, "explanation", None) or cause)
    lower = f"{type(cause).__name__} {text} {cause}".lower()
    if isinstance(cause, ImageNotFound) or "no such image" in lower:
        return SandboxUnavailableError(missing_image(image))
    if isinstance(cause, Timeout):
        lower = "timed out"
    for words, kind, advice in _ADVICE:
        if any(word in lower for word in words):
            filled = advice.format(where=_where(), image=image, text=text, build=BUILD_COMMAND)
            return kind(f"{doing} failed: {filled}")
    return SandboxWorkerError(f"{doing} failed: the Docker daemon says: {text}")


def missing_image(image: str) -> str:
    """Say how to get an image."""
    own = (
        f"make it with `{BUILD_COMMAND}` (as root; needs debootstrap)"
        if image == DEFAULT_IMAGE
        else f"`docker pull {image}` fetches it where there is a registry"
    )
    return (
        f"the Docker daemon has no image `{image}`: {own}. Any image with Python 3.11 or newer "
        "will do: name it with `image=`"
    )


def _where() -> str:
    return os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock")
