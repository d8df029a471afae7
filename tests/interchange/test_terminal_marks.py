"""Marks of a terminal: every line comes back, and what a person saw is found."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepmark.interchange.terminal_marks import Mark, marked, seen
from tests.support.properties import steady

written = st.lists(
    st.one_of(
        st.text(st.characters(exclude_characters="\x1b\n"), max_size=8),
        st.sampled_from(
            ["\x1b[1m", "\x1b[0m", "\x1b[38;5;2m", "\r\x1b[K", "\r\x1b[2K", "\x1b", "\x1b[", "\r"]
        ),
    ),
    max_size=12,
).map("".join)


@steady
@given(written)
def test_a_line_comes_back(line: str) -> None:
    text, marks = seen(line)
    assert marked(text, marks) == line
    assert [mark.at for mark in marks] == sorted(mark.at for mark in marks)


@steady
@given(st.text(st.characters(exclude_characters="\x1b\n")))
def test_without_escapes_everything_is_seen(line: str) -> None:
    assert seen(line) == (line, ())


@pytest.mark.parametrize(
    ("line", "text", "marks"),
    [
        ("\x1b[32mrelu\x1b[0m  1", "relu  1", [(0, "\x1b[32m"), (4, "\x1b[0m")]),
        ("one\r\x1b[2Ktwo\r\x1b[2Kthree", "three", [(0, "one\r\x1b[2Ktwo\r\x1b[2K")]),
        ("one\x1b[K\rtwo", "two", [(0, "one\x1b[K\r")]),
        ("torn \x1b[3", "torn \x1b[3", []),
    ],
)
def test_what_a_person_saw(line: str, text: str, marks: list[tuple[int, str]]) -> None:
    assert seen(line) == (text, tuple(Mark(at=at, text=escape) for at, escape in marks))
