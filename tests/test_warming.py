"""Warming: which case, in how many launches, and what stops it; with a scripted engine."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from stepmark.errors import BenchFileError, UsageError
from stepmark.measure.assignment import WarmupAssignment
from stepmark.measure.expand import Selection
from stepmark.measure.protocol import Described
from stepmark.records.case import Case, Cell
from stepmark.records.environment import TorchFacts
from stepmark.records.outcome import Cause, Failure
from stepmark.records.outline import Axis, SuiteOutline, VariantOutline
from stepmark.records.settings import Settings
from stepmark.records.source import BuiltinSource, Source
from stepmark.records.warmup import WarmupRecording, WarmupTrial
from stepmark.warming import SHOWN_CASES, WarmupOrder, choose, measure_warmup
from tests.support.properties import steady
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


def cases(num: int = 2) -> list[Case]:
    cells = [Cell(suite="layers", axes=(("features", 16 * (n + 1)),)) for n in range(num)]
    return [Case(variant=variant, cell=cell) for cell in cells for variant in ("dense", "dense_fused")]


@pytest.mark.parametrize(
    "text",
    [
        "layers/dense[features=16]/cpu/float32/train",
        "layers/dense[features=16",
        "dense[features=16]",
    ],
)
def test_names_and_beginnings(text: str) -> None:
    assert choose(cases(), text).id == "layers/dense[features=16]/cpu/float32/train"


def test_a_whole_name_goes_before_the_beginning_of_another() -> None:
    assert choose(cases(1), "dense").variant == "dense"
    assert choose(cases(1), "dense_").variant == "dense_fused"


def test_a_case_alone_need_not_be_named() -> None:
    assert choose(cases(1)[:1], None) == cases(1)[0]


@pytest.mark.parametrize("text", [None, "dense", "layers/"])
def test_several_are_listed(text: str | None) -> None:
    with pytest.raises(UsageError, match="one by one") as caught:
        choose(cases(), text)
    assert "layers/dense[features=32]/cpu/float32/train" in caught.value.detail
    assert "--case" in caught.value.remedy


def test_an_unknown_name_lists_what_there_is() -> None:
    with pytest.raises(UsageError, match="no case is called 'sparse'") as caught:
        choose(cases(30), "sparse")
    *listed, last = caught.value.detail.splitlines()
    assert len(listed) == SHOWN_CASES
    assert last == f"and {60 - SHOWN_CASES} more"


@steady
@given(st.integers(1, 6), st.data())
def test_every_case_can_be_named_by_its_id(num: int, data: st.DataObject) -> None:
    every = cases(num)
    chosen = data.draw(st.sampled_from(every))
    assert choose(every, chosen.id) == chosen
