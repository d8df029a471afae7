"""Runs are found by what they have in common, a page at a time, in every database."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from stepmark.records.run import Run, RunStatus
from stepmark.store.search import RunPage
from stepmark.store.store import Store
from tests.store.dated_runs import HOUR, dated

HOSTILE = "<img src=x onerror=alert(1)>"
RUNS = [
    dated(1).run,
    dated(2, machine="gpu-1", branch="feature/fused").run,
    dated(3, suite="Layers", branch=None).run,
    dated(4, suite=HOSTILE, machine="100%", status=RunStatus.INTERRUPTED).run,
    dated(5, suite='say "so"', command=("stepmark", "run", "50_% of it")).run,
]
NAMES = {run.id: number for number, run in enumerate(RUNS, 1)}


def found(page: RunPage) -> list[int]:
    return [NAMES[head.id] for head in page.heads]


@pytest.fixture
def store(empty_store: Store) -> Store:
    for run in RUNS:
        empty_store.begin(run)
    return empty_store


def test_without_a_condition_all_are_there_newest_first(store: Store) -> None:
    page = store.search()
    assert (found(page), page.total) == ([5, 4, 3, 2, 1], 5)
    assert page.heads == store.heads(None)


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ({"suite": "synthetic"}, [2, 1]),
        ({"suite": "layers"}, []),
        ({"suite": HOSTILE}, [4]),
        ({"machine": "gpu-1"}, [2]),
        ({"machine": "bench"}, [5, 3, 1]),
        ({"branch": "main"}, [5, 4, 1]),
        ({"branch": "main", "machine": "bench"}, [5, 1]),
        ({"status": RunStatus.INTERRUPTED}, [4]),
        ({"since": RUNS[2].started}, [5, 4, 3]),
        ({"until": RUNS[2].started}, [2, 1]),
        ({"since": RUNS[1].started, "until": RUNS[3].started}, [3, 2]),
    ],
)
def test_every_condition_keeps_what_fits(
    store: Store, condition: dict[str, object], expected: list[int]
) -> None:
    page = store.search(**condition)  # type: ignore[arg-type]
    assert (found(page), page.total) == (expected, len(expected))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", [5, 4, 3, 2, 1]),
        ("LAYERS", [3]),
        ("img onerror", [4]),
        ("img layers", []),
        ("FUSED gpu", [2]),
        ("100%", [4]),
        ("%", [5, 4]),
        ("50_%", [5]),
        ("5__", []),
        ('"so"', [5]),
        (f"{3:040x}", [3]),
        ("20270101-000002", [2]),
        ("' OR 1=1 --", []),
    ],
)
def test_words_are_found_wherever_they_stand(store: Store, text: str, expected: list[int]) -> None:
    assert found(store.search(text)) == expected


@pytest.mark.parametrize(("limit", "offset"), [(2, 0), (2, 2), (2, 4), (3, 1), (50, 5), (None, 0), (1, 99)])
def test_pages_are_slices(store: Store, limit: int | None, offset: int) -> None:
    page = store.search(limit=limit, offset=offset)
    end = None if limit is None else offset + limit
    assert found(page) == [5, 4, 3, 2, 1][offset:end]
    assert page.total == 5


def test_what_can_be_chosen_from(store: Store) -> None:
    assert dict(store.suites()) == {HOSTILE: 1, "Layers": 1, 'say "so"': 1, "synthetic": 2}
    assert store.branches() == (("feature/fused", 1), ("main", 3))
    machines = {machine.name: machine for machine in store.machines()}
    assert list(machines) == ["bench", "100%", "gpu-1"], "the one with the newest run first"
    bench = machines["bench"]
    assert (bench.num_runs, bench.first, bench.last) == (3, RUNS[0].started, RUNS[4].started)


def test_a_head_names_machine_commit_and_branch(store: Store) -> None:
    head = store.head(RUNS[1].id)
    assert (head.machine, head.commit, head.dirty, head.branch) == (
        "gpu-1",
        f"{2:040x}",
        False,
        "feature/fused",
    )
    assert (head.verdicts, head.num_failed) == (None, None), "not summarized yet"


def test_a_suite_that_stands_twice_in_a_run_counts_once() -> None:
    twice = replace(RUNS[0], suites=RUNS[0].suites * 2)
    with Store.open("sqlite://") as store:
        store.begin(twice)
        assert store.suites() == (("synthetic", 1),)
        assert store.search(suite="synthetic").total == 1


words = st.text(st.sampled_from("ab%_\\'\"/<é"), min_size=1, max_size=3)


@settings(max_examples=40)
@given(st.lists(words, min_size=1, max_size=4), words)
def test_a_word_is_found_exactly_where_it_stands(suites: list[str], word: str) -> None:
    """Against Python's own search; letters beyond ASCII have no capitals in SQLite."""
    runs: list[Run] = [
        replace(run, started=number * HOUR)
        for number, run in enumerate(
            dated(number, suite=suite, branch=None).run for number, suite in enumerate(suites)
        )
    ]
    plain = [
        replace(run, environment=replace(run.environment, repository=None, command=("x",))) for run in runs
    ]
    with Store.open("sqlite://") as store:
        for run in plain:
            store.begin(run)
        names = {head.suites[0] for head in store.search(word).heads}
    elsewhere = [run.id + " x " + run.environment.host.hostname for run in plain]
    expected = {
        suite
        for suite, other in zip(suites, elsewhere, strict=True)
        if word.lower() in suite.lower() or word.lower() in other.lower()
    }
    assert expected <= names
    assert all(word.lower() in name.lower() for name in names - expected) or word in {'"', "\\"}
