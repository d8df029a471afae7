"""The library's front door: measure a suite from a program."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import cloudpickle

from stepmark.authoring.given import several
from stepmark.authoring.suite import Suite
from stepmark.engines.local import LocalEngine
from stepmark.measure.expand import Selection
from stepmark.pipeline import Order, Watcher, measure
from stepmark.presets import make_settings
from stepmark.records.case import caches_named, modes_and_executions
from stepmark.records.finding import finding_named
from stepmark.records.settings import Policy, isolation_named
from stepmark.records.source import PickledSource
from stepmark.result import Result
from stepmark.store.location import store_url
from stepmark.store.store import Store
from stepmark.units import parse_duration, parse_fraction


def run(
    suite: Suite,
    *,
    device: str = "cpu",
    budget: str | float | None = None,
    preset: str = "standard",
    launches: int | None = None,
    sampling: str | float | None = None,
    stop: bool = True,
    margin: str | float = 0.01,
    confidence: float = 0.95,
    seed: int = 0,
    threads: int | None = 1,
    dtypes: Sequence[str] = (),
    modes: Sequence[str] = (),
    cache: str | None = None,
    axes: Mapping[str, Sequence[Any]] | None = None,
    condition: str | None = None,
    isolation: str = "shared",
    timeout: str | float = 120.0,
    accept: Sequence[str] = (),
    audit: bool = True,
    store: str | None = None,
    watcher: Watcher | None = None,
) -> Result:
    """Measure a suite in fresh processes and judge it.

    A cell ends early once all its verdicts are decided; `stop=False` uses every launch and the whole budget.
    The suite is sent to the workers by value, so it may be defined in a script or a notebook. Without a
    `store` nothing is written to disk; `result.save` does that. `accept` names findings that do not make a
    verdict INVALID; `audit=False` leaves out the instrumented step of each case. `modes` may name executions
    too (`graph`, `compiled`), `cache` is `warm`, `cold` or `both`. `sampling` is the time of each lane in a
    launch until the pilot knows better, as the other times a number of seconds or a text like "50ms".
    """
    settings = make_settings(
        preset,
        threads=threads,
        launches=launches,
        round_seconds=None if sampling is None else parse_duration(sampling),
        stop=None if stop else False,
        budget=None if budget is None else parse_duration(budget),
        seed=seed,
        isolation=isolation_named(isolation),
        timeout=parse_duration(timeout),
        audit=None if audit else False,
    )
    order = Order(
        sources=(PickledSource(payload=cloudpickle.dumps(suite), path=tuple(sys.path)),),
        settings=settings,
        policy=_policy(margin, confidence, accept),
        selection=_selection(modes, cache, dtypes, axes=axes or {}, condition=condition, preset=preset),
        device=device,
        command=tuple(sys.argv),
    )
    engine = LocalEngine(order.settings)
    try:
        with Store.open(store_url(store) if store else "sqlite://") as opened:
            return Result(measure(order, engine=engine, store=opened, watcher=watcher))
    finally:
        engine.close()


def _selection(modes: Sequence[str], cache: str | None, dtypes: Sequence[str], **more: Any) -> Selection:
    kinds, executions = modes_and_executions(several(modes, "modes"))
    regimes = caches_named(cache)
    return Selection(
        modes=kinds, executions=executions, caches=regimes, dtypes=several(dtypes, "dtypes"), **more
    )


def _policy(margin: str | float, confidence: float, accept: Sequence[str]) -> Policy:
    accepted = tuple(finding_named(name).value for name in several(accept, "accept"))
    return Policy(margin=parse_fraction(margin), confidence=parse_fraction(confidence), accepted=accepted)
