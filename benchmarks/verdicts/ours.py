"""One comparison by stepmark: the product's own pipeline, on a workload and slowed copies of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import cloudpickle
import numpy as np

from benchmarks.verdicts.results import SEPARATE, Condition, Launches, Measured, short
from stepmark.analysis.pairing import pair
from stepmark.analysis.times import Times, read_times
from stepmark.analysis.trials import CaseTrials, gather
from stepmark.authoring.point import Point
from stepmark.authoring.suite import Suite
from stepmark.authoring.workload import Ops
from stepmark.engines.local import LocalEngine
from stepmark.errors import UsageError
from stepmark.pipeline import Order, judged, measure
from stepmark.presets import make_settings
from stepmark.records.run import Recording
from stepmark.records.settings import Isolation, Settings
from stepmark.records.source import PickledSource
from stepmark.store.store import Store

ROOT = Path(__file__).parents[2]
BASE = "base"


class Engines:
    """One engine for each number of threads, open as long as the block, so that torch is imported once."""

    def __init__(self) -> None:
        self._open: dict[int, LocalEngine] = {}

    def __enter__(self) -> Engines:
        return self

    def __exit__(self, *_: object) -> None:
        for engine in self._open.values():
            engine.close()

    def of(self, settings: Settings) -> LocalEngine:
        assert settings.threads is not None
        if settings.threads not in self._open:
            self._open[settings.threads] = LocalEngine(settings)
            self._import_everything(settings.threads)
        return self._open[settings.threads]

    def _import_everything(self, threads: int) -> None:
        """A short run, so that no comparison pays for imports; AdamW needs more of them than the others."""
        record(lanes_of("adamw", {}), Settings(threads=threads, launches=1, round_seconds=0.01), self)


def settings_for(threads: int, *, seconds: float, seed: int, stop: bool, separate: bool = False) -> Settings:
    """As `stepmark run --no-audit --budget` has them; without stopping for what is replayed later."""
    isolation = Isolation.SEPARATE if separate else Isolation.SHARED
    return make_settings(
        "standard",
        threads=threads,
        budget=seconds,
        seed=seed,
        isolation=isolation,
        stop=stop,
        audit=False,
    )


def lanes_of(workload: str, doses: Mapping[str, int]) -> Suite:
    """The workload as the baseline, and one slowed copy for every dose, given in turns."""
    suite = Suite(f"study_{workload}", modes=["ops"])
    for name, turns in {BASE: 0, **doses}.items():

        def build(_point: Point, turns: int = turns) -> Ops:
            from benchmarks.verdicts.workloads import WORKLOADS
            from stepmark.suites.selftest import followed_by_turns

            return Ops({"call": followed_by_turns(WORKLOADS[workload](), turns)})

        build.__name__ = name
        suite.variant(baseline=name == BASE)(build)
    return suite


def record(suite: Suite, settings: Settings, engines: Engines) -> Recording:
    """Measure it; nothing is written to disk."""
    source = PickledSource(payload=cloudpickle.dumps(suite), path=(str(ROOT),))
    with Store.open("sqlite://") as store:
        order = Order(sources=(source,), settings=settings)
        recording = measure(order, engine=engines.of(settings), store=store)
    if not recording.launches:
        raise UsageError(
            f"{settings.budget:g} s were over before the first launch", remedy="give it more time"
        )
    return recording


def read_launches(recording: Recording, variant: str) -> Launches:
    """What the launches that count say about one variant against the base."""
    sides = {trials.case.variant: trials for trials in gather(recording).values()}
    case, base = (_times(sides[name]) for name in (variant, BASE))
    seconds = {launch.number: launch.seconds for launch in sides[BASE].cell.launches}
    paired = pair(case, base, case.phases[:1], among=seconds, min_rounds=recording.run.settings.min_rounds)
    logs, centres = paired.logs[0], paired.centres[0]
    levels = base.seconds[0][[base.launches.index(number) for number in paired.launches]]
    return Launches(
        centres=_short(centres),
        rounds=tuple(int(num) for num in np.sum(~np.isnan(logs), axis=1)),
        spreads=_short(1.4826 * np.nanmedian(np.abs(logs - centres[:, None]), axis=1)),
        levels=_short(np.nanmedian(levels, axis=1)),
        seconds=_short(seconds[number] for number in paired.launches),
    )


def _times(trials: CaseTrials) -> Times:
    assert trials.layout is not None
    return read_times(trials.measured, trials.layout)


def _short(values: Iterable[float]) -> tuple[float, ...]:
    return tuple(short(float(value)) for value in values)


def compare_ours(
    condition: Condition, *, turns: int, seconds: float, seed: int, engines: Engines
) -> Measured:
    """One comparison of the workload with itself, or with a copy slowed by that many turns.

    Identical sides are measured to the end of the budget, so that stopping can be replayed at every look.
    """
    separate = condition.tool == SEPARATE
    stop = turns > 0
    settings = settings_for(condition.threads, seconds=seconds, seed=seed, stop=stop, separate=separate)
    recording = record(lanes_of(condition.workload, {"other": turns}), settings, engines)
    verdict = next(case.verdict for case in judged(recording).cases if not case.baseline)
    assert verdict is not None
    assert verdict.ratio is not None, verdict.reasons
    run = recording.run
    return Measured(
        turns=turns,
        stopping=stop,
        most=settings.launches,
        margin=verdict.policy.margin,
        confidence=verdict.policy.confidence,
        verdict=verdict.kind,
        point=short(verdict.ratio.point),
        low=short(verdict.ratio.low),
        high=short(verdict.ratio.high),
        measuring=short((run.finished or run.started) - run.started),
        set_apart=not separate and _isolation(recording) is not Isolation.SHARED,
        launches=read_launches(recording, "other"),
    )


def _isolation(recording: Recording) -> Isolation:
    return next(iter(gather(recording).values())).cell.isolation
