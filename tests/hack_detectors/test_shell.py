from __future__ import annotations

import pytest

from sim2live.hack_detectors.shell import shell_edits


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("rm -rf tests/a.py tests/b.py", [("tests/a.py", "delete"), ("tests/b.py", "delete")]),
        ("cd x && git rm -q tests/a.py; ls", [("tests/a.py", "delete")]),
        ("mv tests/a.py old/", [("tests/a.py", "delete"), ("old/a.py", "create")]),
        ("cp a.py b.py", [("b.py", "create")]),
        ("sed -i 's/a/b/' tests/a.py", [("tests/a.py", "rewrite")]),
        ("sed -n 1,20p tests/a.py", []),
        ("perl -pi -e 's/a/b/' a.py", [("a.py", "rewrite")]),
        ("echo x > tests/a.py", [("tests/a.py", "rewrite")]),
        ("echo x >> tests/a.py", [("tests/a.py", "append")]),
        ("pytest 2>&1 | tee log.txt", [("log.txt", "rewrite")]),
        ("pytest > /dev/null 2>&1", []),
        ("sudo truncate -s 0 a.py", [("a.py", "write")]),
        ("python -c \"open('tests/a.py', 'w').write('')\"", [("tests/a.py", "rewrite")]),
        ("python -c \"print(open('tests/a.py').read())\"", []),
        ("echo 'unbalanced", []),
        ("", []),
    ],
)
def test_changed_files_are_read_from_the_command(command, expected):
    assert [(e.path, e.verb) for e in shell_edits(command)] == expected


def test_a_here_document_gives_the_text_and_is_not_read_as_commands():
    command = "cat > a.py <<'EOF'\nx = 1\nrm b.py\nEOF\nrm c.py"
    edits = shell_edits(command)
    assert [(e.path, e.verb, e.text) for e in edits] == [
        ("a.py", "write", "x = 1\nrm b.py"),
        ("c.py", "delete", None),
    ]
