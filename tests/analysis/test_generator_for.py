"""Generators that depend on names alone."""

from __future__ import annotations

from stepmark.analysis.seeds import generator_for


def test_same_names_same_numbers() -> None:
    assert generator_for(0, "a", "b").integers(1 << 62) == generator_for(0, "a", "b").integers(1 << 62)


def test_every_name_counts() -> None:
    names = [(0, "a", "b"), (1, "a", "b"), (0, "ab", ""), (0, "b", "a"), (0, "a", "c")]
    assert len({int(generator_for(*one).integers(1 << 62)) for one in names}) == len(names)
