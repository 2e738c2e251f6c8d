"""What a run of pytest finds and sends back, beyond what the conformance suite asks of it."""

import pytest

from sim2live.envs.sandbox import make_sandbox

_THREADS = """
import threading

def test_main_thread():
    assert threading.main_thread().is_alive()
    threading.Thread(target=lambda: (threading.Event().wait(0.05), print("waited for"))).start()
"""
_REPORT = """
import os

def pytest_collection_modifyitems(config):
    for plugin in config.pluginmanager.get_plugins():
        if callable(report := getattr(plugin, "_report", None)):
            report({fields})
            os._exit(0)
"""


@pytest.fixture(scope="module")
def sandbox():
    with make_sandbox("namespaces") as box:
        yield box


def test_the_rehearsal_of_the_server_ends_no_thread_of_its_forks(sandbox):
    sandbox.write_file("test_threads.py", _THREADS.encode())
    result = sandbox.pytest(["-s", "test_threads.py"])
    assert result.is_ok
    assert b"waited for" in result.execution.stdout


@pytest.mark.parametrize(
    "fields", ['{"tests": 5}', '{"tests": None}', '{"tests": {}}', '{"tests": "abc"}']
)
def test_a_list_of_tests_that_is_none_is_no_list(sandbox, fields):
    sandbox.write_file("conftest.py", _REPORT.replace("{fields}", fields).encode())
    sandbox.write_file("test_none.py", b"def test_it():\n    pass\n")
    result = sandbox.pytest(["test_none.py"])
    sandbox.remove_file("conftest.py")
    assert dict(result.outcomes) == {"<module>": "missing"}


def test_names_and_messages_can_be_written_down(sandbox):
    fields = r'{"tests": ["a\ud800"]}), report({"name": "a\ud800", "outcome": "failed"}'
    sandbox.write_file("conftest.py", _REPORT.replace("{fields}", fields).encode())
    result = sandbox.pytest()
    sandbox.remove_file("conftest.py")
    assert dict(result.outcomes) == {"a\\ud800": "failed"}
