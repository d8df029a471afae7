"""What --missing-from names: stored runs and references, whose cells are not measured again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from stepmark.published.references import reference_names, reference_runs
from stepmark.records.run import Recording
from stepmark.store.location import store_url
from stepmark.store.store import Store


def runs_named(names: Sequence[str], store: str | None) -> Iterator[Recording]:
    """All runs of the references among the names, and the stored runs that the others are."""
    shipped = [name for name in names if name in reference_names()]
    for name in shipped:
        yield from reference_runs(name)
    stored = [name for name in names if name not in shipped]
    if stored:
        with Store.open(store_url(store), create=False) as opened:
            yield from [opened.load(opened.resolve(name)) for name in stored]
