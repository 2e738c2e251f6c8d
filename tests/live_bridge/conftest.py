"""Where the logs lie, and small makers of log lines."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

DATA = Path(__file__).resolve().parents[2] / ".." / "shared" / "data"


@pytest.fixture(scope="session")
def data() -> Path:
    """Real logs and synthetic cases, which lie beside the checkout."""
    if not DATA.is_dir():
        pytest.skip("the sample logs (`../shared/data` beside the checkout) are not here")
    return DATA


@pytest.fixture
def write_log(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that writes records as JSON Lines."""

    def write(*records: Any, name: str = "log.jsonl") -> Path:
        path = tmp_path / name
        lines = [r if isinstance(r, bytes) else json.dumps(r).encode() for r in records]
        path.write_bytes(b"\n".join(lines) + b"\n")
        return path

    return write


class Session:
    """Makes the records of a Claude Code session, chained and stamped, one second apart."""

    def __init__(self, session: str = "s", version: str = "2.1.200") -> None:
        self.records: list[dict[str, Any]] = []
        self.session, self.version = session, version
        self.clock_s = 0.0

    def add(self, type_: str, *, after_s: float = 1.0, **fields: Any) -> dict[str, Any]:
        self.clock_s += after_s
        minutes, seconds = divmod(self.clock_s, 60)
        last = self.records[-1]["uuid"] if self.records else None
        record = {
            "type": type_,
            "uuid": f"u{len(self.records)}",
            "parentUuid": last,
            "sessionId": self.session,
            "version": self.version,
            "timestamp": f"2026-03-02T09:{int(minutes):02}:{seconds:06.3f}Z",
            **fields,
        }
        self.records.append(record)
        return record

    def user(self, content: Any, **fields: Any) -> dict[str, Any]:
        return self.add("user", message={"role": "user", "content": content}, **fields)

    def says(self, text: str, **fields: Any) -> dict[str, Any]:
        return self._assistant([{"type": "text", "text": text}], **fields)

    def calls(self, call_id: str, tool: str = "Edit", **fields: Any) -> dict[str, Any]:
        block = {"type": "tool_use", "id": call_id, "name": tool, "input": {"a": call_id}}
        return self._assistant([block], **fields)

    def result(
        self, call_id: str, text: str = "ok", is_error: bool = False, **fields: Any
    ) -> dict[str, Any]:
        block = {
            "type": "tool_result",
            "tool_use_id": call_id,
            "content": text,
            "is_error": is_error,
        }
        return self.user([block], **fields)

    def refused(self, call_id: str, **fields: Any) -> dict[str, Any]:
        text = "The user doesn't want to proceed with this tool use. The tool use was rejected."
        return self.result(call_id, text, True, toolUseResult="User rejected tool use", **fields)

    def _assistant(self, content: list[Any], **fields: Any) -> dict[str, Any]:
        ident = fields.pop("message_id", f"m{len(self.records)}")
        message = {"id": ident, "role": "assistant", "model": "m-1", "content": content}
        return self.add("assistant", message=message, requestId=f"r-{ident}", **fields)


@pytest.fixture
def session() -> Session:
    """A maker of session records."""
    return Session()
