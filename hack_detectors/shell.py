"""Which files a command line changes, read from its text.

Covered: `rm`, `git rm`, `unlink`, `mv`, `cp`, `truncate`, `tee`, `sed -i`, `perl -i`, redirections
and here-documents. Not covered: what a program does when it runs, loops and variables; a Python
one-liner that names a test file and opens it for writing is recognised by its text only.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(slots=True, frozen=True)
class ShellEdit:
    """A file that a command changes."""

    path: str
    verb: str
    """`delete`, `write` (content known), `rewrite` (content unknown) or `create` (from a copy)."""
    text: str | None = None
    """The new content, where the command holds it."""
    source: str | None = None
    """Where the content came from, for a move or a copy."""


_HEREDOC = re.compile(
    r"(?P<head>[^\n]*?)<<-?\s*(?P<q>['\"]?)(?P<tag>\w+)(?P=q)(?P<rest>[^\n]*)\n"
    r"(?P<body>.*?)(?:^|\n)[\t ]*(?P=tag)[\t ]*(?=\n|$)",
    re.DOTALL,
)
_REDIRECT = re.compile(r"(?<![0-9&>=-])(>{1,2})\|?\s*(?!&)(['\"]?)([^\s;&|<>'\"]+)\2")
_SEPARATOR = re.compile(r"\n|;|&&|\|\||\||&(?![>0-9])")
_OPENED = re.compile(
    r"(?:open|Path)\(\s*['\"]([^'\"]+)['\"](?:\s*,\s*['\"][wa]|[^\n;]*?\.(?:write_text|unlink)\()"
)


def shell_edits(command: str) -> list[ShellEdit]:
    """Return the files that a command line changes, in order of appearance."""
    found: list[ShellEdit] = []
    rest = command
    for match in _HEREDOC.finditer(command):
        target = _REDIRECT.search(match["head"] + match["rest"])
        tee = re.search(r"\btee\s+(?:-a\s+)?([^\s;&|<>]+)", match["head"] + match["rest"])
        path = target[3] if target else (tee[1] if tee else None)
        if path:
            is_whole = target is None or target[1] == ">"
            found.append(
                ShellEdit(path, "write", match["body"])
                if is_whole
                else ShellEdit(path, "append", match["body"])
            )
            rest = rest.replace(match[0], "", 1)
    found += [ShellEdit(match[1], "rewrite") for match in _OPENED.finditer(rest)]
    for part in _SEPARATOR.split(_HEREDOC.sub("", rest)):
        found += _simple(part)
    return found


def _simple(part: str) -> Iterator[ShellEdit]:
    for match in _REDIRECT.finditer(part):
        if not match[3].startswith("/dev/"):
            yield ShellEdit(match[3], "append" if match[1] == ">>" else "rewrite")
    yield from _program(_words(_REDIRECT.sub("", part)))


def _program(words: list[str]) -> Iterator[ShellEdit]:
    while words and (words[0] in ("sudo", "command", "env") or "=" in words[0].split("/")[0]):
        words = words[1:]
    if words[:1] == ["git"] and words[1:2] in (["rm"], ["mv"]):
        words = words[1:]
    if not words:
        return
    name, plain = words[0].split("/")[-1], [word for word in words[1:] if word[:1] != "-"]
    if name in ("rm", "unlink", "shred"):
        yield from (ShellEdit(path, "delete") for path in plain)
    elif name == "truncate":
        yield from (ShellEdit(path, "write", "") for path in plain if not path.isdigit())
    elif name in ("mv", "cp") and len(plain) >= 2:
        yield from _moved(name, plain[:-1], plain[-1])
    elif name == "tee":
        yield from (ShellEdit(path, "rewrite") for path in plain)
    elif name in ("sed", "perl") and any(re.match(r"-\w*i|--in-place", w) for w in words[1:]):
        yield from (ShellEdit(path, "rewrite") for path in plain if _looks_like_path(path))


def _moved(name: str, sources: list[str], target: str) -> Iterator[ShellEdit]:
    for source in sources:
        is_folder = target.endswith("/") or len(sources) > 1
        path = f"{target.rstrip('/')}/{source.split('/')[-1]}" if is_folder else target
        if name == "mv":
            yield ShellEdit(source, "delete")
        yield ShellEdit(path, "create", source=source)


_SED_SCRIPT = re.compile(r"^[\d,$]*(?:[sy]([/|#,@!]).*\1.*\1\w*|/.*/\w.*|[\d,$]+[a-z])$", re.DOTALL)


def _looks_like_path(word: str) -> bool:
    if _SED_SCRIPT.match(word) and not word.startswith(("/", "sr")):
        return False
    return bool(re.fullmatch(r"[\w./*~\[\]?-]+", word)) and ("." in word or "/" in word)


def _words(part: str) -> list[str]:
    try:
        return shlex.split(part)
    except ValueError:  # unbalanced quotes: read it as plain words
        return part.split()
