"""A bench file measured for real, as briefly as its findings allow."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec.structs import replace

from benchmarks.audit.gallery import Mistake, Specimen
from stepmark.engines.local import LocalEngine
from stepmark.measure.expand import Selection
from stepmark.pipeline import Order, judged, measure
from stepmark.records.finding import Finding
from stepmark.records.settings import Settings
from stepmark.records.source import BuiltinSource, FileSource, Source
from stepmark.store.store import Store

BRIEF = Settings(
    launches=1,
    stop=False,
    pilot=0,
    confirm=0,
    alone=0,
    round_seconds=0.08,
    min_rounds=10,
    max_rounds=200,
    warmup_seconds=0.03,
    warmup_cap=0.5,
    timeout=120.0,
)
"""A launch of a tenth of a second; a solo pass is as it always is."""


def findings_of(specimen: Specimen, engine: LocalEngine, store: Store) -> tuple[Finding, ...]:
    """Every finding of every case of the file."""
    with busy_processes(specimen.company if isinstance(specimen, Mistake) else 0):
        return measured(
            FileSource(path=str(specimen.path)),
            engine,
            store,
            launches=specimen.launches,
            device=specimen.device,
        )


def findings_of_file(path: Path, engine: LocalEngine, store: Store) -> tuple[Finding, ...]:
    return measured(FileSource(path=str(path)), engine, store)


def findings_of_builtin(name: str, engine: LocalEngine, store: Store) -> tuple[Finding, ...]:
    """The quick cases of a suite that comes with stepmark."""
    return measured(BuiltinSource(name=name), engine, store, preset="quick")


def measured(
    source: Source,
    engine: LocalEngine,
    store: Store,
    *,
    launches: int = 1,
    device: str = "cpu",
    preset: str = "standard",
) -> tuple[Finding, ...]:
    """Measure, judge, and hand over what the audit found. A store that has seen other files knows the
    machine's ceilings, which are else measured anew and take longer than the file."""
    order = Order(
        sources=(source,),
        settings=replace(BRIEF, launches=launches),
        selection=Selection(preset=preset),
        device=device,
    )
    return judged(measure(order, engine=engine, store=store)).findings


@contextmanager
def busy_processes(number: int) -> Iterator[None]:
    """So many processes that do nothing but take time from others."""
    context = multiprocessing.get_context("spawn")
    crowd = [context.Process(target=_spin, daemon=True) for _ in range(number)]
    for one in crowd:
        one.start()
    try:
        yield
    finally:
        for one in crowd:
            one.kill()
            one.join()


def _spin() -> None:
    while True:
        pass
