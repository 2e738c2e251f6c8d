"""`judge`: what tests in a process of their own can do with code in another, and what it cannot."""

from __future__ import annotations

import textwrap
import warnings
from collections.abc import Iterator

import pytest

from sim2live.envs.sandbox import CheckResult, Limits, Sandbox, Snapshot, make_sandbox
from sim2live.envs.sandbox.namespaces import missing_isolation


@pytest.fixture(scope="module", params=["namespaces", "process"])
def shared(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    if request.param == "namespaces" and (missing := missing_isolation()):
        pytest.skip(f"no isolation on this machine: {missing}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # `process` says that it contains nothing
        made = make_sandbox(request.param)
    yield made
    made.close()


@pytest.fixture
def sandbox(shared: Sandbox) -> Sandbox:
    shared.restore(Snapshot(files={}))
    return shared


_SHAPES = """
    import collections, dataclasses, enum, typing

    class ShapeError(ValueError):
        code = 7
        def __init__(self, what):
            super().__init__(what)
            self.what = what

    class DeepError(ShapeError):
        pass

    class Colour(enum.Enum):
        RED = 1
        BLUE = 2

    class Size(typing.NamedTuple):
        width: int
        height: int
        def area(self):
            return self.width * self.height

    @dataclasses.dataclass(frozen=True, order=True)
    class Point:
        x: int
        y: int = 0
        def __add__(self, other):
            return Point(self.x + other.x, self.y + other.y)
        def __mul__(self, k):
            return Point(self.x * k, self.y * k)
        __rmul__ = __mul__
        def __neg__(self):
            return Point(-self.x, -self.y)
        def __abs__(self):
            return (self.x ** 2 + self.y ** 2) ** 0.5

    class Box:
        made = 0
        def __init__(self, *items):
            self.items = list(items)
            type(self).made += 1
        def __len__(self): return len(self.items)
        def __getitem__(self, key): return self.items[key]
        def __setitem__(self, key, value): self.items[key] = value
        def __delitem__(self, key): del self.items[key]
        def __iter__(self): return iter(self.items)
        def __enter__(self): return self
        def __exit__(self, kind, error, trace):
            self.items.append(kind.__name__ if kind else None)
            return kind is KeyError
        def __call__(self, n): return n + len(self.items)
        def me(self): return self
        @property
        def first(self): return self.items[0]
        @staticmethod
        def of(n): return Box(*range(n))

    def points(): return [Point(1, 2), Point(3, 4)]
    def fail(kind, *args): raise kind(*args)
    def fail_deep(): raise DeepError("deep") from KeyError("below")
    def count_up(n):
        yield from range(n)
    def apply(function, *args, **options): return function(*args, **options)
    def order(items, key=None):
        items.sort(key=key)
    def fill(target, more=()):
        (target.update if hasattr(target, "update") else target.extend)(more)
        return len(target)
    def group(words):
        groups = collections.defaultdict(list)
        for word in words: groups[len(word)].append(word)
        return groups
    def say(text): print(text)
    def same(value): return value
    LIMIT = 3
"""


def _judge(sandbox: Sandbox, body: str, **files: str) -> CheckResult:
    """Judge the module `shapes` by one test with this body."""
    for name, text in {"shapes": _SHAPES, **files}.items():
        sandbox.write_file(f"{name}.py", textwrap.dedent(text).encode())
    source = "import shapes\nfrom shapes import *\n\ndef test_it():\n"
    return sandbox.judge(source + textwrap.indent(textwrap.dedent(body), "    "))


def _passes(sandbox: Sandbox, body: str, **files: str) -> None:
    result = _judge(sandbox, body, **files)
    assert dict(result.outcomes) == {"test_it": "passed"}, (result.messages, result.execution.text)


@pytest.mark.parametrize(
    "body",
    [
        # values
        "x = [1, 2.5, 'a\\ud800', b'b', None, (1,), {2: {3}}]\nassert shapes.same(x) == x",
        "import math\nassert math.isnan(shapes.same(math.nan))",
        "assert type(shapes.same(True)) is bool and shapes.same(int) is int",
        "assert group(['a', 'bc', 'd']) == {1: ['a', 'd'], 2: ['bc']}",
        "size = same(Size(2, 3))\nassert size == (2, 3) and size.width == 2 and size.area() == 6",
        "s = Size(2, 3)\nassert s._replace(width=5) == (5, 3) and s._asdict()['height'] == 3",
        # objects
        "p = Point(1, 2)\nassert (p.x, p.y) == (1, 2) and p == Point(1, 2) and p != Point(1, 3)",
        "assert points() == [Point(1, 2), Point(3, 4)] and points()[0] < points()[1]",
        "assert Point(1) + Point(2) == Point(3) and 2 * Point(1) == Point(1) * 2 == Point(2)",
        "assert -Point(1) == Point(-1) and abs(Point(3, 4)) == 5 and {Point(1)} == {Point(1)}",
        "assert isinstance(Point(1), Point) and not isinstance(3, Point)",
        "assert issubclass(Point, Point) and str(Point(1)) == repr(Point(1)) == 'Point(x=1, y=0)'",
        "b = Box(1, 2)\nassert len(b) == 2 and b[0] == 1 and list(b) == [1, 2] and b(5) == 7 and b",
        "b = Box(1, 2)\nb[0] = 5\ndel b[1]\nb.note = 'x'\nassert (b.items, b.note) == ([5], 'x')",
        "b = Box(1)\nassert b.me() is b and b.first == 1 and 1 in b and 2 not in b and not Box()",
        "assert Box.of(3).items == [0, 1, 2] and Box.made == 1 and shapes.LIMIT == 3",
        "import copy\nb = Box(1)\nc = copy.deepcopy(b)\nc.items\n"
        "assert c is not b and c.items == [1]",
        "assert Colour.RED is Colour(1) and Colour['BLUE'].value == 2",
        "assert [colour.name for colour in Colour] == ['RED', 'BLUE']",
        "shapes.LIMIT = 9\nassert shapes.LIMIT == 9 and 'LIMIT' in dir(shapes)",
        "with Box() as b:\n    pass\nassert b.items == [None]",
        "with Box() as b:\n    {}[1]\nassert b.items == ['KeyError']",
        "assert list(count_up(3)) == [0, 1, 2] and sum(count_up(4)) == 6",
        "g = count_up(1)\nassert next(g) == 0 and next(g, 'end') == 'end'",
        # arguments that a call changes
        "x = [3, 1, 2]\ny = x\norder(x)\nassert y == [1, 2, 3]",
        "x = {'a': 1}\nassert fill(x, more={'b': 2}) == 2 and x == {'a': 1, 'b': 2}",
        "x = {1}\nfill(x, [2])\nb = bytearray(b'a')\nfill(b, b'c')\n"
        "assert x == {1, 2} and b == b'ac'",
        "import collections as c\nx = c.deque([1], 3)\nfill(x, [2])\n"
        "assert x == c.deque([1, 2], 3)",
        "import collections as c\nx = c.Counter('aa')\nfill(x, 'ab')\nassert x == {'a': 3, 'b': 1}",
        # functions of the tests and of the library
        "x = [3, 1, 2]\norder(x, key=lambda v: -v)\nassert x == [3, 2, 1]",
        "seen = []\nassert apply(seen.append, 4) is None and seen == [4]",
        "assert apply(len, 'abc') == 3 and apply(int, '7') == 7",
        "import operator\n"
        "assert apply(operator.add, 1, 2) == 3 and apply(max, [1], default=2) == 1",
        "assert apply(lambda f: f(lambda v: v + 1), lambda g: g(1)) == 2",
        "f = lambda p: p.x\nassert apply(f, Point(8)) == 8 and same(f) is f",
        "def f(n): return n if n > 4 else apply(f, n + 1)\nassert apply(f, 0) == 5",
        # exceptions
        "try: fail(ValueError, 'no')\nexcept ValueError as e: assert e.args == ('no',)\n"
        "else: 1 / 0",
        "try: fail(KeyError, 'k')\nexcept LookupError as e: assert str(e) == \"'k'\"\nelse: 1 / 0",
        "try: fail(OSError, 2, 'm', 'f')\nexcept FileNotFoundError as e: assert e.filename == 'f'",
        "try: fail(SystemExit, 3)\nexcept SystemExit as e: assert e.code == 3\nelse: 1 / 0",
        "try: fail(ShapeError, 'w')\nexcept ShapeError as e: assert (e.what, str(e)) == ('w', 'w')",
        "try: fail_deep()\nexcept ShapeError as e: assert e.__cause__.args == ('below',)\n"
        "else: 1 / 0",
        "try: fail_deep()\nexcept ValueError as e: assert isinstance(e, DeepError)\nelse: 1 / 0",
        "assert issubclass(DeepError, ShapeError) and DeepError.code == 7",
        "e = ShapeError('a')\nassert same(e).what == 'a' and isinstance(same(e), ShapeError)",
        "import json\ntry: apply(json.loads, '{')\n"
        "except json.JSONDecodeError as e: assert e.pos == 1",
        "class Own(Exception): pass\ndef f(): raise Own(5)\ntry: apply(f)\n"
        "except Own as e: assert e.args == (5,)\nelse: 1 / 0",
        "try: shapes.nothing\nexcept AttributeError: pass\nelse: 1 / 0",
        "try: import not_there\nexcept ImportError as e: assert e.name == 'not_there'\nelse: 1 / 0",
    ],
)
def test_tests_use_modules_as_if_they_were_here(sandbox: Sandbox, body: str) -> None:
    _passes(sandbox, body)


@pytest.mark.parametrize("should_load", [False, True])
def test_errors_of_library_modules_pass_whether_the_tests_load_them_or_not(
    sandbox: Sandbox, should_load: bool
) -> None:
    """Modules that no server has a use for: a zone that is missing, an option that is missing."""
    sandbox.write_file(
        "lazy.py",
        b"import configparser, zoneinfo\n"
        b"def zone(): raise zoneinfo.ZoneInfoNotFoundError('no zone')\n"
        b"def option(): raise configparser.NoOptionError('size', 'main')\n"
        b"def is_of_zone(e): return type(e) is zoneinfo.ZoneInfoNotFoundError\n",
    )
    imports = "import configparser, zoneinfo\n" if should_load else ""
    result = sandbox.judge(
        f"{imports}import lazy, sys\n"
        "def test_zone():\n"
        f"    assert ('zoneinfo' in sys.modules) is {should_load}\n"
        "    try: lazy.zone()\n"
        "    except KeyError as e:\n"
        "        assert type(e).__name__ == 'ZoneInfoNotFoundError' and e.args == ('no zone',)\n"
        "        assert lazy.is_of_zone(e)\n"
        "    else: 1 / 0\n"
        "def test_option():\n"
        "    try: lazy.option()\n"
        "    except Exception as e:\n"
        "        assert [k.__name__ for k in type(e).__mro__[:2]] == ['NoOptionError', 'Error']\n"
        "        assert e.option == 'size' and e.section == 'main'\n"
        "    else: 1 / 0\n"
    )
    assert result.outcomes == {"test_zone": "passed", "test_option": "passed"}, result.messages


_LIAR = """
    class Liar(int):
        def yes(self, *others): return True
        __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __contains__ = yes
        def zero(self, *others): return 0
        __sub__ = __rsub__ = __truediv__ = __mod__ = __abs__ = __round__ = __floordiv__ = zero
        __hash__ = int.__hash__
        def __getattr__(self, name): return self
    class Sneaky(dict):
        def __eq__(self, other): return True
    def liar(): return Liar(0)
    def text(): return type("Text", (str,), {"__eq__": lambda s, o: True})("x")
    def mapping(): return Sneaky()
    def inside(): return [Liar(0)], {"a": Liar(0)}
"""


@pytest.mark.parametrize(
    "lie",
    [
        *("liar() == 4", "4 == liar()", "liar() in (4,)", "4 in [liar()]", "liar() in {4}"),
        *("text() == 'y'", "mapping() == {'a': 1}", "inside() == ([4], {'a': 4})"),
        *("abs(liar() - 4) < 1", "round(4 - liar(), 7) == 0", "liar() >= 4", "not liar() < 4"),
        *("liar() % 2 == 0", "liar() // 4 == 0", "liar() / 4 == 0", "divmod(liar(), 4)[0] == 0"),
        *("type(liar()) is int", "isinstance(liar(), int)", "isinstance(mapping(), dict)"),
        *("4 in mapping()", "not liar() != 4", "{4: 1}.get(liar())", "[4].index(liar()) == 0"),
        "__import__('unittest').TestCase().assertAlmostEqual(liar(), 4)",
    ],
)
def test_an_object_cannot_pass_for_a_plain_value(sandbox: Sandbox, lie: str) -> None:
    result = _judge(sandbox, f"from liars import *\nassert {lie}\n", liars=_LIAR)
    assert result.outcomes["test_it"] in ("failed", "error"), result


@pytest.mark.parametrize(
    ("body", "outcome", "message"),
    [
        ("assert same(1) == 2", "failed", "AssertionError | line 5: assert same(1) == 2"),
        ("fail(AssertionError, 'inside')", "failed", "inside"),
        ("fail(SystemExit, 0)", "error", "SystemExit"),
        ("fail(KeyboardInterrupt)", "error", "KeyboardInterrupt"),
        ("fail(GeneratorExit)", "error", "GeneratorExit"),
        ("fail(DeepError, 'w')", "error", "DeepError | w"),
        ("same(object())", "error", "hands over an object of object"),
        ("class Sub(Point): pass", "error", "cannot derive"),
        ("x = []\nx.append(x)\nsame(x)", "error", "the test hands over a value more than"),
        ("apply(lambda: object())", "error", "hands over an object of object"),
        ("def f(): return apply(f)\nf()", "error", "RecursionError"),
        ("same('x' * (17 << 20))", "error", "the test hands over a value of"),
        ("return Point(1)", "passed", ""),
    ],
)
def test_outcomes_and_messages(sandbox: Sandbox, body: str, outcome: str, message: str) -> None:
    result = _judge(sandbox, body)
    assert result.outcomes["test_it"] == outcome, result
    assert message in result.messages.get("test_it", "")


_TESTS = """
from helper import double

def test_alone():
    assert 1 + 1 == 2

def test_right():
    assert double(2) == 4

def test_after():
    assert double(3) == 6
"""


@pytest.mark.parametrize(
    ("code", "outcomes"),
    [
        ("def double(x): return x * 2", "passed passed passed"),
        ("import os\ndef double(x): os._exit(0)", "passed missing missing"),
        ("import os, signal\ndef double(x): os.kill(os.getpid(), 11)", "passed missing missing"),
        ("import os; os._exit(0)", "missing missing missing"),
        ("import sys; sys.exit(0)", "error error error"),
        ("def double(x):\n    while True: pass", "passed missing missing"),
        ("def double(:", "error error error"),
        ("def double(x): import sys; sys.exit(0)", "passed error error"),
    ],
)
def test_an_end_of_the_code_is_the_end_of_its_tests_and_no_more(
    sandbox: Sandbox, code: str, outcomes: str
) -> None:
    sandbox.write_file("helper.py", code.encode())
    result = sandbox.judge(_TESTS, limits=Limits(wall_time_s=0.7))
    assert list(result.outcomes.values()) == outcomes.split(), result.messages


def test_a_test_that_catches_everything_does_not_pass_by_the_end_of_the_code(
    sandbox: Sandbox,
) -> None:
    sandbox.write_file("helper.py", b"import os\ndef double(x): os._exit(0)")
    source = (
        "from helper import double\n"
        "def test_a():\n"
        "    try: double(1)\n"
        "    except BaseException: return\n"
        "    raise AssertionError\n"
        "def test_b(): pass\n"
    )
    assert set(sandbox.judge(source).outcomes.values()) == {"missing"}


def test_limits_hold_for_both_processes(sandbox: Sandbox) -> None:
    sandbox.write_file(
        "greedy.py",
        b"def memory(): return len(bytearray(1 << 30))\n"
        b"def file(): open('f', 'wb').write(bytes(9000))\n"
        b"def time():\n    while True: pass\n",
    )
    for name, limits, limit in (
        ("memory", Limits(memory_bytes=128 << 20), "memory"),
        ("file", Limits(file_bytes=4096), "disk"),
        ("time", Limits(cpu_time_s=1.0, wall_time_s=20.0), "cpu_time"),
    ):
        result = sandbox.judge(f"import greedy\ndef test_a(): greedy.{name}()", limits=limits)
        assert (result.execution.limit, result.num_passed) == (limit, 0), result


def test_what_the_code_prints_is_the_output_and_what_the_tests_print_is_not(
    sandbox: Sandbox,
) -> None:
    result = _judge(sandbox, "print('tests', flush=True)\nsay('code')")
    assert result.execution.stdout == b"code\n"


def test_packages_and_modules_that_import_each_other(sandbox: Sandbox) -> None:
    for path, text in {
        "pkg/__init__.py": "from .inner import one\nfrom . import other",
        "pkg/inner.py": "def one(): return 1",
        "pkg/other.py": "import helper\nclass A:\n    def two(self): return helper.two()",
        "pkg/deep/er.py": "three = 3",
        "helper.py": "def two(): return 2",
    }.items():
        sandbox.write_file(path, text.encode())
    source = (
        "import pkg, pkg.deep.er as er\n"
        "from pkg import other, one\n"
        "from pkg.inner import one as again\n"
        "def test_a():\n"
        "    assert (one(), pkg.other.A().two(), er.three, pkg.deep.er.three) == (1, 2, 3, 3)\n"
        "    assert again is one and pkg.inner.one is one and other is pkg.other\n"
    )
    assert sandbox.judge(source).is_ok


def test_tests_never_meet_a_module_of_the_area_in_place_of_the_librarys(sandbox: Sandbox) -> None:
    sandbox.write_file("operator.py", b"def eq(a, b): return True")
    sandbox.write_file("solution.py", b"from operator import eq\ndef f(): return eq(1, 2)")
    result = sandbox.judge(
        "import operator\nfrom solution import f\n"
        "def test_a(): assert operator.eq(f(), 3)\n"
        "def test_b(): assert f() is True\n"
    )
    assert list(result.outcomes.values()) == ["failed", "passed"], result.messages


def test_code_cannot_see_the_tests_or_what_their_process_holds(sandbox: Sandbox) -> None:
    sandbox.write_file(
        "spy.py",
        b"import gc, sys, os\n"
        b"def look():\n"
        b"    here = [repr(o)[:9999] for o in gc.get_objects() if type(o) in (dict, str, list)]\n"
        b"    frame = sys._getframe()\n"
        b"    while frame:\n"
        b"        here.append(repr(frame.f_locals))\n"
        b"        frame = frame.f_back\n"
        b"    return sorted(w for w in ('the hidden' + ' word', 'test_' + 'secret')\n"
        b"                  if any(w in text for text in here)), 'check_tests' in sys.modules\n"
        b"def descriptors():\n"
        b"    return sorted(n for n in range(64) if os.path.exists(f'/proc/self/fd/{n}'))\n",
    )
    result = sandbox.judge(
        "from spy import look, descriptors\nWORD = 'the hidden word'\n"
        "def test_secret(): assert look() == ([], False), look()\n"
        "def test_descriptors(): assert descriptors() == [0, 1, 2, 3], descriptors()\n"
    )
    assert result.is_ok, result.messages


@pytest.mark.parametrize("kind", ["check", "judge", "pytest"])
def test_planted_bytecode_is_not_believed(sandbox: Sandbox, kind: str) -> None:
    sandbox.python(
        "import importlib.util, marshal, os\n"
        "path = importlib.util.cache_from_source('helper.py')\n"
        "os.makedirs(os.path.dirname(path), exist_ok=True)\n"
        "code = compile('value = 666', 'helper.py', 'exec')\n"
        "head = importlib.util.MAGIC_NUMBER + (1).to_bytes(4, 'little') + bytes(8)\n"
        "for name in (path, 'helper.pyc', 'alone.pyc'):\n"
        "    open(name, 'wb').write(head + marshal.dumps(code))\n"
    )
    sandbox.write_file("helper.py", b"value = 1\n")
    tests = (
        "import helper\n"
        "def test_value(): assert helper.value == 1\n"
        "def test_alone():\n"
        "    try: import alone\n"
        "    except ImportError: return\n"
        "    raise AssertionError\n"
    )
    if kind == "pytest":
        sandbox.write_file("test_it.py", tests.encode())
        assert sandbox.pytest().is_ok
    else:
        assert getattr(sandbox, kind)(tests).is_ok


def test_planted_rewritten_tests_are_not_believed(sandbox: Sandbox) -> None:
    sandbox.write_file("test_it.py", b"def test_it(): assert 1 == 2\n")
    planted = sandbox.python(
        "import importlib.util, marshal, os, sys\n"
        "os.makedirs('__pycache__')\n"
        "digest = importlib.util.source_hash(open('test_it.py', 'rb').read())\n"
        "code = compile('def test_it(): pass', 'test_it.py', 'exec')\n"
        "name = '__pycache__/test_it.' + sys.implementation.cache_tag + '-pytest-%s.pyc'\n"
        f"with open(name % {pytest.__version__!r}, 'wb') as file:\n"
        "    file.write(importlib.util.MAGIC_NUMBER + bytes((3, 0, 0, 0)) + digest)\n"
        "    file.write(marshal.dumps(code))\n"
    )
    assert planted.is_ok, planted.text
    assert dict(sandbox.pytest().outcomes) == {"test_it.py::test_it": "failed"}
