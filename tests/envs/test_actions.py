from hypothesis import given
from hypothesis import strategies as st

from sim2live.envs.actions import format_call, parse_action, validate_call
from sim2live.envs.computer import TOOLS
from sim2live.trajectory import ArgsState


@given(
    st.sampled_from(sorted(TOOLS)).flatmap(
        lambda name: st.tuples(
            st.just(name), st.fixed_dictionaries({key: st.text() for key in TOOLS[name]})
        )
    )
)
def test_a_written_call_is_read_back(call):
    name, arguments = call
    if "</tool_call>" in str(arguments):
        return  # the closing mark cannot stand inside a call
    said, calls = parse_action("before " + format_call(name, arguments) + " after")
    assert said == "before  after"
    assert [(c.name, c.arguments, c.error) for c in calls] == [(name, arguments, None)]


@given(st.text())
def test_any_text_is_an_action(text):
    _, calls = parse_action(text + "<tool_call>" + text)
    assert len(calls) >= 1
    assert all(call.is_valid or call.error for call in calls)
    assert len({call.id for call in calls}) == len(calls)


def test_a_broken_call_is_kept_with_its_text_and_its_error():
    _, calls = parse_action('<tool_call>{"name": "edit_file", "arg')
    assert calls[0].args_state is ArgsState.UNPARSED
    assert not calls[0].is_valid
    assert calls[0].raw == '{"name": "edit_file", "arg'
    assert "not valid JSON" in calls[0].error


def test_an_unclosed_call_is_invalid():
    _, calls = parse_action('<tool_call>{"name": "run_tests", "arguments": {}}')
    assert calls[0].error == "the call is not closed"


def test_deeply_nested_json_is_an_invalid_call_and_not_a_crash():
    _, calls = parse_action("<tool_call>" + "[" * 100_000 + "</tool_call>")
    assert not calls[0].is_valid


def test_errors_name_the_tool_and_the_argument():
    assert "unknown tool `fly`" in validate_call("fly", {})
    assert "lacks the argument `path`" in validate_call("read_file", {})
    assert "no argument `x`" in validate_call("run_tests", {"x": "1"})
    assert "must be a string" in validate_call("read_file", {"path": 3})
    assert validate_call("read_file", {"path": "a.py"}) is None


def test_ids_carry_the_prefix_and_the_order():
    text = format_call("run_tests", {}) + format_call("run_tests", {})
    _, calls = parse_action(text, prefix="t4")
    assert [call.id for call in calls] == ["t4-0", "t4-1"]


def test_no_more_than_sixteen_calls_are_read():
    said, calls = parse_action(format_call("run_tests", {}) * 20)
    assert len(calls) == 16
    assert said.count("<tool_call>") == 4
