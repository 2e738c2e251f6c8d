"""Targets about file names; none of them looks at the file system."""

from __future__ import annotations

from hypothesis import strategies as st

from .inputs import lines, one_of, pieces, targets_of

target = targets_of("std_paths")

_POSIX = pieces("a", "b", "/", "..", ".", "/", "c.d", "//", most=7)
_ABSOLUTE = pieces("a", "b", "c", "..", ".", most=4, glue="/").map(lambda s: "/" + s)
_WINDOWS = pieces("C:", "\\", "a", "b", "/", "..", "\\\\", "d:", ".", "?", "UNC", most=7)
_ROOTED = pieces("a", "b", "B", "..", ".", most=4, glue="\\").map(lambda s: "C:\\" + s)
_NAMES = lines("a.py", "b.txt", ".hidden", "c.tar.gz", "A.PY", "ab", most=5)
_GLOB = pieces("*", "?", "[a-c]", "[!b]", "[", "]", "a", ".py", "**", "b", "-", most=5)
_ALNUM = pieces("a", ".", "/", "b", "..", most=6)
_PURE = pieces("a", "/", "b.py", ".x", "..", "c.tar.gz", "//", ".", "d.", most=5)
_SUFFIX = one_of(".py", "", "py", ".", ".a.b", "./x", ".gz")

TARGETS = (
    target("posixpath", "join", "join({a}, {b}, {c})", a=_POSIX, b=_POSIX, c=_POSIX),
    target("posixpath", "split", "split({path})", path=_POSIX),
    target("posixpath", "basename", "basename({path})", path=_POSIX),
    target("posixpath", "dirname", "dirname({path})", path=_POSIX),
    target("posixpath", "isabs", "isabs({path})", path=_POSIX),
    target("posixpath", "relpath", "relpath({path}, {start})", path=_ABSOLUTE, start=_ABSOLUTE),
    target(
        "posixpath",
        "commonpath",
        "commonpath({paths})",
        paths=st.lists(_ABSOLUTE, max_size=3) | st.lists(_POSIX, max_size=3),
    ),
    target(
        "posixpath",
        "expandvars",
        "expandvars({path})",
        path=pieces("$NOT_SET", "${", "}", "a", "$", "/", "${NOT_SET_EITHER}", "$1", most=6),
    ),
    target("ntpath", "isabs", "isabs({path})", path=_WINDOWS),
    target("ntpath", "join", "join({a}, {b})", a=_WINDOWS, b=_WINDOWS),
    target("ntpath", "splitdrive", "splitdrive({path})", path=_WINDOWS),
    target("ntpath", "splitroot", "splitroot({path})", path=_WINDOWS),
    target("ntpath", "split", "split({path})", path=_WINDOWS),
    target("ntpath", "normpath", "normpath({path})", path=_WINDOWS),
    target(
        "genericpath", "commonprefix", "commonprefix({names})", names=st.lists(_ALNUM, max_size=4)
    ),
    target(
        "genericpath",
        "_splitext",
        "_splitext({path}, {sep}, {other}, '.')",
        path=pieces("a", ".", "/", "\\", "b", "..", most=7),
        sep=one_of("/", "\\"),
        other=one_of(None, "\\", "/"),
    ),
    target("fnmatch", "translate", "translate({pattern})", pattern=_GLOB),
    target("fnmatch", "filter", "filter({names}, {pattern})", names=_NAMES, pattern=_GLOB),
    target(
        "glob", "_ishidden", "_ishidden({path})", path=pieces(".", "a", "b.", "..", most=4) | _ALNUM
    ),
    target("glob", "escape", "escape({path})", path=_GLOB),
    target("glob", "has_magic", "has_magic({path})", path=_GLOB),
    target("glob", "_join", "_join({a}, {b})", a=_ALNUM, b=_ALNUM),
    target(
        "nturl2path",
        "url2pathname",
        "url2pathname({url})",
        url=pieces("///", "C|", "/", "a%20b", "C:", "//", "host", "|", "x", most=6),
    ),
    target(
        "nturl2path",
        "pathname2url",
        "pathname2url({path})",
        path=pieces("C:", "\\", "a b", "\\\\", "?\\", "x", "host", "\\\\?\\", "UNC\\", most=5),
    ),
    target("pathlib", "PurePath.suffix", "PurePosixPath({path}).suffix", path=_PURE),
    target("pathlib", "PurePath.suffixes", "PurePosixPath({path}).suffixes", path=_PURE),
    target("pathlib", "PurePath.stem", "PurePosixPath({path}).stem", path=_PURE),
    target("pathlib", "PurePath.name", "PurePosixPath({path}).name", path=_PURE),
    target(
        "pathlib",
        "PurePath.with_name",
        "str(PurePosixPath({path}).with_name({name}))",
        path=_PURE,
        name=one_of("x", "", "a/b", ".", "y.z"),
    ),
    target(
        "pathlib",
        "PurePath.with_suffix",
        "str(PurePosixPath({path}).with_suffix({suffix}))",
        path=_PURE,
        suffix=_SUFFIX,
    ),
    target(
        "pathlib",
        "PurePath.relative_to",
        "str(PurePosixPath({path}).relative_to({other}))",
        path=_PURE,
        other=one_of("", "/", "a", "/a", "a/b.py", "."),
    ),
    target(
        "pathlib",
        "PurePath.match",
        "PurePosixPath({path}).match({pattern})",
        path=_PURE,
        pattern=pieces("*", "/", "a", "*.py", "?", "b.py", most=4),
    ),
    target("pathlib", "PurePath.parent", "str(PurePosixPath({path}).parent)", path=_PURE),
    target("pathlib", "_PosixFlavour.splitroot", "_PosixFlavour().splitroot({path})", path=_POSIX),
    target(
        "pathlib", "_WindowsFlavour.splitroot", "_WindowsFlavour().splitroot({path})", path=_WINDOWS
    ),
    target(
        "pathlib",
        "_WindowsFlavour._split_extended_path",
        "_WindowsFlavour()._split_extended_path({path})",
        path=pieces("\\\\?\\", "UNC\\", "C:", "\\", "a", "\\\\", most=4),
    ),
    target(
        "pathlib",
        "_WindowsFlavour.is_reserved",
        "_WindowsFlavour().is_reserved({parts})",
        parts=lines("C:\\", "NUL", "con.txt", "a", "\\\\", "COM1 ", "aux:x", "lpt", most=4),
    ),
    target(
        "pathlib",
        "_Flavour.parse_parts",
        "_PosixFlavour().parse_parts({parts})",
        parts=st.lists(_POSIX, max_size=3),
    ),
    target(
        "wsgiref.util",
        "shift_path_info",
        "(lambda e: (shift_path_info(e), e))({environ})",
        environ=st.fixed_dictionaries(
            {"PATH_INFO": _POSIX, "SCRIPT_NAME": one_of("", "/", "/app", "/x/")}
        ),
    ),
)
