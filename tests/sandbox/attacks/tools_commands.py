"""Gives `run` commands that no program can be given, or that end in every strange way.

Contained: each has an answer that says how it ended.
"""

from tool_calls import Tools

KIND = "drive"
UNPROTECTED = "never"


def drive(scene):
    """Try each."""
    tools = Tools(scene)
    scene.said.append(b"attack: tried commands\n")
    refused = ["a\0b", "\0", "\ud800", "echo \udfff", "x" * 3_000_000, "'", "((", "exit 300"]
    for command in (*refused, "kill -9 $$", "kill -SEGV $$", "exec 0<&- 1>&- 2>&-; exit 5"):
        if tools("run", command=command).ok:
            raise Escaped(f"{command[:40]!r} is fine")  # noqa: F821 - given by the judge
    for command in ("", " ", "\n\n", "#", "echo \udcff", "printf '\\377\\033[2J\\0'", "exec true"):
        tools("run", command=command)
    for command in (
        "kill -9 -1",
        "ulimit -v 1; ls",
        "umask 777; touch x",
        "exec >&0",
        "cd /; rm -rf *",
    ):
        tools("run", command=command)
    tools.look_around()
    tools.grade()
