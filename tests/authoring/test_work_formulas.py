"""Formulas for operators of one's own: names are checked where they are given."""

from __future__ import annotations

from typing import Any

import pytest

import stepmark
from stepmark.authoring.work import formula_named, register_work


def test_a_formula_is_found_under_its_operator() -> None:
    def formula(*tensors: Any) -> float:
        return float(len(tensors))

    stepmark.register_work("mine::product", formula)
    assert formula_named("mine::product") is formula
    assert formula_named("mine::other") is None


@pytest.mark.parametrize("name", ["gemm", "mine.gemm", "mine::", "::gemm", "mine::gemm.default", "a b::c"])
def test_a_name_that_no_operator_can_have_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="library::operator"):
        register_work(name, lambda: 0.0)


def test_a_formula_that_cannot_be_called_is_refused() -> None:
    with pytest.raises(TypeError, match="cannot be called"):
        register_work("mine::gemm", 3.0)  # type: ignore[arg-type]
