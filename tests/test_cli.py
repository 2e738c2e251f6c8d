import json

import pytest
from typer.testing import CliRunner

from sim2live.cli import app, main

runner = CliRunner()


def run(*arguments, code=0):
    result = runner.invoke(app, list(map(str, arguments)))
    assert result.exit_code == code, (result.output, result.exception)
    return result.stdout


@pytest.fixture(scope="module")
def store(tmp_path_factory, request):
    shared = request.getfixturevalue("shared_data")
    out = tmp_path_factory.mktemp("store")
    result = runner.invoke(app, ["ingest", str(shared / "trajectories"), "--out", str(out)])
    assert result.exit_code == 0
    return out


@pytest.mark.parametrize(
    "verb", ["demo", "train", "ingest", "replay", "mismatch", "detect", "report"]
)
def test_every_verb_has_help_with_an_example_and_json(verb):
    output = run(verb, "--help")
    assert "Example" in output
    assert "--json" in output


def test_ingest_reports_every_format_and_reason(shared_data, tmp_path):
    # Some records of the samples are broken; only --strict makes an exit code of that.
    output = run(
        "ingest", shared_data / "trajectories", "--out", tmp_path, "--json", "--strict", code=1
    )
    report = json.loads(output)
    formats = {file["format"] for file in report["files"]}
    assert {"claude_code", "atif", "mini_swe_agent"} <= formats
    for file in report["files"]:
        loss = file["loss"]
        parts = [sum(loss[key].values()) for key in ("converted", "kept_aside", "skipped")]
        assert sum(parts) == sum(loss["present"].values()) == file["num_records"]


def test_ingesting_twice_adds_nothing(shared_data, store):
    report = json.loads(run("ingest", shared_data / "trajectories", "--out", store, "--json"))
    assert sum(file["num_added"] for file in report["files"]) == 0


def test_mismatch_compares_the_scripted_user_with_the_people_in_the_logs(store, tmp_path):
    result = json.loads(run("mismatch", "--logs", store, "--out", tmp_path, "--json"))
    lines = result["reactions"]["lines"]
    assert {line["loop"] for line in lines} == {"open-loop"}
    assert {line["verdict"] for line in lines} <= {"inconclusive", "not identifiable"}
    assert (tmp_path / "reactions.json").exists()
    assert "report.html" in run("report", tmp_path)


def test_replay_answers_its_own_log(store):
    result = json.loads(run("replay", store, "--json"))
    assert result["open_loop"]
    assert all(
        row["num_answered"] + row["unanswerable"] == row["num_turns"]
        for row in result["sessions"]
        if row["coverage"] is not None
    )


def test_detect_reads_stores_and_counts_sessions(store):
    result = json.loads(run("detect", store, "--json"))
    assert result["num_sessions"] > 10
    assert result["num_hacks"] == 0


def test_training_runs_stops_and_goes_on(tmp_path):
    out = tmp_path / "one"
    options = ("--batch-size", 8, "--eval-tasks", 2, "--json", "--seed", 1, "--kl-coef", 0.05)
    first = json.loads(run("train", "--steps", 2, "--out", out, *options))
    assert first["steps"] == [0, 2]
    assert "KL penalty 0.05" in first["estimator"]
    metrics = first["last_metrics"]
    assert 0.0 < metrics["sandbox/check_cache_hit_frac"] < 1.0
    # The second update begins away from the reference, so there is a distance to it.
    assert metrics["train/reference_kl"] > 0.0
    again = json.loads(
        run("train", "--steps", 1, "--resume", out / "checkpoint.pt", "--out", out, *options)
    )
    assert again["steps"] == [2, 3]
    rows = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    assert [row["step"] for row in rows] == [0, 1, 2]
    assert "report.html" in run("report", out)


@pytest.mark.parametrize("source", ["live", "mix"])
def test_training_on_live_and_mixed_traffic(source, tmp_path):
    result = json.loads(
        run(
            *("train", "--source", source, "--steps", 1, "--batch-size", 8, "--eval-tasks", 0),
            *("--flaw", "discard_invalid", "--out", tmp_path, "--json"),
        )
    )
    assert "batch mean" in result["estimator"]


def test_a_language_model_trains_through_the_same_command(tmp_path):
    from sim2live.agents.tiny_lm import make_tiny_lm

    model = make_tiny_lm(tmp_path / "model")
    result = json.loads(
        run(
            *("train", "--policy", f"hf:{model}", "--steps", 1, "--batch-size", 4),
            *("--eval-tasks", 0, "--out", tmp_path / "out", "--json"),
        )
    )
    assert result["last_metrics"]["train/num_turns"] > 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("train", "--source", "moon"), "unknown source `moon`"),
        (("train", "--source", "replayed"), "needs --logs STORE"),
        (("train", "--source", "live", "--algorithm", "grpo"), "gives one"),
        (("train", "--policy", "hf:/nowhere"), "there is no `/nowhere`"),
        (("report", "/nowhere"), "holds no run"),
        (("replay", "/nowhere"), "no store"),
        (("detect", "/nowhere"), "there is no `/nowhere`"),
        (("mismatch", "--logs", "/nowhere"), "no store"),
    ],
)
def test_mistakes_end_in_one_line_and_exit_code_two(arguments, message, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["sim2live", *arguments])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2
    assert message in " ".join(capsys.readouterr().err.split())


@pytest.mark.slow
def test_the_demo_runs_whole_at_a_small_scale_and_one_seed_gives_one_result(tmp_path):
    figures = []
    for name in ("a", "b"):
        output = run("demo", "--scale", 0.05, "--out", tmp_path / name, "--seed", 3, "--json")
        figures.append(json.loads(output)["figures"])
    assert figures[0] == figures[1]
    report = (tmp_path / "a" / "report.html").read_text()
    assert "stand-in for production" in report
    assert "<script src=" not in report  # self-contained
    assert (tmp_path / "a" / "tensorboard").is_dir()
