"""What a case declares against what was seen: sizes, work, mode, numbers, determinism."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from stepmark.audit.dead_work import dead_work
from stepmark.audit.lanes import CaseLanes
from stepmark.audit.more_work_than_needed import more_work_than_needed
from stepmark.audit.not_deterministic import not_deterministic
from stepmark.audit.not_the_declared_work import not_the_declared_work
from stepmark.audit.wrong_numbers import wrong_numbers
from stepmark.records.case import Mode
from stepmark.records.evidence import Declared, TensorFacts
from stepmark.records.finding import Severity
from stepmark.records.inspection import GradientFacts, NumberCheck, OptimizerFacts
from tests.support.inspected import found, inspected, step
from tests.support.properties import steady

FLOPS = 3e6
"""Of the ordinary step."""
OUTPUT = TensorFacts(shape=(4, 16, 512), dtype="float32", device="cpu")


def declares(**claims: Any) -> CaseLanes:
    return inspected(*step(), evidence={"declared": Declared(**claims), "output": OUTPUT, "parameters": 7})


def test_true_claims_are_no_finding() -> None:
    case = declares(
        parameters=7, flops=FLOPS, output=(4, 16, 512), tokens=64, dtype="float32", deterministic=True
    )
    assert not_the_declared_work(case) is None
    assert more_work_than_needed(case) is None
    assert not_deterministic(case) is None


@pytest.mark.parametrize(
    ("claims", "said"),
    [
        ({"parameters": 8}, "7 parameters instead of 8"),
        ({"output": (16, 4, 512)}, "an output of shape [4, 16, 512] instead of [16, 4, 512]"),
        ({"tokens": 128}, "64 rows instead of 128 tokens"),
        ({"dtype": "bfloat16"}, "an output in float32 instead of bfloat16"),
        ({"flops": 6e6}, "3 MFLOP of work in an iteration instead of 6 MFLOP"),
    ],
)
def test_claims_that_are_not_true(claims: dict[str, Any], said: str) -> None:
    finding = found(not_the_declared_work, declares(**claims))
    assert finding.severity is Severity.ERROR
    assert said in finding.message


def test_all_differences_are_told_together() -> None:
    message = found(not_the_declared_work, declares(parameters=8, tokens=1)).message
    assert message.count(";") == 1


@steady
@given(st.floats(1.0, 1e12))
def test_counted_work_has_a_lower_and_an_upper_limit(claimed: float) -> None:
    case = declares(flops=claimed)
    assert (not_the_declared_work(case) is not None) == (0.9 * claimed > FLOPS)
    assert (more_work_than_needed(case) is not None) == (1.5 * claimed < FLOPS)


@pytest.mark.parametrize("trouble", [{"unseen": True}, {"uncounted": ("mylib::fused",)}])
def test_work_that_may_not_have_been_counted_is_not_missed(trouble: dict[str, Any]) -> None:
    phases = [replace(phase, **trouble) for phase in step()]
    declared = {"declared": Declared(flops=1e12)}
    assert not_the_declared_work(inspected(*phases, evidence=declared)) is None


def test_no_counted_work_at_all_says_nothing() -> None:
    phases = [replace(phase, flops=0.0) for phase in step()]
    case = inspected(*phases, evidence={"declared": Declared(flops=1e12)})
    assert not_the_declared_work(case) is None


def test_an_inspection_that_broke_off_counts_nothing() -> None:
    case = inspected(*step(), problem="it broke", evidence={"declared": Declared(flops=1e12)})
    assert not_the_declared_work(case) is None


def forward(parameters: int = 7, **facts: Any) -> CaseLanes:
    return inspected(step()[0], mode=Mode.FORWARD, evidence={"parameters": parameters}, **facts)


def test_forward_mode_in_training_mode() -> None:
    assert not_the_declared_work(forward(training=False)) is None
    assert found(not_the_declared_work, forward(training=True)).severity is Severity.ERROR
    assert found(not_the_declared_work, forward(0, training=True)).severity is Severity.WARNING
    assert not_the_declared_work(inspected(*step(), training=True)) is None


def test_forward_mode_with_a_backward_pass() -> None:
    to_parameters = GradientFacts(trainable=2, passes=1)
    assert found(not_the_declared_work, forward(gradients=to_parameters)).severity is Severity.ERROR
    of_a_callable = GradientFacts(trainable=0, passes=1)
    assert found(not_the_declared_work, forward(0, gradients=of_a_callable)).severity is Severity.WARNING
    to_inputs = GradientFacts(trainable=2, without=("weight", "bias"), passes=1)
    assert not_the_declared_work(forward(gradients=to_inputs)) is None
    assert not_the_declared_work(forward(gradients=GradientFacts(trainable=2))) is None


def test_forward_mode_with_an_optimizer() -> None:
    steps = OptimizerFacts(steps=1, parameters=2, with_gradient=2, changed=2)
    assert found(not_the_declared_work, forward(0, optimizer=steps)).severity is Severity.ERROR
    assert not_the_declared_work(forward(0, optimizer=replace(steps, changed=0))) is None
    assert not_the_declared_work(inspected(*step(), optimizer=steps)) is None


@steady
@given(st.floats(0.0, 1e6), st.booleans())
def test_dead_work_counts_from_a_quarter(dead: float, unseen: bool) -> None:
    changed = replace(step()[0], dead_flops=dead, unseen=unseen)
    finding = dead_work(inspected(*step(forward=changed), depends=True))
    assert (finding is not None) == (dead > 0.25e6 and not unseen)
    if finding is not None:
        assert finding.severity is Severity.WARNING


def test_an_output_that_does_not_depend_on_the_inputs() -> None:
    assert found(dead_work, inspected(*step(), depends=False)).severity is Severity.ERROR
    table = replace(step()[0], flops=0.0)
    without_work = inspected(table, mode=Mode.FORWARD, depends=False)
    assert found(dead_work, without_work).severity is Severity.WARNING
    remembered = replace(table, operations=0, forward_operations=0)
    assert (
        found(dead_work, inspected(remembered, mode=Mode.FORWARD, depends=False)).severity is Severity.ERROR
    )
    by_a_kernel = inspected(replace(remembered, unseen=True), mode=Mode.FORWARD, depends=False)
    assert found(dead_work, by_a_kernel).severity is Severity.WARNING
    assert dead_work(inspected(*step(), depends=None)) is None


def checked(*checks: NumberCheck) -> CaseLanes:
    return inspected(*step(), evidence={"numbers": checks})


@steady
@given(st.floats(0.0, 1e300), st.floats(0.0, 1.0))
def test_numbers_are_wrong_beyond_the_tolerance(error: float, tolerance: float) -> None:
    finding = wrong_numbers(checked(NumberCheck(what="output", error=error, tolerance=tolerance)))
    assert (finding is not None) == (error > tolerance)


def test_the_worst_is_told_with_its_place() -> None:
    finding = found(
        wrong_numbers,
        checked(
            NumberCheck(what="output", error=1e-6, tolerance=1e-4),
            NumberCheck(what="gradient of bias", error=2e-4, tolerance=1e-4),
            NumberCheck(
                what="gradient of weight", error=0.25, tolerance=1e-4, place=(3, 5), got=0.5, expected=0.75
            ),
        ),
    )
    assert finding.severity is Severity.ERROR
    assert finding.message == (
        "gradient of weight differs from the reference by 0.25 at [3, 5] (0.5 instead of 0.75); "
        "0.0001 is allowed; 2 of 3 checks failed"
    )


def test_what_could_not_be_compared_is_wrong() -> None:
    check = NumberCheck(what="output", error=0.0, tolerance=1.0, problem="other\nshapes")
    assert (
        "could not be compared with the reference: other shapes"
        in found(wrong_numbers, checked(check)).message
    )


def test_an_error_that_is_no_number_is_wrong() -> None:
    assert wrong_numbers(checked(NumberCheck(what="output", error=float("nan"), tolerance=1.0))) is not None


def test_not_deterministic_only_where_it_is_claimed() -> None:
    claims = {"declared": Declared(deterministic=True)}
    assert found(not_deterministic, inspected(*step(), repeatable=False, evidence=claims)).numbers == ()
    assert not_deterministic(inspected(*step(), repeatable=False)) is None
    assert not_deterministic(inspected(*step(), repeatable=None, evidence=claims)) is None
    assert not_deterministic(inspected(*step(), repeatable=True, evidence=claims)) is None
