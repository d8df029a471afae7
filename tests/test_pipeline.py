"""The pipeline with the scripted engine: order, store, verdicts, failures, interruption and resume."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from stepmark.engines.fake import FakeEngine
from stepmark.errors import Interrupted, Unsupported, UsageError
from stepmark.measure.assignment import Assignment, LaunchAssignment, SoloAssignment
from stepmark.measure.expand import Selection
from stepmark.pipeline import Order, judged, measure, resume
from stepmark.records.outcome import Outcome
from stepmark.records.outline import Axis, SuiteOutline, VariantOutline
from stepmark.records.run import Judgement, Run, RunStatus
from stepmark.records.settings import Settings
from stepmark.records.source import BuiltinSource
from stepmark.records.trial import Trial
from stepmark.records.verdict import Reason, VerdictKind
from stepmark.store.store import Store

OUTLINE = SuiteOutline(
    name="scripted",
    axes=(Axis(name="features", values=(8, 16)),),
    variants=(
        VariantOutline(name="dense", baseline=True),
        VariantOutline(name="twin"),
        VariantOutline(name="thin"),
        VariantOutline(name="thick"),
    ),
)
SETTINGS = Settings(launches=4, round_seconds=0.02)


def noisy(nanoseconds: int, seed: int) -> object:
    generator = random.Random(seed)
    return lambda: round(nanoseconds * generator.lognormvariate(0.0, 0.002))


def scripts(**more: object) -> dict[str, object]:
    times = {"dense": 100_000, "twin": 100_000, "thin": 80_000, "thick": 130_000}
    made = {
        name: {"forward": noisy(time, seed), "backward": noisy(2 * time, seed + 10)}
        for seed, (name, time) in enumerate(times.items())
    }
    return {**made, **more}


def engine_for(**more: object) -> FakeEngine:
    return FakeEngine(OUTLINE, scripts(**more))  # type: ignore[arg-type]


def order(settings: Settings = SETTINGS, selection: Selection | None = None) -> Order:
    return Order(sources=(BuiltinSource(name="demo"),), settings=settings, selection=selection or Selection())


@pytest.fixture
def store() -> Iterator[Store]:
    with Store.open("sqlite://") as opened:
        yield opened


def kinds(judgement: Judgement) -> dict[str, set[VerdictKind]]:
    found: dict[str, set[VerdictKind]] = {}
    for case in judgement.cases:
        if case.verdict is not None:
            found.setdefault(case.case.variant, set()).add(case.verdict.kind)
    return found


def test_from_an_order_to_verdicts(store: Store) -> None:
    judgement = judged(measure(order(), engine=engine_for(), store=store))
    assert kinds(judgement) == {
        "twin": {VerdictKind.EQUIVALENT},
        "thin": {VerdictKind.FASTER},
        "thick": {VerdictKind.SLOWER},
    }
    assert judgement.run.status is RunStatus.COMPLETE
    assert judgement.run.load_end is not None
    thin = next(case for case in judgement.cases if case.case.variant == "thin")
    assert thin.phases == ("step", "forward", "backward", "remainder")
    assert thin.verdict is not None
    assert thin.verdict.ratio is not None
    assert thin.verdict.ratio.low < 0.8 < thin.verdict.ratio.high


def test_every_case_passes_alone_before_any_launch(store: Store) -> None:
    engine = engine_for()
    measure(order(), engine=engine, store=store)
    kind = [type(assignment) for assignment in engine.performed]
    assert kind == [SoloAssignment] * 8 + [LaunchAssignment] * 8


def test_a_failing_variant_ends_as_an_outcome_and_the_others_go_on(store: Store) -> None:
    engine = engine_for(thin=RuntimeError("no"), thick=Unsupported("not here"))
    judgement = judged(measure(order(), engine=engine, store=store))
    outcomes = {case.case.variant: case.outcome for case in judgement.cases}
    assert outcomes == {
        "dense": Outcome.MEASURED,
        "twin": Outcome.MEASURED,
        "thin": Outcome.CRASHED,
        "thick": Outcome.UNSUPPORTED,
    }
    assert kinds(judgement)["thin"] == {VerdictKind.INVALID}
    launches = [each for each in engine.performed if isinstance(each, LaunchAssignment)]
    assert {case.variant for launch in launches for case in launch.cases} == {"dense", "twin"}


def test_a_failing_baseline_makes_verdicts_invalid_but_levels_stay(store: Store) -> None:
    judgement = judged(measure(order(), engine=engine_for(dense=RuntimeError("no")), store=store))
    twin = next(case for case in judgement.cases if case.case.variant == "twin")
    assert twin.verdict is not None
    assert twin.verdict.kind is VerdictKind.INVALID
    assert twin.verdict.reasons == (Reason.BASELINE_FAILED,)
    assert twin.summary("step") is not None


def test_the_selection_reaches_the_cases(store: Store) -> None:
    chosen = Selection(axes={"features": "4"}, condition="variant == 'thin'", dtypes=("bfloat16",))
    recording = measure(order(selection=chosen), engine=engine_for(), store=store)
    assert [case.id for case in recording.run.cases] == [
        "scripted/dense[features=4]/cpu/bfloat16/train",
        "scripted/thin[features=4]/cpu/bfloat16/train",
    ]


def test_the_same_seed_gives_the_same_orders_and_another_seed_others(store: Store) -> None:
    def orders(seed: int) -> list[object]:
        recording = measure(order(replace(SETTINGS, seed=seed)), engine=engine_for(), store=store)
        return [
            (launch.cell.id, launch.build_order, launch.round_orders[:5]) for launch in recording.launches
        ]

    assert orders(3) == orders(3)
    assert orders(3) != orders(4)


class Stopping(FakeEngine):
    """The user presses Ctrl-C during the nth assignment."""

    stop_at = 0

    def perform(self, assignment: Assignment) -> Trial:
        if len(self.performed) == self.stop_at:
            raise KeyboardInterrupt
        return super().perform(assignment)


class Followed:
    """Remembers what a watcher is told."""

    def __init__(self) -> None:
        self.run_id = ""
        self.seen: list[tuple[int, int]] = []

    def begins(self, run: Run, resumed: int) -> None:
        self.run_id = run.id

    def advances(self, trial: Trial, done: int, total: int) -> None:
        self.seen.append((done, total))


@pytest.mark.parametrize("stop_at", range(0, 16, 3))
def test_an_interrupted_run_is_in_the_store_and_resumes_to_the_same_end(store: Store, stop_at: int) -> None:
    watcher = Followed()
    engine = Stopping(OUTLINE, scripts())  # type: ignore[arg-type]
    engine.stop_at = stop_at
    with pytest.raises(Interrupted, match="what was measured is in run"):
        measure(order(), engine=engine, store=store, watcher=watcher)
    assert engine.closed
    stored = store.load(watcher.run_id)
    assert stored.run.status is RunStatus.INTERRUPTED
    assert len(stored.trials) == stop_at
    second = engine_for()
    whole = resume(watcher.run_id, engine=second, store=store)
    assert len(second.performed) == 16 - stop_at
    assert whole.run.status is RunStatus.COMPLETE
    numbers = sorted((launch.cell.id, launch.number) for launch in whole.launches)
    assert len(set(numbers)) == 8


def test_resume_refuses_another_torch(store: Store) -> None:
    recording = measure(order(), engine=engine_for(), store=store)

    class Newer(FakeEngine):
        def describe(self, sources: object, device: str) -> object:  # type: ignore[override]
            described = super().describe((), device)
            return replace(described, torch=replace(described.torch, version="9.9"))

    with pytest.raises(UsageError, match="torch changed since"):
        resume(recording.run.id, engine=Newer(OUTLINE, scripts()), store=store)  # type: ignore[arg-type]


def test_progress_counts_to_its_own_total(store: Store) -> None:
    watcher = Followed()
    measure(order(), engine=engine_for(thin=RuntimeError("no")), store=store, watcher=watcher)
    done = [count for count, _ in watcher.seen]
    assert done == list(range(1, len(done) + 1))
    assert watcher.seen[-1] == (16, 16)
