"""Documents and texts of the four formats, made up for property tests."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain

from hypothesis import strategies as st

from stepmark.interchange.broken import BrokenFile
from stepmark.interchange.fragmented_text import Figures, Fragmented, FragmentedText, Section
from stepmark.interchange.grid import GridDocument, Table
from stepmark.interchange.grid import Row as GridRow
from stepmark.interchange.lines import Text
from stepmark.interchange.switchback_jsonl import CONFIGURATION, KEYS, Row, SwitchbackLines

newlines = st.sampled_from(["\n", "\r\n"])
prose = st.lists(st.text(alphabet="abc µ#=.:,", max_size=20), min_size=1, max_size=3).map(
    lambda lines: Text(lines=tuple(lines))
)
"""Lines that no format takes for its own."""
counts = st.integers(0, 10**15 - 1)
LAST = Text(lines=("",))
"""So that the text has a line end, which shows which one it is."""


def decimals(places: int) -> st.SearchStrategy[str]:
    return st.one_of(st.floats(0.0, 1e6).map(lambda value: f"{value:.{places}f}"), st.just("nan"))


figures = st.builds(Figures, forward=decimals(2), backward=decimals(2), peak=decimals(1), parameters=counts)
members = st.lists(st.tuples(counts, figures, figures), max_size=3)
"""Fragments with the figures of both parts."""


@st.composite
def sections(draw: st.DrawFn) -> Section:
    both = draw(members)
    return Section(
        input_size=draw(counts),
        output_size=draw(counts),
        batch_size=draw(counts),
        linear=draw(figures),
        train=tuple(Fragmented(fragments=number, figures=first) for number, first, _ in both),
        inference=tuple(Fragmented(fragments=number, figures=second) for number, _, second in both),
    )


fragmented_texts = st.builds(
    lambda newline, pairs: FragmentedText(newline=newline, parts=(*chain(*pairs), LAST)),
    newlines,
    st.lists(st.tuples(prose, sections()), min_size=1, max_size=3),
)

milliseconds = st.one_of(st.floats(0.0, 1e6), st.none())
rows = st.builds(
    Row,
    **{key: counts for key in CONFIGURATION if key not in ("wm", "switch")},
    wm=st.one_of(st.integers(1, 9), st.floats(0.1, 9.9)),
    switch=st.booleans(),
    **{key: milliseconds for key in KEYS if key not in CONFIGURATION},
)
switchback_lines = st.builds(
    lambda newline, before, found: SwitchbackLines(newline=newline, parts=(before, *found, LAST)),
    newlines,
    prose,
    st.lists(rows, min_size=1, max_size=4),
)

words = st.text(alphabet="abc_", min_size=1, max_size=12).map(lambda word: f"x{word}")
six_digits = st.floats(-1e9, 1e9).map(lambda value: float(f"{value:.6g}") + 0.0)


@st.composite
def tables(draw: st.DrawFn) -> Table:
    kinds = draw(
        st.lists(st.sampled_from([words, six_digits, st.integers(-999, 10**9)]), min_size=1, max_size=4)
    )
    found: list[GridRow] = draw(st.lists(st.tuples(*kinds), min_size=1, max_size=4))
    headed = draw(st.booleans())
    headers = tuple(draw(words) for _ in kinds) if headed else ()
    return Table(headers=headers, rows=tuple(found))


grid_documents = st.builds(
    lambda newline, pairs: GridDocument(newline=newline, parts=(*chain(*pairs), LAST)),
    newlines,
    st.lists(st.tuples(prose, tables()), min_size=1, max_size=3),
)


@st.composite
def damaged(draw: st.DrawFn, texts: st.SearchStrategy[str]) -> str:
    """A text with a piece cut out, doubled or overwritten."""
    text = draw(texts)
    start = draw(st.integers(0, len(text)))
    end = min(len(text), start + draw(st.integers(0, 40)))
    middle = draw(
        st.sampled_from(["", text[start:end] * 2, "\udcff", "time:   [", "{", "+--+", "\r", "\n", "0", " "])
    )
    return text[:start] + middle + text[end:]


def survives(text: str, again: Callable[[], str]) -> None:
    """Read and written again it is the same, or it is refused at one of its lines."""
    try:
        assert again() == text
    except BrokenFile as error:
        line = error.line
    else:
        return
    assert 1 <= line <= text.count("\n") + 1
