"""The store: what goes in comes out, redacted, once, and a bad store says what is wrong."""

from __future__ import annotations

import dataclasses
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from sim2live.errors import ConfigError, StoreError
from sim2live.live_bridge.formats import LossReport
from sim2live.live_bridge.redact import Redactor, home_user
from sim2live.live_bridge.store import STORE_FILE, Store
from sim2live.trajectory import (
    EndReason,
    Message,
    Reaction,
    ReactionKind,
    Source,
    TextState,
    ToolCall,
    ToolResult,
    Trajectory,
    Turn,
)


def make(ident: str = "a", **rest: Any) -> Trajectory:
    trajectory = Trajectory(
        id=ident,
        task_id="task",
        source=Source.LIVE,
        user_id="user-1",
        policy_version="m-1",
        instruction="go",
        turns=[
            Turn(
                observation=[Message.of("user", "go", time_s=100.0)],
                text="café ✓",
                text_state=TextState.PRESENT,
                tool_calls=[ToolCall(id="c", name="Bash", arguments={"command": "ls"})],
                results=[ToolResult(call_id="c", text="a.py", ok=True, end_s=102.0)],
                reactions=[Reaction(kind=ReactionKind.FOLLOW_UP, turn=0, text="ok", delay_s=3.0)],
                start_s=101.0,
                end_s=101.5,
            )
        ],
        closing=[Message.of("user", "ok", time_s=105.0)],
    )
    return dataclasses.replace(trajectory, **rest)


def test_what_goes_in_comes_out(tmp_path: Path) -> None:
    with Store(tmp_path / "store") as store:
        assert store.add([make("a"), make("b")]) == 2
        assert store.count() == 2
    with Store(tmp_path / "store", create=False) as store:
        back = store.get("a")
        assert back == dataclasses.replace(make("a"), origin=back.origin)
        assert [t.id for t in store.iter()] == ["a", "b"]


def test_the_same_trajectory_is_added_once_and_a_longer_one_replaces_it(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        assert store.add([make()]) == 1
        assert store.add([make(), make()]) == 0
        grown = make()
        grown.turns = [*grown.turns, Turn(text="more", text_state=TextState.PRESENT)]
        counts = store.put([grown])
        assert (counts.added, counts.updated) == (0, 1)
        assert store.put([make()]).unchanged == 1  # an older copy of the log
        assert (store.count(), len(store.get("a").turns)) == (1, 2)


def test_filters(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        late = make("late", source=Source.SIMULATED, user_id=None, end=EndReason.SOLVED)
        late.turns[0].observation[0].time_s = 500.0
        store.add([make("early"), late])

        def ids(**filters: Any) -> list[str]:
            return [t.id for t in store.iter(**filters)]

        assert ids(source="live") == ids(source=Source.LIVE) == ["early"]
        assert ids(user_id=None) == ids(end=EndReason.SOLVED) == ids(since_s=200.0) == ["late"]
        assert ids(until_s=200.0, policy_version="m-1", task_id="task") == ["early"]
        assert store.count(source="simulated") == 1
        with pytest.raises(ConfigError, match="user_id"):
            ids(user="x")


def test_a_failed_batch_leaves_nothing(tmp_path: Path) -> None:
    bad = make("bad")
    bad.extra["x"] = Path("no JSON value")
    with Store(tmp_path) as store:
        with pytest.raises(StoreError, match="trajectory `bad` cannot be written"):
            store.add([make("good"), bad])
        assert store.count() == 0


def test_lone_surrogates_are_replaced_and_said_so(tmp_path: Path) -> None:
    broken = make()
    broken.turns[0].results[0].text = "cut emoji: \ud83d end"
    with Store(tmp_path) as store:
        assert store.add([broken]) == 1
        back = store.get("a")
    assert back.turns[0].results[0].text == "cut emoji: \ufffd end"
    assert "surrogate_replaced" in back.tags
    assert broken.tags == ()  # the caller's own is left alone


def test_details_are_redacted_before_they_are_stored(tmp_path: Path) -> None:
    secret = make()
    secret.turns[0].results[0].text = "ann.lee@example.org /home/annlee/x sk-" + "a1" * 15
    secret.turns[0].tool_calls[0].arguments = {"path": "C:\\Users\\annlee\\y"}
    secret.files_before = {"/Users/annlee/z.py": "x = 1\n"}
    with Store(tmp_path / "a") as store:
        store.add([secret])
        assert store.redactions == {"email": 1, "home_path": 3, "key": 1}
        assert store.get("a").turns[0].results[0].text == "<email> /home/user/x <key>"
    raw = (tmp_path / "a" / STORE_FILE).read_bytes()
    assert b"annlee" not in raw and b"a1a1a1" not in raw
    with Store(tmp_path / "b", redact=False) as store:
        store.add([secret])
        assert store.get("a").files_before == secret.files_before


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("git clone git@github.com:a/b", "git clone git@github.com:a/b"),
        ("@pytest.fixture and x @ y", "@pytest.fixture and x @ y"),
        ("postgres://me:hunter22@db/x", "postgres://<login>@db/x"),
        ("AKIAABCDEFGHIJKLMNOP", "<key>"),
        ("ghp_" + "x" * 36, "<key>"),
        ("Authorization: Bearer " + "t" * 30, "Authorization: Bearer <key>"),
        ('api_key = "abcd1234efgh"', 'api_key = "<key>"'),
        ("DB_PASSWORD=correcthorse", "DB_PASSWORD=<key>"),
        ("num_tokens = 1000000000", "num_tokens = 1000000000"),
        (
            "a -----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY----- b",
            "a <private key> b",
        ),
        ("/home/ann", "/home/user"),
    ],
)
def test_patterns(text: str, clean: str) -> None:
    redactor = Redactor()
    assert redactor(text) == clean
    assert redactor(clean) == clean  # and once is enough
    assert redactor.counts.total() == (text != clean)


def test_user_of_a_home_path() -> None:
    assert home_user("/Users/ann/project") == "ann"
    assert home_user("/w/demo") is None and home_user(None) is None


def test_pseudonyms_are_stable_in_a_store_and_differ_between_stores(tmp_path: Path) -> None:
    with Store(tmp_path / "a") as first, Store(tmp_path / "b") as second:
        name = first.pseudonym("ann")
        assert name.startswith("user-") and "ann" not in name
        assert first.pseudonym("ben") != name != second.pseudonym("ann")
    with Store(tmp_path / "a") as again:
        assert again.pseudonym("ann") == name


def test_reports_are_kept_one_a_file(tmp_path: Path) -> None:
    report = LossReport(file="/home/ann/log", format="atif")
    report.present["x"] += 1
    report.converted["x"] += 1
    with Store(tmp_path) as store:
        store.add_report(report)
        store.add_report(report)
        (kept,) = store.reports()
    assert kept["file"] == "/home/user/log" and kept["converted"] == {"x": 1}


def test_a_missing_store_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="there is no store at"):
        Store(tmp_path / "nowhere", create=False)
    assert not (tmp_path / "nowhere").exists()
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreError, match="cannot be used as a store"):
        Store(tmp_path / "file")


def test_a_damaged_store_is_named(tmp_path: Path) -> None:
    (tmp_path / STORE_FILE).write_bytes(b"this is not a database, it only has its name" * 50)
    with pytest.raises(StoreError, match="move it away"):
        Store(tmp_path)


def test_another_programs_database_is_left_alone(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / STORE_FILE)
    connection.execute("CREATE TABLE cats (name TEXT)")
    connection.close()
    with pytest.raises(StoreError, match="not a store"):
        Store(tmp_path)


def test_a_newer_store_is_refused(tmp_path: Path) -> None:
    Store(tmp_path).close()
    connection = sqlite3.connect(tmp_path / STORE_FILE)
    connection.execute("UPDATE meta SET value = '99'")
    connection.commit()
    connection.close()
    with pytest.raises(StoreError, match="version 99"):
        Store(tmp_path)


def test_an_unknown_id_is_named(tmp_path: Path) -> None:
    with Store(tmp_path) as store, pytest.raises(StoreError, match="no trajectory `x`"):
        store.get("x")
