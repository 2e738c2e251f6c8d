"""An image for the docker sandbox, made without a registry.

    python -m sim2live.envs.sandbox.docker_image --pytest

Debian's own `debootstrap` makes a small root folder with Python and git from Debian's packages, and
the daemon imports it. It runs as root and takes about a minute.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...errors import SandboxUnavailableError
from .docker_errors import DEFAULT_IMAGE, translated, using

_PACKAGES = ("python3-minimal", "python3", "git")
_NOT_NEEDED = ("var/cache/apt", "var/lib/apt/lists", "usr/share/doc", "usr/share/locale")


def build_image(
    name: str = DEFAULT_IMAGE,
    *,
    suite: str = "bookworm",
    mirror: str | None = None,
    should_include_pytest: bool = True,
    should_replace: bool = False,
    client: Any = None,
) -> str:
    """Make an image with Python and git, unless there is one of that name.

    Args:
        name: name and tag of the image.
        suite: Debian release; `bookworm` or newer, which have Python 3.11 or newer.
        mirror: where Debian's packages are; by default what `debootstrap` takes.
        should_include_pytest: put pytest in, from the package index that `pip` is set up for.
        should_replace: make it anew if there is one.
        client: of the `docker` SDK; by default that of the environment.

    Returns:
        Id of the image.

    Raises:
        SandboxUnavailableError: the daemon, `debootstrap` or the rights are missing, or a step
            failed; the message says which and what to do.
    """
    with using(client) as used:
        known = _image_id(used.api, name)
        if known and not should_replace:
            return known
        _check_tools()
        with tempfile.TemporaryDirectory(prefix="sim2live-image-") as folder:
            root = Path(folder, "root")
            try:
                _make_root(root, suite, mirror)
                if should_include_pytest:
                    _add_pytest(root)
                _import_root(used.api, root, name)
            finally:
                _unmount(root)
        if known:
            _forget(used.api, known)
        return _image_id(used.api, name) or ""


def _image_id(api: Any, name: str) -> str | None:
    from docker.errors import ImageNotFound

    with translated("looking for an image", name):
        try:
            return str(api.inspect_image(name)["Id"])
        except ImageNotFound:
            return None


def _forget(api: Any, image_id: str) -> None:
    """Remove an image that has lost its name, unless something still uses it."""
    from docker.errors import APIError

    with contextlib.suppress(APIError):
        api.remove_image(image_id)


def _check_tools() -> None:
    if os.geteuid() != 0:
        raise SandboxUnavailableError("making an image needs root: run it with `sudo`")
    missing = [tool for tool in ("debootstrap", "tar") if shutil.which(tool) is None]
    if missing:
        raise SandboxUnavailableError(
            f"making an image needs {' and '.join(missing)}: `apt-get install {' '.join(missing)}`"
        )


def _make_root(root: Path, suite: str, mirror: str | None) -> None:
    command = ["debootstrap", "--variant=minbase", f"--include={','.join(_PACKAGES)}", suite]
    _call([*command, str(root), *([mirror] if mirror else [])])
    for folder in _NOT_NEEDED:
        shutil.rmtree(root / folder, ignore_errors=True)


def _unmount(root: Path) -> None:
    """Take away what `debootstrap` mounts, before anything below is deleted."""
    for folder in (root / "proc", root / "sys"):
        while folder.is_mount():
            _call(["umount", "--lazy", str(folder)])


def _add_pytest(root: Path) -> None:
    # pip's newest wheels of pure Python for the Python that is in the image.
    versions = sorted(root.glob("usr/lib/python3.*/os.py"))
    if not versions:
        raise SandboxUnavailableError(f"`debootstrap` put no Python into {root}")
    name = versions[0].parent.name
    target = root / "usr/local/lib" / name / "dist-packages"
    _call(
        [
            *(sys.executable, "-m", "pip", "install", "--quiet", "--no-compile"),
            *("--only-binary", ":all:", "--python-version", name.removeprefix("python")),
            *("--disable-pip-version-check", "--root-user-action", "ignore"),
            *("--target", str(target), "pytest"),
        ]
    )
    # In use the image cannot be written, so nothing would be compiled once for all.
    inside = f"/{target.relative_to(root)}"
    _call(["chroot", str(root), "python3", "-m", "compileall", "-q", inside])


def _import_root(api: Any, root: Path, name: str) -> None:
    command = ["tar", "--numeric-owner", "-C", str(root), "-c", "."]
    repository, tag = split_name(name)
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE) as tar,
        translated("importing an image", name),
    ):
        answer = api.import_image_from_stream(tar.stdout, repository=repository, tag=tag)
    if tar.returncode or '"error"' in str(answer):
        raise SandboxUnavailableError(f"importing the image `{name}` failed: {answer}")


def split_name(name: str) -> tuple[str, str]:
    """Return repository and tag; a colon before the last slash belongs to a registry's port."""
    repository, colon, tag = name.rpartition(":")
    return (repository, tag) if colon and "/" not in tag else (name, "latest")


def _call(command: Sequence[str]) -> None:
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if done.returncode:
        tail = done.stdout.decode(errors="replace").strip()[-600:]
        raise SandboxUnavailableError(
            f"`{' '.join(command[:4])} ...` failed with exit code {done.returncode}: {tail}"
        )


def main() -> None:
    """Make the image from the command line."""
    parser = argparse.ArgumentParser(description="Make an image for the docker sandbox.")
    parser.add_argument("--name", default=DEFAULT_IMAGE)
    parser.add_argument("--suite", default="bookworm", help="Debian release")
    parser.add_argument("--mirror", help="where Debian's packages are")
    parser.add_argument("--pytest", action="store_true", help="put pytest in")
    parser.add_argument("--replace", action="store_true", help="make it anew if there is one")
    given = parser.parse_args()
    try:
        made = build_image(
            given.name,
            suite=given.suite,
            mirror=given.mirror,
            should_include_pytest=given.pytest,
            should_replace=given.replace,
        )
    except SandboxUnavailableError as error:
        sys.exit(f"error: {error}")
    sys.stdout.write(f"{given.name} {made}\n")


if __name__ == "__main__":
    main()
