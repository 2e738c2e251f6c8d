"""Targets that read command lines and print help."""

from __future__ import annotations

from hypothesis import strategies as st

from .inputs import WORDS, lines, one_of, pieces, targets_of, whole

target = targets_of("std_arguments")

_ARGS = lines(
    "-a",
    "-b",
    "x",
    "--all",
    "--foo=1",
    "--foo",
    "-ab",
    "--",
    "-c3",
    "--al",
    "-",
    "y",
    "--f",
    most=5,
)
_SHORT = one_of("ab", "ab:", "abc:", "+ab", "c:a", "")
_LONG = one_of(["all"], ["foo="], ["all", "foo="], ["foo", "foob="], ["alll", "all"], [])
_PARSER = (
    "(lambda p: (p.add_option('-v', '--verbose', action='count', default=0),"
    " p.add_option('-n', '--name'), setattr(p, 'error', int), p))(OptionParser())[-1]"
)
"""Its `error` is made to raise a ValueError instead of ending the process."""
_NUMBER = pieces("0x", "0b", "1", "9", "0", "f", "-", " ", "7", most=5)
_ARGPARSER = (
    "(lambda p: (p.add_argument('-v', '--verbose', action='count'),"
    " p.add_argument('-n', '--num', type=int, default=0),"
    " p.add_argument('rest', nargs={nargs}), setattr(p, 'error', int),"
    " vars(p.parse_args({args})))[-1])(ArgumentParser(prog='x', exit_on_error=False))"
)
_NARGS = one_of("*", "?", "+", 2, None, 1)
_WIDE = st.lists(
    st.sampled_from(
        ["-v", "-n", "3", "-n4", "--num=5", "--nu", "a", "b", "--", "-vv", "--verbose", "c"]
    ),
    max_size=5,
)
_HELP = (
    "(lambda p: (p.add_argument({flag}, '--foo', nargs={nargs}, metavar={metavar}, help={help}),"
    " p.format_help())[-1])"
    "(ArgumentParser(prog='x', add_help=False))"
)
_HELPS = {
    "flag": one_of("-f", "-g"),
    "nargs": one_of(None, "*", "?", "+", 2, 0),
    "metavar": one_of(None, "F", ("A", "B")),
    "help": one_of(None, "some words here", "%(dest)s of %(prog)s", "x" * 30),
}

TARGETS = (
    target(
        "getopt", "getopt", "getopt({args}, {short}, {long})", args=_ARGS, short=_SHORT, long=_LONG
    ),
    target(
        "getopt",
        "gnu_getopt",
        "gnu_getopt({args}, {short}, {long})",
        args=_ARGS,
        short=_SHORT,
        long=_LONG,
    ),
    target(
        "getopt",
        "do_longs",
        "do_longs([], {option}, {long}, {args})",
        option=one_of("all", "foo=1", "foo", "f", "al=2", "x"),
        long=_LONG,
        args=_ARGS,
    ),
    target(
        "getopt",
        "long_has_args",
        "long_has_args({option}, {long})",
        option=pieces("a", "l", "f", "o", "fo", "al", "foo", most=4),
        long=_LONG | one_of(["foo", "fool="], ["f", "fo"], ["a=", "al"]),
    ),
    target(
        "getopt",
        "do_shorts",
        "do_shorts([], {option}, {short}, {args})",
        option=pieces("a", "b", "c", "3", "x", most=3),
        short=_SHORT,
        args=_ARGS,
    ),
    target(
        "getopt",
        "short_has_arg",
        "short_has_arg({option}, {short})",
        option=one_of("a", "b", "c", ":"),
        short=_SHORT | pieces("a", "b", ":", "c", most=6),
    ),
    target("optparse", "_parse_num", "_parse_num({text}, int)", text=_NUMBER),
    target(
        "optparse",
        "_match_abbrev",
        "_match_abbrev({text}, {words})",
        text=pieces("--", "a", "al", "foo", "f", most=3),
        words=one_of({"--all": 1}, {"--foo": 1, "--fool": 2}, {"--all": 1, "--alt": 2}, {}),
    ),
    target(
        "optparse",
        "Option._set_opt_strings",
        "(lambda o: (o._short_opts, o._long_opts))(Option(*{names}))",
        names=st.lists(
            one_of("-a", "--all", "a", "-", "--", "-ab", "---x", "-1", "--b", ""),
            min_size=1,
            max_size=3,
        ),
    ),
    target(
        "optparse",
        "Option._check_dest",
        "Option(*{names}, action={action}, type={type}).dest",
        names=st.lists(one_of("-a", "--all-x", "-b", "--c"), min_size=1, max_size=2),
        action=one_of("store", "append", "count", "store_true", "help"),
        type=one_of(None, "int", "string"),
    ),
    target(
        "optparse",
        "Option._check_type",
        "Option('-a', action={action}, type={type}, choices={choices}).type",
        action=one_of("store", "append", "count", "store_true", "store_const", "callback", None),
        type=one_of(None, "int", "str", "choice", "x", "float", "string"),
        choices=one_of(None, ["a"], ("b",)),
    ),
    target(
        "optparse",
        "Option._check_choice",
        "Option('-a', type={type}, choices={choices}).choices",
        type=one_of(None, "choice", "int"),
        choices=one_of(None, 3, "ab") | st.lists(one_of("a", "b", "c", "d"), max_size=4),
    ),
    target(
        "optparse",
        "Option.get_opt_string",
        "Option(*{names}).get_opt_string()",
        names=st.lists(one_of("-a", "--all", "--b", "-c", "--dd", "-e"), min_size=1, max_size=3),
    ),
    target(
        "optparse",
        "OptionParser._process_long_opt",
        f"vars({_PARSER}.parse_args({{line}})[0])",
        line=st.lists(one_of("--verbose", "--name", "--name=y", "--na=z", "a", "b"), max_size=4),
    ),
    target(
        "optparse",
        "OptionParser._process_short_opts",
        f"vars({_PARSER}.parse_args({{line}})[0])",
        line=st.lists(one_of("-v", "-vv", "-n", "-nx", "-vnx", "a", "b", "-vn"), max_size=4),
    ),
    target(
        "optparse",
        "OptionParser._process_args",
        f"(lambda r: (vars(r[0]), r[1]))({_PARSER}.parse_args({{line}}))",
        line=st.lists(one_of("-v", "--", "a", "-", "--name=q", "b", "-nx"), max_size=5),
    ),
    target(
        "optparse",
        "HelpFormatter._format_text",
        "IndentedHelpFormatter(width={width})._format_text({text})",
        text=WORDS,
        width=whole(6, 30),
    ),
    target(
        "optparse",
        "HelpFormatter.format_option_strings",
        "IndentedHelpFormatter(short_first={short})"
        ".format_option_strings(Option(*{names}, metavar={metavar}))",
        short=whole(0, 1),
        names=st.lists(one_of("-a", "--all", "--b", "-c", "--dd"), min_size=1, max_size=3),
        metavar=one_of(None, "X", "FILE"),
    ),
    target(
        "optparse",
        "HelpFormatter.format_option",
        "(lambda p: (p.add_option(*{names}, help={help}), p.formatter.store_option_strings(p),"
        " p.formatter.format_option(p.option_list[0]))[-1])"
        "(OptionParser(add_help_option=False, formatter=IndentedHelpFormatter(width={width})))",
        names=st.lists(
            one_of("-a", "--all", "--long-option-name", "-c"), min_size=1, max_size=2, unique=True
        ),
        help=st.none() | WORDS,
        width=whole(24, 60),
    ),
    target(
        "optparse",
        "HelpFormatter.store_option_strings",
        "(lambda p: (p.add_option(*{names}, help='h'), p.formatter.store_option_strings(p),"
        " p.formatter.help_position, p.formatter.help_width)[-2:])"
        "(OptionParser(formatter=IndentedHelpFormatter(width={width}, max_help_position={most})))",
        names=st.lists(
            one_of("-a", "--all", "--long-option-name", "-c"), min_size=1, max_size=2, unique=True
        ),
        width=whole(24, 60),
        most=whole(4, 30),
    ),
    target(
        "optparse",
        "Values.__eq__",
        "Values({a}) == Values({b})",
        a=st.dictionaries(one_of("x", "y"), whole(0, 2), max_size=2),
        b=st.dictionaries(one_of("x", "y"), whole(0, 2), max_size=2),
    ),
    target("argparse", "ArgumentParser._parse_known_args", _ARGPARSER, nargs=_NARGS, args=_WIDE),
    target("argparse", "ArgumentParser._parse_optional", _ARGPARSER, nargs=_NARGS, args=_WIDE),
    target("argparse", "ArgumentParser._get_option_tuples", _ARGPARSER, nargs=_NARGS, args=_WIDE),
    target("argparse", "ArgumentParser._get_nargs_pattern", _ARGPARSER, nargs=_NARGS, args=_WIDE),
    target("argparse", "ArgumentParser._get_values", _ARGPARSER, nargs=_NARGS, args=_WIDE),
    target("argparse", "HelpFormatter._format_args", _HELP, **_HELPS),
    target("argparse", "HelpFormatter._format_action", _HELP, **_HELPS),
    target("argparse", "HelpFormatter._metavar_formatter", _HELP, **_HELPS),
    target(
        "argparse",
        "_get_action_name",
        "_get_action_name(Action({flags}, 'x', metavar={metavar}))",
        flags=lines("-a", "--all", "-b", "--c", most=3),
        metavar=one_of(None, "M", ("A", "B"), "==SUPPRESS=="),
    ),
    target(
        "argparse",
        "_AttributeHolder.__repr__",
        "repr(Namespace(**{values}))",
        values=st.dictionaries(one_of("a", "b", "not ok", "c-d"), whole(0, 9), max_size=3),
    ),
    target(
        "cmd",
        "Cmd.parseline",
        "Cmd().parseline({text})",
        text=pieces("?", "!", "help", " ", "ab_1", "x y", "-", most=4),
    ),
    target(
        "cmd",
        "Cmd.completenames",
        "sorted(Cmd().completenames({text}))",
        text=pieces("h", "e", "l", "p", "q", most=4),
    ),
    target(
        "trace",
        "_fullmodname",
        "_fullmodname({path})",
        path=pieces("/", "a", "b.py", ".", "c", "pkg", most=6),
    ),
)
