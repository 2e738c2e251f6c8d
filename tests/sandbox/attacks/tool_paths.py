"""Gives the sandbox's own file functions paths that leave the work area."""

import os

KIND = "drive"
UNPROTECTED = "refused"


def drive(scene):
    """Try every function with every path, as an agent's tool call would."""
    sandbox, canary = scene.sandbox, str(scene.host.canary)
    scene.said.append(b"attack: tried paths\n")
    relative = os.path.relpath(canary, "/")
    paths = [
        canary,
        f"/{canary}",
        "../" * 24 + relative,
        "a/../" + "../" * 24 + relative,
        "./" + "../" * 24 + relative,
        f"~/{relative}",
        f"file://{canary}",
        f"..\\..\\{relative}",
        f"{canary}\0.txt",
        f"\0{canary}",
        "..",
        "/",
        "a/b/../../../area",
        "%2e%2e/" * 24 + relative,
        "\udc2e\udc2e/" + relative,
        "x/" * 5000 + "y",
        "n" * 5000,
        "/proc/self/root" + canary,
        "/dev/stdin",
    ]
    for path in paths:
        for call in (
            lambda path=path: scene.said.append(sandbox.read_file(path)),
            lambda path=path: sandbox.write_file(path, b"planted"),
            lambda path=path: sandbox.remove_file(path),
            lambda path=path: sandbox.restore(type(sandbox.snapshot())(files={path: b"planted"})),
        ):
            try:
                call()
            except (OSError, ValueError):
                continue
