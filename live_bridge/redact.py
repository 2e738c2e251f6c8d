"""Take personal details and keys out of a record before it is stored.

Covered: e-mail addresses, user names in home paths, credentials in URLs, private key blocks, and
keys of well-known shapes. Not covered: names and secrets in prose, host names, other people's
paths. The patterns are stated below; what they replace is counted by kind.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import Any

Redact = Callable[[str], str]

_EMAIL = re.compile(
    r"\b(?!git@)[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){0,4}\.[A-Za-z]{2,24}\b"
)
_HOME = re.compile(r"((?:/home/|/Users/|\b[A-Za-z]:(?:\\+|/)Users(?:\\+|/)))([^/\\\s\"'<>:|,;)]+)")
_URL_LOGIN = re.compile(r"(\b[a-z][a-z0-9+.-]{1,20}://)[^/\s:@\"']{1,200}:[^/\s@\"']{1,200}@")
_PRIVATE_KEY = re.compile(
    r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----.*?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|\Z)", re.S
)
_KEY = re.compile(
    r"\b(?:sk-[A-Za-z0-9_-]{20,}"
    r"|gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{40,}|glpat-[A-Za-z0-9_-]{20,}"
    r"|(?:AKIA|ASIA)[0-9A-Z]{16}|AIza[0-9A-Za-z_-]{35}"
    r"|xox[abposr]-[A-Za-z0-9-]{10,}|hf_[A-Za-z0-9]{30,}"
    r"|eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,})"
)
_BEARER = re.compile(r"(\bBearer\s+)[A-Za-z0-9._~+/=-]{20,}", re.I)
_ASSIGNED = re.compile(
    r"(\b[A-Za-z0-9_]{0,40}(?:api_?key|secret|access_?token|auth_?token|passwo?r?d)[A-Za-z0-9_]{0,20}"
    r"[\"']?\s{0,4}[=:]\s{0,4}[\"']?)(?!<)[A-Za-z0-9_~+/=.!@#$%^&*-]{8,}",
    re.I,
)
_SURROGATE = re.compile("[\ud800-\udfff]")

PATTERNS: tuple[tuple[str, re.Pattern[str], str], ...] = (
    ("private_key", _PRIVATE_KEY, "<private key>"),
    ("key", _KEY, "<key>"),
    ("key", _BEARER, r"\1<key>"),
    ("url_login", _URL_LOGIN, r"\1<login>@"),
    ("key", _ASSIGNED, r"\1<key>"),
    ("email", _EMAIL, "<email>"),
    ("home_path", _HOME, r"\1user"),
)
"""Kind, pattern and replacement, in the order in which they are applied."""


class Redactor:
    """Applies the patterns to texts and counts what they replaced.

    Example:
        >>> Redactor()("mail ann@example.org, see /home/ann/notes")
        'mail <email>, see /home/user/notes'
    """

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def __call__(self, text: str) -> str:
        """Return the text without what the patterns find."""
        for kind, pattern, replacement in PATTERNS:
            changed, count = pattern.subn(replacement, text)
            if count and changed != text:
                self.counts[kind] += count
                text = changed
        return text


def replace_surrogates(text: str) -> str:
    """Replace lone surrogates, which no UTF-8 writer takes, by U+FFFD."""
    return _SURROGATE.sub("\ufffd", text)


def map_strings(value: Any, change: Redact) -> Any:
    """Return a JSON value with `change` applied to every text in it, names of fields included."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {change(name): map_strings(item, change) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [map_strings(item, change) for item in value]
    return value


def home_user(path: str | None) -> str | None:
    """Return the user name in a home path, None if it holds none."""
    match = _HOME.search(path or "")
    return match.group(2) if match else None
