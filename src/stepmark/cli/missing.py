"""What --missing-from leaves out: the cells that stored runs and references have measured."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from stepmark.analysis.measured_cells import measured_cells
from stepmark.published.references import reference_names, reference_runs
from stepmark.records.run import Recording
from stepmark.store.location import store_url
from stepmark.store.store import Store


def cells_measured(names: Sequence[str], store: str | None) -> frozenset[str]:
    """In any of the runs and references that are named."""
    return frozenset(cell for recording in _recordings(names, store) for cell in measured_cells(recording))


def _recordings(names: Sequence[str], store: str | None) -> Iterator[Recording]:
    shipped = [name for name in names if name in reference_names()]
    for name in shipped:
        yield from reference_runs(name)
    stored = [name for name in names if name not in shipped]
    if stored:
        with Store.open(store_url(store), create=False) as opened:
            yield from [opened.load(opened.resolve(name)) for name in stored]
