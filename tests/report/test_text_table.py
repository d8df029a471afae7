"""A table of texts: all of them appear, in columns on a page and as they are meant in Markdown."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from stepmark.report.page import Page
from stepmark.report.text_table import TextTable, in_markdown, on_page

words = st.text(st.characters(codec="ascii", categories=("L", "N")), min_size=1, max_size=8)
tables = st.integers(1, 4).flatmap(
    lambda columns: st.lists(st.tuples(*[words] * columns), min_size=2, max_size=5).map(tuple)
)


@given(tables)
def test_every_text_stands_on_the_page_below_its_heading(rows: tuple[tuple[str, ...], ...]) -> None:
    lines = [text.plain for text in on_page(TextTable(rows, "l" * len(rows[0])), Page(width=80))]
    assert len(lines) == len(rows)
    for shown, row in zip(lines, rows, strict=True):
        assert tuple(shown.split()) == row


def test_numbers_end_where_their_heading_ends() -> None:
    head, short, long = on_page(
        TextTable((("name", "time"), ("a", "1"), ("b", "1000")), "lr"), Page(width=80)
    )
    assert len(head.plain) == len(short.plain) == len(long.plain)


def test_a_long_text_is_folded_where_that_is_allowed() -> None:
    rows = (("name", "why"), ("a", "word " * 30))
    lines = on_page(TextTable(rows, "ll"), Page(width=40), folded=1)
    assert len(lines) > 2
    assert all(len(one.plain) <= 40 for one in lines)


def test_markdown_shows_what_would_be_markup() -> None:
    said = in_markdown(TextTable((("case", "time"), ("a|b*c*", "1")), "lr"))
    assert said.splitlines()[0] == "| case | time |"
    assert r"a\|b\*c\*" in said
