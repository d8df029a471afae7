"""Comparing two runs of the archive by reference, with a 404 for a run that is not there."""

from __future__ import annotations

from stepmark.comparing import compare_stored
from stepmark.published.references import reference_names
from stepmark.records.comparison import Comparison
from stepmark.web.archive import Archive
from stepmark.web.queries import CompareQuery


def compare(archive: Archive, query: CompareQuery) -> Comparison:
    """Two runs by reference; a run that is not there is a 404."""
    sides = [side if side in reference_names() else archive.find(side) for side in (query.a, query.b)]
    named = {baseline.name for baseline in archive.store.baselines()}
    given = [side if side in named else found for side, found in zip((query.a, query.b), sides, strict=True)]
    return compare_stored(archive.store, *given, terms=query.terms)
