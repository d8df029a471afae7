"""How a user names a run."""

from __future__ import annotations

import pytest

from stepmark.errors import UsageError
from stepmark.store.reference import is_latest, match

IDS = ("20261116-080000-bbbb", "20261115-091523-k3f9", "20261115-091500-aaaa")
"""Newest first."""


@pytest.mark.parametrize(
    ("reference", "expected"),
    [("latest", IDS[0]), (IDS[2], IDS[2]), ("20261116", IDS[0]), ("20261115-091523", IDS[1])],
)
def test_an_id_a_beginning_and_the_latest(reference: str, expected: str) -> None:
    assert match(reference, IDS) == expected


def test_a_full_id_wins_over_longer_ones() -> None:
    assert match("run-1", ("run-11", "run-1")) == "run-1"


def test_an_ambiguous_beginning_names_the_candidates() -> None:
    with pytest.raises(UsageError) as caught:
        match("20261115", IDS)
    assert caught.value.problem == f"'20261115' is the beginning of 2 runs: {IDS[1]}, {IDS[2]}"
    assert caught.value.remedy == "write more of the id"


def test_many_candidates_are_counted() -> None:
    with pytest.raises(
        UsageError, match="the beginning of 8 runs: run-0, run-1, run-2, run-3, run-4 and 3 more"
    ):
        match("run", tuple(f"run-{number}" for number in range(8)))


def test_a_slip_names_the_nearest() -> None:
    with pytest.raises(UsageError) as caught:
        match("20261115-091523-k3f8", IDS)
    assert caught.value.problem == "there is no run '20261115-091523-k3f8'"
    assert caught.value.remedy.startswith(f"did you mean {IDS[1]}")


def test_something_else_names_the_newest() -> None:
    with pytest.raises(UsageError) as caught:
        match("mine", IDS)
    assert IDS[0] in caught.value.remedy


def test_an_empty_store_has_no_runs() -> None:
    with pytest.raises(UsageError, match="no runs yet"):
        match("latest", ())


def test_runs_before_the_latest() -> None:
    assert [match(f"latest~{back}", IDS) for back in range(3)] == list(IDS)
    with pytest.raises(UsageError, match="'latest~3' is too far back: there are 3 runs") as caught:
        match("latest~3", IDS)
    assert IDS[2] in caught.value.remedy


@pytest.mark.parametrize("digits", ["9" * 9, "9" * 10, "9" * 5000, "0" * 5000 + "7", "\u00b2"])
def test_a_number_that_no_run_has(digits: str) -> None:
    """Python refuses to read one of more than 4300 digits."""
    with pytest.raises(UsageError, match=r"too far back|there is no run"):
        match(f"latest~{digits}", IDS)


def test_zeros_in_front_do_not_count() -> None:
    assert match("latest~0001", IDS) == IDS[1]


def test_what_only_begins_like_the_latest_is_a_name() -> None:
    assert [is_latest(text) for text in ("latest", "latest~2")] == [True, True]
    assert [is_latest(text) for text in ("latest-good", "latest~", "latest~x", "latest\n", "xlatest")] == [
        False
    ] * 5


def test_a_baseline_goes_before_the_beginning_of_an_id() -> None:
    assert match("main", IDS, baselines={"main": IDS[1]}) == IDS[1]
    assert match("run-1", ("run-11", "run-12"), baselines={"run-1": "run-12"}) == "run-12"
    with pytest.raises(UsageError) as caught:
        match("mian", IDS, baselines={"main": IDS[1]})
    assert caught.value.remedy.startswith("did you mean main")
