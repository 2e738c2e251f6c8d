"""Targets that calculate."""

from __future__ import annotations

from hypothesis import strategies as st

from .inputs import numbers, one_of, pieces, targets_of, whole

target = targets_of("std_numeric")

_DATA = numbers(-9, 30, most=7)
_SOME = numbers(-9, 30, most=7, least=2)
_FLOATS = st.lists(st.floats(0, 9), min_size=0, max_size=6)
_UNIT = st.floats(0, 1)
_TOP, _LOW = whole(-20, 20), whole(1, 12)
_SAMPLE = st.lists(whole(0, 9), min_size=0, max_size=8)

TARGETS = (
    *(
        target("statistics", name, f"{name}({{data}})", data=_DATA)
        for name in ("mean", "median", "median_low", "median_high", "mode", "multimode")
    ),
    *(
        target("statistics", name, f"{name}({{data}})", data=_DATA | _FLOATS)
        for name in ("variance", "pvariance", "stdev", "pstdev")
    ),
    target("statistics", "_mean_stdev", "_mean_stdev({data})", data=_DATA | _FLOATS),
    target(
        "statistics",
        "fmean",
        "fmean({data}, {weights})",
        data=_DATA,
        weights=st.none() | numbers(0, 5, most=7),
    ),
    target(
        "statistics",
        "harmonic_mean",
        "harmonic_mean({data}, {weights})",
        data=numbers(-1, 9, most=4) | numbers(1, 9, most=4),
        weights=st.none() | numbers(0, 5, most=4),
    ),
    target(
        "statistics",
        "median_grouped",
        "median_grouped({data}, {interval})",
        data=_DATA,
        interval=whole(1, 5),
    ),
    target(
        "statistics",
        "quantiles",
        "quantiles({data}, n={n}, method={method})",
        data=_DATA,
        n=whole(0, 6),
        method=one_of("inclusive", "exclusive", "exclusive", "other"),
    ),
    target("statistics", "covariance", "covariance({x}, {y})", x=_SOME, y=_SOME),
    target(
        "statistics",
        "correlation",
        "correlation({x}, {y})",
        x=numbers(0, 9, most=4, least=1),
        y=numbers(0, 9, most=4, least=1),
    ),
    target(
        "statistics",
        "linear_regression",
        "tuple(linear_regression({x}, {y}, proportional={through}))",
        x=numbers(0, 9, most=4, least=1),
        y=numbers(0, 9, most=4, least=1),
        through=st.booleans(),
    ),
    target(
        "statistics",
        "_float_sqrt_of_frac",
        "_float_sqrt_of_frac({n}, {m})",
        n=whole(0, 10**9),
        m=whole(1, 10**9),
    ),
    target(
        "statistics",
        "_integer_sqrt_of_frac_rto",
        "_integer_sqrt_of_frac_rto({n}, {m})",
        n=whole(0, 10**6),
        m=whole(1, 99),
    ),
    target(
        "statistics",
        "_normal_dist_inv_cdf",
        "round(_normal_dist_inv_cdf({p}, {mu}, {sigma}), 9)",
        p=st.floats(0.0001, 0.9999) | one_of(1e-9, 1 - 1e-9, 1e-15),
        mu=whole(-3, 3),
        sigma=whole(1, 4),
    ),
    target(
        "statistics",
        "NormalDist.inv_cdf",
        "round(NormalDist({mu}, {sigma}).inv_cdf({p}), 9)",
        mu=whole(-3, 3),
        sigma=whole(0, 4),
        p=_UNIT,
    ),
    target(
        "statistics",
        "NormalDist.cdf",
        "round(NormalDist({mu}, {sigma}).cdf({x}), 9)",
        mu=whole(-3, 3),
        sigma=whole(0, 4),
        x=whole(-9, 9),
    ),
    target(
        "statistics",
        "NormalDist.pdf",
        "round(NormalDist({mu}, {sigma}).pdf({x}), 9)",
        mu=whole(-3, 3),
        sigma=whole(0, 4),
        x=whole(-9, 9),
    ),
    target(
        "statistics",
        "NormalDist.overlap",
        "round(NormalDist({a}, {b}).overlap(NormalDist({c}, {d})), 9)",
        a=whole(-3, 3),
        b=whole(0, 4),
        c=whole(-3, 3),
        d=whole(0, 4),
    ),
    target(
        "statistics",
        "NormalDist.quantiles",
        "[round(x, 6) for x in NormalDist({mu}, {sigma}).quantiles({n})]",
        mu=whole(-3, 3),
        sigma=whole(1, 4),
        n=whole(0, 6),
    ),
    target(
        "fractions",
        "Fraction.__new__",
        "str(Fraction({text}))",
        text=pieces("1", "-", "/", ".", "25", "e2", "0", " ", "+", "_", most=5) | st.floats(-9, 9),
    ),
    target(
        "fractions",
        "Fraction.limit_denominator",
        "str(Fraction({top}, {bottom}).limit_denominator({most}))",
        top=whole(-999, 999),
        bottom=whole(1, 400),
        most=whole(0, 30),
    ),
    *(
        target(
            "fractions",
            f"Fraction.{method}",
            f"str(Fraction({{a}}, {{b}}) {sign} Fraction({{c}}, {{d}}))",
            a=_TOP,
            b=_LOW,
            c=_TOP,
            d=_LOW,
        )
        for method, sign in (
            ("_add", "+"),
            ("_sub", "-"),
            ("_mul", "*"),
            ("_div", "/"),
            ("_mod", "%"),
            ("_floordiv", "//"),
        )
    ),
    target(
        "fractions",
        "Fraction._divmod",
        "str(divmod(Fraction({a}, {b}), Fraction({c}, {d})))",
        a=_TOP,
        b=_LOW,
        c=_TOP,
        d=_LOW,
    ),
    target(
        "fractions",
        "Fraction.__pow__",
        "str(Fraction({a}, {b}) ** {power})",
        a=_TOP,
        b=_LOW,
        power=whole(-4, 4),
    ),
    target(
        "fractions",
        "Fraction.__round__",
        "str(round(Fraction({a}, {b}), {digits}))",
        a=whole(-999, 999),
        b=one_of(2, 4, 5, 8, 20, 7),
        digits=st.none() | whole(-2, 3),
    ),
    target("fractions", "Fraction.__hash__", "hash(Fraction({a}, {b}))", a=_TOP, b=_LOW),
    target(
        "fractions",
        "Fraction.__eq__",
        "Fraction({a}, {b}) == {other}",
        a=whole(-3, 3),
        b=whole(1, 4),
        other=whole(-3, 3) | one_of(0.5, -0.25, 1.5, "1", None, 0.75),
    ),
    target(
        "fractions",
        "Fraction._richcmp",
        "Fraction({a}, {b}) < {other}",
        a=whole(-3, 3),
        b=whole(1, 4),
        other=whole(-3, 3) | one_of(0.5, -0.25, 1.5, "1", 0.75),
    ),
    target("fractions", "Fraction.__trunc__", "Fraction({a}, {b}).__trunc__()", a=_TOP, b=_LOW),
    target("fractions", "Fraction.__floor__", "Fraction({a}, {b}).__floor__()", a=_TOP, b=_LOW),
    target("fractions", "Fraction.__ceil__", "Fraction({a}, {b}).__ceil__()", a=_TOP, b=_LOW),
    target("fractions", "Fraction.__str__", "str(Fraction({a}, {b}))", a=_TOP, b=_LOW),
    target("colorsys", "rgb_to_yiq", "rgb_to_yiq({r}, {g}, {b})", r=_UNIT, g=_UNIT, b=_UNIT),
    target("colorsys", "yiq_to_rgb", "yiq_to_rgb({y}, {i}, {q})", y=_UNIT, i=_UNIT, q=_UNIT),
    target("colorsys", "rgb_to_hls", "rgb_to_hls({r}, {g}, {b})", r=_UNIT, g=_UNIT, b=_UNIT),
    target("colorsys", "hls_to_rgb", "hls_to_rgb({h}, {l}, {s})", h=_UNIT, l=_UNIT, s=_UNIT),
    target("colorsys", "_v", "_v({m1}, {m2}, {hue})", m1=_UNIT, m2=_UNIT, hue=st.floats(-2, 2)),
    target("colorsys", "rgb_to_hsv", "rgb_to_hsv({r}, {g}, {b})", r=_UNIT, g=_UNIT, b=_UNIT),
    target("colorsys", "hsv_to_rgb", "hsv_to_rgb({h}, {s}, {v})", h=_UNIT, s=_UNIT, v=_UNIT),
    target(
        "random",
        "Random.sample",
        "Random({seed}).sample({items}, {k})",
        seed=whole(0, 99),
        items=_SAMPLE | st.lists(whole(0, 9), min_size=22, max_size=26),
        k=whole(0, 6),
    ),
    target(
        "random",
        "Random.randrange",
        "Random({seed}).randrange({start}, {stop}, {step})",
        seed=whole(0, 99),
        start=whole(-9, 9),
        stop=st.none() | whole(-9, 30),
        step=whole(-3, 3),
    ),
    target(
        "random",
        "Random.shuffle",
        "(lambda x: (Random({seed}).shuffle(x), x)[1])({items})",
        seed=whole(0, 99),
        items=_SAMPLE,
    ),
    target(
        "random",
        "Random.choices",
        "Random({seed}).choices({items}, {weights}, k={k})",
        seed=whole(0, 99),
        items=_SAMPLE,
        weights=st.none() | numbers(0, 5, most=8),
        k=whole(0, 4),
    ),
    target(
        "random",
        "Random._randbelow_without_getrandbits",
        "Random({seed})._randbelow_without_getrandbits({n}, {most})",
        seed=whole(0, 99),
        n=whole(1, 40),
        most=one_of(1 << 53, 64, 50, 16),
    ),
    target(
        "random",
        "Random.triangular",
        "Random({seed}).triangular({low}, {high}, {mode})",
        seed=whole(0, 99),
        low=whole(-3, 3),
        high=whole(-3, 9),
        mode=st.none() | whole(-3, 9),
    ),
)
