"""Has a command leave files of one giant line, of empty lines, of no text, of nothing.

Contained: answers and the caller's memory stay bounded, and looking through them takes no time.
"""

from tool_calls import Tools

KIND = "drive"
UNPROTECTED = "refused"

LIMITS = {"wall_time_s": 3.0}
_PROGRAM = """
from attacker import tried
tried("huge files")
size = (4 << 20) - 1
for name, piece in (("line", b"canary "), ("lines", b"\\n"), ("bytes", b"\\xff"), ("two", b"x\\n")):
    with open(name, "wb") as file:
        try:
            file.write(piece * ((1 << 20) // len(piece)))
        except OSError:
            pass
with open("sparse", "wb") as file:
    file.truncate(size)
"""


def drive(scene):
    """Leave them, then read, edit and search."""
    tools = Tools(scene)
    tools.run(_PROGRAM)
    tools.look_around()
    for path in ("line", "lines", "bytes", "two", "sparse"):
        tools("read_file", path=path)
        tools("edit_file", path=path, old="canary", new="x")
        tools("edit_file", path=path, old="", new="x")
    tools("write_file", path="big", text="y" * (5 << 20))
    tools("write_file", path="big", text="\u20ac" * (3 << 20))
    tools.look_around()
    tools.grade()
