"""The source of the server that runs inside containers, as text to send over a stream.

It is these modules' own source: the server's module and every sibling that it imports, found by
reading the imports, in an order in which each comes after those it needs.
"""

from __future__ import annotations

import ast
import functools
import json
import struct
from pathlib import Path

_FOLDER = Path(__file__).resolve().parent
_PACKAGE = "sandbox_server"

# Reads a size and that many bytes of JSON: the modules in order and the arguments of `main`.
BOOT = f"""
import json, os, struct, sys, types
def take(size):
    data = b''
    while len(data) < size:
        part = os.read(0, size - len(data))
        if not part:
            os._exit(0)
        data += part
    return data
bundle = json.loads(take(struct.unpack('!Q', take(8))[0]))
package = types.ModuleType({_PACKAGE!r})
package.__path__ = []
sys.modules[package.__name__] = package
for name, source in bundle['modules']:
    module = types.ModuleType(package.__name__ + '.' + name)
    module.__package__ = package.__name__
    module.__file__ = '<' + module.__name__ + '>'
    sys.modules[module.__name__] = module
    setattr(package, name, module)
    exec(compile(source, module.__file__, 'exec', dont_inherit=True), module.__dict__)
module.main(*bundle['arguments'])
"""
# No site (-s -S), no script folder on the path (-P), no bytecode (-B). Not -I, which would ignore
# the fixed hash seed.
ENVIRONMENT = {
    "LANG": "C.UTF-8",
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "PYTHONHASHSEED": "0",
}
COMMAND = ("python3", "-s", "-S", "-P", "-B", "-c", BOOT)


def bundle(*arguments: int) -> bytes:
    """Return what has to be sent to a process that was started as `COMMAND`.

    Args:
        arguments: of the server's `main`.
    """
    text = json.dumps({"modules": _modules(), "arguments": arguments}).encode()
    return struct.pack("!Q", len(text)) + text


@functools.cache
def _modules() -> tuple[tuple[str, str], ...]:
    found: dict[str, str] = {}
    _add("docker_server", found)
    return tuple(found.items())


def _add(name: str, found: dict[str, str]) -> None:
    source = (_FOLDER / f"{name}.py").read_text()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.level == 1:
            for sibling in [node.module] if node.module else [alias.name for alias in node.names]:
                if sibling not in found:
                    _add(sibling, found)
    found[name] = source
