"""Formats by name, told from the text; lines and bytes that travel without loss."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepmark.errors import UsageError
from stepmark.interchange.formats import FORMATS, detect, format_named, format_of, num_lines, parse, render
from stepmark.interchange.lines import decode, encode, join, kept, loose_lines, split
from stepmark.published.catalogue import PUBLICATIONS, text_of
from tests.support.properties import steady


@steady
@given(st.binary(max_size=60))
def test_any_bytes_survive(data: bytes) -> None:
    text = decode(data)
    assert encode(text) == data
    newline, lines = split(text)
    assert join(newline, lines) == text
    again = [line for part in kept(lines) for line in loose_lines(part)]
    assert again == list(lines)


def test_one_line_end_for_all_or_a_bare_one() -> None:
    assert split("a\r\nb\r\n") == ("\r\n", ("a", "b", ""))
    assert split("a\r\nb\n") == ("\n", ("a\r", "b", ""))
    assert split("a") == ("\n", ("a",))


@pytest.mark.parametrize("name", PUBLICATIONS)
def test_the_format_of_every_published_file_is_seen(name: str) -> None:
    assert detect(text_of(name), name) == PUBLICATIONS[name].format


@pytest.mark.parametrize("name", PUBLICATIONS)
def test_published_files_come_back_with_other_line_ends_too(name: str) -> None:
    text = text_of(name).replace("\n", "\r\n")
    document = parse(text, name)
    assert format_of(document).name == PUBLICATIONS[name].format
    assert render(document) == text


def test_a_text_in_no_format_says_which_there_are() -> None:
    with pytest.raises(UsageError, match=r"notes\.txt is in no format") as caught:
        detect("just words", "notes.txt")
    assert all(name in caught.value.remedy for name in FORMATS)


def test_a_slip_names_the_nearest_format() -> None:
    with pytest.raises(UsageError, match="'criterium' is no format") as caught:
        format_named("criterium")
    assert caught.value.remedy.startswith("did you mean 'criterion'?")


def test_lines_that_were_kept_as_text_are_counted() -> None:
    log = "   Running x\n\nalloc                   time:   [2.5094 ms 2.5306 ms 2.5553 ms]\n"
    assert num_lines(parse(log, "log")) == (3, 1)
    assert num_lines(parse(log.rstrip("\n"), "log")) == (3, 1)
