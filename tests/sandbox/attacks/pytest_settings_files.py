"""Plants settings files that have pytest write outside, load a plugin, or leave tests out.

Within that call they apply, as promised. Contained: nothing outside the sandbox is written or
deleted, and no other call obeys them.
"""

KIND = "drive"
NEEDS_PYTEST = True
UNPROTECTED = "escapes"

_PLUGIN = "from attacker import tried\ntried('a plugin from addopts')\n"
_TESTS = "def test_wrong(tmp_path):\n    assert False\n"


def drive(scene):
    """Try every kind of file with every option that names a place."""
    folder = scene.host.folder
    options = [
        f"--basetemp={folder}",
        f"--junitxml={folder}/planted.xml",
        f"--log-file={folder}/planted.log --log-file-level=DEBUG",
        f"--debug={folder}/planted.txt",
        f"-p cacheprovider -o cache_dir={folder}/planted",
        f"--rootdir={folder} -c {folder}/canary.txt",
        "--basetemp=.",
        "--deselect test_it.py::test_wrong --co",
    ]
    for number, option in enumerate(options):
        words = f"-s -p planted {option}"
        files = {
            "pytest.ini": f"[pytest]\naddopts = {words}\n",
            "tox.ini": f"[pytest]\naddopts = {words}\n",
            "setup.cfg": f"[tool:pytest]\naddopts = {words}\n",
            "pyproject.toml": f"[tool.pytest.ini_options]\naddopts = '{words}'\n",
        }
        name = list(files)[number % len(files)]
        scene.sandbox.restore(type(scene.sandbox.snapshot())(files={}))
        scene.pytest({name: files[name], "planted.py": _PLUGIN, "test_it.py": _TESTS})
        if scene.sandbox.check("def test_wrong():\n    assert False\n").is_ok:
            raise Escaped(f"{name} made a check pass")  # noqa: F821 - given by the judge
