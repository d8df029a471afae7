"""Backward, gradients and graphs: where their rules speak and where they are silent."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepmark.audit.backward_does_nothing import backward_does_nothing
from stepmark.audit.gradients_accumulate import gradients_accumulate
from stepmark.audit.graph_retained import graph_retained
from stepmark.audit.lanes import CaseLanes
from stepmark.audit.parameter_without_gradient import parameter_without_gradient
from stepmark.records.case import Mode
from stepmark.records.finding import FindingName, Severity
from stepmark.records.inspection import GradientFacts, OptimizerFacts, PhaseInspection
from tests.support.inspected import found, inspected, step
from tests.support.properties import steady


def trained(gradients: GradientFacts, **facts: Any) -> CaseLanes:
    return inspected(*step(), gradients=gradients, **facts)


def names(number: int) -> tuple[str, ...]:
    return tuple(f"layers.{n}.weight" for n in range(number))


@steady
@given(st.integers(0, 6), st.integers(0, 6), st.integers(0, 6))
def test_missing_gradients_are_one_of_two_findings_or_none(missing: int, zero: int, fine: int) -> None:
    every = names(missing + zero + fine)
    case = trained(
        GradientFacts(trainable=len(every), without=every[:missing], zero=every[missing : missing + zero])
    )
    nothing, some = backward_does_nothing(case), parameter_without_gradient(case)
    assert (nothing is not None) == (bool(every) and fine == 0)
    assert (some is not None) == (0 < missing < len(every))


def test_backward_does_nothing_counts_both_kinds() -> None:
    finding = found(
        backward_does_nothing, trained(GradientFacts(trainable=2, without=("weight",), zero=("bias",)))
    )
    assert (finding.name, finding.severity) == (FindingName.BACKWARD_DOES_NOTHING, Severity.ERROR)
    assert finding.message == "of 2 trainable parameters 1 got no gradient and 1 a gradient of zeros"


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        (GradientFacts(trainable=1, without=names(1)), "the only trainable parameter got no gradient"),
        (GradientFacts(trainable=1, zero=names(1)), "the only trainable parameter got a gradient of zeros"),
        (GradientFacts(trainable=2, without=names(2)), "none of 2 trainable parameters got a gradient"),
        (GradientFacts(trainable=2, zero=names(2)), "all 2 trainable parameters got gradients of zeros"),
    ],
)
def test_parameters_of_one_kind_are_not_told_of_the_other(facts: GradientFacts, message: str) -> None:
    assert found(backward_does_nothing, trained(facts)).message == message


def test_a_name_in_both_lists_counts_once() -> None:
    facts = GradientFacts(trainable=2, without=("weight",), zero=("weight",))
    assert backward_does_nothing(trained(facts)) is None


def test_gradients_that_the_optimizer_used_up_were_there() -> None:
    facts = GradientFacts(trainable=2, without=names(2))
    changed = OptimizerFacts(steps=2, parameters=2, with_gradient=2, changed=2)
    assert backward_does_nothing(trained(facts, optimizer=changed)) is None
    idle = OptimizerFacts(steps=2, parameters=2)
    assert backward_does_nothing(trained(facts, optimizer=idle)) is not None


def test_weight_decay_does_not_hide_gradients_of_zeros() -> None:
    facts = GradientFacts(trainable=2, zero=names(2))
    decayed = OptimizerFacts(steps=1, parameters=2, with_gradient=2, changed=2)
    assert backward_does_nothing(trained(facts, optimizer=decayed)) is not None


def test_a_forward_pass_needs_no_gradient() -> None:
    forward = step()[0]
    facts = GradientFacts(trainable=2, without=names(2))
    assert backward_does_nothing(inspected(forward, mode=Mode.FORWARD, gradients=facts)) is None
    some = GradientFacts(trainable=2, without=names(1))
    assert parameter_without_gradient(inspected(forward, mode=Mode.FORWARD, gradients=some)) is None


def operation(name: str, seconds: float | None, **facts: Any) -> CaseLanes:
    times = {} if seconds is None else {name: seconds}
    return inspected(PhaseInspection(phase=name, **facts), mode=Mode.OPS, seconds=times)


def test_an_empty_backward_operation() -> None:
    finding = found(backward_does_nothing, operation("attention_backward", 2e-7))
    assert finding.severity is Severity.WARNING, "a short kernel that nobody sees looks the same"
    assert "attention_backward dispatched no operation" in finding.message


@pytest.mark.parametrize(
    "case",
    [
        operation("backward", 2e-7, operations=1),
        operation("backward", 2e-7, unseen=True),
        operation("backward", 2e-5),
        operation("backward", None),
        operation("matmul", 2e-7),
    ],
    ids=["does something", "writes unseen", "takes time: a kernel", "never timed", "is called otherwise"],
)
def test_an_operation_that_may_work_is_left_alone(case: CaseLanes) -> None:
    assert backward_does_nothing(case) is None


def test_parameters_are_named_and_then_counted() -> None:
    finding = found(parameter_without_gradient, trained(GradientFacts(trainable=9, without=names(5))))
    assert (finding.name, finding.severity) == (FindingName.PARAMETER_WITHOUT_GRADIENT, Severity.WARNING)
    assert "5 of 9" in finding.message
    assert finding.message.endswith("layers.2.weight and 2 more")


def test_gradients_accumulate() -> None:
    finding = found(
        gradients_accumulate, trained(GradientFacts(trainable=2, passes=1, leaves=3, present_before=2))
    )
    assert (finding.name, finding.severity) == (FindingName.GRADIENTS_ACCUMULATE, Severity.WARNING)
    assert "2 of 3 gradients" in finding.message
    assert gradients_accumulate(trained(GradientFacts(trainable=2, passes=3, leaves=3))) is None


@steady
@given(st.booleans(), st.integers(0, 4))
def test_graph_retained(same: bool, alive: int) -> None:
    finding = graph_retained(trained(GradientFacts(trainable=1, same_graph=same, graphs_alive=alive)))
    assert (finding is not None) == (same or alive >= 2)
    if finding is not None:
        assert finding.severity is Severity.WARNING
        assert ("once more" if same else f"{alive} graphs") in finding.message
