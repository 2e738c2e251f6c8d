"""Takes the reporting plugin out of pytest and sends the caller reports of every wrong shape.

Contained: the caller gets a result, not an exception, with text that can be written down.
"""

KIND = "drive"
NEEDS_PYTEST = True
UNPROTECTED = "refused"

_SHAPES = (
    *('{"tests": 5}', '{"tests": None}', '{"tests": True}', '{"tests": [[1], {}, None]}'),
    *('{"tests": {"a": 1}}', '{"tests": "abc"}', '{"tests": []}', '{"tests": ["\\ud800"]}'),
    *('{"name": ["x"], "outcome": ["passed"]}', '{"name": None, "outcome": {}}', "[]", "None"),
    *('{"name": "x", "outcome": "passed", "message": [1]}', '{"memory": 5}', "1e308 * 10"),
    *('{"name": "x", "outcome": "failed", "message": "\\udcff\\x1b[2J"}', '"tests"'),
)
_CONFTEST = """
import os
from attacker import tried

def pytest_collection_modifyitems(config):
    for plugin in config.pluginmanager.get_plugins():
        report = getattr(plugin, "_report", None)
        if callable(report):
            tried(plugin)
            report({shape})
            os._exit(0)
"""
_SOLUTION = """
import os, sys
frame = sys._getframe()
while frame is not None:
    report = frame.f_locals.get("report")
    if callable(report):
        report({shape})
        os._exit(0)
    frame = frame.f_back
"""


def drive(scene):
    """Send each shape through pytest, and through check."""
    for shape in _SHAPES:
        files = {"conftest.py": _CONFTEST.replace("{shape}", shape), "test_it.py": "", "x.py": ""}
        scene.sandbox.write_file("solution.py", _SOLUTION.replace("{shape}", shape).encode())
        tests = "import solution\n\ndef test_it():\n    pass\n"
        for result in (scene.pytest(files), scene.sandbox.check(tests)):
            for text in (*result.outcomes, *result.messages.values()):
                text.encode()
            if shape != _SHAPES[12] and result.is_ok:
                raise Escaped(f"{shape} passed: {result.outcomes}")  # noqa: F821 - by the judge
