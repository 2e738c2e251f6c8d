"""Runs mypy over the package as it is installed, and makes sure that it looked at every module.

The repository root is the package, which type checkers do not expect; so the modules are laid out
under their import name in a temporary folder. Run by `make lint`.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def package_modules() -> list[Path]:
    """Return the package's modules, relative to the root."""
    folders = {init.parent for init in ROOT.glob("*/**/__init__.py")} | {ROOT}
    modules = [path for folder in folders for path in folder.glob("*.py")]
    skip = {"setup.py", "tests", "build", ".venv"}
    return sorted(
        path.relative_to(ROOT) for path in modules if path.relative_to(ROOT).parts[0] not in skip
    )


def main() -> int:
    """Check and return the exit status."""
    modules = package_modules()
    with tempfile.TemporaryDirectory() as folder:
        for module in modules:
            target = Path(folder, "sim2live", module)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / module, target)
        Path(folder, "sim2live", "py.typed").touch()
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "mypy",
                "--config-file",
                ROOT / "pyproject.toml",
                "-p",
                "sim2live",
            ],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
    print(done.stdout + done.stderr, end="")
    counted = re.search(r"(?:checked|no issues found in) (\d+) source files", done.stdout)
    if counted is None or int(counted[1]) != len(modules):
        print(f"mypy looked at {counted and counted[1]} of {len(modules)} modules")
        return 1
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
