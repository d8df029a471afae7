"""Marks beside verdicts: short, the gravest first, and each leads to one legend."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from stepmark.records.finding import Finding, FindingName, Severity
from stepmark.report.marks import LETTERS, MAX_LETTERS, SIGNS, letters_of, mark, marks_of
from tests.support.properties import steady

findings = st.lists(
    st.builds(
        Finding,
        name=st.sampled_from(FindingName),
        severity=st.sampled_from(Severity),
        case=st.just("case"),
        message=st.just("seen"),
        remedy=st.just("do"),
        accepted=st.booleans(),
    ),
    unique_by=lambda finding: finding.name,
)


@steady
@given(findings)
def test_marks_are_short_and_notes_have_none(made: list[Finding]) -> None:
    letters, marked = letters_of(made), [each for each in made if each.severity in SIGNS]
    text = marks_of(made, letters)
    assert set(letters) == {each.name for each in marked}
    assert len(set(letters.values())) == len(letters)
    assert sum(sign in LETTERS for sign in text) == min(len(marked), MAX_LETTERS)
    assert text.endswith("+") == (len(marked) > MAX_LETTERS)
    assert bool(text) == bool(marked)


@steady
@given(findings)
def test_an_error_is_never_left_out_for_less(made: list[Finding]) -> None:
    text = marks_of(made, letters_of(made))
    open_errors = [each for each in made if each.severity is Severity.ERROR and not each.accepted]
    assert text.startswith("✗") == bool(open_errors)


def test_the_letters_of_all_names_differ() -> None:
    assert len(FindingName) <= len(LETTERS)


def test_the_legend_shows_the_same_mark() -> None:
    assert mark("a", Severity.ERROR, accepted=False) == "✗a"
    assert mark("b", Severity.WARNING, accepted=False) == "!b"
    assert mark("c", Severity.ERROR, accepted=True) == "(c)"
    assert mark("", Severity.NOTE, accepted=False) == "note"
