"""Errors of the audit take verdicts away; ratios and intervals stay."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from stepmark.analysis.invalidation import invalidate
from stepmark.analysis.judge import judge
from stepmark.records.finding import Finding, FindingName, Severity
from stepmark.records.run import Judgement
from stepmark.records.verdict import Reason, VerdictKind
from tests.support.properties import steady
from tests.support.recordings import fail_solo, make_recording

RECORDING = make_recording(variants={"dense": 1.0, "mine": 0.5, "other": 2.0})
JUDGEMENT = judge(RECORDING)
DENSE, MINE, OTHER = (case.case.id for case in JUDGEMENT.cases)


def finding(case: str, severity: Severity = Severity.ERROR, *, accepted: bool = False) -> Finding:
    return Finding(
        name=FindingName.WRONG_NUMBERS,
        severity=severity,
        case=case,
        message="seen",
        remedy="do",
        accepted=accepted,
    )


def kinds(judgement: Judgement) -> list[VerdictKind | None]:
    return [case.verdict.kind if case.verdict else None for case in judgement.cases]


def test_an_error_in_a_case_takes_its_verdicts_and_no_others() -> None:
    judged = invalidate(JUDGEMENT, (finding(MINE),))
    assert kinds(judged) == [None, VerdictKind.INVALID, VerdictKind.SLOWER]
    before, after = JUDGEMENT.cases[1].verdicts, judged.cases[1].verdicts
    assert len(after) == len(before) > 1
    assert {verdict.kind for verdict in after} == {VerdictKind.INVALID}
    assert all(verdict.reasons == (Reason.AUDIT,) for verdict in after)
    assert [verdict.ratio for verdict in after] == [verdict.ratio for verdict in before]


def test_an_error_in_the_baseline_takes_all_verdicts_of_the_cell() -> None:
    judged = invalidate(JUDGEMENT, (finding(DENSE), finding(OTHER)))
    assert kinds(judged) == [None, VerdictKind.INVALID, VerdictKind.INVALID]
    reasons = [case.verdict.reasons for case in judged.cases if case.verdict]
    assert reasons == [(Reason.BASELINE_AUDIT,), (Reason.AUDIT, Reason.BASELINE_AUDIT)]


@steady
@given(
    st.lists(
        st.builds(
            finding, st.sampled_from([DENSE, MINE, OTHER]), st.sampled_from(Severity), accepted=st.booleans()
        )
    )
)
def test_only_errors_that_nobody_accepted_count(findings: list[Finding]) -> None:
    judged = invalidate(JUDGEMENT, tuple(findings))
    grave = {each.case for each in findings if each.severity is Severity.ERROR and not each.accepted}
    for before, after in zip(JUDGEMENT.cases, judged.cases, strict=True):
        if before.verdict and after.verdict:
            forbidden = bool(grave & {before.case.id, DENSE})
            assert (after.verdict.kind is VerdictKind.INVALID) == forbidden
            assert forbidden or after == before
    assert judged.findings == tuple(findings)


def test_a_case_that_failed_says_so_already() -> None:
    failed = judge(fail_solo(RECORDING, "mine"))
    assert invalidate(failed, (finding(MINE),)).cases == failed.cases


@pytest.mark.parametrize("reason", [Reason.SEPARATE_PROCESSES, Reason.INTERVAL_CROSSES_MARGIN])
def test_how_it_was_measured_is_still_said(reason: Reason) -> None:
    case = JUDGEMENT.cases[1]
    verdicts = tuple(replace(verdict, reasons=(reason,)) for verdict in case.verdicts)
    before = replace(JUDGEMENT, cases=(replace(case, verdicts=verdicts),))
    (after,) = invalidate(before, (finding(MINE),)).cases
    assert after.verdict is not None
    kept = (reason,) if reason is Reason.SEPARATE_PROCESSES else ()
    assert after.verdict.reasons == (Reason.AUDIT, *kept)
