"""Lettering: what is shortened fits, ids are ids, and names that come twice are told apart."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepmark.report.figures.lettering import ELLIPSIS, distinct, one_line, shortened, slug, width_of
from tests.support.properties import steady


@given(text=st.text(), width=st.floats(40.0, 400.0))
@steady
def test_what_is_shortened_fits_and_is_one_line(text: str, width: float) -> None:
    short = shortened(text, width)
    assert width_of(short) <= max(width, width_of("W" * 3))
    assert one_line(short) == short
    assert short == one_line(text) or ELLIPSIS in short


def test_names_of_axes_are_shortened_before_their_values() -> None:
    short = shortened("hidden_features=1024, attention_heads=16, causal=True", 220.0)
    assert short.count("=") == 3
    assert all(value in short for value in ("=1024", "=16", "=True"))


@pytest.mark.parametrize("width", range(140, 260, 5))
def test_what_was_left_out_of_a_name_shows(width: int) -> None:
    short = shortened("dense, features=256, tokens=16, bias=True", float(width))
    names = re.findall(r"([^ ,=]+)=", short)
    assert all(name in ("features", "tokens", "bias") or ELLIPSIS in name for name in names)
    assert ELLIPSIS * 2 not in short


def test_a_name_keeps_beginning_and_end() -> None:
    short = shortened("a_very_long_variant_name_with_32_options", 120.0)
    assert short.startswith("a_very")
    assert short.endswith("options")


@given(parts=st.lists(st.text(), min_size=1, max_size=3))
@steady
def test_ids_are_letters_digits_and_dashes(parts: list[str]) -> None:
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", slug(*parts))


@given(names=st.lists(st.sampled_from(["a", "a-2", "b"]), max_size=8))
@steady
def test_names_are_made_distinct_and_first_ones_stay(names: list[str]) -> None:
    made = distinct(names)
    assert len(set(made)) == len(made) == len(names)
    assert all(name == old or name.startswith(f"{old}-") for name, old in zip(made, names, strict=True))
