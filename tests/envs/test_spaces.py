import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim2live.envs.spaces import UnicodeText

SPACE = UnicodeText(200)


@given(st.text(max_size=1000))
def test_a_cleaned_text_is_always_in_the_space(text):
    assert SPACE.clean(text) in SPACE


@given(
    st.text(alphabet=st.characters(max_codepoint=0xFFFF, exclude_categories=["Cs"]), max_size=200)
)
def test_a_text_that_fits_is_not_changed(text):
    assert SPACE.clean(text) == text


def test_surrogates_and_characters_beyond_the_plane_are_replaced():
    assert SPACE.clean("a\ud800b\U0001f600c") == "a\ufffdb\ufffdc"
    assert "\ud800" not in SPACE


def test_a_long_text_keeps_its_ends_and_says_how_much_was_cut():
    cleaned = SPACE.clean("a" * 300 + "z" * 300)
    assert cleaned.startswith("aaa")
    assert cleaned.endswith("zzz")
    assert "400 characters cut" in cleaned


@pytest.mark.parametrize("length", [1, 5, 30])
def test_a_very_short_space_still_holds_what_it_cleans(length):
    space = UnicodeText(length)
    assert space.clean("x" * 100) in space


def test_samples_lie_in_the_space_and_follow_the_seed():
    one, two = UnicodeText(50, seed=3), UnicodeText(50, seed=3)
    samples = [one.sample() for _ in range(20)]
    assert samples == [two.sample() for _ in range(20)]
    assert all(sample in one for sample in samples)


def test_spaces_compare_by_length_and_survive_pickling():
    assert UnicodeText(5) == UnicodeText(5) != UnicodeText(6)
    assert pickle.loads(pickle.dumps(SPACE)) == SPACE
    assert repr(SPACE) == "UnicodeText(200)"
