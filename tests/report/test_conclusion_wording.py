"""Conclusions as sentences: plain, and true to the numbers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from stepmark.records.conclusion import AxisRange, Conclusion, KindCount, MemoryRatio, PhaseConclusion
from stepmark.records.outcome import Outcome
from stepmark.records.verdict import Reason, VerdictKind
from stepmark.report.conclusion_wording import plain, sentence
from tests.report.builder import estimate
from tests.support.properties import steady

SLOWER = KindCount(
    kind=VerdictKind.SLOWER, cells=1, least=estimate(1.31, 1.29, 1.33), most=estimate(1.31, 1.29, 1.33)
)
FASTER = KindCount(
    kind=VerdictKind.FASTER, cells=1, least=estimate(0.8, 0.79, 0.81), most=estimate(0.8, 0.79, 0.81)
)
EQUIVALENT = KindCount(
    kind=VerdictKind.EQUIVALENT, cells=1, least=estimate(1.0, 0.995, 1.004), most=estimate(1.0, 0.995, 1.004)
)
UNDECIDED = KindCount(
    kind=VerdictKind.INCONCLUSIVE,
    cells=1,
    least=estimate(1.02, 0.99, 1.05),
    most=estimate(1.02, 0.99, 1.05),
    reasons=(Reason.INTERVAL_CROSSES_MARGIN,),
)


def conclusion(*kinds: KindCount, phase: str = "forward") -> Conclusion:
    return Conclusion(
        suite="layers",
        variant="lora",
        baseline="linear",
        place="cpu/float32/train",
        margin=0.01,
        phases=(PhaseConclusion(phase=phase, kinds=kinds),) if kinds else (),
    )


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (SLOWER, "`lora` is 1.31x slower than `linear` in forward (1.29 to 1.33)."),
        (FASTER, "`lora` is 1.25x faster than `linear` in forward (1.23 to 1.27, 0.80x its time)."),
        (EQUIVALENT, "`lora` is as fast as `linear` in forward, within 1 % (1.00x, 0.995 to 1.004)."),
        (
            UNDECIDED,
            "`lora` is undecided against `linear` in forward (1.02x, 0.99 to 1.05; the interval crosses the "
            "margin).",
        ),
        (
            KindCount(
                kind=VerdictKind.SLOWER,
                cells=1,
                least=estimate(498.2, 299.861, 826.328),
                most=estimate(498.2, 299.861, 826.328),
            ),
            "`lora` is 498x slower than `linear` in forward (299 to 827).",
        ),
        (
            KindCount(
                kind=VerdictKind.FASTER,
                cells=1,
                least=estimate(0.00037, 0.00033, 0.00041),
                most=estimate(0.00037, 0.00033, 0.00041),
            ),
            "`lora` is 2703x faster than `linear` in forward (2439 to 3031, 0.00037x its time).",
        ),
    ],
)
def test_one_cell_is_told_with_its_interval(kind: KindCount, expected: str) -> None:
    assert plain(sentence(conclusion(kind))).replace("\u00a0", " ") == expected


def test_many_cells_are_told_by_range_and_memory_by_ratio() -> None:
    many = replace(SLOWER, cells=12, most=estimate(1.52, 1.5, 1.54))
    told = replace(conclusion(many), memory=MemoryRatio(least=1.02, most=1.02))
    assert plain(sentence(told)) == (
        "`lora` is 1.31x to 1.52x slower than `linear` in forward in all 12 cells; it needs 1.02x the memory."
    )


RANGES = (
    AxisRange(axis="tokens", found=SLOWER, begin=None, end=1024),
    AxisRange(axis="tokens", found=EQUIVALENT, begin=4096, end=None),
)


def test_ranges_that_hold_every_cell_say_it_all() -> None:
    told = replace(conclusion(SLOWER, EQUIVALENT), ranges=RANGES)
    assert plain(sentence(told)).replace("\u00a0", " ") == (
        "`lora` against `linear` (forward) is 1.31x slower at tokens ≤ 1024 and within 1 % at tokens ≥ 4096."
    )


def test_ranges_of_some_cells_follow_the_count_of_all() -> None:
    told = replace(
        conclusion(SLOWER, EQUIVALENT),
        ranges=RANGES[1:],
        failed=((Outcome.OUT_OF_MEMORY, 2),),
        unreached=1,
        memory=MemoryRatio(least=1.0, most=1.001),
    )
    assert plain(sentence(told)).replace("\u00a0", " ") == (
        "Of 2 cells, `lora` against `linear` (forward) is 1.31x slower in 1, within 1 % in 1; "
        "at tokens ≥ 4096 the difference is within 1 %; "
        "it needs the same memory; not measured: out-of-memory in 2 cells, not reached in 1 cell."
    )


def test_other_phases_follow_the_primary_one() -> None:
    more = (
        PhaseConclusion(phase="backward", kinds=(FASTER,)),
        PhaseConclusion(phase="loss", kinds=(EQUIVALENT,)),
        PhaseConclusion(phase="optimizer", kinds=(EQUIVALENT,)),
    )
    told = conclusion(SLOWER)
    text = plain(sentence(replace(told, phases=(*told.phases, *more)))).replace("\u00a0", " ")
    assert "by phase, backward 1.25x faster, loss and optimizer within 1 %" in text


def test_memory_of_a_thousandth_is_not_nothing() -> None:
    told = replace(conclusion(SLOWER), memory=MemoryRatio(least=0.000417, most=0.19))
    assert plain(sentence(told)).endswith("; it needs 0.00042x to 0.19x the memory.")


def test_nothing_compared_is_said() -> None:
    assert plain(sentence(conclusion())) == "`lora` was not compared with `linear`."


@steady
@given(st.text(min_size=1), st.text(min_size=1))
def test_names_stay_apart_from_words(variant: str, baseline: str) -> None:
    told = sentence(replace(conclusion(SLOWER), variant=variant, baseline=baseline))
    assert [part.text for part in told if part.name] == [variant, baseline]
