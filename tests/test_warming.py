"""Warming: which case, in how many launches, and what stops it; with a scripted engine."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from stepmark.errors import BenchFileError
from stepmark.measure.assignment import WarmupAssignment
from stepmark.measure.expand import Selection
from stepmark.measure.protocol import Described
from stepmark.records.environment import TorchFacts
from stepmark.records.outcome import Cause, Failure
from stepmark.records.outline import Axis, SuiteOutline, VariantOutline
from stepmark.records.settings import Settings
from stepmark.records.source import BuiltinSource, Source
from stepmark.records.warmup import WarmupRecording, WarmupTrial
from stepmark.warming import WarmupOrder, measure_warmup
from tests.support.trials import make_failure
from tests.support.warmups import MS, make_trial

OUTLINE = SuiteOutline(
    name="layers",
    axes=(Axis(name="features", values=(16, 32)),),
    variants=(VariantOutline(name="dense", baseline=True), VariantOutline(name="dense_fused")),
    source_index=1,
)
SOURCES = (BuiltinSource(name="other"), BuiltinSource(name="layers"))


class ScriptedWarmer:
    """Says what it was asked, and returns flat launches or failures."""

    def __init__(self, failure: Failure | None = None) -> None:
        self.assignments: list[WarmupAssignment] = []
        self.failure = failure

    def describe(self, sources: Sequence[Source], device: str) -> Described:
        facts = TorchFacts(version="fake", build="", threads=1, interop_threads=1, flags=())
        return Described(suites=(OUTLINE,), torch=facts, device=device)

    def warm_up(self, assignment: WarmupAssignment) -> WarmupTrial:
        self.assignments.append(assignment)
        trial = make_trial([MS] * assignment.iterations, number=assignment.number)
        return replace(trial, failure=self.failure)


def measured(warmer: ScriptedWarmer, case: str | None, launches: int = 3, **axes: str) -> WarmupRecording:
    order = WarmupOrder(
        sources=SOURCES,
        iterations=4,
        settings=Settings(launches=launches),
        case=case,
        selection=Selection(axes=axes),
    )
    return measure_warmup(order, engine=warmer)


def test_every_launch_is_asked_for_in_order_and_kept() -> None:
    warmer = ScriptedWarmer()
    recording = measured(warmer, "dense_fused", features="16")
    assert [assignment.number for assignment in warmer.assignments] == [0, 1, 2]
    assert {assignment.source for assignment in warmer.assignments} == {SOURCES[1]}
    assert len({assignment.seed for assignment in warmer.assignments}) == 3
    assert recording.case.id == "layers/dense_fused[features=16]/cpu/float32/train"
    assert [trial.number for trial in recording.trials] == [0, 1, 2]
    assert (recording.iterations, recording.environment.torch.version) == (4, "fake")


def test_failures_are_kept_and_the_launches_go_on() -> None:
    warmer = ScriptedWarmer(make_failure())
    assert len(measured(warmer, "dense", features="16").trials) == 3


def test_a_mistake_in_the_bench_file_stops_at_once() -> None:
    warmer = ScriptedWarmer(make_failure(cause=Cause.MISTAKE, message="returned nothing"))
    with pytest.raises(BenchFileError, match="returned nothing"):
        measured(warmer, "dense", features="16")
    assert len(warmer.assignments) == 1
