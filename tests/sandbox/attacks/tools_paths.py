"""Gives every tool of the agent paths that leave the work area, or that no file can have.

Contained: each is refused with a reason.
"""

from tool_calls import Tools

KIND = "drive"
UNPROTECTED = "refused"


def drive(scene):
    """Try them; a name that is only odd may be written."""
    tools, canary = Tools(scene), str(scene.host.canary)
    scene.said.append(b"attack: tried paths\n")
    refused = [
        canary,
        f"/{canary}",
        "../" * 24 + canary[1:],
        "a/../" + "../" * 24 + canary[1:],
        f"/proc/self/root{canary}",
        "",
        ".",
        "..",
        "/",
        "a/..",
        "folder/",
        f"{canary}\0.txt",
        "\0",
        "\ud800",
        "a/\ud800/b",
        "x/" * 5000 + "y",
        "n" * 100_000,
    ]
    for path in refused:
        for result in tools.every(path):
            if result.ok:
                raise Escaped(f"{path[:60]!r} was taken")  # noqa: F821 - given by the judge
    for path in ("\udcff", "a\nb", "\x1b[2J", "\u202e", "-rf", "~", "$(id)", " ", "a\\b", "con"):
        list(tools.every(path))
    tools.look_around()
