"""Grids and pages: nothing is lost, nothing runs over the edge, decimals stand below decimals."""

from __future__ import annotations

import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from stepmark.report import terminal
from stepmark.report.failure_details import failure_details
from stepmark.report.format import NBSP
from stepmark.report.grid import Column, Piece, align, make_grid
from stepmark.report.page import Page, line, wrap
from stepmark.report.sheet import Sheet
from tests.report.examples import EXAMPLES
from tests.support.properties import steady

words = st.text(alphabet="abc_.=(),基é", min_size=1, max_size=30)
sentences = st.lists(words, min_size=1, max_size=8).map(" ".join)


@steady
@given(sentences, st.integers(min_value=2, max_value=60))
def test_wrap_keeps_every_character_and_the_width(text: str, width: int) -> None:
    lines = wrap(text, width)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")
    assert all(cell_len(part) <= width for part in lines)


def test_wrap_prefers_spaces_to_punctuation_to_letters() -> None:
    assert wrap("alpha beta_gamma delta", 11) == ["alpha", "beta_gamma", "delta"]
    assert wrap("torch.nn.Linear(1024,1024,bias=False)", 20) == [
        "torch.nn.Linear(",
        "1024,1024,bias=",
        "False)",
    ]
    assert wrap("abcdefgh", 3) == ["abc", "def", "gh"]


@steady
@given(st.lists(st.from_regex(r"\A(-?\d{1,4}(\.\d{1,4})?x?|~0|)\Z"), max_size=8))
def test_align_puts_points_below_points(texts: list[str]) -> None:
    aligned = align(texts)
    assert [text.strip() for text in aligned] == texts
    filled = [text for text in aligned if text]
    assert len(set(map(len, filled))) <= 1
    assert len({text.index(".") for text in filled if "." in text}) <= 1


@steady
@given(st.lists(st.tuples(sentences, words, sentences), min_size=1, max_size=5), st.integers(60, 120))
def test_grid_loses_nothing(rows: list[tuple[str, str, str]], width: int) -> None:
    page = Page(width=width)
    columns = (Column(fold=True), Column(right=True), Column())
    pieces = [(Piece(name), Piece(number), Piece(note, fold=True)) for name, number, note in rows]
    shown = "\n".join(text.plain for text in make_grid(columns, pieces, page=page).lines(page))
    expected = "".join(sorted("".join("".join(row) for row in rows).replace(" ", "")))
    assert "".join(sorted(shown.replace(" ", "").replace("\n", ""))) == expected


def test_grid_widens_for_a_heading_across_columns() -> None:
    page = Page()
    rows = [[Piece("a long heading", span=2), Piece("end")], [Piece("1"), Piece("2"), Piece("3")]]
    lines = make_grid((Column(), Column(), Column()), rows, page=page).lines(page)
    assert [text.plain for text in lines] == ["a long heading  end", "1  2            3"]


def test_control_characters_never_reach_the_terminal() -> None:
    assert Page().show("a\x1b[31mb\nc\u202ed") == "a [31mb c d"
    assert Page(ascii_only=True).show(f"5{NBSP}µs ±1 ² 基") == r"5 us +-1 [2] \u57fa"


def test_facts_are_broken_between_them() -> None:
    lines = Page(width=20).facts(("one fact", "two facts", "three"))
    assert [text.plain for text in lines] == ["one fact · two facts", "three"]


def test_a_line_longer_than_the_console_is_continued_not_cropped() -> None:
    text = Sheet(lambda _: [line(("x" * 100, ""))]).text(width=60)
    assert text == f"{'x' * 60}\n{'x' * 40}\n"


@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.parametrize("width", [20, 40, 60, 80, 100, 200])
@pytest.mark.parametrize("phases", [False, True])
def test_reports_fit_any_width_and_keep_every_verdict(name: str, width: int, phases: bool) -> None:
    judgement = EXAMPLES[name]()
    text = terminal.render(judgement, width=width, phases=phases)
    assert max(map(cell_len, text.splitlines())) <= min(width, 120)
    joined = "".join(text.split())
    for case in judgement.cases:
        assert width < 80 or all(part in text for part in re.split(r"(?<=[,(_=.])", case.case.variant))
        if case.verdict:
            assert joined.count(case.verdict.kind) >= 2
        if case.failure and width >= 80:
            assert all(word in text for word in case.failure.message.split())


def test_a_message_of_pages_is_cut_and_says_where_the_rest_is() -> None:
    judgement = EXAMPLES["failures"]()
    words = " ".join(f"word{number}" for number in range(1000))
    cases = tuple(
        replace(case, failure=replace(case.failure, message=words)) if case.failure else case
        for case in judgement.cases
    )
    wordy = replace(judgement, cases=cases)
    assert {"word0", "(the", "--failures)"} <= set(terminal.render(wordy).split())
    assert "word100" not in terminal.render(wordy)
    assert "word999" in failure_details(wordy).text()


@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.parametrize("width", [60, 70, 80])
def test_a_table_is_headed_phases_where_it_has_some(name: str, width: int) -> None:
    headings = [
        row
        for row in terminal.render(EXAMPLES[name](), width=width).splitlines()
        if row.startswith("phases, ")
    ]
    others = {"params", "memory", "of limit"}
    for heading in headings:
        named = set(re.split(r"\s{2,}", heading.strip())[1:])
        assert named - others, heading


def test_a_baseline_alone_is_marked_where_it_is_doubted() -> None:
    judgement = EXAMPLES["findings"]()
    baseline = replace(judgement, cases=judgement.cases[:1], findings=())
    assert "verdict" not in terminal.render(baseline)
    finding = replace(judgement.findings[1], case=judgement.cases[0].case.id)
    doubted = terminal.render(replace(baseline, findings=(finding,)))
    assert re.search(r"dense .* baseline +!a", doubted)


def test_a_report_is_printed_as_wide_as_the_console() -> None:
    file = io.StringIO()
    Console(file=file, width=100, height=50, color_system=None).print(
        terminal.render_terminal(EXAMPLES["normal"]())
    )
    assert max(map(len, file.getvalue().splitlines())) == 100
    assert Text.from_ansi(file.getvalue()).plain.strip() == file.getvalue().strip()
