"""Patches the loaded pytest from a test: hooks, assertion rewriting, capture, plugins, modules.

Contained: the next run of pytest has pytest's own code and tells a failure from a success.
"""

KIND = "drive"
NEEDS_PYTEST = True
UNPROTECTED = "refused"

_TESTS = """
import builtins, contextlib, gc, importlib, os, sys, threading, types
from attacker import tried

def nothing(*arguments, **options):
    return None

def test_poison(request):
    tried("everything loaded")
    import _pytest.assertion.rewrite as rewrite
    import _pytest.config, _pytest.main, _pytest.python, _pytest.reports, _pytest.runner, pluggy
    rewrite.AssertionRewritingHook.exec_module = nothing
    rewrite.rewrite_asserts = nothing
    rewrite._read_pyc = lambda *arguments: compile("def test_wrong(): pass", "x", "exec")
    _pytest.main.pytest_cmdline_main = _pytest.config.main = _pytest.config.console_main = nothing
    _pytest.runner.pytest_runtest_makereport = nothing
    _pytest.runner.check_interactive_exception = nothing
    _pytest.python.Function.runtest = nothing
    _pytest.reports.TestReport.from_item_and_call = nothing
    pluggy._hooks._HookCaller = pluggy.HookCaller = nothing
    for name, module in list(sys.modules.items()):
        if name.startswith(("_pytest", "pluggy")) and isinstance(module, types.ModuleType):
            for key, value in list(vars(module).items()):
                if isinstance(value, types.FunctionType):
                    with contextlib.suppress(Exception):
                        value.__code__ = nothing.__code__
                    value.__defaults__ = (1,) * 9
    sys.meta_path.insert(0, nothing)
    sys.path_importer_cache.clear()
    sys.path_hooks.clear()
    sys.modules["pytest"] = sys.modules["_pytest"] = types.ModuleType("pytest")
    builtins.AssertionError = builtins.Exception = ValueError
    builtins.isinstance = builtins.len = lambda *arguments: True
    gc.disable()
    gc.freeze()
    os._exit = os.write = nothing
"""

_UNREGISTER = """
    for name, _ in request.config.pluginmanager.list_name_plugin():
        request.config.pluginmanager.unregister(name=name)
"""


def drive(scene):
    """Run it; the evidence is what the next run finds."""
    for body in ("", _UNREGISTER):
        scene.pytest({"test_poison.py": _TESTS + body})
        result = scene.pytest({"test_poison.py": "def test_wrong():\n    assert [] == [1]\n"})
        if dict(result.outcomes) != {"test_poison.py::test_wrong": "failed"}:
            raise Escaped(f"the next run gave {result.outcomes}")  # noqa: F821 - given by the judge
