"""Plants sitecustomize.py, usercustomize.py and .pth files before pytest is loaded the first time.

Contained: the server that loads it for all later runs imports none of them.
"""

KIND = "drive"
NEEDS_PYTEST = True
UNPROTECTED = "never"

_PLANTED = """
import atexit, os, sys
sys.modules["planted_by_attack"] = sys
os.environ["PLANTED"] = "1"
atexit.register(print, "planted")
"""


def drive(scene):
    """Plant them in a new sandbox, where nothing has loaded pytest yet."""
    scene.sandbox.close()
    scene.sandbox = scene.make()
    files = {f"{name}.py": _PLANTED for name in ("sitecustomize", "usercustomize", "_distutils")}
    files |= {"planted.pth": "import sitecustomize\n", "pyvenv.cfg": "home = .\n"}
    files |= {
        f"{place}/{name}": content
        for place in ("lib/python3/site-packages", ".local/lib/python3/site-packages")
        for name, content in files.items()
    }
    files["test_it.py"] = "from attacker import tried\n\ndef test_it():\n    tried('planted')\n"
    result = scene.pytest(files, ["-s", "test_it.py"])
    if not result.is_ok:
        raise Escaped(f"start-up files broke pytest: {result}")  # noqa: F821 - given by the judge
