"""Targets about containers, order and functions."""

from __future__ import annotations

from hypothesis import strategies as st

from .inputs import BOOL, lines, numbers, one_of, pieces, targets_of, whole

target = targets_of("std_collections")

_ITEMS = numbers(0, 12, most=9)
_HEAP = numbers(0, 30, most=9, least=1)
_SORTED = numbers(0, 9, most=9).map(sorted)
_LETTERS = pieces("a", "b", "c", "d", most=8)
_COUNTS = st.dictionaries(one_of("a", "b", "c"), whole(-2, 4), max_size=3)
_NAMES = lines("a", "b", "_c", "class", "a", "2x", "long_name", "d-e", most=4)
_GRAPH = st.dictionaries(
    one_of("a", "b", "c", "d"), lines("a", "b", "c", "d", "e", most=3), max_size=4
)
_ORDER = st.lists(one_of("a", "b", "c"), max_size=3, unique=True)
_PAIRS = st.lists(st.tuples(one_of("a", "b", "c"), whole(0, 2)), max_size=4)

_PUSHED = "(lambda h: (heapify(h), heappush(h, {item}), h)[-1])({items})"
_POPPED = "(lambda h: (heapify(h), [heappop(h) for _ in range({n})], h)[1:])({items})"
_MAXED = "(lambda h: (_heapify_max(h), [_heappop_max(h) for _ in range({n})], h)[1:])({items})"

TARGETS = (
    target("heapq", "heappush", _PUSHED, items=_ITEMS, item=whole(0, 12)),
    target(
        "heapq",
        "_siftdown",
        "(lambda h: ([heappush(h, x) for x in {items}], h)[1])([])",
        items=_ITEMS,
    ),
    target("heapq", "heappop", _POPPED, items=_ITEMS, n=whole(0, 4)),
    target("heapq", "_siftup", "(lambda h: (heapify(h), h)[1])({items})", items=_ITEMS),
    target(
        "heapq",
        "heapreplace",
        "(lambda h: (heapify(h), heapreplace(h, {item}), h)[1:])({items})",
        items=_ITEMS,
        item=whole(0, 12),
    ),
    target(
        "heapq",
        "heappushpop",
        "(lambda h: (heapify(h), heappushpop(h, {item}), h)[1:])({items})",
        items=_ITEMS,
        item=whole(0, 12),
    ),
    target("heapq", "_heappop_max", _MAXED, items=_ITEMS, n=whole(0, 4)),
    target("heapq", "_siftup_max", "(lambda h: (_heapify_max(h), h)[1])({items})", items=_ITEMS),
    target(
        "heapq",
        "_heapreplace_max",
        "(lambda h: (_heapify_max(h), _heapreplace_max(h, {item}), h)[1:])({items})",
        items=_ITEMS,
        item=whole(0, 12),
    ),
    target(
        "heapq",
        "merge",
        "list(merge({a}, {b}, {c}, reverse={reverse}))",
        a=_SORTED,
        b=_SORTED,
        c=_SORTED,
        reverse=BOOL,
    ),
    target(
        "heapq",
        "nsmallest",
        "nsmallest({n}, {items}, key={key})",
        n=whole(-1, 5),
        items=_ITEMS,
        key=st.none(),
    ),
    target(
        "heapq",
        "nlargest",
        "nlargest({n}, {items}, key={key})",
        n=whole(-1, 5),
        items=_ITEMS,
        key=st.none(),
    ),
    target(
        "bisect",
        "bisect_right",
        "bisect_right({items}, {x}, {low}, {high}, key={key})",
        items=_SORTED,
        x=whole(0, 9),
        low=whole(-1, 4),
        high=st.none() | whole(0, 9),
        key=st.none(),
    ),
    target(
        "bisect",
        "bisect_left",
        "bisect_left({items}, {x}, {low}, {high}, key=abs)",
        items=_SORTED,
        x=whole(0, 9),
        low=whole(-1, 4),
        high=st.none() | whole(0, 9),
    ),
    target(
        "bisect",
        "insort_left",
        "(lambda a: (insort_left(a, {x}, key={key}), a)[1])({items})",
        items=_SORTED,
        x=whole(0, 9),
        key=st.none(),
    ),
    target("collections", "_count_elements", "dict(Counter({text}))", text=_LETTERS),
    target(
        "collections",
        "Counter.most_common",
        "Counter({text}).most_common({n})",
        text=_LETTERS,
        n=st.none() | whole(0, 3),
    ),
    target(
        "collections",
        "Counter.update",
        "(lambda c: (c.update({more}), dict(c))[1])(Counter({text}))",
        text=_LETTERS,
        more=_COUNTS | _LETTERS,
    ),
    target(
        "collections",
        "Counter.subtract",
        "(lambda c: (c.subtract({more}), dict(c))[1])(Counter({text}))",
        text=_LETTERS,
        more=_COUNTS | _LETTERS,
    ),
    *(
        target(
            "collections",
            f"Counter.{method}",
            f"dict(Counter({{a}}) {sign} Counter({{b}}))",
            a=_COUNTS,
            b=_COUNTS,
        )
        for method, sign in (("__add__", "+"), ("__sub__", "-"), ("__or__", "|"), ("__and__", "&"))
    ),
    *(
        target(
            "collections",
            f"Counter.{method}",
            f"Counter({{a}}) {sign} Counter({{b}})",
            a=_COUNTS,
            b=_COUNTS,
        )
        for method, sign in (
            ("__eq__", "=="),
            ("__le__", "<="),
            ("__lt__", "<"),
            ("__ge__", ">="),
            ("__gt__", ">"),
        )
    ),
    target(
        "collections",
        "Counter._keep_positive",
        "(lambda c: dict(c.__iadd__(Counter({b}))))(Counter({a}))",
        a=_COUNTS,
        b=_COUNTS,
    ),
    target("collections", "Counter.__neg__", "dict(-Counter({a}))", a=_COUNTS),
    target("collections", "Counter.__pos__", "dict(+Counter({a}))", a=_COUNTS),
    target(
        "collections",
        "namedtuple",
        "namedtuple('P', {names}, rename={rename})._fields",
        names=_NAMES,
        rename=BOOL,
    ),
    target(
        "collections",
        "OrderedDict.__eq__",
        "OrderedDict({a}) == OrderedDict({b})",
        a=_PAIRS,
        b=_PAIRS,
    ),
    target(
        "collections",
        "OrderedDict.move_to_end",
        "(lambda d: (d.move_to_end({key}, {last}), list(d))[1])(OrderedDict.fromkeys({keys}))",
        keys=st.lists(one_of("a", "b", "c", "d"), max_size=4),
        key=one_of("a", "b"),
        last=BOOL,
    ),
    target(
        "collections",
        "OrderedDict.popitem",
        "(lambda d: (d.popitem({last}), list(d)))(OrderedDict({pairs}))",
        pairs=_PAIRS,
        last=BOOL,
    ),
    target(
        "collections",
        "UserList.__add__",
        "(UserList({a}) + {b}).data",
        a=_ITEMS,
        b=_ITEMS | st.tuples(whole(0, 3)) | _LETTERS,
    ),
    target(
        "collections",
        "UserList.__radd__",
        "({a} + UserList({b})).data",
        a=_ITEMS | st.tuples(whole(0, 3)),
        b=_ITEMS,
    ),
    target(
        "collections",
        "UserString.__add__",
        "(UserString({a}) + {b}).data",
        a=_LETTERS,
        b=_LETTERS | whole(0, 99),
    ),
    target(
        "graphlib",
        "TopologicalSorter._find_cycle",
        "(lambda s: s._find_cycle())(TopologicalSorter({graph}))",
        graph=_GRAPH,
    ),
    target(
        "graphlib",
        "TopologicalSorter.prepare",
        "list(TopologicalSorter({graph}).static_order())",
        graph=_GRAPH,
    ),
    target(
        "graphlib",
        "TopologicalSorter.done",
        "(lambda s: (s.prepare(), s.get_ready(), s.done(*{nodes}), s.get_ready()))"
        "(TopologicalSorter({graph}))",
        graph=_GRAPH,
        nodes=_ORDER,
    ),
    target(
        "graphlib",
        "TopologicalSorter.add",
        "(lambda s: (s.add({node}, *{before}), list(s.static_order()))[1])"
        "(TopologicalSorter({graph}))",
        graph=_GRAPH,
        node=one_of("a", "b", "x"),
        before=_ORDER,
    ),
    target(
        "graphlib",
        "TopologicalSorter.is_active",
        "(lambda s: (s.prepare(), s.is_active(), s.get_ready(), s.is_active()))"
        "(TopologicalSorter({graph}))",
        graph=_GRAPH,
    ),
    target(
        "functools",
        "cmp_to_key",
        "sorted({items}, key=cmp_to_key(lambda a, b: a % {n} - b % {n}))",
        items=_ITEMS,
        n=whole(1, 5),
    ),
    target(
        "functools",
        "_c3_merge",
        "_c3_merge({sequences})",
        sequences=st.lists(numbers(0, 4, most=3), max_size=4),
    ),
    target(
        "functools",
        "_make_key",
        "[x for x in _make_key({args}, {named}, {typed}) if type(x) in (int, str)]",
        args=st.lists(one_of("a", "b") | whole(0, 9), max_size=3).map(tuple),
        named=st.dictionaries(one_of("a", "b", "c"), whole(0, 9), max_size=2),
        typed=BOOL,
    ),
    target(
        "functools",
        "_lru_cache_wrapper",
        "(lambda f: ([f(x) for x in {items}], tuple(f.cache_info())))(lru_cache({size})(abs))",
        items=numbers(-3, 3, most=9),
        size=st.none() | whole(-1, 3),
    ),
    target(
        "functools",
        "lru_cache",
        "(lambda f: ([f(x) for x in {items}], tuple(f.cache_info())))"
        "(lru_cache(maxsize={size}, typed={typed})(str))",
        items=st.lists(one_of(1, 1.0, True, 2), max_size=7),
        size=st.none() | whole(-1, 3) | st.just("x"),
        typed=BOOL,
    ),
    target(
        "functools",
        "reduce",
        "reduce(lambda a, b: a * 2 - b, {items}, *{start})",
        items=_ITEMS,
        start=st.tuples() | st.tuples(whole(0, 9)),
    ),
    target("functools", "_le_from_lt", "_le_from_lt({a}, {b})", a=whole(0, 20), b=whole(0, 20)),
    target("operator", "countOf", "countOf({items}, {x})", items=_ITEMS, x=whole(0, 12)),
    target("operator", "indexOf", "indexOf({items}, {x})", items=_ITEMS, x=whole(0, 12)),
    target("operator", "concat", "concat({a}, {b})", a=_ITEMS | whole(0, 3), b=_ITEMS),
    target(
        "operator",
        "length_hint",
        "length_hint({x}, {default})",
        x=_ITEMS | _LETTERS | whole(0, 9),
        default=whole(0, 9) | st.just("x"),
    ),
    target(
        "unittest.util",
        "sorted_list_difference",
        "sorted_list_difference({a}, {b})",
        a=_SORTED,
        b=_SORTED,
    ),
    target(
        "unittest.util",
        "_count_diff_all_purpose",
        "[tuple(d) for d in _count_diff_all_purpose({a}, {b})]",
        a=numbers(0, 3, most=5),
        b=numbers(0, 3, most=5),
    ),
    target(
        "unittest.util",
        "_count_diff_hashable",
        "[tuple(d) for d in _count_diff_hashable({a}, {b})]",
        a=numbers(0, 3, most=5),
        b=numbers(0, 3, most=5),
    ),
    target("enum", "_is_dunder", "_is_dunder({name})", name=pieces("_", "a", "__", "b", most=6)),
    target("enum", "_is_sunder", "_is_sunder({name})", name=pieces("_", "a", "__", "b", most=6)),
    target(
        "enum",
        "_is_private",
        "_is_private({owner}, {name})",
        owner=one_of("C", "Big"),
        name=pieces("_", "C", "_C", "__", "a", "_Big__", most=5),
    ),
    target("enum", "bin", "bin({n}, {bits})", n=whole(-40, 40), bits=st.none() | whole(1, 9)),
    target(
        "copy",
        "deepcopy",
        "deepcopy({value})",
        value=st.recursive(
            whole(0, 9),
            lambda x: (
                st.lists(x, max_size=3)
                | st.tuples(x)
                | st.dictionaries(one_of("a", "b"), x, max_size=2)
            ),
            max_leaves=6,
        ),
    ),
)
