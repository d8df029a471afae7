"""slow-baseline: a dip of the baseline's rate that its neighbours on an axis do not have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from stepmark.audit.lanes import each_case
from stepmark.audit.slow_baseline import slow_baseline
from stepmark.records.case import AxisValue
from stepmark.records.finding import Finding, Severity
from stepmark.records.inspection import Inspection, PhaseInspection
from stepmark.records.run import Recording
from stepmark.records.sample import pack
from stepmark.records.trial import LaneTrial
from tests.support.properties import steady
from tests.support.recordings import QUIET, make_recording
from tests.support.trials import FORWARD

SIZES = (64, 128, 256, 512)


def sweep(
    rates: Sequence[float],
    *,
    mine: float = 0.8,
    axes: Mapping[str, Sequence[AxisValue]] | None = None,
    unseen: bool = False,
    traffic: bool = False,
) -> Recording:
    """The baseline's rate in each cell, in units of work a millisecond; `mine` takes that share of 1 ms."""
    recording = make_recording(axes=axes or {"features": SIZES}, num_launches=3, layout=FORWARD, noise=QUIET)
    cells = list(dict.fromkeys(case.cell for case in recording.run.cases))
    amounts = dict(zip((cell.id for cell in cells), rates, strict=True))

    def timed(lane: LaneTrial) -> LaneTrial:
        once = round(4e6 * (mine if lane.variant == "mine" else 1.0))
        samples = tuple(replace(each, nanoseconds=pack([once] * each.num_blocks)) for each in lane.samples)
        return replace(lane, samples=samples)

    solos = []
    for solo in recording.solos:
        assert solo.evidence is not None
        amount = amounts[solo.case.cell.id]
        flops, moved = (0.0, amount) if traffic else (amount, 1.0)
        phase = PhaseInspection(phase="forward", unseen=unseen, flops=flops, traffic=moved)
        solos.append(replace(solo, evidence=replace(solo.evidence, inspection=Inspection(phases=(phase,)))))
    launches = [
        replace(launch, lanes=tuple(timed(lane) for lane in launch.lanes)) for launch in recording.launches
    ]
    return replace(recording, solos=tuple(solos), launches=tuple(launches))


def findings(recording: Recording) -> list[Finding]:
    return [finding for case in each_case(recording) if (finding := slow_baseline(case)) is not None]


@pytest.mark.parametrize("traffic", [False, True])
def test_a_dip_is_told_of_the_baseline(traffic: bool) -> None:
    (finding,) = findings(sweep([8.0, 10.0, 3.0, 9.0], traffic=traffic))
    assert finding.severity is Severity.WARNING
    assert "/dense[features=256]" in finding.case
    assert "at 33 % of the slower of its rates at features 128 and 512; mine wins" in finding.message


@steady
@given(st.lists(st.floats(1.0, 1e6), min_size=4, max_size=4))
def test_only_dips_below_half_of_both_neighbours(rates: list[float]) -> None:
    dips = {
        size
        for size, below, here, above in zip(SIZES[1:], rates, rates[1:], rates[2:], strict=False)
        if here < 0.5 * min(below, above)
    }
    cases = [finding.case for finding in findings(sweep(rates))]
    found = {int(case.partition("features=")[2].partition("]")[0]) for case in cases}
    assert found == dips


@steady
@given(st.lists(st.floats(1.0, 1e6), min_size=4, max_size=4), st.booleans())
def test_rates_that_rise_or_fall_have_no_dip(rates: list[float], falling: bool) -> None:
    assert findings(sweep(sorted(rates, reverse=falling))) == []


@pytest.mark.parametrize("mine", [0.995, 1.0, 1.3])
def test_silent_where_nobody_wins(mine: float) -> None:
    assert findings(sweep([8.0, 10.0, 3.0, 9.0], mine=mine)) == []


def test_silent_where_work_is_unseen_or_unknown() -> None:
    dip = [8.0, 10.0, 3.0, 9.0]
    assert findings(sweep(dip, unseen=True)) == []
    recording = sweep(dip)
    assert findings(replace(recording, solos=())) == []


def test_every_axis_of_numbers_is_looked_along_by_itself() -> None:
    axes = {"features": (64, 128, 256), "kind": ("a", "b")}
    (finding,) = findings(sweep([8.0, 1.0, 2.0, 1.0, 8.0, 1.0], axes=axes))
    assert "[features=128,kind=a]" in finding.case
