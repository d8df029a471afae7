"""Packing: what is packed comes back, and high bytes that are all the same cost nothing."""

from __future__ import annotations

import base64
import json
import zlib

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stepmark.report.html.packing import pack_bytes, pack_column, pack_json, unpack_column
from tests.support.properties import steady

integers = st.lists(st.integers(0, 2**52), max_size=50)


@steady
@given(integers)
def test_columns_come_back(values: list[int]) -> None:
    column = pack_column(np.array(values, dtype=np.int64))
    assert unpack_column(column, len(values)).tolist() == values
    assert 1 <= column.width <= 7


@steady
@given(
    st.recursive(
        st.none() | st.booleans() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_values_come_back(value: object) -> None:
    assert json.loads(zlib.decompress(base64.b64decode(pack_json(value)))) == value


def test_numbers_that_json_does_not_know_become_null() -> None:
    packed = pack_json({"a": [float("nan"), 1.5], "b": float("inf")})
    assert json.loads(zlib.decompress(base64.b64decode(packed))) == {"a": [None, 1.5], "b": None}


@steady
@given(st.binary())
def test_a_string_is_fit_for_any_element(data: bytes) -> None:
    assert not set(pack_bytes(data)) & set("<>&\"'")


def test_times_take_two_bytes_and_not_eight() -> None:
    times = np.random.default_rng(0).integers(2_000_000, 2_060_000, 10_000)
    assert len(pack_column(times).data) < 2.9 * times.size
