"""Sums in many formats: the published results, and explanations that add up exactly."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from stepmark.zoo.precision import EXPERIMENTS, PUBLISHED, Accumulation, in_words, kahan, pairwise, running
from tests.support.properties import steady

FORMATS = {torch.float16: 11, torch.bfloat16: 8, torch.float32: 24, torch.float64: 53}
METHODS: list[Callable[..., Accumulation]] = [running, kahan, pairwise]
formats = st.sampled_from(sorted(FORMATS, key=str))
methods = st.sampled_from(METHODS)
values = st.floats(1e-3, 10.0)
numbers = st.integers(1, 60)


@pytest.fixture(scope="module")
def seen() -> dict[str, Accumulation]:
    return {name: run() for name, run in EXPERIMENTS.items()}


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_handouts_results_come_out(seen: dict[str, Accumulation], name: str) -> None:
    assert round(seen[name].result, 4) == PUBLISHED[name]


def test_results_to_the_last_digit(seen: dict[str, Accumulation]) -> None:
    assert seen["fp32"].result == pytest.approx(10.00013351, abs=5e-9)
    assert seen["fp16"].result == 9.953125
    assert seen["fp32 += fp16"].result == pytest.approx(10.00213623, abs=5e-9)
    assert seen["fp32 += fp16"].addend == pytest.approx(0.01000213623, abs=5e-12)
    assert seen["bf16"].result == 4.0


def test_the_reasons_are_those_of_each_format(seen: dict[str, Accumulation]) -> None:
    """float16 added to float32 errs by its addend, float32 by its sums, bfloat16 stands still."""
    mixed, single, brain = seen["fp32 += fp16"], seen["fp32"], seen["bf16"]
    assert abs(mixed.addend_error) > 1000 * abs(mixed.rounding_error)
    assert abs(single.rounding_error) > 100 * abs(single.addend_error)
    assert brain.stagnated_after is not None
    assert brain.stagnates_from == brain.result == 4.0
    assert seen["fp16"].stagnates_from == 32.0
    assert seen["fp16"].stagnated_after is None


def test_a_cast_of_the_addend_changes_nothing(seen: dict[str, Accumulation]) -> None:
    """In-place addition casts by itself."""
    assert seen["fp32 += fp16"] == seen["fp32 += fp32(fp16)"]


@pytest.mark.parametrize(("name", "bits"), [("fp16", 11), ("bf16", 8), ("fp32", 24)])
def test_compensated_and_pairwise_sums_are_better(
    seen: dict[str, Accumulation], name: str, bits: int
) -> None:
    """Kahan's within a spacing of the sum of what was stored; pairwise within log2(n) half spacings."""
    stored = 1000 * seen[f"kahan {name}"].addend
    spacing = 8 * 2.0 ** (1 - bits)
    assert abs(seen[f"kahan {name}"].result - stored) <= spacing
    assert abs(seen[f"pairwise {name}"].result - stored) <= 10 * spacing / 2
    assert abs(seen[f"kahan {name}"].error) < abs(seen[name].error)
    assert abs(seen[f"pairwise {name}"].error) < abs(seen[name].error)


@steady
@given(methods, formats, values, numbers)
def test_every_error_has_its_cause(
    method: Callable[..., Accumulation], dtype: torch.dtype, value: float, count: int
) -> None:
    found = method(dtype, value=value, count=count)
    meant = count * Fraction(str(value))
    assert found.error == float(Fraction(found.result) - meant)
    assert found.addend_error == float(count * Fraction(found.addend) - meant)
    causes = found.addend_error + found.rounding_error + found.compensation
    assert causes == pytest.approx(found.error, rel=1e-9, abs=1e-12)
    assert (found.compensation == 0.0) or method is kahan


@steady
@given(methods, formats, values, numbers)
def test_binades_hold_every_addition_and_no_error_beyond_half_a_spacing(
    method: Callable[..., Accumulation], dtype: torch.dtype, value: float, count: int
) -> None:
    found = method(dtype, value=value, count=count)
    assert sum(binade.num_additions for binade in found.binades) == count - (method is pairwise)
    total = sum(Fraction(binade.rounding_error) for binade in found.binades)
    assert float(total) == pytest.approx(found.rounding_error, rel=1e-9, abs=1e-15)
    for binade in found.binades:
        assert binade.spacing == binade.low * 2.0 ** (1 - FORMATS[dtype])
        assert abs(binade.rounding_error) <= binade.num_additions * binade.spacing / 2
    assert found.num_inexact <= count


@steady
@given(formats, values)
def test_from_where_it_stagnates_a_sum_stands_still_and_just_below_it_moves(
    dtype: torch.dtype, value: float
) -> None:
    limit = running(dtype, value=value, count=1).stagnates_from
    assert limit is not None
    addend, edge = torch.tensor(value, dtype=dtype), torch.tensor(limit, dtype=dtype)
    below = torch.nextafter(edge, torch.zeros_like(edge))
    assert edge + addend == edge
    assert below + addend != below


@settings(steady, max_examples=20)
@given(values)
def test_a_sum_that_stood_still_shows_it(value: float) -> None:
    """Eight bits take a thousand additions of anything to a halt, and not one addition sooner than said."""
    found = running(torch.bfloat16, value=value, count=1000)
    assert found.stagnated_after is not None
    assert found.result == found.stagnates_from
    reached = running(torch.bfloat16, value=value, count=found.stagnated_after)
    assert (reached.result, reached.stagnated_after) == (found.result, None)
    sooner = running(torch.bfloat16, value=value, count=found.stagnated_after - 1)
    assert sooner.result < found.result


def test_a_format_may_end_before_its_sums_stagnate() -> None:
    assert running(torch.float16, value=60.0, count=2).stagnates_from is None


def test_words_say_the_numbers(seen: dict[str, Accumulation]) -> None:
    assert "float16 stores 0.01 as 0.01000213623: +0.00214." in in_words(seen["fp32 += fp16"])
    assert "stands still" in in_words(seen["bf16"])
    half = in_words(seen["fp16"])
    assert "+0.585 of it from 4 to 8, where numbers are 0.00391 apart and the addend is 2.56 of that." in half
    assert "-0.55 of it from 8 to 16, where numbers are 0.00781 apart and the addend is 1.28 of that." in half
    assert "Kahan's method makes good" in in_words(seen["kahan fp16"])
    assert "Rounding 0 sums: +0." in in_words(pairwise(torch.float32, count=1))


def test_what_cannot_be_summed_is_told() -> None:
    with pytest.raises(ValueError, match=r"floating-point dtype, got torch\.int32"):
        running(torch.int32)
    with pytest.raises(ValueError, match="at least one addition, got 0"):
        kahan(torch.float32, count=0)
    with pytest.raises(ValueError, match=r"positive addend in the range of torch\.float16, got 1e-09"):
        running(torch.float16, value=1e-9)
    with pytest.raises(ValueError, match=r"positive addend .* got -1"):
        pairwise(torch.float32, value=-1.0)
    with pytest.raises(ValueError, match=r"10 additions of 50000\.0 leave the range of torch\.float16"):
        running(torch.float16, value=5e4, count=10)
