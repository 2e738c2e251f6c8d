"""Has a command fill the work area with as many small files and deep folders as it can.

Contained: tools answer in time, or say what there is no room for.
"""

from tool_calls import Tools

KIND = "drive"
UNPROTECTED = "never"

LIMITS = {"wall_time_s": 3.0}
_PROGRAM = """
import os
from attacker import tried
tried("many files")
try:
    for number in range(1_000_000):
        if number % 100 == 0:
            os.mkdir(f"d{number}")
        with open(f"d{number - number % 100}/{number}", "w") as file:
            file.write("canary")
except OSError:
    pass
try:
    for _ in range(3000):
        os.mkdir("deep")
        os.chdir("deep")
except OSError:
    pass
"""


def drive(scene):
    """Leave them, then do everything."""
    tools = Tools(scene)
    tools.run(_PROGRAM)
    tools.look_around()
    list(tools.every("new/file.txt"))
    list(tools.every("/".join("x" * 60)))
    tools.grade()
