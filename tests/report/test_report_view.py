"""The view: suite order, merged phases, counts, groups and the footer."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from stepmark.analysis.judge import judge
from stepmark.records.estimate import Method
from stepmark.records.finding import FindingName, Severity
from stepmark.records.outcome import Outcome
from stepmark.records.settings import Policy
from stepmark.records.verdict import Power, Reason, VerdictKind
from stepmark.report import format as show
from stepmark.report.groups import FindingGroup
from stepmark.report.view import build_view, merge_orders
from stepmark.report.wording import footer_facts, places, printed
from tests.report.builder import Compared, Lane, cells, make_judgement, outline
from tests.report.ordinary_examples import normal, ops
from tests.report.sweep_examples import sweep, wide_sweep
from tests.report.troubled_examples import failures, findings, one_launch
from tests.support.recordings import make_recording
from tests.support.trials import make_failure


def test_rows_stand_in_the_order_of_the_suite() -> None:
    judgement = normal()
    shuffled = replace(judgement, cases=judgement.cases[::-1])
    for cell in build_view(shuffled).suites[0].cells:
        assert [row.variant for row in cell.rows] == ["dense", "low_rank", "fused"]
        assert [row.baseline for row in cell.rows] == [True, False, False]


def test_phases_follow_the_primary() -> None:
    cell = build_view(normal()).suites[0].cells[0]
    assert cell.primary == "step"
    assert cell.phases == ("forward", "loss", "backward", "optimizer", "remainder")
    row = cell.rows[1]
    assert row.primary is not None
    assert row.primary.kind is row.kind is VerdictKind.FASTER
    assert [phase.kind for phase in row.phases][:2] == [VerdictKind.FASTER, VerdictKind.INCONCLUSIVE]


def test_phases_of_different_variants_are_merged() -> None:
    assert merge_orders([["a", "b", "d"], ["a", "c", "d"]]) == ("a", "c", "b", "d")
    assert merge_orders([["forward", "remainder"], ["forward", "loss", "remainder"]])[-1] == "remainder"
    assert build_view(ops()).suites[0].cells[0].phases[0] == "matmuls"


def test_variants_with_different_primaries_share_no_heading() -> None:
    (cell,) = cells("mixed", {})
    lanes = {
        "a": Lane(times={"step": 1.0}),
        "b": Lane(times={"forward": 1.0}, verdict=Compared(kind=VerdictKind.INVALID)),
    }
    view = build_view(make_judgement([(outline("mixed", ("a", "b"), {}), {cell: lanes})]))
    assert view.suites[0].cells[0].primary is None
    assert view.suites[0].primary is None


def test_counts() -> None:
    view = build_view(failures())
    assert view.verdicts == ((VerdictKind.INVALID, 9),)
    assert dict(view.outcomes)[None] == 1
    assert sum(number for _, number in view.outcomes) == 10
    assert [outcome for outcome, _ in view.outcomes] == [*Outcome, None]
    assert view.reasons == (Reason.CASE_FAILED, Reason.NOT_MEASURED)


def test_failures_of_one_cause_are_one_group() -> None:
    (group,) = build_view(sweep()).failures
    assert (group.variant, group.outcome, len(group.cases)) == ("mine", Outcome.OUT_OF_MEMORY, 2)


def test_findings_are_grouped_gravest_first() -> None:
    groups = build_view(findings()).findings
    assert [group.severity for group in groups] == sorted(
        (group.severity for group in groups), key=list(Severity).index, reverse=True
    )
    assert {group.name: len(group.places) for group in groups if len(group.places) > 1} == {
        FindingName.LEFTOVER_MEMORY: 2,
        FindingName.NOISY_NEIGHBOUR: 2,
    }


def test_marks_lead_to_the_groups() -> None:
    view = build_view(findings())
    letters = {group.name: group.letter for group in view.findings}
    dense, wrong, twin, hasty = view.suites[0].cells[0].rows
    memory = letters[FindingName.LEFTOVER_MEMORY]
    assert dense.marks == f"!{memory}"
    assert wrong.marks == f"✗{letters[FindingName.WRONG_NUMBERS]}!{memory}"
    assert twin.marks == f"({letters[FindingName.SAME_WORK_AS_BASELINE]})"
    assert hasty.marks.startswith("✗")
    assert hasty.marks.endswith("+")
    assert letters[FindingName.NOISY_NEIGHBOUR] == ""


def test_what_varies_in_a_sweep() -> None:
    (suite,) = build_view(wide_sweep()).suites
    assert suite.is_sweep
    assert suite.varying == ("hidden_features", "attention_heads", "causal", "dtype", "mode")
    assert not build_view(normal()).suites[0].is_sweep


def test_footer_counts_launches_and_rounds() -> None:
    footer = build_view(failures()).footer
    assert (footer.launches, footer.rounds) == ((3, 10), (40, 40))
    assert build_view(one_launch()).footer.method is Method.BOOTSTRAP_BLOCKS
    assert (footer.commit, footer.dirty) == ("0123456789abcdef0123456789abcdef01234567", True)


def test_a_pause_is_no_measuring() -> None:
    recording = make_recording(num_launches=2)
    resumed = replace(recording.run, finished=recording.run.started + 86_400.0)
    (_, which) = footer_facts(build_view(judge(replace(recording, run=resumed))).footer)
    spent = sum(trial.seconds for trial in recording.trials)
    assert f"{show.duration(spent)} of measuring".replace(" ", show.NBSP) in which
    assert not any("24" + show.NBSP in fact for fact in which)
    unmeasured = replace(recording, solos=(), launches=())
    assert not any("measuring" in fact for fact in footer_facts(build_view(judge(unmeasured)).footer)[1])


def test_footer_shows_the_margin_the_verdicts_were_given_with() -> None:
    judgement = normal()
    wide = Policy(margin=0.05)
    cases = tuple(
        replace(case, verdicts=tuple(replace(verdict, policy=wide) for verdict in case.verdicts))
        for case in judgement.cases
    )
    assert build_view(replace(judgement, cases=cases)).footer.margin == 0.05


def test_a_run_that_measured_nothing() -> None:
    (cell,) = cells("mylayer", {})
    lanes = {"dense": Lane(reached=False)}
    view = build_view(make_judgement([(outline("mylayer", ("dense",), {}), {cell: lanes})]))
    assert view.verdicts == ()
    assert view.outcomes == ((None, 1),)
    assert (view.footer.launches, view.footer.rounds) == ((40, 40), None)


@pytest.mark.parametrize(
    ("reason", "needed", "told"),
    [
        (Reason.INTERVAL_CROSSES_MARGIN, 64, [64]),
        (Reason.INTERVAL_CROSSES_MARGIN, None, [None]),
        (Reason.NOT_CONFIRMED, 20, [20]),
        (Reason.NOT_CONFIRMED, None, []),
    ],
)
def test_no_number_of_launches_decides_what_fresh_ones_contradict(
    reason: Reason, needed: int | None, told: list[int | None]
) -> None:
    (cell,) = cells("mylayer", {})
    open_end = Compared(kind=VerdictKind.INCONCLUSIVE, ratio=(1.05, 0.99, 1.11), reasons=(reason,))
    lanes = {"dense": Lane(times={"step": 1.0}), "mine": Lane(times={"step": 1.05}, verdict=open_end)}
    judgement = make_judgement([(outline("mylayer", (*lanes,), {}), {cell: lanes})])
    dense, mine = judgement.cases
    (verdict,) = mine.verdicts
    power = Power(deviation=0.01, detectable=0.02, needed=needed)
    mine = replace(mine, verdicts=(replace(verdict, power=power),))
    view = build_view(replace(judgement, cases=(dense, mine)))
    assert [each.needed for each in view.undecided] == told


def test_a_note_of_some_cases_says_which() -> None:
    """It has no letter beside their verdicts."""
    note = FindingGroup(
        name=FindingName.DEGENERATE_DATA,
        severity=Severity.NOTE,
        meaning="",
        remedy="use random inputs",
        accepted=False,
        letter="",
        places=(("a", "zero everywhere"), ("b", "zero everywhere")),
    )
    three = {"a": "dense", "b": "mine", "c": "other"}
    assert places(note, three) == ["dense: zero everywhere", "and 1 more"]
    assert places(note, {"a": "dense", "b": "mine"}) == ["zero everywhere"]
    assert places(replace(note, letter="a"), three) == ["zero everywhere"]


def test_a_traceback_that_was_printed_is_told_once() -> None:
    trace = "Fatal Python error: Aborted\n\nCurrent thread\n"
    died = replace(make_failure(Outcome.TIMED_OUT), traceback=trace, output=f"half done\n{trace}")
    assert printed(died) == "half done"
    assert printed(replace(died, output=trace)) == ""
    assert printed(replace(died, traceback="")) == f"half done\n{trace}"
