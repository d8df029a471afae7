"""Numbers against a reference: relative errors, places, shapes, infinities, tolerances by dtype."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from stepmark.authoring.workload import Ops
from stepmark.instruments.inspection.numbers import (
    INFINITE,
    TOLERANCES,
    compare,
    compare_tensors,
    tolerance_of,
)
from stepmark.records.case import Mode
from stepmark.records.inspection import NumberCheck
from tests.instruments.inspection.bound import stepped

few = settings(max_examples=30)


def check(got: Any, expected: Any) -> NumberCheck:
    return compare_tensors("output", got, expected, tolerance=1e-4)


@few
@given(st.integers(1, 6), st.integers(1, 6), st.floats(1e-6, 1e6), st.data())
def test_the_worst_error_has_its_size_and_place(n: int, m: int, scale: float, data: st.DataObject) -> None:
    expected = torch.rand(n, m, dtype=torch.float64) * scale
    place = data.draw(st.tuples(st.integers(0, n - 1), st.integers(0, m - 1)))
    got = expected.clone()
    got[place] += scale
    found = check(got, expected)
    assert found.place == place
    assert found.error == pytest.approx(scale / expected.max().item())
    assert (found.got, found.expected) == (got[place].item(), expected[place].item())


@few
@given(st.sampled_from([torch.float32, torch.bfloat16, torch.float16]), st.integers(1, 50))
def test_rounding_stays_within_the_tolerance_of_its_dtype(dtype: torch.dtype, size: int) -> None:
    expected = torch.randn(size, dtype=torch.float64)
    assert check(expected.to(dtype), expected).error <= TOLERANCES[dtype]


@pytest.mark.parametrize("strange", [float("nan"), float("inf"), float("-inf")])
def test_strange_numbers_agree_with_themselves_only(strange: float) -> None:
    one, other = torch.tensor([1.0, strange]), torch.tensor([1.0, 2.0])
    assert check(one, one).error == 0
    assert check(one, other).error == INFINITE
    assert check(other, one).error == INFINITE


def test_zeros_are_compared_as_they_are() -> None:
    assert check(torch.zeros(3), torch.zeros(3)).error == 0
    assert check(torch.full((3,), 0.5), torch.zeros(3)).error == 0.5


def test_other_shapes_are_a_problem_and_no_error_of_rounding() -> None:
    found = check(torch.ones(3, 1), torch.ones(3))
    assert found.error == INFINITE
    assert "shape (3, 1) against (3,)" in found.problem


def test_results_of_several_tensors_are_compared_one_by_one() -> None:
    good, bad = torch.ones(2), torch.zeros(2)
    names = [(one.what, one.error) for one in compare("y", (good, [bad]), (good, good), tolerance=0.0)]
    assert names == [("y 0", 0.0), ("y 1", 1.0)]
    (found,) = compare("y", (good, good), good, tolerance=0.0)
    assert "2 tensors against 1" in found.problem
    (found,) = compare("y", good, None, tolerance=0.0)
    assert "nothing" in found.problem


def test_sparse_and_complex_numbers_are_compared() -> None:
    assert check(torch.eye(3).to_sparse(), torch.eye(3)).error == 0
    assert check(torch.tensor([1 + 1j]), torch.tensor([1 - 1j], dtype=torch.complex128)).error > 1


def test_the_coarsest_dtype_sets_the_tolerance() -> None:
    assert tolerance_of([torch.float32, torch.bfloat16]) == TOLERANCES[torch.bfloat16]
    assert tolerance_of([torch.float32]) < tolerance_of([torch.float32], reduced=True)
    assert tolerance_of([torch.int64]) == 0
    assert tolerance_of([torch.float8_e4m3fn]) > TOLERANCES[torch.bfloat16]


# ── operations ──────────────────────────────────────────────────────────────────────────────────────


def verified(ops: Ops) -> tuple[NumberCheck, ...]:
    program = stepped(ops, Mode.OPS)
    assert program.verify is not None
    return program.verify()


def test_operations_are_held_against_their_references() -> None:
    a = torch.randn(8, 8)
    right, wrong = verified(
        Ops(
            {"right": lambda: a @ a, "wrong": lambda: a @ a.t(), "other": lambda: a},
            references={"right": lambda: a.double() @ a.double(), "wrong": lambda: a.double() @ a.double()},
        )
    )
    assert right.error <= right.tolerance == TOLERANCES[torch.float32]
    assert wrong.error > wrong.tolerance


def test_a_reference_is_computed_before_the_operation_changes_its_operands() -> None:
    a = torch.ones(4)
    (found,) = verified(Ops({"double": lambda: a.mul_(2)}, references={"double": lambda: a.double() * 2}))
    assert found.error == 0


def test_operations_may_use_what_earlier_ones_left() -> None:
    left: dict[str, Any] = {}
    x = torch.randn(4)
    checks = verified(
        Ops(
            {"first": lambda: left.update(y=x * 2), "second": lambda: left["y"] + 1},
            references={"second": lambda: x.double() * 2 + 1},
        )
    )
    assert [one.error <= one.tolerance for one in checks] == [True]


def test_a_reference_that_fails_is_named() -> None:
    def broken() -> Any:
        raise KeyError("lost")

    (found,) = verified(Ops({"one": lambda: torch.ones(1)}, references={"one": broken}, tolerance=0.1))
    assert "KeyError" in found.problem


def test_without_a_reference_there_is_nothing_to_verify() -> None:
    assert stepped(Ops({"one": lambda: torch.ones(1)}), Mode.OPS).verify is None
