"""A commit of a local clone: its tree, and a fresh `.git` with the history up to it and no more.

The fresh repository is built from a pack of exactly the objects that the commit reaches, has one
branch on it, and nothing else: no other refs, tags, notes, stash, remotes, reflog, alternates,
worktrees, hooks or settings of the clone's. Afterwards the objects in it are compared with those
that the commit reaches; a difference, either way, is an error.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from .base import FieldError

BRANCH = "main"
_TIMEOUT_S = 300.0
_CONFIG = (
    "[core]\n\trepositoryformatversion = 0\n\tfilemode = false\n\tbare = false\n"
    "\tlogallrefupdates = true\n"
)


@dataclass(slots=True, kw_only=True, frozen=True)
class Commit:
    """What an agent gets of a repository."""

    files: Mapping[str, bytes]
    """The tree's regular files; symbolic links and submodules are left out."""
    git: Mapping[str, bytes]
    """Files of the fresh `.git`, by path from the work area."""
    num_left_out: int
    """Number of symbolic links and submodules."""


def run_git(folder: Path, *args: str, stdin: bytes = b"") -> bytes:
    """Run git without hooks, prompts and settings of this machine; return what it prints.

    Raises:
        FieldError: it failed; the message has its last line.
    """
    env = {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": os.devnull,
        "LC_ALL": "C",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_GRAFT_FILE": os.devnull,
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_ALLOW_PROTOCOL": "none",
        "GIT_CEILING_DIRECTORIES": str(folder.parent),
    }
    safe = ("core.hooksPath=/dev/null", "core.fsmonitor=false", "safe.directory=*")
    words = ["git", *(word for setting in safe for word in ("-c", setting)), *args]
    try:
        done = subprocess.run(
            words,
            cwd=folder,
            env=env,
            input=stdin,
            capture_output=True,
            timeout=_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise FieldError(f"git cannot be run ({type(error).__name__}); install git") from None
    if done.returncode:
        lines = done.stderr.decode("utf-8", errors="replace").strip().splitlines()
        raise FieldError(f"`git {args[0]}` failed: {lines[-1] if lines else done.returncode}")
    return done.stdout


def read_commit(clone: Path, name: str) -> Commit:
    """Read a commit of a clone and build the fresh repository.

    Args:
        clone: folder of the clone, with a work tree or bare.
        name: full or abbreviated hash of the commit.

    Raises:
        FieldError: no such commit, git fails, or the fresh repository holds too much or too little.
    """
    if not re.fullmatch(r"[0-9a-fA-F]{7,64}", name):
        raise FieldError(f"field `base_commit` is {name!r:.80}; expected the hash of a commit")
    kind = ["rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}"]
    try:
        commit = run_git(clone, *kind).decode().strip()
    except FieldError:
        raise FieldError(
            f"field `base_commit`: {clone} has no commit {name}; fetch it into the clone"
        ) from None
    files, num_left_out = _read_tree(clone, commit)
    with tempfile.TemporaryDirectory() as folder:
        git = _fresh(clone, commit, Path(folder))
    return Commit(files=files, git=git, num_left_out=num_left_out)


def reachable(folder: Path, name: str) -> frozenset[str]:
    """Return the objects that a commit reaches."""
    listing = run_git(folder, "rev-list", "--objects", name)
    return frozenset(line.split()[0].decode() for line in listing.splitlines())


def all_objects(folder: Path) -> frozenset[str]:
    """Return every object that is in a repository, reachable or not."""
    words = ["cat-file", "--batch-all-objects", "--unordered", "--batch-check=%(objectname)"]
    return frozenset(run_git(folder, *words).decode().split())


def _read_tree(clone: Path, commit: str) -> tuple[dict[str, bytes], int]:
    listing = run_git(clone, "ls-tree", "-r", "-z", "--full-tree", commit)
    wanted, num_left_out = [], 0
    for entry in listing.split(b"\0"):
        if not entry:
            continue
        head, _, path = entry.partition(b"\t")
        mode, _, blob = head.split()
        try:
            name = path.decode("utf-8")
        except UnicodeDecodeError:
            num_left_out += 1
            continue
        if mode in (b"100644", b"100755"):
            wanted.append((name, blob))
        else:
            num_left_out += 1
    out = run_git(clone, "cat-file", "--batch", stdin=b"".join(b + b"\n" for _, b in wanted))
    files, place = {}, 0
    for name, _ in wanted:
        end = out.index(b"\n", place)
        size = int(out[place:end].split()[2])
        files[name] = out[end + 1 : end + 1 + size]
        place = end + size + 2
    return files, num_left_out


def _fresh(clone: Path, commit: str, folder: Path) -> dict[str, bytes]:
    fresh = folder / "fresh"
    fresh.mkdir()
    run_git(fresh, "init", "--quiet", "--template=", f"--initial-branch={BRANCH}")
    git = fresh / ".git"
    boundary = _shallow_boundary(clone, commit)
    if boundary:
        (git / "shallow").write_text("".join(f"{name}\n" for name in boundary))
    words = ["pack-objects", "--revs", "--stdout", "--no-reuse-delta", "--quiet"]
    pack = run_git(clone, *words, stdin=f"{commit}\n".encode())
    run_git(fresh, "index-pack", "--stdin", stdin=pack)
    (git / "refs" / "heads").mkdir(parents=True, exist_ok=True)
    (git / "refs" / "heads" / BRANCH).write_text(f"{commit}\n")
    (git / "config").write_text(_CONFIG)
    run_git(fresh, "read-tree", commit)
    _verify(clone, commit, fresh)
    keep = ("HEAD", "config", "index", "shallow", f"refs/heads/{BRANCH}", "objects/pack/")
    found = {}
    for path in sorted(git.rglob("*")):
        name = path.relative_to(git).as_posix()
        if path.is_file():
            if not name.startswith(keep):
                raise FieldError(f"the fresh repository has a file too many: {name}")
            found[f".git/{name}"] = path.read_bytes()
    return found


def _verify(clone: Path, commit: str, fresh: Path) -> None:
    wanted, present = reachable(clone, commit), all_objects(fresh)
    refs = run_git(fresh, "for-each-ref", "--format=%(refname) %(objectname)").decode().split("\n")
    if [ref for ref in refs if ref] != [f"refs/heads/{BRANCH} {commit}"]:
        raise FieldError("the fresh repository has refs that it must not have")
    if present != wanted or reachable(fresh, "HEAD") != wanted:
        raise FieldError(
            f"the fresh repository has {len(present - wanted)} objects too many and "
            f"{len(wanted - present)} too few; the clone may be damaged: run `git fsck` in it"
        )


def _shallow_boundary(clone: Path, commit: str) -> list[str]:
    """Return the commits at which a shallow clone's history ends, of those that count here."""
    if run_git(clone, "rev-parse", "--is-shallow-repository").strip() != b"true":
        return []
    path = Path(os.fsdecode(run_git(clone, "rev-parse", "--git-path", "shallow").strip()))
    known = (clone / path).read_text(encoding="ascii").split()
    history = set(run_git(clone, "rev-list", commit).decode().split())
    return [name for name in known if name in history]
