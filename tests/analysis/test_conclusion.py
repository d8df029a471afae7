"""Conclusions count what the verdicts say and invent nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from stepmark.analysis.conclusion import conclude
from stepmark.analysis.judge import judge
from stepmark.records.case import AxisValue, Cell
from stepmark.records.conclusion import Conclusion
from stepmark.records.run import Judgement
from stepmark.records.verdict import VerdictKind
from tests.report.builder import Compared, Lane, cells, make_judgement, outline
from tests.report.shorthand import FAILED, train
from tests.report.troubled_examples import failures
from tests.support.properties import steady
from tests.support.whole_runs import whole_run

FASTER, SLOWER, EQUIVALENT, INCONCLUSIVE, INVALID = VerdictKind
RATIOS = {
    FASTER: (0.8, 0.79, 0.81),
    SLOWER: (1.3, 1.29, 1.31),
    EQUIVALENT: (1.0, 0.995, 1.005),
    INCONCLUSIVE: (1.01, 0.99, 1.03),
    INVALID: (0.5, 0.49, 0.51),
}
kinds = st.sampled_from([*VerdictKind])


def along(verdicts: Mapping[AxisValue, VerdictKind], axis: str = "tokens") -> Judgement:
    """One variant whose verdict at each value of an axis is this."""
    axes = {axis: tuple(verdicts)}
    made = {cell: _lanes(cell, verdicts, axis) for cell in cells("mylayer", axes)}
    return make_judgement([(outline("mylayer", ("dense", "mine"), axes), made)])


def _lanes(cell: Cell, verdicts: Mapping[AxisValue, VerdictKind], axis: str) -> dict[str, Lane]:
    kind = verdicts[dict(cell.axes)[axis]]
    return {
        "dense": Lane(times=train(0.41, forward=0.1, backward=0.3)),
        "mine": Lane(
            times=train(0.4, forward=0.1, backward=0.3), verdict=Compared(kind=kind, ratio=RATIOS[kind])
        ),
    }


def only(judgement: Judgement) -> Conclusion:
    (conclusion,) = conclude(judgement)
    return conclusion


@steady
@given(st.dictionaries(st.integers(1, 10_000), kinds, min_size=1, max_size=8))
def test_every_verdict_is_counted_once(verdicts: dict[AxisValue, VerdictKind]) -> None:
    conclusion = only(along(verdicts))
    primary = conclusion.phases[0]
    assert {each.kind: each.cells for each in primary.kinds} == Counter(verdicts.values())
    for each in primary.kinds:
        assert each.least is not None
        assert each.most is not None
        assert each.least.point == each.most.point == RATIOS[each.kind][0]


@steady
@given(st.dictionaries(st.integers(1, 10_000), kinds, min_size=1, max_size=8))
def test_ranges_say_only_what_every_cell_in_them_says(verdicts: dict[AxisValue, VerdictKind]) -> None:
    for each in only(along(verdicts)).ranges:
        inside = [
            kind
            for value, kind in verdicts.items()
            if (each.begin is None or value >= each.begin) and (each.end is None or value <= each.end)  # type: ignore[operator]
        ]
        assert inside
        assert set(inside) == {each.kind}
        assert set(verdicts.values()) != {each.kind}


def test_a_difference_that_ends_to_matter_is_found() -> None:
    conclusion = only(along({64: SLOWER, 1024: SLOWER, 4096: EQUIVALENT, 16384: EQUIVALENT}))
    ranges = [(each.kind, each.found.cells, each.begin, each.end) for each in conclusion.ranges]
    assert ranges == [(SLOWER, 2, None, 1024), (EQUIVALENT, 2, 4096, None)]


def test_among_several_axes_only_an_end_without_difference_is_told() -> None:
    """Along features the exception lies in the middle; along tokens one end is without difference."""
    axes = {"features": (1, 2, 3), "tokens": (1, 2)}
    odd = {("features", 2), ("tokens", 1)}
    made = {}
    for cell in cells("mylayer", axes):
        kind = INCONCLUSIVE if set(cell.axes) == odd else EQUIVALENT
        made[cell] = {
            "dense": Lane(times=train(0.41, forward=0.1, backward=0.3)),
            "mine": Lane(
                times=train(0.4, forward=0.1, backward=0.3), verdict=Compared(kind=kind, ratio=RATIOS[kind])
            ),
        }
    conclusion = only(make_judgement([(outline("mylayer", ("dense", "mine"), axes), made)]))
    assert [(each.axis, each.begin, each.end) for each in conclusion.ranges] == [("tokens", 2, None)]


def test_an_axis_of_names_has_no_ranges() -> None:
    assert only(along({"small": SLOWER, "large": EQUIVALENT}, axis="size")).ranges == ()


def test_cells_that_failed_are_counted_as_what_they_are() -> None:
    by_variant = {each.variant: each for each in conclude(failures())}
    assert by_variant["segfault"].phases == ()
    assert [(end.value, number) for end, number in by_variant["segfault"].failed] == [("crashed", 1)]
    assert by_variant["later"].unreached == 1


def test_a_measured_run_is_concluded_phase_by_phase_with_memory() -> None:
    recording = whole_run()
    conclusions = conclude(judge(recording, recording.run.policy))
    assert [each.variant for each in conclusions] == ["twin", "quick", "slow"]
    slow = conclusions[2]
    assert [phase.phase for phase in slow.phases][:2] == ["step", "forward"]
    assert slow.phases[0].unanimous is not None
    assert slow.phases[0].unanimous.kind is SLOWER
    assert slow.memory is not None
    assert slow.memory.least > 3.0


def test_nothing_measured_is_nothing_concluded() -> None:
    lanes = {
        "dense": Lane(times=train(0.4, forward=0.1, backward=0.3)),
        "mine": Lane(verdict=FAILED, reached=False),
    }
    axes = {"features": (512,)}
    (cell,) = cells("mylayer", axes)
    conclusion = only(make_judgement([(outline("mylayer", tuple(lanes), axes), {cell: lanes})]))
    assert conclusion.phases == ()
    assert conclusion.memory is None
