"""Changes builtins, modules, finders and exit functions for whoever comes after."""

import atexit
import builtins
import json
import os
import sys

from attacker import tried

UNPROTECTED = "refused"


class _Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        os.write(1, b"")


tried("the interpreter's own state")
sys.modules["solution"] = sys.modules["planted"] = sys
sys.meta_path.insert(0, _Finder)
sys.path.insert(0, "/tmp")
sys.path_importer_cache.clear()
atexit.register(os.write, 1, b"planted\n")
json.dumps = json.loads = os.getcwd = None
os.environ["PYTHONPATH"] = os.environ["LD_PRELOAD"] = "/tmp/planted"
builtins.planted = True
builtins.len = builtins.open = builtins.__import__ = None
