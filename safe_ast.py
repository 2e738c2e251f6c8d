"""`ast.parse` that several threads may call at once.

CPython 3.11 keeps the recursion depth of its conversion to Python objects in state that all threads
share, so two parses at a time can end in `SystemError: AST constructor recursion depth mismatch`
(python/cpython issue 106905). Rollouts step environments in threads; whatever they call must parse
through here.
"""

from __future__ import annotations

import ast
import threading

_LOCK = threading.Lock()


def parse(source: str) -> ast.Module:
    """Parse a module.

    Raises:
        SyntaxError: the source does not parse (ValueError, RecursionError and MemoryError too, as
            `ast.parse`).
    """
    with _LOCK:
        return ast.parse(source)
