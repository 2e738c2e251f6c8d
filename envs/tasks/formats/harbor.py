"""Harbor task folders: `instruction.md`, `task.toml`, `environment/`, `tests/test.sh`, `solution/`.

What the agent finds is what `environment/Dockerfile` copies from its folder (everything beside the
Dockerfile where there is none). Graded is by `tests/test.sh`, which writes `/logs/verifier/
reward.json` or `reward.txt`; absolute paths are mapped as `grading.places` says, and in the
instruction the agent reads paths relative to the work area.

There is no container here. A Dockerfile may choose an image (noted as a tag `image:<name>`, not
used), set the folder, copy files and make folders. What installs or runs more is an error, since
the task would fail for want of it; `is_prepared=True` says that the sandbox has it already (the
`docker` backend with an image of its own). So is a test script that downloads.
"""

from __future__ import annotations

import re
import shlex
import stat
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

from ....errors import FormatError, SandboxError
from ....simulators.base import Brief
from ...grading import MakeSandbox, run_solution
from ...grading.places import Places
from ...sandbox.area import split_path
from ..base import ScriptExam, Task, TaskKind
from .base import FieldError, Loaded, LoadReport, Problem, Record, check, encodable
from .swebench import split_texts

NAME = "harbor"
REWARD_PATHS = ("/logs/verifier/reward.json", "/logs/verifier/reward.txt")
COMMAND = ("bash", "/tests/test.sh")
_SOLVE = ("bash", "/solution/solve.sh")
_CONFIG, _INSTRUCTION = "task.toml", "instruction.md"
_MAX_FILE_BYTES = 64 * 1024 * 1024
_MAX_FILES = 20_000
_HARMLESS = frozenset({"FROM", "WORKDIR", "CMD", "ENTRYPOINT", "LABEL", "MAINTAINER", "EXPOSE"})
_DOWNLOADS = re.compile(
    r"\b(apt-get|apt|curl|wget|uvx|uv (?:pip|tool|run|init|add)|pip3? install|npm install)\b"
)
_MAKES_FOLDERS = re.compile(r"mkdir (-p )?[\w./ -]+")


def is_folder(path: Path) -> bool:
    """Say whether a folder is a task of this format."""
    return (path / _CONFIG).is_file() or (path / _INSTRUCTION).is_file()


def folders(path: Path) -> list[Path]:
    """Return the task folders: the path itself, or those directly in it."""
    if is_folder(path):
        return [path]
    return sorted(inner for inner in path.iterdir() if inner.is_dir() and is_folder(inner))


def read(
    path: Path, *, make_sandbox: MakeSandbox | None = None, is_prepared: bool = False
) -> LoadReport:
    """Read one task folder or a folder of them (see `load_tasks`)."""
    loaded: list[Loaded] = []
    problems: list[Problem] = []
    try:
        found = folders(path)
    except OSError as error:
        raise FormatError(f"{path}: cannot be listed: {error.strerror}") from error
    for folder in found:
        try:
            loaded.append(_read_folder(folder, make_sandbox, is_prepared=is_prepared))
        except FieldError as error:
            problems.append(Problem(where=str(folder), text=str(error)))
        except OSError as error:
            problems.append(Problem(where=str(folder), text=f"cannot be read: {error}"))
    return LoadReport(
        format=NAME, loaded=tuple(loaded), problems=tuple(problems), num_records=len(found)
    )


def _read_folder(folder: Path, make_sandbox: MakeSandbox | None, *, is_prepared: bool) -> Loaded:
    config = _config(folder)
    instruction = _text(folder, _INSTRUCTION)
    name = config.record("task").text("name", default=folder.resolve().name)
    tests = {f"tests/{path}": data for path, data in _tree(folder / "tests").items()}
    if "tests/test.sh" not in tests:
        raise FieldError("file `tests/test.sh` is missing; add the script that writes the reward")
    if not is_prepared:
        _refuse_downloads(tests)
    files, tags = _environment(folder / "environment", is_prepared=is_prepared)
    texts, binaries = split_texts(files)
    exam = ScriptExam(
        files=tests,
        command=COMMAND,
        reward_paths=REWARD_PATHS,
        wall_time_s=config.record("verifier").number("timeout_sec", 600.0),
    )
    goal = Places(".", "logs").map_text(instruction).replace("./", "").strip()
    task = Task(
        id=f"{NAME}/{name}",
        family=NAME,
        function="",
        module_path=_only_module(texts),
        test_path="",
        files=texts,
        reference="",
        hidden_tests="",
        trial_tests="",
        brief=Brief(task_id=name, goal=goal),
        faults=(),
        difficulty=_DIFFICULTY.get(
            config.record("metadata").text("difficulty", default="", is_empty_fine=True), 0.5
        ),
        ambiguity=0.0,
        num_candidates=0,
        max_steps=50,
        kind=TaskKind.IMPLEMENT,
        binary_files=binaries,
        exam=exam,
        tags=tags,
    )
    solution = {f"solution/{path}": data for path, data in _tree(folder / "solution").items()}
    if make_sandbox is None or "solution/solve.sh" not in solution:
        return Loaded(task=task)
    try:
        left = run_solution(task, solution, _SOLVE, make_sandbox)
    except SandboxError as error:
        raise FieldError(f"`solution/solve.sh` cannot be run: {error}") from error
    return check(Loaded(task=task, solution=_changes(files, left)), make_sandbox)


_DIFFICULTY = {"easy": 0.25, "medium": 0.5, "hard": 0.75}


def _changes(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> dict[str, bytes | None]:
    found: dict[str, bytes | None] = {p: d for p, d in after.items() if before.get(p) != d}
    return found | {path: None for path in before.keys() - after.keys()}


def _config(folder: Path) -> Record:
    text = _text(folder, _CONFIG)
    try:
        return Record(tomllib.loads(text), f"file `{_CONFIG}`")
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        raise FieldError(f"file `{_CONFIG}` is not valid TOML ({error}); repair it") from None


def _text(folder: Path, name: str) -> str:
    try:
        data = (folder / name).read_bytes()
        text = data.decode("utf-8-sig")
    except FileNotFoundError:
        raise FieldError(f"file `{name}` is missing; add it") from None
    except UnicodeDecodeError:
        raise FieldError(f"file `{name}` is not UTF-8; save it as UTF-8") from None
    if not text.strip():
        raise FieldError(f"file `{name}` is empty; write it")
    return encodable(name, text)


def _tree(folder: Path) -> dict[str, bytes]:
    """Return the regular files below a folder; links and special files are an error."""
    if folder.is_symlink():
        raise FieldError(f"`{folder.name}` is a symbolic link; make it a folder")
    return {path.relative_to(folder).as_posix(): _data(path) for path in _walk(folder)}


def _walk(folder: Path) -> Iterator[Path]:
    if not folder.is_dir():
        return
    waiting, num_found = [folder], 0
    while waiting:
        for path in sorted(waiting.pop().iterdir()):
            mode = path.lstat().st_mode
            num_found += 1
            if num_found > _MAX_FILES:
                raise FieldError(f"`{folder.name}` holds over {_MAX_FILES} files; make it smaller")
            if stat.S_ISDIR(mode):
                waiting.append(path)
            elif stat.S_ISREG(mode):
                yield path
            else:
                raise FieldError(
                    f"`{path.relative_to(folder.parent)}` is a link or special file, which cannot "
                    "be laid out; make it a regular file"
                )


def _data(path: Path) -> bytes:
    if path.stat().st_size > _MAX_FILE_BYTES:
        raise FieldError(f"`{path.name}` is larger than {_MAX_FILE_BYTES} bytes; make it smaller")
    try:
        split_path(path.name)
    except ValueError as error:
        raise FieldError(str(error)) from None
    return path.read_bytes()


def _refuse_downloads(tests: Mapping[str, bytes]) -> None:
    for path, data in tests.items():
        if not path.endswith(".sh"):
            continue
        for number, line in enumerate(data.decode("utf-8", errors="replace").splitlines(), 1):
            found = _DOWNLOADS.search(line.partition("#")[0])
            if found:
                raise FieldError(
                    f"`{path}` line {number} calls `{found[1]}`, and the sandbox has no network; "
                    "call installed programs (`python -m pytest`), or give `is_prepared=True` if "
                    "the sandbox's image makes the call needless"
                )


def _environment(folder: Path, *, is_prepared: bool) -> tuple[dict[str, bytes], tuple[str, ...]]:
    """Return what lies in the work area at the start, and tags."""
    tree = _tree(folder)
    if any(name.startswith("docker-compose") for name in tree) and not is_prepared:
        raise FieldError(
            "`environment/docker-compose.yaml` starts services, which a sandbox cannot; leave it "
            "out, or give `is_prepared=True`"
        )
    context = {path: data for path, data in tree.items() if path != ".dockerignore"}
    recipe = context.pop("Dockerfile", None)
    if recipe is None:
        return context, ()
    files: dict[str, bytes] = {}
    tags: list[str] = []
    here = ""
    for number, words in _instructions(recipe.decode("utf-8", errors="replace")):
        verb, rest = words[0].upper(), words[1:]
        where = f"`environment/Dockerfile` line {number}"
        if verb == "FROM" and rest:
            tags = [f"image:{rest[0]}"]
        elif verb == "WORKDIR" and rest:
            here = _in_area(rest[0], "", where)
        elif verb in ("COPY", "ADD"):
            files |= _copy(context, rest, here, where)
        elif verb not in _HARMLESS and not is_prepared and not _is_harmless_run(verb, rest):
            raise FieldError(
                f"{where}: `{' '.join(words)[:60]}` is not carried out here, since there is no "
                "container to build; such a task needs the `docker` backend with its own image. "
                "Give `is_prepared=True` if the sandbox has what this line installs"
            )
    return files, tuple(tags)


def _instructions(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield line number and words of each instruction."""
    whole, begin = "", 0
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("#"):
            continue
        begin = begin if whole else number
        whole += line.rstrip("\\") + " "
        if line.rstrip().endswith("\\"):
            continue
        try:
            words = shlex.split(whole)
        except ValueError:
            words = whole.split()
        if words:
            yield begin, words
        whole = ""


def _is_harmless_run(verb: str, rest: list[str]) -> bool:
    return verb == "RUN" and _MAKES_FOLDERS.fullmatch(" ".join(rest)) is not None


def _copy(context: Mapping[str, bytes], rest: list[str], here: str, where: str) -> dict[str, bytes]:
    flags = [word for word in rest if word.startswith("--")]
    words = [word for word in rest if not word.startswith("--")]
    if len(words) < 2 or any(flag.startswith("--from") for flag in flags):
        raise FieldError(f"{where}: only copies from `environment/` are carried out here")
    *sources, target = words
    place = _in_area(target, here, where)
    is_folder = target.endswith(("/", "/.")) or target == "." or len(sources) > 1 or not place
    found: dict[str, bytes] = {}
    for source in sources:
        name = source.removeprefix("./").strip("/")
        if name in context:
            file = f"{place}/{name.rpartition('/')[2]}" if is_folder else place
            found[file.lstrip("/")] = context[name]
            continue
        below = {p: d for p, d in context.items() if name in ("", ".") or p.startswith(f"{name}/")}
        if not below:
            raise FieldError(f"{where}: `environment/` has no `{source}`; add it")
        for path, data in below.items():
            inner = path if name in ("", ".") else path.removeprefix(f"{name}/")
            found[f"{place}/{inner}".lstrip("/")] = data
    return found


def _in_area(path: str, here: str, where: str) -> str:
    """Return a container's path as one relative to the work area."""
    if not path.startswith("/"):
        joined = "/".join(part for part in (here, path) if part)
        parts = [part for part in joined.split("/") if part not in ("", ".")]
    else:
        parts = [part for part in path.split("/") if part not in ("", ".")]
        if parts[:1] not in (["app"], ["workspace"], ["testbed"]):
            raise FieldError(
                f"{where}: `{path}` lies outside the work area; use `/app`, `/workspace` or "
                "`/testbed`"
            )
        parts = parts[1:]
    if ".." in parts:
        raise FieldError(f"{where}: `{path}` has `..` in it; write it without")
    return "/".join(parts)


def _only_module(texts: Mapping[str, str]) -> str:
    modules = [path for path in texts if path.endswith(".py")]
    return modules[0] if len(modules) == 1 else ""
