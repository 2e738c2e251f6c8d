import json
import subprocess

import pytest

from sim2live.envs.grading import check_exam, exam_mode, grade_exam
from sim2live.envs.sandbox import make_sandbox
from sim2live.envs.sandbox.base import Snapshot
from sim2live.envs.tasks.formats import load_tasks, read_tasks
from sim2live.envs.tasks.formats.git_history import all_objects, reachable, read_commit
from sim2live.errors import ConfigError, FormatError

BROKEN = "def double(x):\n    return x + x + 1\n"
FIXED = "def double(x):\n    return x + x\n"
TESTS = (
    "from calc.core import double\n\n\ndef test_zero_is_even():\n    assert double(3) % 2 == 1\n"
)
NEW_TESTS = (
    "from calc.core import double\n\n\ndef test_double():\n    assert double(2) == 4\n\n\n"
    "def test_name():\n    assert double.__name__ == 'double'\n"
)
SECRET = "the-fix-is-here-4711"


def git(folder, *args):
    settings = ["-c", "user.name=T", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
    words = ["git", *settings, *args]
    return subprocess.run(words, cwd=folder, check=True, capture_output=True, text=True).stdout


def commit(folder, message, files):
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", message)
    return git(folder, "rev-parse", "HEAD").strip()


@pytest.fixture(scope="module")
def clones(tmp_path_factory):
    """A clone whose future shows the fix in every place that git has for it."""
    root = tmp_path_factory.mktemp("clones")
    clone = root / "own__calc"
    clone.mkdir()
    git(clone, "init", "-q", "--initial-branch=trunk")
    commit(clone, "first", {"calc/__init__.py": "", "calc/core.py": "def double(x):\n    pass\n"})
    (clone / "logo.png").write_bytes(b"\x89PNG\0\xff")
    base = commit(
        clone, "second", {"calc/core.py": BROKEN, "tests/test_old.py": TESTS, "run.sh": "#!/bin/sh"}
    )
    fix = commit(clone, SECRET, {"calc/core.py": FIXED, "tests/test_core.py": NEW_TESTS})
    git(clone, "tag", "v2")
    git(clone, "tag", "-a", "v3", "-m", SECRET)
    git(clone, "branch", "future")
    git(clone, "notes", "add", "-m", SECRET, base)
    git(clone, "update-ref", "refs/remotes/origin/main", fix)
    git(clone, "remote", "add", "origin", "https://example.org/own/calc")
    (clone / "calc/core.py").write_text(FIXED + f"# {SECRET}\n")
    git(clone, "stash")
    git(clone, "checkout", "-q", base)
    dangling = commit(clone, "dangling", {"calc/lost.py": f"# {SECRET}\n"})
    git(clone, "checkout", "-q", base)
    git(clone, "replace", base, fix)
    git(clone, "gc", "-q")
    git(clone, "repack", "-q", "-a", "-d", "-k")
    (clone / ".git/hooks").mkdir(exist_ok=True)
    (clone / ".git/hooks/post-index-change").write_text("#!/bin/sh\ntouch hooked\n")
    patch = git(clone, "--no-replace-objects", "diff", base, fix, "--", "calc")
    test_patch = git(clone, "--no-replace-objects", "diff", base, fix, "--", "tests")
    return root, {"base": base, "fix": fix, "dangling": dangling}, (patch, test_patch)


def instance(clones, **changes):
    _, names, (patch, test_patch) = clones
    fields = {
        "instance_id": "own__calc-1",
        "repo": "own/calc",
        "base_commit": names["base"],
        "problem_statement": "`double` is one too high.",
        "patch": patch,
        "test_patch": test_patch,
        "FAIL_TO_PASS": json.dumps(["tests/test_core.py::test_double"]),
        "PASS_TO_PASS": ["tests/test_core.py::test_name"],
        "version": "1",
        "hints_text": SECRET,
    }
    return {**fields, **changes}


def load(clones, folder, **changes):
    path = folder / "instances.jsonl"
    path.write_text(json.dumps(instance(clones, **changes)) + "\n")
    return read_tasks(path, repositories=clones[0])


def test_the_tree_and_the_history_end_at_the_base_commit(clones, tmp_path):
    root, names, _ = clones
    clone = root / "own__calc"
    found = read_commit(clone, names["base"])
    assert found.files["calc/core.py"].decode() == BROKEN
    assert found.files["logo.png"] == b"\x89PNG\0\xff"
    fresh = tmp_path / "fresh"
    for path, data in found.git.items():
        (fresh / path).parent.mkdir(parents=True, exist_ok=True)
        (fresh / path).write_bytes(data)
    assert git(fresh, "log", "--all", "--format=%s").split() == ["second", "first"]
    assert git(fresh, "for-each-ref", "--format=%(refname)").split() == ["refs/heads/main"]
    assert git(fresh, "reflog", "--all") == git(fresh, "stash", "list") == ""
    assert git(fresh, "remote") == git(fresh, "tag") == ""
    present = all_objects(fresh)
    assert present == reachable(clone, names["base"]) == reachable(fresh, "HEAD")
    future = all_objects(clone) - present
    assert {names["fix"], names["dangling"]} <= future
    for name in future:
        done = subprocess.run(["git", "cat-file", "-e", name], cwd=fresh, check=False)
        assert done.returncode, f"{name} can be read"
    assert not [path for path, data in found.git.items() if SECRET.encode() in data]
    assert {path.split("/")[1] for path in found.git} == {
        *("HEAD", "config", "index", "objects", "refs")
    }
    assert not (clone / "hooked").exists()


def test_an_agent_finds_a_working_repository_without_the_future(clones, tmp_path):
    (task,) = load(clones, tmp_path).tasks
    assert task.brief.goal == "`double` is one too high."
    with make_sandbox("namespaces") as box:
        files = {path: text.encode() for path, text in task.files.items()}
        box.restore(Snapshot(files={**task.binary_files, **files}))
        assert box.exec(["git", "status", "--porcelain"]).text == ""
        log = box.exec(["git", "log", "--all", "-p"]).text
        assert "second" in log
        assert SECRET not in log
        assert box.exec(["git", "cat-file", "-e", clones[1]["fix"]]).exit_code
    everything = repr(task.files) + repr(task.binary_files) + repr(task.brief)
    assert SECRET not in everything
    assert "test_double" not in everything


def test_the_fix_is_solved_the_base_is_not_and_history_stays_out_of_it(clones, tmp_path):
    report = load(clones, tmp_path)
    (loaded,) = report.loaded
    check = check_exam(loaded.task, loaded.solution, lambda: make_sandbox("namespaces"))
    assert (check.is_usable, check.mode.value) == (True, "apart")
    task = check.mark(loaded.task)
    assert exam_mode(task).value == "apart"
    work = {path: text.encode() for path, text in task.files.items()} | dict(task.binary_files)
    bad = grade_exam(task, work, make_sandbox)
    assert (bad.is_solved, bad.num_passed) == (False, 1)
    assert grade_exam(task, {**work, **loaded.solution}, make_sandbox).is_solved
    assert task.module_path == "calc/core.py"
    assert task.reference == FIXED


def test_an_instance_whose_tests_pass_already_is_rejected_at_load(clones, tmp_path):
    names = '["tests/test_core.py::test_name"]'
    path = tmp_path / "instances.jsonl"
    path.write_text(json.dumps(instance(clones, FAIL_TO_PASS=names, PASS_TO_PASS=[])))
    with pytest.raises(FormatError, match="passes on the broken work already"):
        load_tasks(path, repositories=clones[0], make_sandbox=make_sandbox)


def test_bare_test_names_are_looked_up_in_the_test_patch(clones, tmp_path):
    (task,) = load(clones, tmp_path, FAIL_TO_PASS=["test_double"]).tasks
    assert task.exam.fail_to_pass == ("tests/test_core.py::test_double",)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"base_commit": "0" * 40}, "has no commit"),
        ({"base_commit": "--upload-pack=touch x"}, "expected the hash of a commit"),
        ({"repo": "own/other"}, "no clone of own/other"),
        ({"repo": "../calc"}, "expected `owner/name`"),
        ({"patch": "hello"}, "field `patch`"),
        ({"FAIL_TO_PASS": "["}, "field `FAIL_TO_PASS` is not valid JSON"),
        ({"FAIL_TO_PASS": []}, "is empty"),
        ({"FAIL_TO_PASS": ["test_x (a.B)"]}, "no test id of pytest"),
        ({"PASS_TO_PASS": None}, "field `PASS_TO_PASS` is missing"),
        ({"problem_statement": " "}, "field `problem_statement` is empty"),
    ],
)
def test_a_bad_field_is_named(clones, tmp_path, change, words):
    report = load(clones, tmp_path, **change)
    assert report.num_skipped == 1
    assert words in str(report.problems[0])


@pytest.mark.parametrize("path", ["../x.py", "/etc/x", ".git/../../x"])
def test_a_patch_cannot_write_outside(clones, tmp_path, path):
    patch = f"--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+x\n"
    report = load(clones, tmp_path, test_patch=patch)
    assert "leaves the repository" in str(report.problems[0])


def test_a_patch_that_does_not_apply_is_named(clones, tmp_path):
    patch = "--- a/calc/core.py\n+++ b/calc/core.py\n@@ -1 +1 @@\n-other\n+x\n"
    assert "does not apply" in str(load(clones, tmp_path, patch=patch).problems[0])


def test_the_clones_must_be_given(clones, tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps(instance(clones)))
    with pytest.raises(ConfigError, match="repositories"):
        load_tasks(path)


def test_a_shallow_clone_gives_the_history_that_it_has(clones, tmp_path):
    shallow = tmp_path / "shallow"
    base = clones[1]["base"]
    git(clones[0] / "own__calc", "branch", "-f", "at-base", base)
    source = f"file://{clones[0] / 'own__calc'}"
    git(tmp_path, "clone", "-q", "--depth=1", "--branch=at-base", source, str(shallow))
    git(clones[0] / "own__calc", "branch", "-D", "at-base")
    found = read_commit(shallow, base)
    assert ".git/shallow" in found.git
    assert found.files["calc/core.py"].decode() == BROKEN
