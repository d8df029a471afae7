"""The text of FragmentedLinear's script: records and text are each other's inverse."""

from __future__ import annotations

import pytest
from hypothesis import given

from stepmark.interchange.broken import BrokenFile
from stepmark.interchange.fragmented_text import FragmentedText, parse, render
from tests.interchange.documents import damaged, fragmented_texts, survives
from tests.support.properties import steady

SECTION = """\
#Tests by hand

Benchmarking with input_size=4, output_size=4, batch_size=2

Detailed Results:
Linear Layer:
  Forward time: 0.10ms
  Backward time: 0.89ms
  Peak memory: 96.3MB
  Parameters: 20

FragmentedLinear (Train) Results:

Fragments: 2
  Forward time: 0.49ms
  Backward time: 1.52ms
  Peak memory: 133.4MB
  Parameters: 28

FragmentedLinear (Inference) Results:

Fragments: 2
  Forward time: nanms
  Backward time: 1.17ms
  Peak memory: nanMB
  Parameters: 28"""


@steady
@given(fragmented_texts)
def test_a_document_comes_back(document: FragmentedText) -> None:
    assert parse(render(document), "x.txt") == document


@steady
@given(damaged(fragmented_texts.map(render)))
def test_a_damaged_text_comes_back_or_is_refused(text: str) -> None:
    survives(text, lambda: render(parse(text, "x.txt")))


def test_numbers_have_their_units() -> None:
    (section,) = parse(SECTION, "x.txt").sections
    assert section.linear.forward_seconds == pytest.approx(0.10e-3)
    assert section.linear.backward_seconds == pytest.approx(0.89e-3)
    assert section.linear.peak_bytes == pytest.approx(96.3 * 2**20)
    assert [each.fragments for each in section.train] == [2]
    assert section.inference[0].figures.peak == "nan"


@pytest.mark.parametrize(
    ("old", "new", "line", "problem"),
    [
        (
            "  Forward time: 0.10ms",
            "  Forward time: 0.1ms",
            7,
            "expected a line like '  Forward time: 0.10ms'",
        ),
        ("Linear Layer:\n", "", 6, "expected 'Linear Layer:'"),
        ("input_size=4", "input_size=04", 3, "outside of one"),
        ("FragmentedLinear (Inference) Results:", "Other Results:", 20, "expected 'FragmentedLinear"),
        (
            "Fragments: 2\n  Forward time: nanms",
            "Fragments: 2\n  Forward time: -ms",
            23,
            "expected a line like",
        ),
    ],
)
def test_broken_texts_name_the_line(old: str, new: str, line: int, problem: str) -> None:
    assert old in SECTION
    with pytest.raises(BrokenFile, match=problem.replace("(", r"\(")) as caught:
        parse(SECTION.replace(old, new), "x.txt")
    assert caught.value.line == line


def test_a_text_cut_short_is_refused_at_its_end() -> None:
    lines = SECTION.split("\n")
    for end in range(4, len(lines)):
        with pytest.raises(BrokenFile) as caught:
            parse("\n".join(lines[:end]), "x.txt")
        assert caught.value.line >= end - 1
        assert "found" in caught.value.problem or "the file ends here" in caught.value.problem


def test_a_text_without_sections_is_refused() -> None:
    with pytest.raises(BrokenFile, match="no line 'Benchmarking with input_size"):
        parse("hello\n", "x.txt")
