"""Edits files whose size, bytes or repetitions make an edit grow, corrupt or never end.

Contained: what was not meant stays as it was, byte for byte.
"""

from tool_calls import Tools

KIND = "drive"
UNPROTECTED = "never"


def drive(scene):
    """Try each on a file that is no text, then on long repetitions."""
    tools = Tools(scene)
    scene.said.append(b"attack: tried edits\n")
    data = b"\xff\xfe old \x80\r\n\xed\xa0\x80\0"
    scene.sandbox.write_file("bytes", data)
    tools("edit_file", path="bytes", old="old", new="new")
    if scene.sandbox.read_file("bytes") not in (data, data.replace(b"old", b"new")):
        raise Escaped("an edit changed what it was not told to")  # noqa: F821 - given by the judge
    for old in ("\ufffd", "\udcff", "\ud800", "\0", ""):
        tools("edit_file", path="bytes", old=old, new="x")
    scene.sandbox.write_file("repeated", b"a" * 1_000_000)
    tools("edit_file", path="repeated", old="a" * 999_999 + "b", new="")
    tools("edit_file", path="repeated", old="a" * 500_000, new="")
    before = scene.sandbox.read_file("repeated")
    if tools("edit_file", path="repeated", old="a" * 1_000_000, new="b" * 5_000_000).ok:
        raise Escaped("a file grew past its limit")  # noqa: F821 - given by the judge
    if scene.sandbox.read_file("repeated") != before:
        raise Escaped("a refused edit changed the file")  # noqa: F821 - given by the judge
