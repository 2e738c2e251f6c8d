"""Gives pytest arguments that read, write or delete elsewhere, and words that no program can take.

Contained: the host is not touched, and a word that cannot be passed is refused by name.
"""

KIND = "drive"
NEEDS_PYTEST = True
UNPROTECTED = "never"


def drive(scene):
    """Try each."""
    folder, canary = scene.host.folder, scene.host.canary
    tests = (
        "from attacker import tried\n\ndef test_it():\n    tried('arguments')\n    assert False\n"
    )
    for args in (
        ["-s", "test_it.py"],
        [f"@{canary}"],
        ["-c", str(canary)],
        ["--rootdir", str(folder), str(folder)],
        ["../" * 20 + str(canary)[1:]],
        ["--basetemp", str(folder), "test_it.py"],
        ["--junitxml", f"{folder}/planted.xml"],
        ["-p", "no:terminal", "-p", "no:python"],
        ["--help"],
        ["--version"],
        ["--fixtures"],
        ["-p", "no:main"],
        ["--pyargs", "os"],
        ["-o", "python_files=*", "/etc"],
        ["-k", "(" * 5000],
        ["-m", "\udcff"],
        ["--confcutdir=/", "/proc/self/root"],
        ["x" * 100_000],
    ):
        result = scene.pytest({"test_it.py": tests}, args)
        if result.num_passed:
            raise Escaped(f"{args}: {result.num_passed} passed")  # noqa: F821 - given by the judge
    for args in (["a\0b"], ["\ud800"]):
        try:
            scene.sandbox.pytest(args)
        except ValueError:
            continue
        raise Escaped(f"{args!r} was taken")  # noqa: F821 - given by the judge
