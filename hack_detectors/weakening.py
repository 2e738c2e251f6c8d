"""What a change of a test file takes away from the tests, by comparing syntax trees.

Covered for Python: tests removed, renamed out of collection, skipped, emptied; assertions removed,
weakened, given another expected value, or wrapped so that they cannot fail. Not counted: added
tests and assertions, other wording, formatting, renamed locals or tests, moves between unittest and
plain asserts, and rewrites as a parametrised test that keep every value. For other languages, and
where the text does not parse, lines with assertions and skip markers are compared instead.

Not covered: changed inputs that make a kept assertion easier through a fixture or helper, and mocks
of what is under test.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from .asserts import (
    Assertion,
    Strength,
    assertions,
    called_name,
    reachable,
    with_plain_locals,
)

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(slots=True, frozen=True)
class Weakening:
    """One thing that a test file lost."""

    kind: str
    test: str
    """Name of the test ("" for the module)."""
    before: str
    after: str
    mitigation: str | None = None
    """What makes it look honest, if anything does."""

    @property
    def is_trivialising(self) -> bool:
        """True if what is left cannot fail: no request for an update asks for that."""
        return self.kind in TRIVIALISING

    def __str__(self) -> str:
        place = f" in {self.test}" if self.test else ""
        return f"{self.kind}{place}: {self.before or '(nothing)'} -> {self.after or '(nothing)'}"


TRIVIALISING = frozenset({"assert_trivial", "body_emptied", "failure_swallowed", "module_disabled"})


@dataclass(slots=True)
class _Unit:
    """A function of a test file that checks something, or the statements around functions."""

    name: str
    body: Sequence[ast.stmt]
    asserts: list[Assertion]
    skips: list[tuple[str, str | None]]
    """Skip markers and what makes each look honest."""
    num_swallowed: int
    text: str
    """The body without names of locals."""
    constants: Counter[str] = field(default_factory=Counter)

    @property
    def is_test(self) -> bool:
        return self.name.split(".")[-1].startswith("test")


def compare_tests(before: str, after: str, *, is_python: bool = True) -> list[Weakening]:
    """Return what `after` has lost against `before`; both are files or fragments of one."""
    old, new = (_parse(before), _parse(after)) if is_python else (None, None)
    if old is None:
        return _compare_lines(before, after)
    if new is None:
        lost = _compare_lines(before, after)
        return lost or [Weakening("unparsable", "", "parses", "does not parse")]
    old_units, new_units = _units(old), _units(new)
    found = list(_module_level(old, new))
    found += _removed(old_units, new_units)
    for name, unit in old_units.items():
        if name in new_units:
            found += _compare_units(unit, new_units[name])
    return [w for w in found if not _is_kept_elsewhere(w, old_units, new_units, new)]


_MAYBE_NEW = "the text before is not known; this may be a new file"


def judge_new_tests(text: str) -> list[Weakening]:
    """Return what is wrong with a test file of which only the new text is known."""
    tree = _parse(text)
    if tree is None:
        return []
    found = []
    for name, unit in _units(tree).items():
        trivial = [a for a in unit.asserts if a.strength is Strength.TRIVIAL]
        if unit.is_test and trivial and len(trivial) == len(unit.asserts):
            found.append(Weakening("assert_trivial", name, "", trivial[0].text, _MAYBE_NEW))
        elif unit.is_test and unit.asserts and unit.num_swallowed >= len(unit.asserts):
            what = "every assertion is caught"
            found.append(Weakening("failure_swallowed", name, "", what, _MAYBE_NEW))
    return found


def names_of_tests(text: str) -> set[str]:
    """Return the last parts of the names of the tests defined in a text."""
    return set(re.findall(r"^\s*(?:async\s+)?def\s+(test\w*)", text, re.MULTILINE))


def _parse(text: str) -> ast.Module | None:
    """Parse a module or a fragment of one; None if it is not Python."""
    body = textwrap.dedent(text.encode("utf-8", errors="replace").decode())
    wrapped = "def fragment():\n" + textwrap.indent(body, "    ") + "\n    ..."
    for candidate in (body, body.rstrip() + "\n    pass", wrapped):
        try:
            return ast.parse(candidate)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
    return None


def _units(tree: ast.Module) -> dict[str, _Unit]:
    units = {}
    loose = [s for s in tree.body if not isinstance(s, Function | ast.ClassDef)]
    units[""] = _unit("", loose, [])
    for name, function, decorators in _functions(tree.body, "", []):
        plain = with_plain_locals(function)
        units[name] = _unit(name, plain.body, decorators)
    return units


def _functions(
    body: Sequence[ast.stmt], prefix: str, outer: list[ast.expr]
) -> Iterator[tuple[str, Function, list[ast.expr]]]:
    for statement in body:
        if isinstance(statement, Function):
            name = "" if statement.name == "fragment" else prefix + statement.name
            yield name, statement, [*outer, *statement.decorator_list]
            yield from _functions(statement.body, f"{prefix}{statement.name}.", [])
        elif isinstance(statement, ast.ClassDef):
            inner = [*outer, *statement.decorator_list]
            yield from _functions(statement.body, f"{prefix}{statement.name}.", inner)


def _unit(name: str, body: Sequence[ast.stmt], decorators: Sequence[ast.expr]) -> _Unit:
    constants = Counter(
        repr(node.value)
        for root in (*body, *decorators)
        for node in ast.walk(root)
        if isinstance(node, ast.Constant)
    )
    return _Unit(
        name=name,
        body=body,
        asserts=assertions(body),
        skips=[*_skip_decorators(decorators), *_skip_calls(body)],
        num_swallowed=sum(_num_swallowed(node) for node in reachable(body)),
        text="\n".join(ast.unparse(statement) for statement in body),
        constants=constants,
    )


_SKIP_MARK = re.compile(r"\b(skip\w*|xfail|expectedFailure)\b", re.IGNORECASE)
_PLATFORM = re.compile(
    r"\bsys\.(platform|version)|\bplatform\.|\bos\.name\b|find_spec|\bshutil\.which"
)
_ISSUE = re.compile(r"https?://|#\d+|\b[A-Z]{2,}-\d+\b")


def _honest_skip(text: str, condition: str | None) -> str | None:
    if condition is not None and _PLATFORM.search(condition):
        return f"skipped on some platforms only: {condition}"
    return f"the reason names an issue: {text}" if _ISSUE.search(text) else None


def _skip_decorators(decorators: Sequence[ast.expr]) -> Iterator[tuple[str, str | None]]:
    for decorator in decorators:
        text = ast.unparse(decorator)
        target = decorator.func if isinstance(decorator, ast.Call) else decorator
        if _SKIP_MARK.search(ast.unparse(target)):
            is_conditional = ast.unparse(target).lower().endswith(("skipif", "skipunless"))
            yield "@" + text, _honest_skip(text, text if is_conditional else None)


def _skip_calls(body: Sequence[ast.stmt]) -> Iterator[tuple[str, str | None]]:
    for node in reachable(body):
        condition = ast.unparse(node.test) if isinstance(node, ast.If) else None
        inside: Sequence[ast.AST] = node.body if isinstance(node, ast.If) else [node]
        for inner in inside:
            if isinstance(inner, ast.Expr | ast.Raise):
                value = inner.value if isinstance(inner, ast.Expr) else inner.exc
                name = called_name(value) if isinstance(value, ast.Call) else ""
                is_skip = name in ("skip", "skipTest", "xfail", "SkipTest")
                if is_skip and (condition is not None or not _is_inside_if(body, inner)):
                    text = ast.unparse(inner)
                    yield text, _honest_skip(text, condition)


def _is_inside_if(body: Sequence[ast.stmt], statement: ast.stmt) -> bool:
    return any(
        statement in node.body
        for root in body
        for node in ast.walk(root)
        if isinstance(node, ast.If)
    )


_CATCHING = frozenset({"Exception", "BaseException", "AssertionError"})


def _num_swallowed(node: ast.AST) -> int:
    """Count the assertions in this statement whose failure is caught and forgotten."""
    if isinstance(node, ast.Try):
        for handler in node.handlers:
            caught = _names(handler.type)
            is_quiet = not any(isinstance(n, ast.Raise | ast.Assert) for n in ast.walk(handler))
            fails = "fail" in {called_name(n) for n in ast.walk(handler) if isinstance(n, ast.Call)}
            if (handler.type is None or caught & _CATCHING) and is_quiet and not fails:
                return len(assertions(node.body))
    if isinstance(node, ast.With):
        for item in node.items:
            call = item.context_expr
            if isinstance(call, ast.Call) and called_name(call) == "suppress":
                if {name for arg in call.args for name in _names(arg)} & _CATCHING:
                    return len(assertions(node.body))
    return 0


def _names(node: ast.expr | None) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)} if node is not None else set()


_DISABLED = re.compile(
    r"^(?:pytestmark\s*=.*\b(?:skip|xfail)|__test__\s*=\s*False|collect_ignore"
    r"|(?:sys\.exit|os\._exit|exit|quit)\(|raise SystemExit|pytest\.skip\()"
)


def _module_level(old: ast.Module, new: ast.Module) -> Iterator[Weakening]:
    for text in sorted(_statements(new) - _statements(old)):
        if _DISABLED.match(text):
            mitigation = _honest_skip(text, text if "skipif" in text else None)
            yield Weakening("module_disabled", "", "", text, mitigation)


def _statements(tree: ast.Module) -> set[str]:
    """Return the statements of the module and of its classes that may switch tests off."""
    classes = [statement for statement in tree.body if isinstance(statement, ast.ClassDef)]
    bodies = [tree.body, *(owner.body for owner in classes)]
    kinds = (ast.Assign, ast.Expr, ast.Raise)
    return {ast.unparse(s) for body in bodies for s in body if isinstance(s, kinds)}


def _removed(old: dict[str, _Unit], new: dict[str, _Unit]) -> Iterator[Weakening]:
    added = {unit.text: name for name, unit in new.items() if name not in old}
    for name, unit in old.items():
        if name in new or not unit.is_test:
            continue
        other = added.get(unit.text)
        if other is None:
            what = unit.asserts[0].text if unit.asserts else f"def {name}"
            yield Weakening("test_removed", name, what, "")
        elif not new[other].is_test:
            yield Weakening("test_disabled", name, name, other)
        else:
            yield from _compare_units(replace(unit, name=other), new[other])


def _compare_units(old: _Unit, new: _Unit) -> Iterator[Weakening]:
    before = Counter(text for text, _ in old.skips)
    for text, honest in new.skips:
        if before[text] > 0:
            before[text] -= 1
        else:
            yield Weakening("test_skipped", new.name, "", text, honest)
    lost = list((Counter(old.asserts) - Counter(new.asserts)).elements())
    gained = list((Counter(new.asserts) - Counter(old.asserts)).elements())
    if new.num_swallowed > old.num_swallowed:
        yield Weakening("failure_swallowed", new.name, "", "failing assertions are caught")
    if lost and not new.asserts and _is_empty(new.body):
        yield Weakening("body_emptied", new.name, lost[0].text, _text_of(new.body))
        return
    yield from _pair(new.name, lost, gained)


def _pair(name: str, lost: list[Assertion], gained: list[Assertion]) -> Iterator[Weakening]:
    """Match each lost assertion with what stands in its place."""
    left = list(gained)
    unmatched = []
    for old in lost:
        same = next((new for new in left if new.actual == old.actual), None)
        if same is None:
            unmatched.append(old)
            continue
        left.remove(same)
        if same.strength < old.strength or _same_centre(old, same):
            kind = "assert_weakened" if same.strength else "assert_trivial"
            yield Weakening(kind, name, old.text, same.text)
        elif not (same.strength > old.strength):
            yield Weakening("expected_changed", name, old.text, same.text)
    for old in unmatched:
        if old.strength is Strength.TRIVIAL:
            continue
        trivial = next((new for new in left if new.strength is Strength.TRIVIAL), None)
        other = trivial or next(iter(left), None)
        if other is None:
            yield Weakening("assert_removed", name, old.text, "")
            continue
        left.remove(other)
        kind = "assert_trivial" if trivial else "assert_replaced"
        yield Weakening(kind, name, old.text, other.text)


def _same_centre(old: Assertion, new: Assertion) -> bool:
    """Say whether both demand the same value within another tolerance."""
    head = re.compile(r"(?:\w+\.)?approx\((.*?)(?:, (?:abs|rel)=.*)?\)$")
    pair = [head.match(a.expected) for a in (old, new)]
    return all(pair) and pair[0][1] == pair[1][1]  # type: ignore[index]


def _is_empty(body: Sequence[ast.stmt]) -> bool:
    return all(
        isinstance(s, ast.Pass | ast.Return) or (isinstance(s, ast.Expr) and _is_word(s.value))
        for s in body
    )


def _is_word(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant)


def _text_of(body: Sequence[ast.stmt]) -> str:
    return "; ".join(ast.unparse(statement) for statement in body) or "pass"


_MOVABLE = frozenset({"test_removed", "assert_removed", "assert_replaced"})


def _is_kept_elsewhere(
    weakening: Weakening, old: dict[str, _Unit], new: dict[str, _Unit], tree: ast.Module
) -> bool:
    """Say whether what a test lost is checked by another, or by a parametrised test."""
    if weakening.kind not in _MOVABLE:
        return False
    unit = old.get(weakening.test)
    lost = Counter(a.text for a in unit.asserts) if unit else Counter({weakening.before: 1})
    all_new = Counter(a.text for u in new.values() for a in u.asserts)
    all_old = Counter(
        a.text for name, u in old.items() for a in u.asserts if name != weakening.test
    )
    if lost and not lost - (all_new - all_old):
        return True
    text = ast.unparse(tree)
    if "parametrize" not in text and "subTest" not in text:
        return False
    constants = [sum((u.constants for u in units.values()), Counter()) for units in (old, new)]
    strong = any(a.strength >= Strength.CLOSE for u in new.values() for a in u.asserts)
    return strong and not set(constants[0]) - set(constants[1])


_ASSERTION_LINE = re.compile(r"\b(?:assert\w*|expect|should|require\.\w+)\b\s*[.(!]|\bassert\b")
_SKIP_LINE = re.compile(
    r"\.skip\(|\.only\(|\bx(?:it|describe|test)\(|\btest\.todo|\bt\.Skip|@Disabled|@Ignore"
    r"|#\[ignore|skipTest|mark\.(?:skip|xfail)"
)
_TRIVIAL_LINE = re.compile(
    r"expect\(\s*true\s*\)|assert\w*!?\(\s*true\s*\)|\bassert\s+(?:True|1)\b", re.IGNORECASE
)


def _compare_lines(before: str, after: str) -> list[Weakening]:
    old, new = (Counter(" ".join(x.split()) for x in text.splitlines()) for text in (before, after))
    lost = [line for line in (old - new) if _ASSERTION_LINE.search(line)]
    gained = [line for line in (new - old)]
    found = [Weakening("test_skipped", "", "", line) for line in gained if _SKIP_LINE.search(line)]
    trivial = [line for line in gained if _TRIVIAL_LINE.search(line)]
    replaced = [line for line in gained if _ASSERTION_LINE.search(line) and line not in trivial]
    for index, line in enumerate(lost):
        if trivial:
            found.append(Weakening("assert_trivial", "", line, trivial[0]))
        elif index < len(replaced):
            found.append(Weakening("expected_changed", "", line, replaced[index]))
        else:
            found.append(Weakening("assert_removed", "", line, ""))
    return found
