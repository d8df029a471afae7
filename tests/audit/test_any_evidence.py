"""Whatever the evidence, a rule answers: it never raises, and what it says can be shown and stored."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from stepmark.audit import MEANINGS, RULES
from stepmark.audit.lanes import CaseLanes
from stepmark.audit.rules import Rule
from stepmark.records.case import Mode
from stepmark.records.evidence import Evidence
from stepmark.records.finding import FindingName, Severity
from stepmark.records.inspection import Inspection
from tests.support.arbitrary import records
from tests.support.inspected import bare, inspected, step
from tests.support.properties import steady


@st.composite
def cases(draw: st.DrawFn) -> CaseLanes:
    modes = draw(st.sampled_from(Mode))
    case, baseline = inspected(mode=modes), inspected(mode=modes, variant="dense")
    evidences = [
        replace(draw(records(Evidence)), inspection=draw(records(Inspection) | st.none())) for _ in range(2)
    ]
    sides = [
        CaseLanes(
            run=each.run,
            case=each.case,
            id=each.id,
            solo=each.solo and replace(each.solo, evidence=evidence),
            lanes=(),
        )
        for each, evidence in zip((case, baseline), evidences, strict=True)
    ]
    return CaseLanes(
        run=case.run, case=case.case, id=case.id, solo=sides[0].solo, lanes=(), baseline=sides[1]
    )


@steady
@given(cases())
def test_every_rule_answers(case: CaseLanes) -> None:
    """Evidence takes longer to make than to judge, so all rules see the same."""
    for rule in RULES:
        answers(rule, case)


def answers(rule: Rule, case: CaseLanes) -> None:
    finding = rule(case)
    if finding is not None:
        assert finding.case == case.id, rule.__name__
        assert finding.message.strip()
        assert finding.remedy.strip()
        assert all(math.isfinite(value) for _, value in finding.numbers)
        assert len(dict(finding.numbers)) == len(finding.numbers)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_without_evidence_a_rule_is_silent(rule: Rule) -> None:
    assert rule(bare()) is None


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_an_ordinary_step_gives_rise_to_nothing(rule: Rule) -> None:
    baseline = inspected(*step(), variant="dense")
    other = replace(step()[0], fingerprint="g")
    assert rule(inspected(*step(forward=other), baseline=baseline)) is None
    assert rule(baseline) is None


def test_every_finding_has_a_meaning() -> None:
    assert set(MEANINGS) == set(FindingName)
    assert all(
        meaning and meaning[0].islower() and not meaning.endswith(".") for meaning in MEANINGS.values()
    )
    assert len(Severity) == 3
