"""The audit's own report: both counts are what was seen, and the table has a row for every mistake."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from benchmarks.audit import table
from benchmarks.audit.gallery import Mistake, mistakes
from benchmarks.audit.peers import recorded
from benchmarks.audit.trial import Correct, Outcome
from stepmark.records.finding import Finding, FindingName, Severity

GALLERY = mistakes()


def finding(
    name: str, variant: str, *, severity: Severity = Severity.ERROR, accepted: bool = False
) -> Finding:
    return Finding(
        name=FindingName(name),
        severity=severity,
        case=f"suite/{variant}[]/cpu/float32/train",
        message="",
        remedy="",
        accepted=accepted,
    )


def outcome(mistake: Mistake, *, caught: bool) -> Outcome:
    findings = (finding(mistake.finding, mistake.variant),) if caught else ()
    return Outcome(mistake=mistake, findings=findings)


@given(caught=st.lists(st.booleans(), min_size=len(GALLERY), max_size=len(GALLERY)))
def test_both_counts_are_what_was_seen(caught: list[bool]) -> None:
    outcomes = [outcome(one, caught=hit) for one, hit in zip(GALLERY, caught, strict=True)]
    fine = [Correct(kind="generated", name="any", findings=())] * 7
    lines = table.counts(outcomes, fine).splitlines()
    assert lines == [f"caught {sum(caught)} of {len(GALLERY)}", "0 errors over 7 correct benchmarks"]


def test_a_mistake_is_caught_by_its_name_at_its_case_only() -> None:
    mistake = GALLERY[0]
    elsewhere = finding(mistake.finding, "another")
    other = finding("few-launches", mistake.variant)
    assert not Outcome(mistake=mistake, findings=(elsewhere, other)).caught
    assert outcome(mistake, caught=True).caught


def test_warnings_and_accepted_errors_are_no_errors() -> None:
    quiet = (
        finding("dead-work", "any", severity=Severity.WARNING),
        finding("dead-work", "any", accepted=True),
    )
    assert Correct(kind="examples", name="any", findings=quiet).errors == ()
    loud = finding("dead-work", "any")
    assert Correct(kind="examples", name="any", findings=(*quiet, loud)).errors == (loud,)


def test_every_mistake_has_a_row_and_the_peers_words() -> None:
    here = [one for one in GALLERY if one.device == "cpu"]
    elsewhere = [one for one in GALLERY if one.device != "cpu"]
    outcomes = [outcome(one, caught=True) for one in here]
    rows = table.table(outcomes, recorded(), elsewhere).splitlines()[2:]
    assert len(rows) == len(GALLERY)
    assert all("not run" not in row for row in rows[: len(here)])
    assert all("on cuda only" in row for row in rows[len(here) :])


def test_the_table_is_put_between_its_marks_and_nowhere_else(tmp_path: Path) -> None:
    page = tmp_path / "audit.md"
    page.write_text(f"before\n{table.BEGIN}\nold\n{table.END}\nafter\n")
    table.insert(page, "new")
    assert page.read_text() == f"before\n{table.BEGIN}\nnew\n{table.END}\nafter\n"
