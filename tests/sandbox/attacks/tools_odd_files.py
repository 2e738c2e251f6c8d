"""Has a command leave pipes, sockets, devices and closed folders where tools will read.

Contained: every tool answers, none waits.
"""

from tool_calls import Tools

KIND = "drive"
UNPROTECTED = "refused"

_PROGRAM = """
import os, socket, stat
from attacker import got, host, tried
tried("odd files")
os.mkfifo("pipe")
os.makedirs("deep")
os.mkfifo("deep/pipe")
socket.socket(socket.AF_UNIX).bind("socket")
for name, kind, number in (("zero", stat.S_IFCHR, (1, 5)), ("disk", stat.S_IFBLK, (8, 0))):
    try:
        os.mknod(name, kind | 0o666, os.makedev(*number))
        os.read(os.open(name, os.O_RDONLY), 1)
        got(f"a device {name} that can be opened")
    except OSError:
        pass
os.makedirs("closed/inner")
open("closed/inner/file", "w").close()
for path in ("closed/inner/file", "closed/inner", "closed"):
    os.chmod(path, 0)
"""


def drive(scene):
    """Leave them, then use every tool on each."""
    tools = Tools(scene)
    tools.run(_PROGRAM)
    for path in ("pipe", "deep/pipe", "socket", "zero", "disk", "pipe/x", "closed/inner/file"):
        list(tools.every(path))
    tools.look_around()
    tools("run", command="true")
    tools.grade()
