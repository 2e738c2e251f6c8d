"""Folders of logs into a store, with an account that adds up."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sim2live.errors import ConfigError
from sim2live.live_bridge.formats import UNKNOWN
from sim2live.live_bridge.ingest import IngestReport, ingest_paths
from sim2live.live_bridge.store import Store

Filled = tuple[list[Path], Store, IngestReport]


@pytest.fixture(scope="module")
def filled(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Filled]:
    """A store that holds all samples, and the account of reading them."""
    paths = [data / "trajectories", data / "cases"]
    with Store(tmp_path_factory.mktemp("all") / "store") as store:
        yield paths, store, ingest_paths(paths, store)


def test_all_samples_are_read_and_accounted_for(filled: Filled) -> None:
    _, store, report = filled
    assert report.is_balanced
    assert set(report.formats) == {"claude_code", "atif", "mini_swe_agent", UNKNOWN}
    assert report.total("num_records") == (
        report.num_converted + report.kept_aside.total() + report.skipped.total()
    )
    # The same list of messages lies in the samples twice.
    assert store.count() == report.total("num_added") == report.total("num_trajectories") - 1
    assert len(store.reports()) == len(report.files)


def test_reading_the_same_files_again_adds_nothing(filled: Filled) -> None:
    paths, store, first = filled
    second = ingest_paths(paths, store)
    assert second.total("num_added") == second.total("num_updated") == 0
    assert second.reactions == first.reactions
    assert store.count() == first.total("num_added")


def test_counts_of_one_file(data: Path, tmp_path: Path) -> None:
    path = data / "cases" / "08-reject-with-reason-then-accept.jsonl"
    seen: list[tuple[str, int, int]] = []
    with Store(tmp_path) as store:
        report = ingest_paths([path], store, progress=lambda p, i, n: seen.append((p.name, i, n)))
    (file,) = report.files
    assert (file.num_trajectories, file.num_turns, file.num_calls, file.num_results) == (1, 3, 2, 2)
    assert file.reactions == {"reject": 1, "accept": 1}
    assert seen == [(path.name, 0, 1)]
    *_, total = report.lines()
    assert total.endswith("6 records = 6 converted + 0 kept aside + 0 skipped")
    assert json.loads(json.dumps(report.to_json()))["totals"]["is_balanced"] is True


def test_unknown_files_take_one_line_each_and_are_no_errors(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    for name in ("a.txt", "b.jsonl"):
        (logs / name).write_text("nothing we know\n")
    with Store(tmp_path / "store") as store:
        report = ingest_paths([logs], store)
    assert [line.rpartition(": ")[2] for line in report.lines()][:2] == [UNKNOWN, UNKNOWN]
    assert report.num_skipped == 0 and len(list(report.lines())) == 3


def test_a_log_that_has_grown_is_updated(
    session: Any, write_log: Callable[..., Path], tmp_path: Path
) -> None:
    session.user("go")
    session.says("ok")
    with Store(tmp_path / "store") as store:
        ingest_paths([write_log(*session.records)], store)
        session.user("more")
        session.says("done")
        report = ingest_paths([write_log(*session.records)], store)
        assert (report.total("num_added"), report.total("num_updated")) == (0, 1)
        (trajectory,) = store.iter()
    assert [turn.text for turn in trajectory.turns] == ["ok", "done"]


def test_users_get_pseudonyms_from_whose_home_they_work_in(
    session: Any, write_log: Callable[..., Path], tmp_path: Path
) -> None:
    session.user("go", cwd="/home/ann/project")
    with Store(tmp_path / "store") as store:
        report = ingest_paths([write_log(*session.records)], store)
        (trajectory,) = store.iter()
        assert trajectory.user_id == store.pseudonym("ann")
    assert trajectory.extra["cwd"] == "/home/user/project"
    assert report.redactions["home_path"] >= 1


def test_gzipped_logs_links_and_the_store_itself(
    session: Any, write_log: Callable[..., Path], tmp_path: Path
) -> None:
    session.user("go")
    plain = write_log(*session.records)
    (tmp_path / "log.jsonl.gz").write_bytes(gzip.compress(plain.read_bytes()))
    (tmp_path / "link.jsonl").symlink_to(plain)
    (tmp_path / "lost.jsonl").symlink_to(tmp_path / "nowhere")
    with Store(tmp_path / "store") as store:
        report = ingest_paths([tmp_path, plain], store)
        assert sorted(Path(f.path).name for f in report.files) == ["link.jsonl", "log.jsonl.gz"]
        assert (report.total("num_trajectories"), store.count()) == (2, 1)


def test_a_file_that_cannot_be_opened_is_reported(tmp_path: Path, monkeypatch: Any) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text("{}")

    def refuse(*_: Any, **__: Any) -> Any:
        raise PermissionError("not yours")

    with Store(tmp_path / "store") as store:
        monkeypatch.setattr(Path, "open", refuse)
        report = ingest_paths([path], store)
    assert report.files[0].error == "not yours" and report.num_skipped == 1


def test_a_missing_path_is_an_error_of_the_caller(tmp_path: Path) -> None:
    with Store(tmp_path) as store, pytest.raises(ConfigError, match="does not exist"):
        ingest_paths([tmp_path / "nowhere"], store)


def test_every_sample_can_be_replayed_from_the_store(filled: Filled) -> None:
    from sim2live.envs.replay import ReplayEnv

    trajectories = list(filled[1].iter())
    env = ReplayEnv(trajectories)
    num_steps = num_answered = 0
    for name in env.trajectories:
        env.reset(options={"trajectory_id": name})
        is_over = False
        while not is_over:
            *_, terminated, truncated, info = env.step_forced(env.logged_action())
            is_over = terminated or truncated
            num_steps += 1
            num_answered += info["is_match"]
            assert info["is_match"] or info["rule"] == "unanswerable"
    assert num_steps > 50 and num_answered > 0.9 * num_steps


def test_importing_the_bridge_loads_nothing_heavy() -> None:
    code = (
        "import sys, sim2live.live_bridge as b; b.RULES;"
        "print([m for m in ('sqlalchemy', 'torch', 'scipy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
