"""Packed samples: what goes in comes out, on every machine."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepmark.records.sample import Layout, Sample, Total, pack, unpack
from stepmark.records.trial import LaneTrial
from tests.support.properties import steady

int64 = st.integers(-(2**63), 2**63 - 1)


@steady
@given(st.lists(int64))
def test_unpacking_is_the_inverse_of_packing(values: list[int]) -> None:
    assert list(unpack(pack(values))) == values


@steady
@given(st.lists(int64))
def test_eight_bytes_each_the_least_significant_first(values: list[int]) -> None:
    assert pack(values) == b"".join(value.to_bytes(8, "little", signed=True) for value in values)


@steady
@given(st.lists(int64), st.lists(int64))
def test_packed_values_can_be_appended(one: list[int], other: list[int]) -> None:
    assert pack(one) + pack(other) == pack(one + other)


def test_a_big_endian_machine_writes_the_same_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """There `array` holds the most significant byte first; swapping twice on this machine shows both."""
    monkeypatch.setattr("sys.byteorder", "big")
    swapped = pack([1])
    assert swapped == (1).to_bytes(8, "big")
    assert list(unpack(swapped)) == [1]


@pytest.mark.parametrize("value", [2**63, -(2**63) - 1])
def test_what_does_not_fit_is_refused(value: int) -> None:
    with pytest.raises(OverflowError):
        pack([value])


def test_bytes_that_are_no_samples_are_refused() -> None:
    with pytest.raises(ValueError, match="not a multiple"):
        unpack(b"1234567")


@steady
@given(st.lists(int64))
def test_a_sample_knows_its_blocks(values: list[int]) -> None:
    assert Sample(phase="step", iterations=4, nanoseconds=pack(values)).num_blocks == len(values)


ALL = Total(name="all", parts=("quantize", "matmul"))


def test_a_layout_names_phases_sums_and_what_a_verdict_is_about() -> None:
    layout = Layout(phases=("quantize", "matmul"), primary="all", totals=(ALL,))
    assert layout.whole is None
    assert {layout: 1}[Layout(phases=("quantize", "matmul"), primary="all", totals=(ALL,))] == 1


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"phases": ("matmul", "matmul")}, "names of their own"),
        ({"phases": ("matmul", "quantize", "all")}, "names of their own"),
        ({"primary": "speed"}, "primary 'speed' is none of"),
        ({"whole": "all"}, "whole 'all' is none of"),
        ({"phases": ("matmul",)}, r"unknown phases: \['quantize'\]"),
    ],
)
def test_a_layout_refers_to_what_is_there(fields: dict[str, Any], problem: str) -> None:
    fine: dict[str, Any] = {"phases": ("matmul", "quantize"), "primary": "matmul", "totals": (ALL,)}
    Layout(**fine)
    with pytest.raises(ValueError, match=problem):
        Layout(**{**fine, **fields})


def test_a_lane_has_a_block_for_every_round() -> None:
    def sample(values: list[int]) -> Sample:
        return Sample(phase="step", iterations=1, nanoseconds=pack(values))

    LaneTrial(variant="a", samples=(sample([5, 6]), sample([7, 8])), rounds=pack([0, 1]))
    with pytest.raises(ValueError, match="lane 'a' has samples that do not match its rounds"):
        LaneTrial(variant="a", samples=(sample([5, 6]), sample([7])), rounds=pack([0, 1]))
