"""Markdown's own grammar: whatever users call things, it is read as the text it is."""

from __future__ import annotations

import html
import re

from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from stepmark.report.markdown_text import code, plain, table
from tests.support.properties import steady

READER = MarkdownIt("commonmark").enable("table")
PIECES = (
    "&lt;",
    "&amp;",
    "&#36;",
    "<b>",
    "$x_1$",
    "`",
    "``",
    "|",
    "\\",
    "*",
    "_",
    "~~",
    "#1",
    "[a](b)",
    "\n",
    "a",
    " ",
)
texts = st.lists(st.sampled_from(PIECES) | st.text("ab1 .&;$!()", max_size=3), max_size=8).map("".join)


def as_read(markup: str) -> str:
    return " ".join(html.unescape(re.sub("</?[a-z]+>", "", markup)).split())


@steady
@given(texts)
def test_a_text_is_read_as_it_was_written(text: str) -> None:
    written = " ".join(text.split())
    assert as_read(READER.renderInline(plain(text))) == written
    if written:
        rendered = READER.render(table(("plain", "code"), "ll", [[plain(text), code(text)]]))
        assert [*map(as_read, re.findall("<td>(.*?)</td>", rendered))] == [written, written]


@steady
@given(texts)
def test_no_dollar_begins_a_formula(text: str) -> None:
    """Pages that set formulas between dollars leave a dollar alone that is escaped."""
    assert not re.search(r"(?<!\\)(?:\\\\)*\$", plain(text))
