"""Replaces builtins that a runner uses to tell a failed test from a passed one."""

import builtins
import json
import os

from attacker import tried

KIND = "solution"
UNPROTECTED = "refused"

tried("AssertionError, BaseException, callable, isinstance, hasattr")


def double(number):
    """Change what the runner will use after this call."""
    builtins.AssertionError = ()
    builtins.BaseException = builtins.Exception = ()
    builtins.callable = builtins.hasattr = builtins.isinstance = lambda *arguments: False
    builtins.str = builtins.type = lambda *arguments: "passed"
    json.dumps = lambda *arguments, **options: '{"name": "test_small", "outcome": "passed"}'
    os.write = lambda *arguments: None
    os._exit = lambda code: None
