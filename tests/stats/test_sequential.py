"""Looks and their shares: however a run ends, all its looks together use no more than alpha."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepmark.stats.sequential import EARLY, FIRST, NUM_EARLY, looks, share
from tests.support.properties import steady

most_launches = st.integers(1, 5000)


def spent(num: int, *, most: int) -> float:
    """Of alpha, by every look of a run that was never decided and ended after `num` launches."""
    early = sum(share(look, most=most, last=False) for look in looks(most) if look <= num)
    return early + share(num, most=most, last=True)


@steady
@given(st.data(), most_launches)
def test_the_shares_of_all_looks_never_exceed_one(data: st.DataObject, most: int) -> None:
    """Whatever ended the run: its number of launches, a budget, or its user."""
    num = data.draw(st.integers(0, most))
    assert spent(num, most=most) <= 1.0 + 1e-12


@steady
@given(st.data(), most_launches)
def test_nothing_of_alpha_is_left_unused(data: st.DataObject, most: int) -> None:
    num = data.draw(st.integers(0, most))
    assert spent(num, most=most) == pytest.approx(1.0)


@steady
@given(most_launches)
def test_a_run_that_is_decided_early_has_used_the_early_part_only(most: int) -> None:
    early = [share(look, most=most, last=False) for look in looks(most)]
    assert sum(early) <= EARLY + 1e-12


@steady
@given(st.data(), most_launches, st.booleans())
def test_every_look_has_a_share_and_the_last_has_most_of_it(
    data: st.DataObject, most: int, last: bool
) -> None:
    num = data.draw(st.integers(0, most))
    assert 0.0 < share(num, most=most, last=last) <= 1.0
    assert share(num, most=most, last=True) >= 1.0 - EARLY - 1e-12


@steady
@given(st.data(), most_launches)
def test_the_last_share_only_shrinks_as_looks_are_made(data: st.DataObject, most: int) -> None:
    one, other = sorted(data.draw(st.tuples(st.integers(0, most), st.integers(0, most))))
    assert share(one, most=most, last=True) >= share(other, most=most, last=True)


@steady
@given(most_launches)
def test_looks_ascend_and_leave_the_last_launch_to_the_last_look(most: int) -> None:
    counts = looks(most)
    assert list(counts) == sorted(set(counts))
    assert all(FIRST <= count < most for count in counts)
    assert len(counts) <= NUM_EARLY


@steady
@given(most_launches, most_launches)
def test_a_longer_run_looks_at_the_same_places_and_then_further(one: int, other: int) -> None:
    fewer, more = looks(min(one, other)), looks(max(one, other))
    assert more[: len(fewer)] == fewer


def test_where_a_run_looks() -> None:
    assert looks(5) == ()
    assert looks(6) == (5,)
    assert looks(40) == (5, 7, 10, 14, 20, 28)
    assert looks(1000) == (5, 7, 10, 14, 20, 28, 40, 57, 80, 113)


def test_shares_by_hand() -> None:
    assert share(7, most=40, last=False) == pytest.approx(0.02)
    assert share(4, most=40, last=True) == 1.0, "no look yet"
    assert share(12, most=40, last=True) == pytest.approx(0.94), "after looks at 5, 7 and 10"
    assert share(40, most=40, last=True) == pytest.approx(0.88)
