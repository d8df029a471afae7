"""optimizer-does-nothing: steps that change nothing, and all that only looks like one."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from stepmark.audit.lanes import CaseLanes
from stepmark.audit.optimizer_does_nothing import CALLED_OPTIMIZER, optimizer_does_nothing
from stepmark.records.case import Mode
from stepmark.records.finding import Severity
from stepmark.records.inspection import OptimizerFacts, PhaseInspection
from tests.support.inspected import found, inspected, step
from tests.support.properties import steady


def stepped(dtype: str = "float32", **facts: int) -> CaseLanes:
    optimizer = replace(OptimizerFacts(steps=1, parameters=4), **facts)
    return inspected(*step(), dtype=dtype, optimizer=optimizer)


@steady
@given(st.integers(0, 4), st.integers(1, 4), st.integers(0, 3))
def test_what_changes_its_own_parameters_is_fine(with_gradient: int, changed: int, foreign: int) -> None:
    case = stepped(with_gradient=with_gradient, changed=changed, foreign=foreign)
    assert optimizer_does_nothing(case) is None


def test_gradients_and_no_change() -> None:
    finding = found(optimizer_does_nothing, stepped(with_gradient=4))
    assert finding.severity is Severity.ERROR
    assert "4 of 4 parameters had a gradient and none changed in 1 step" in finding.message


def test_a_declared_optimizer_that_never_steps() -> None:
    finding = found(optimizer_does_nothing, stepped(steps=0, with_gradient=4))
    assert finding.severity is Severity.ERROR
    assert "0 steps" in finding.message


def test_no_gradients() -> None:
    assert "had a gradient" in found(optimizer_does_nothing, stepped()).message


def test_parameters_of_something_else() -> None:
    finding = found(optimizer_does_nothing, stepped(with_gradient=4, changed=4, foreign=4))
    assert "belongs to the step" in finding.message
    alone = found(optimizer_does_nothing, stepped(parameters=1, with_gradient=1, changed=1, foreign=1))
    assert alone.message == "the only parameter that the optimizer holds does not belong to the step"


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_a_coarse_dtype_may_lose_updates(dtype: str) -> None:
    assert found(optimizer_does_nothing, stepped(dtype, with_gradient=4)).severity is Severity.WARNING
    never = found(optimizer_does_nothing, stepped(dtype, with_gradient=4, steps=0))
    assert never.severity is Severity.ERROR


def test_an_optimizer_without_parameters_has_nothing_to_do() -> None:
    assert optimizer_does_nothing(stepped(parameters=0)) is None
    assert optimizer_does_nothing(inspected(*step())) is None


def operation(name: str = "adam", seconds: float = 1e-3, **facts: Any) -> CaseLanes:
    phase = PhaseInspection(phase=name, **facts)
    return inspected(phase, mode=Mode.OPS, seconds={name: seconds})


def test_an_optimizer_of_torch_among_operations_is_asked_itself() -> None:
    phase = PhaseInspection(phase="update", operations=9)
    facts = OptimizerFacts(steps=1, parameters=2)
    case = inspected(phase, mode=Mode.OPS, seconds={"update": 1e-3}, optimizer=facts)
    assert found(optimizer_does_nothing, case).severity is Severity.ERROR


def test_an_operation_that_is_empty() -> None:
    assert found(optimizer_does_nothing, operation(seconds=1e-7)).severity is Severity.WARNING


def test_an_operation_that_writes_and_returns_nothing() -> None:
    assert found(optimizer_does_nothing, operation(operations=9)).severity is Severity.WARNING


@pytest.mark.parametrize(
    "case",
    [
        operation(operations=9, mutated=3),
        operation(operations=9, returned=True),
        operation(operations=9, unseen=True),
        operation(seconds=1e-4),
        operation("matmul", operations=9),
    ],
    ids=["writes", "returns new parameters", "writes unseen", "a kernel nobody sees", "no optimizer"],
)
def test_operations_that_may_work(case: CaseLanes) -> None:
    assert optimizer_does_nothing(case) is None


@pytest.mark.parametrize(
    "name", ["optimizer", "Adam", "fused_adamw", "sgd.step", "optim step", "my-optimiser"]
)
def test_names_of_optimizers(name: str) -> None:
    assert CALLED_OPTIMIZER.search(name)


@pytest.mark.parametrize(
    "name", ["madam", "optimal_transport", "adamantine", "backward", "sgdm2x", "optimized"]
)
def test_other_names(name: str) -> None:
    assert not CALLED_OPTIMIZER.search(name)
