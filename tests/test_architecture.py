"""The shape of the package: who imports whom, what is shipped, and that the docs' commands exist.

Every check is a function that returns what is wrong, and is itself tried on a small bad example.
"""

from __future__ import annotations

import ast
import importlib.util
import json
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "sim2live"
NOT_SHIPPED = {"tests", "build", "dist", "runs", "docs"}

LAYERS: tuple[frozenset[str], ...] = (
    frozenset({"simulators", "reward_models", "hack_detectors"}),
    frozenset({"envs"}),
    frozenset({"agents"}),
    frozenset({"live_bridge"}),
    frozenset({"experiments"}),
    frozenset({"cli_sandbox"}),
    frozenset({"cli"}),
)
"""Folders from the bottom to the top; the modules at the root are below them all.

A folder may import itself and what is below it; the folders of one layer do not know each other.
"""
ALONE = frozenset({"errors", "trajectory"})
"""Modules that import nothing of ours."""
HEAVY = (
    *("torch", "transformers", "vllm", "docker", "tensorboard", "sklearn", "scipy"),
    *("statsmodels", "plotly", "sqlalchemy"),
)
MAX_IMPORT_S = 0.5
"""Seconds of CPU that importing the package may take beyond importing gymnasium alone."""
MARKS_OF_PYTEST = {"parametrize", "skip", "skipif", "xfail", "filterwarnings", "usefixtures"}
SHELLS = {"bash", "sh", "shell", "console", ""}
MARKS_OF_PLUGINS = {"timeout"}


def folders() -> set[str]:
    """Return the dotted names of the folders that are packages."""
    found = (init.parent.relative_to(ROOT).parts for init in ROOT.glob("*/**/__init__.py"))
    return {".".join(p) for p in found if p[0] not in NOT_SHIPPED and not p[0].startswith(".")}


def modules() -> dict[str, Path]:
    """Return the package's modules by their dotted name under the package ("" is the package)."""
    found = {}
    for folder in ["", *sorted(folders())]:
        for path in (ROOT / folder.replace(".", "/")).glob("*.py"):
            if path == ROOT / "setup.py":
                continue
            parts = [*filter(None, folder.split(".")), path.stem]
            found[".".join(parts[:-1] if path.stem == "__init__" else parts)] = path
    return found


SOURCES = {name: path.read_text(encoding="utf-8") for name, path in modules().items()}
PACKAGES = {"", *folders()}


# --- import direction ------------------------------------------------------------------------


def imported(module: str, source: str, known: Iterable[str], packages: Iterable[str]) -> set[str]:
    """Return the modules of ours that a module imports, inside functions too.

    Args:
        module: its dotted name under the package.
        source: its source.
        known: names of all modules, to tell `from . import module` from `from . import name`.
        packages: which of them are packages.
    """
    own = module.split(".") if module else []
    found = set()
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.ImportFrom) or not node.level:
            continue
        up = node.level - (module in set(packages))
        base = [*own[: len(own) - up], *(node.module.split(".") if node.module else [])]
        for alias in node.names:
            inner = ".".join([*base, alias.name])
            found.add(inner if inner in known else ".".join(base))
    return found


def layer_of(module: str) -> int:
    """Return the layer of a module, -1 for those at the root."""
    top = module.split(".", maxsplit=1)[0]
    return next((level for level, names in enumerate(LAYERS) if top in names), -1)


def wrong_imports(sources: Mapping[str, str], packages: Iterable[str]) -> list[str]:
    """Return the imports that go up or sideways. The package's own `__init__` may name `envs`."""
    wrong = []
    for module, source in sources.items():
        for target in sorted(imported(module, source, sources, packages)):
            if module == "" and target.split(".")[0] == "envs":
                continue
            if module in ALONE:
                is_allowed = False
            elif target.split(".")[0] == module.split(".")[0]:
                is_allowed = True
            else:
                is_allowed = layer_of(target) < max(layer_of(module), 0)
            if not is_allowed:
                wrong.append(f"{module or PACKAGE} imports {target or PACKAGE}")
    return wrong


def absolute_imports(sources: Mapping[str, str]) -> list[str]:
    """Return imports of ours by an absolute name, the package's or a bare folder's."""
    tops = {PACKAGE} | {name.split(".")[0] for name in folders()}
    wrong = []
    for module, source in sources.items():
        for node in ast.walk(ast.parse(source)):
            names: list[str] = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module or ""]
            wrong += [f"{module}: {name}" for name in names if name.split(".")[0] in tops]
    return wrong


def test_imports_go_down_only() -> None:
    assert wrong_imports(SOURCES, PACKAGES) == []


def test_every_folder_has_a_layer() -> None:
    assert len(SOURCES) > 100
    assert {name.split(".")[0] for name in folders()} == frozenset.union(*LAYERS) - {
        "cli",
        "cli_sandbox",
    }


@pytest.mark.parametrize(
    ("module", "source", "target"),
    [
        ("envs.tasks.base", "from ...agents.base import Policy", "agents.base"),
        ("envs", "from ..live_bridge import store", "live_bridge.store"),
        ("reward_models.base", "from ..hack_detectors import x", "hack_detectors"),
        ("agents.base", "def f():\n    from ..experiments.demo import run", "experiments.demo"),
        ("experiments.demo", "from ..cli import app", "cli"),
        ("experiments.demo", "from .. import cli", "cli"),
        ("interchange", "from .envs import register", "envs"),
        ("interchange", "from .cli import app", "cli"),
        ("trajectory", "from .errors import FormatError", "errors"),
        ("", "from .agents import loop", "agents"),
    ],
)
def test_an_import_that_goes_up_or_sideways_is_found(module: str, source: str, target: str) -> None:
    names = dict.fromkeys(("cli", "experiments.demo", "agents.base", "live_bridge.store"), "")
    found = wrong_imports({**names, module: source}, {"", "envs", "agents"})
    assert found == [f"{module or PACKAGE} imports {target}"]


def test_an_import_that_goes_down_is_allowed() -> None:
    good = {
        "": "from .envs import register",
        "cli": "from .experiments.demo import run\nfrom .errors import Sim2LiveError",
        "envs.tasks.base": "from ...simulators.base import Brief\nfrom ..actions import x",
        "agents.loop": "from ..trajectory import Turn\nfrom .base import Policy",
        "interchange": "from .codec import encode",
    }
    assert wrong_imports(good, {"", "envs", "envs.tasks", "agents"}) == []


def test_imports_inside_the_package_are_relative() -> None:
    assert absolute_imports(SOURCES) == []


@pytest.mark.parametrize(
    "source", ["import sim2live.envs", "from sim2live import x", "def f():\n    import agents.base"]
)
def test_an_absolute_import_is_found(source: str) -> None:
    assert len(absolute_imports({"x": source, "y": "import sim2live_other\nimport os"})) == 1


# --- what is shipped -------------------------------------------------------------------------


def listed_folders(source: str) -> list[str]:
    """Return the list that setup.py ships, read without running it."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "FOLDERS":
            return list(ast.literal_eval(node.value))
    raise AssertionError("setup.py has no list `FOLDERS`")


def test_setup_ships_every_folder_once() -> None:
    listed = listed_folders((ROOT / "setup.py").read_text(encoding="utf-8"))
    assert sorted(listed) == sorted(folders())


def test_a_folder_that_is_not_shipped_is_found() -> None:
    assert sorted(listed_folders('FOLDERS = ["envs", "agents"]')) != sorted(folders())
    with pytest.raises(AssertionError, match="no list"):
        listed_folders("OTHER = []")


# --- docstrings ------------------------------------------------------------------------------


def without_docstring(module: str, source: str) -> list[str]:
    """Return the public modules, classes, functions and methods that say nothing of themselves."""
    tree = ast.parse(source)
    missing = [] if ast.get_docstring(tree) or _is_private(module) else [module or PACKAGE]
    waiting = [(module, node) for node in tree.body]
    while waiting:
        where, node = waiting.pop(0)
        if isinstance(node, ast.If | ast.Try):
            waiting = [(where, inner) for inner in node.body] + waiting
        if not isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if node.name.startswith("_"):
            continue
        name = f"{where}.{node.name}"
        if not ast.get_docstring(node) and not _needs_none(node):
            missing.append(name)
        if isinstance(node, ast.ClassDef):
            waiting += [(name, inner) for inner in node.body]
    return missing


def _is_private(module: str) -> bool:
    return module.rsplit(".", maxsplit=1)[-1].startswith("_")


def _needs_none(node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    marks = {ast.unparse(mark).split(".")[-1] for mark in node.decorator_list}
    return bool(marks & {"overload", "setter", "override"})


def test_everything_public_has_a_docstring() -> None:
    missing = [name for item in SOURCES.items() for name in without_docstring(*item)]
    assert missing == []


def test_a_missing_docstring_is_found() -> None:
    source = (
        "class A:\n    '''A.'''\n    def f(self): ...\n    def _g(self): ...\n"
        "    @x.setter\n    def h(self, v): ...\n"
        "def k():\n    '''K.'''\n    def inner(): ...\nif True:\n    def m(): ...\n"
    )
    assert sorted(without_docstring("x", source)) == ["x", "x.A.f", "x.m"]


# --- importing is light ----------------------------------------------------------------------


def cost_of_import(statement: str) -> tuple[float, list[str]]:
    """Return the seconds of CPU that a statement takes in a new process, and what it loads."""
    program = (
        "import json, sys, time\n"
        f"start_s = time.process_time()\n{statement}\n"
        "spent_s = time.process_time() - start_s\n"
        "print(json.dumps([spent_s, sorted({name.split('.')[0] for name in sys.modules})]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=Path("/")
    )
    spent_s, names = json.loads(done.stdout)
    return spent_s, names


def test_importing_the_package_is_cheap_silent_and_loads_nothing_heavy() -> None:
    tries = [cost_of_import(f"import {PACKAGE}") for _ in range(2)]
    for _, names in tries:
        assert PACKAGE in names
        assert [name for name in HEAVY if name in names] == []
    alone_s = min(cost_of_import("import gymnasium")[0] for _ in range(2))
    assert min(spent_s for spent_s, _ in tries) - alone_s < MAX_IMPORT_S


def test_a_costly_or_heavy_import_is_found() -> None:
    spent_s, _ = cost_of_import(f"while time.process_time() - start_s < {MAX_IMPORT_S}: pass")
    assert spent_s >= MAX_IMPORT_S
    _, names = cost_of_import("sys.modules['scipy.stats'] = sys")
    assert [name for name in HEAVY if name in names] == ["scipy"]


# --- one copy of every module ----------------------------------------------------------------


def loaded_twice(loaded: Mapping[str, ModuleType | None]) -> list[str]:
    """Return the names under which files of the package are loaded that are not its own."""
    wrong = []
    for name, module in loaded.items():
        file = getattr(module, "__file__", None)
        if not isinstance(file, str) or name == PACKAGE or name.startswith(f"{PACKAGE}."):
            continue
        path = Path(file).resolve()
        if path.exists() and path.is_relative_to(ROOT):
            top = path.relative_to(ROOT).parts[0]
            if top not in NOT_SHIPPED and not top.startswith("."):
                wrong.append(name)
    return wrong


def test_no_module_of_ours_is_loaded_under_another_name() -> None:
    import sim2live

    assert sim2live.__file__ is not None and Path(sim2live.__file__).resolve().parent == ROOT
    assert loaded_twice(dict(sys.modules)) == []


def test_a_second_copy_of_a_module_is_found() -> None:
    spec = importlib.util.spec_from_file_location("errors", ROOT / "errors.py")
    assert spec is not None
    second = importlib.util.module_from_spec(spec)
    assert loaded_twice({"errors": second, "os": sys.modules["os"]}) == ["errors"]


# --- commands in the docs --------------------------------------------------------------------


def commands(text: str) -> list[list[str]]:
    """Return the words of every command in the code of a Markdown text.

    That is in its fenced blocks of a shell or of no language, and in indented lines that begin
    with one of our commands (other indented lines may be a list's prose).
    """
    found = []
    fenced = re.findall(r"^ *```(\w*)\n(.*?)^ *```", text, re.M | re.S)
    blocks = [block for language, block in fenced if language in SHELLS]
    outside = re.sub(r"^ *```.*?^ *```", "", text, flags=re.M | re.S)
    indented = r"^(?: {4,}|\t)((?:\$ )?(?:\w+=\S+ )*(?:make|sim2live) (?:.*\\\n)*.*)$"
    blocks += re.findall(indented, outside, re.M)
    for block in blocks:
        for line in block.replace("\\\n", " ").splitlines():
            for part in re.split(r"&&|\|\||[;|]", line.strip().removeprefix("$ ")):
                words = shlex.split(part, comments=True)
                while words and re.fullmatch(r"\w+=.*", words[0]):  # settings before a command
                    words = words[1:]
                if words:
                    found.append(words)
    return found


def wrong_commands(found: Iterable[list[str]], makefile: str) -> list[str]:
    """Return what is wrong with those of the commands that are ours."""
    wrong = []
    for words in found:
        program = words[0].rsplit("/", 1)[-1]
        if program == "make":
            wrong += _wrong_make(words[1:], makefile)
        elif program == PACKAGE:
            wrong += _wrong_verb(words[1:])
    return wrong


def _wrong_make(words: list[str], makefile: str) -> list[str]:
    wrong = []
    for word in words:
        name = word.split("=")[0]
        if "=" in word and not re.search(rf"^{re.escape(name)}\s*[?:]?=", makefile, re.M):
            wrong.append(f"the Makefile has no variable `{name}`")
        elif (
            "=" not in word
            and not word.startswith("-")
            and not re.search(rf"^{re.escape(word)}\s*:(?!=)", makefile, re.M)
        ):
            wrong.append(f"the Makefile has no target `{word}`")
    return wrong


def _wrong_verb(words: list[str]) -> list[str]:
    """Parse the command as it would be parsed, without running it."""
    import typer
    import typer.main

    from sim2live.cli import app

    usage_error = typer.BadParameter.__mro__[1]  # typer has its own copy of click, or click's
    verbs = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    if not words or words == ["--help"]:
        return []
    known = {" ".join(name): verb for name, verb in each_verb(verbs)}
    verb = next((name for name in known if f"{' '.join(words)} ".startswith(f"{name} ")), None)
    if verb is None:
        return [f"`{PACKAGE} {' '.join(words)}`: there is no such verb"]
    if "--help" in words:
        return []
    try:
        known[verb].make_context(verb, words[len(verb.split()) :])
    except usage_error as error:
        return [f"`{PACKAGE} {' '.join(words)}`: {error}"]
    return []


def documents() -> list[Path]:
    """Return the texts that tell a reader what to type."""
    return [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("**/*.md"))]


MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


@pytest.mark.parametrize("path", documents(), ids=lambda path: path.name)
def test_the_commands_in_the_docs_exist(path: Path) -> None:
    assert wrong_commands(commands(path.read_text(encoding="utf-8")), MAKEFILE) == []


def test_the_readme_says_how_to_begin() -> None:
    found = commands((ROOT / "README.md").read_text(encoding="utf-8"))
    assert ["make", "demo"] in found and ["make", "test"] in found
    assert any(words[0] == PACKAGE for words in found)


def test_the_examples_in_the_help_exist() -> None:
    import typer.main

    from sim2live.cli import app

    verbs = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    for words, verb in each_verb(verbs):
        examples = [shlex.split(text) for text in re.findall(r"`([^`]+)`", verb.epilog or "")]
        beginning = [PACKAGE, *words]
        found = [example[: len(beginning)] for example in examples]
        assert beginning in found, f"`{' '.join(words)}` has no example"
        assert wrong_commands(examples, MAKEFILE) == []


def each_verb(verbs: Mapping[str, Any], *before: str) -> Iterator[tuple[list[str], Any]]:
    """Yield the words and the command of every verb, those of groups too."""
    for name, verb in verbs.items():
        if hasattr(verb, "commands"):
            yield from each_verb(verb.commands, *before, name)
        else:
            yield [*before, name], verb


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        ("make nothing", "no target `nothing`"),
        ("make demo COLOUR=1", "no variable `COLOUR`"),
        ("sim2live frobnicate", "no such verb"),
        ("sim2live sandbox frobnicate", "no such verb"),
        ("sim2live sandbox doctor --frobnicate", "--frobnicate"),
        ("sim2live demo --frobnicate 1", "--frobnicate"),
        ("sim2live demo --seed one", "one"),
        ("sim2live mismatch", "logs"),
        (".venv/bin/sim2live report", "RUN|run"),
    ],
)
def test_a_command_that_does_not_exist_is_found(command: str, problem: str) -> None:
    text = f"text\n\n```bash\nmake demo SEED=1  # comment\n$ X=1 {command}\n```\n"
    (wrong,) = wrong_commands(commands(text), "SEED ?= 0\ndemo: x\n")
    assert re.search(problem, wrong), wrong


def test_commands_are_found_in_indented_code_but_not_in_prose() -> None:
    text = (
        "- it's so\n    and don't make it so\n\n    $ make demo SEED=1\n\tsim2live replay \\\n  x\n"
    )
    assert commands(text) == [["make", "demo", "SEED=1"], ["sim2live", "replay", "x"]]
    assert commands("```\nmake demo\n```\n") == [["make", "demo"]]


def test_commands_are_found_in_all_their_spellings() -> None:
    shell = "A=1 make demo && sim2live demo \\\n  --seed 1 | tee x"
    text = f"```bash\n{shell}\n```\n```python\nmake x\n```"
    assert commands(text) == [
        ["make", "demo"],
        ["sim2live", "demo", "--seed", "1"],
        ["tee", "x"],
    ]


# --- markers ---------------------------------------------------------------------------------


def unknown_marks(source: str, known: Iterable[str]) -> list[str]:
    """Return the names of `pytest.mark.NAME` in a test file that nobody has declared."""
    names = re.findall(r"\bpytest\.mark\.(\w+)", source)
    return sorted(set(names) - set(known))


def _declared() -> tuple[set[str], str]:
    with (ROOT / "pyproject.toml").open("rb") as file:
        options = tomllib.load(file)["tool"]["pytest"]["ini_options"]
    return {text.split(":")[0].split("(")[0] for text in options["markers"]}, options["addopts"]


def test_markers_are_strict_and_all_declared() -> None:
    declared, addopts = _declared()
    assert "--strict-markers" in addopts.split()
    known = declared | MARKS_OF_PYTEST | MARKS_OF_PLUGINS
    wrong = {
        str(path.relative_to(ROOT)): unknown_marks(path.read_text(encoding="utf-8"), known)
        for path in ROOT.glob("tests/**/*.py")
        if path != Path(__file__).resolve()
    }
    assert {path: names for path, names in wrong.items() if names} == {}


def test_a_marker_that_nobody_declared_is_found() -> None:
    declared, _ = _declared()
    source = "@pytest.mark.sluggish\n@pytest.mark.slow\ndef test_x(): ..."
    assert unknown_marks(source, declared) == ["sluggish"]
