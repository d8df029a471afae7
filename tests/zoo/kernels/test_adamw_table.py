"""Pieces of tensors: they cover every entry once, and promise wide accesses only where they hold."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from stepmark.zoo.kernels.adamw_table import UNIT, Place, pieces_of

tensors = st.lists(st.tuples(st.integers(0, 200), st.booleans()), max_size=5)


@settings(max_examples=60)
@given(tensors, st.sampled_from([16, 32, 64]))
def test_every_entry_is_in_one_piece(given_tensors: list[tuple[int, bool]], size: int) -> None:
    lengths, aligned = [one[0] for one in given_tensors], [one[1] for one in given_tensors]
    seen: dict[int, list[int]] = {index: [] for index in range(len(lengths))}
    for index, start, length, wide in pieces_of(lengths, aligned, size).tolist():
        assert 1 <= length <= size
        seen[index] += range(start * UNIT, start * UNIT + length)
        if wide:
            assert aligned[index]
            assert length % UNIT == 0
    assert [sorted(entries) for entries in seen.values()] == [list(range(length)) for length in lengths]


@given(st.lists(st.integers(0, 1 << 40), min_size=4, max_size=4))
def test_aligned_is_all_four_divisible_by_16(addresses: list[int]) -> None:
    parameter, gradient, first, second = addresses
    place = Place(parameter, gradient, first, second, steps=3, lr=5, group=1)
    assert place.is_aligned() == (sum(address % 16 for address in addresses) == 0)
