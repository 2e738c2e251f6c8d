"""Gives `run` commands that print for ever, sleep, go to the background, or flood the disk.

Contained: each is stopped by a limit that its answer names, and nothing goes on.
"""

from tool_calls import Tools

KIND = "drive"
UNPROTECTED = "never"


def drive(scene):
    """Try each."""
    tools = Tools(scene)
    background = "import os, time; from attacker import mark, tried; mark(); tried(); os.setsid()"
    tools("write_file", path="daemon.py", text=f"{background}; time.sleep(9)")
    tools("run", command="(python3 daemon.py & ) & sleep 0.3; nohup sleep 9 >/dev/null 2>&1 &")
    if left := scene.host.survivors():
        raise Escaped(f"{left} processes went on")  # noqa: F821 - given by the judge
    for command in (
        "yes canary",
        "sleep 60",
        "trap '' TERM INT HUP; while :; do :; done",
        "cat /dev/zero",
    ):
        result = tools("run", command=command)
        if result.limit not in ("wall_time", "cpu_time"):
            raise Escaped(f"{command}: {result.limit}")  # noqa: F821 - given by the judge
    tools("run", command="cat /dev/zero > full; cat /dev/zero > full2; yes > full3")
    list(tools.every("after.txt"))
