"""Queries: addresses read into records, or refused with a reason."""

from __future__ import annotations

import contextlib
import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepmark.records.comparison import Aspect, Centre
from stepmark.records.run import RunStatus
from stepmark.web.problems import Refused
from stepmark.web.queries import CompareQuery, HistoryQuery, RunsQuery, read_query
from tests.support.properties import steady


def test_everything_that_a_list_of_runs_can_be_asked() -> None:
    pairs = {
        "text": " lora ",
        "suite": "demo",
        "machine": "bench",
        "branch": "main",
        "since": "2026-11-01",
        "until": "2026-11-02",
        "status": "complete",
        "limit": "10",
        "offset": "20",
    }
    query = read_query(RunsQuery, pairs.items())
    assert query.text == "lora"
    assert query.since == datetime.date(2026, 11, 1)
    assert query.status is RunStatus.COMPLETE
    assert (query.limit, query.offset) == (10, 20)
    assert query.since_seconds is not None
    assert query.until_seconds is not None
    assert query.until_seconds - query.since_seconds == 2 * 24 * 3600


def test_empty_fields_of_a_form_are_not_given() -> None:
    assert read_query(RunsQuery, [("text", ""), ("since", ""), ("status", " ")]) == RunsQuery()


@pytest.mark.parametrize(
    "pair",
    [
        ("limit", "0"),
        ("limit", "201"),
        ("limit", "x"),
        ("offset", "-1"),
        ("since", "yesterday"),
        ("status", "done"),
        ("colour", "red"),
        ("text", "x" * 501),
        ("text", "a\0b"),
        ("suite", "\0"),
    ],
)
def test_what_does_not_fit_is_a_bad_request(pair: tuple[str, str]) -> None:
    with pytest.raises(Refused) as caught:
        read_query(RunsQuery, [pair])
    assert caught.value.problem.status == 400


def test_lists_may_be_repeated_or_separated_by_commas() -> None:
    pairs = [("a", "x"), ("b", "y"), ("allow", "threads,dtype"), ("allow", "mode"), ("centre", "median")]
    query = read_query(CompareQuery, pairs)
    assert query.allow == ("threads", "dtype", "mode")
    assert query.centre is Centre.MEDIAN
    assert query.terms.allow == (Aspect.DTYPE, Aspect.MODE, Aspect.THREADS)


def test_other_names_twice_are_a_bad_request() -> None:
    with pytest.raises(Refused, match="twice"):
        read_query(HistoryQuery, [("case", "x"), ("case", "y")])


@steady
@given(
    st.lists(
        st.tuples(st.sampled_from(["text", "suite", "since", "limit", "status", "x"]), st.text(max_size=10))
    )
)
def test_any_address_is_read_or_refused(pairs: list[tuple[str, str]]) -> None:
    with contextlib.suppress(Refused):
        query = read_query(RunsQuery, pairs)
        assert query.limit <= 200
        assert "\0" not in f"{query.text}{query.suite}"
