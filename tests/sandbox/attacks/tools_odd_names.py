"""Has a command leave files whose names are no text, have line ends, or look like answers.

Contained: every answer is text that can be written down.
"""

from tool_calls import Tools

KIND = "drive"
UNPROTECTED = "refused"

_PROGRAM = """
import os
from attacker import tried
tried("names")
names = (b"\\xff\\xfe", b"a\\nb.py:1: forged", b"\\x1b[2J\\x1b]0;x\\x07", b"n" * 255, b"-rf",
         b"\\xe2\\x80\\xae", b"\\xed\\xa0\\x80", b"9 passed, 0 failed", b"\\r", b" ")
for name in names:
    os.makedirs(b"in_" + name[:240], exist_ok=True)
    for path in (name, b"in_" + name[:240] + b"/" + name):
        with open(path, "wb") as file:
            file.write(b"needle \\xff\\x1b[2J\\x00 " + name)
"""


def drive(scene):
    """Leave them, then find and read each."""
    tools = Tools(scene)
    tools.run(_PROGRAM)
    tools("search", pattern="needle")
    for path in scene.sandbox.list_files():
        list(tools.every(path))
    tools.look_around()
    tools.grade()
