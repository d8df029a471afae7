"""gradient-not-applied: where it speaks, and what it says."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from stepmark.audit.gradient_not_applied import gradient_not_applied
from stepmark.records.case import Mode
from stepmark.records.finding import FindingName, Severity
from stepmark.records.inspection import OptimizerFacts
from tests.support.inspected import found, inspected, step
from tests.support.properties import steady


def facts(*passed_by: str) -> OptimizerFacts:
    return OptimizerFacts(steps=1, parameters=2, with_gradient=2, changed=2, passed_by=passed_by)


@steady
@given(st.lists(st.sampled_from(["a", "b", "64 x 64"]), max_size=6))
def test_one_finding_for_any_number_of_weights(passed_by: list[str]) -> None:
    finding = gradient_not_applied(inspected(*step(), optimizer=facts(*passed_by)))
    assert (finding is not None) == bool(passed_by)
    if finding is not None:
        assert (finding.name, finding.severity) == (FindingName.GRADIENT_NOT_APPLIED, Severity.WARNING)
        assert dict(finding.numbers) == {"passed_by": len(passed_by), "held": 2}


def test_weights_are_named_and_then_counted() -> None:
    one = found(gradient_not_applied, inspected(*step(), optimizer=facts("head.weight")))
    assert one.message == (
        "1 weight gets a gradient and no update, beside 2 parameters that the optimizer holds: head.weight"
    )
    many = found(gradient_not_applied, inspected(*step(), optimizer=facts("a", "b", "c", "d")))
    assert many.message.startswith("4 weights get gradients and no update")
    assert many.message.endswith("a, b, c and 1 more")


def test_without_an_optimizer_or_training_nothing_is_said() -> None:
    assert gradient_not_applied(inspected(*step())) is None
    assert gradient_not_applied(inspected(*step(), mode=Mode.FORWARD, optimizer=facts("a"))) is None
