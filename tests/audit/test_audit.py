"""The audit asks every rule about every case."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from stepmark.audit import MEANINGS, RULES, audit
from stepmark.records.finding import FindingName
from stepmark.records.trial import LaneTrial
from tests.support.properties import steady
from tests.support.recordings import edit_lanes, fail_lane, fail_solo, make_recording


def restless(_: int, lane: LaneTrial) -> LaneTrial:
    assert lane.warmup is not None
    return msgspec.structs.replace(
        lane, warmup=msgspec.structs.replace(lane.warmup, settled=False), clock_seconds=1.0
    )


def test_an_ordinary_run_has_no_findings() -> None:
    assert audit(make_recording(axes={"features": (512, 1024)}, num_launches=3)) == ()


def test_an_empty_run_has_no_findings() -> None:
    assert audit(msgspec.structs.replace(make_recording(), solos=(), launches=())) == ()


@steady
@given(st.integers(1, 4), st.integers(0, 3), st.booleans(), st.booleans())
def test_at_most_one_finding_per_case_and_rule(
    num_launches: int, keep: int, fails_alone: bool, is_restless: bool
) -> None:
    recording = make_recording(num_launches=num_launches, num_rounds=3)
    recording = edit_lanes(recording, restless) if is_restless else recording
    recording = fail_lane(recording, "mine", launch=0, keep=keep)
    recording = fail_solo(recording, "dense") if fails_alone else recording
    findings = audit(recording)
    assert len({(finding.case, finding.remedy) for finding in findings}) == len(findings)
    assert all(finding.meaning == MEANINGS[finding.name] for finding in findings)
    assert {finding.case for finding in findings} <= {case.id for case in recording.run.cases}
    assert all(finding.message and finding.remedy for finding in findings)
    assert not any("\n" in finding.message + finding.remedy for finding in findings)


def test_findings_come_case_by_case() -> None:
    recording = edit_lanes(make_recording(num_launches=2), restless)
    dense, mine = (case.id for case in recording.run.cases)
    names = [FindingName.NEVER_SETTLED, FindingName.CLOCK_DOMINATES, FindingName.FEW_LAUNCHES]
    assert [(finding.case, finding.name) for finding in audit(recording)] == [
        (case, name) for case in (dense, mine) for name in names
    ]


def test_every_name_has_a_rule() -> None:
    rules = {rule.__name__.replace("_", "-") for rule in RULES}
    assert rules - {"global-state-changed"} == {str(name) for name in FindingName}
    assert len(rules) == len(RULES)
