"""Leaves files whose names are no text, have line ends or escape codes, or are very long."""

KIND = "drive"
UNPROTECTED = "refused"


def drive(scene):
    """Leave them, then list, copy and restore."""
    scene.run(
        "import os\n"
        "from attacker import tried\n"
        "tried('names')\n"
        "for name in (b'\\xff\\xfe', b'a\\nb', b'\\x1b[2J', b'n' * 255, b' ', b'-rf', b'..x',\n"
        "             b'\\xe2\\x80\\xae', b'con', b'a\\\\b', b'~', b'$(touch x)'):\n"
        "    open(name, 'w').close()\n"
    )
    before = scene.sandbox.snapshot()
    if len(scene.sandbox.list_files()) < 12:
        raise Escaped("files were hidden from the caller")  # noqa: F821 - given by the judge
    scene.sandbox.restore(before)
    if scene.sandbox.snapshot() != before:
        raise Escaped("a snapshot was not restored")  # noqa: F821 - given by the judge
