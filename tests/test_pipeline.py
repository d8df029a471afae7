"""The pipeline with the scripted engine: order, store, verdicts, failures, interruption and resume."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace as replace_fields
from typing import Any

import pytest
from msgspec.structs import replace

from stepmark.engines.fake import FakeEngine
from stepmark.errors import EngineError, Interrupted, StoreError, Unsupported, UsageError
from stepmark.instruments.host_facts import host_facts
from stepmark.measure.assignment import Assignment, LaunchAssignment, SoloAssignment
from stepmark.measure.expand import Selection
from stepmark.pipeline import ENOUGH_CEILINGS, Order, judged, measure, resume, ways_on
from stepmark.records.card import CardFacts
from stepmark.records.ceilings import Ceilings, MatrixRate, machine_name
from stepmark.records.finding import FindingName
from stepmark.records.memory import DeviceMemory
from stepmark.records.outcome import Outcome
from stepmark.records.outline import Axis, PresetOutline, SuiteOutline, VariantOutline
from stepmark.records.run import Judgement, Recording, Run, RunStatus
from stepmark.records.settings import Isolation, Settings
from stepmark.records.source import BuiltinSource
from stepmark.records.trial import Role, Trial
from stepmark.records.verdict import Look, Reason, Verdict, VerdictKind
from stepmark.store import resuming
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
SOLOS, MEASURED, ALONE, CONFIRMED = 8, 2 * 4, 8, 2 * 5
"""Of two cells with four variants each, both flagged."""
ALL = SOLOS + MEASURED + ALONE + CONFIRMED


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


def test_a_run_that_came_to_its_end_is_summarized(store: Store) -> None:
    recording = measure(order(), engine=engine_for(), store=store)
    head = store.head(recording.run.id)
    expected = Counter(case.verdict.kind for case in judged(recording).cases if case.verdict)
    assert dict(head.verdicts or ()) == expected
    assert store.case_ids("thin") == tuple(
        sorted(case.id for case in recording.run.cases if case.variant == "thin")
    )


def test_every_case_passes_alone_before_its_cell_is_launched(store: Store) -> None:
    engine = engine_for()
    measure(order(), engine=engine, store=store)
    passed: set[str] = set()
    for each in engine.performed:
        if isinstance(each, SoloAssignment):
            passed.add(each.case.id)
        else:
            assert {case.id for case in each.cases} <= passed
    assert (len(passed), len(engine.performed)) == (SOLOS, ALL)
    roles = Counter(each.role for each in engine.performed if isinstance(each, LaunchAssignment))
    assert roles == {Role.MEASURE: MEASURED, Role.ALONE: ALONE, Role.CONFIRM: CONFIRMED}


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

    once = orders(3)
    assert orders(3) == once
    assert orders(4) != once


class Stopping(FakeEngine):
    """The user presses Ctrl-C during the nth assignment."""

    stop_at = 0

    def perform(self, assignment: Assignment) -> Trial:
        if len(self.performed) == self.stop_at:
            raise KeyboardInterrupt
        return super().perform(assignment)


class Breaking(FakeEngine):
    """Ends in an error that is nobody's case, during the nth assignment."""

    def __init__(self, error: BaseException, at: int) -> None:
        super().__init__(OUTLINE, scripts())  # type: ignore[arg-type]
        self._error, self._at = error, at

    def perform(self, assignment: Assignment) -> Trial:
        if len(self.performed) == self._at:
            raise self._error
        return super().perform(assignment)


class Followed:
    """Remembers what a watcher is told."""

    def __init__(self) -> None:
        self.run_id = ""
        self.prepared: list[str] = []
        self.left_out: tuple[int, int] | None = None
        self.seen: list[tuple[int, int]] = []

    def prepares(self, what: str) -> None:
        self.prepared.append(what)

    def leaves_out(self, cells: int, asked: int) -> None:
        self.left_out = (cells, asked)

    def begins(self, run: Run, resumed: int) -> None:
        self.run_id = run.id

    def advances(self, trial: Trial, done: int, total: int) -> None:
        self.seen.append((done, total))


def test_cells_that_were_measured_elsewhere_are_left_out_and_it_is_said(store: Store) -> None:
    before = measure(order(selection=Selection(condition="features == 8")), engine=engine_for(), store=store)
    followed = Followed()
    rest = measure(
        replace_fields(order(), elsewhere=(before,)), engine=engine_for(), store=store, watcher=followed
    )
    assert {case.cell.point for case in rest.run.cases} == {"features=16"}
    assert followed.left_out == (1, 2)
    assert {solo.case.id for solo in rest.solos} == {case.id for case in rest.run.cases}
    with pytest.raises(UsageError, match="nothing is missing"):
        measure(replace_fields(order(), elsewhere=(before, rest)), engine=engine_for(), store=store)


class Physical(FakeEngine):
    """Measures ceilings, a little better every time."""

    measured = 0

    def ceilings(self, device: str) -> Ceilings | None:
        self.measured += 1
        host = host_facts()
        return Ceilings(
            device=device,
            threads=1,
            torch="fake",
            host=machine_name(host.hostname, host.cpu_model),
            measured=float(self.measured),
            copy_memory=10e9 * self.measured,
            copy_cache=50e9,
            matrix=(MatrixRate(dtype="float32", flops_per_second=100e9, size=512),),
        )


QUICK = replace(SETTINGS, launches=1, alone=0, confirm=0)


def test_ceilings_are_measured_by_the_first_runs_and_kept(store: Store) -> None:
    engine, watcher = Physical(OUTLINE, scripts()), Followed()  # type: ignore[arg-type]
    runs = [measure(order(QUICK), engine=engine, store=store, watcher=watcher).run for _ in range(5)]
    assert engine.measured == len(watcher.prepared) == ENOUGH_CEILINGS
    found = [run.ceilings for run in runs]
    assert [each.copy_memory / 10e9 for each in found if each] == [1, 2, 3, 3, 3], "the best so far"


def test_a_resumed_run_keeps_its_ceilings(store: Store) -> None:
    engine = Physical(OUTLINE, scripts())  # type: ignore[arg-type]
    run = measure(order(QUICK), engine=engine, store=store).run
    assert resume(run.id, engine=engine, store=store).run.ceilings == run.ceilings
    assert engine.measured == 1


def test_no_ceilings_without_audit_and_none_of_scripted_time(store: Store) -> None:
    engine = Physical(OUTLINE, scripts())  # type: ignore[arg-type]
    unaudited = measure(order(replace(QUICK, audit=False)), engine=engine, store=store)
    assert (unaudited.run.ceilings, engine.measured) == (None, 0)
    assert measure(order(QUICK), engine=engine_for(), store=store).run.ceilings is None


@pytest.mark.parametrize("stop_at", range(0, ALL, 3))
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
    assert len(second.performed) == ALL - stop_at
    assert whole.run.status is RunStatus.COMPLETE
    numbers = sorted((launch.cell.id, launch.number) for launch in whole.launches)
    assert len(set(numbers)) == len(numbers) == ALL - SOLOS
    roles = Counter(launch.role for launch in whole.launches)
    assert roles == {Role.MEASURE: MEASURED, Role.ALONE: ALONE, Role.CONFIRM: CONFIRMED}


@pytest.mark.parametrize(
    "error",
    [EngineError("no more workers"), StoreError("the disk is full"), ZeroDivisionError(), SystemExit()],
)
def test_whatever_ends_a_run_it_is_not_left_running(store: Store, error: BaseException) -> None:
    watcher = Followed()
    with pytest.raises(type(error)) as caught:
        measure(order(), engine=Breaking(error, at=SOLOS + 2), store=store, watcher=watcher)
    assert caught.value is error
    stored = store.load(watcher.run_id)
    assert stored.run.status is RunStatus.INTERRUPTED
    assert len(stored.trials) == SOLOS + 2
    whole = resume(watcher.run_id, engine=engine_for(), store=store)
    assert (whole.run.status, len(whole.trials)) == (RunStatus.COMPLETE, ALL)


def test_an_error_is_not_hidden_by_a_store_that_fails_too(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise StoreError("the disk is full")

    monkeypatch.setattr(store, "finish", refuse)
    with pytest.raises(EngineError, match="no more workers"):
        measure(order(), engine=Breaking(EngineError("no more workers"), at=3), store=store)


@pytest.mark.parametrize(
    ("told", "changed"),
    [
        ("torch", {"version": "9.9"}),
        ("the accelerator", {"cards": (CardFacts(name="NVIDIA H200", uuid="GPU-2"),)}),
        ("the number of threads", {"threads": 64}),
    ],
)
def test_resume_refuses_where_the_new_trials_would_not_belong_to_the_old(
    store: Store, told: str, changed: dict[str, Any]
) -> None:
    recording = measure(order(), engine=engine_for(), store=store)

    class Elsewhere(FakeEngine):
        def describe(self, sources: object, device: str) -> object:  # type: ignore[override]
            described = super().describe((), device)
            return replace(described, torch=replace(described.torch, **changed))

    with pytest.raises(UsageError, match=f"{told} changed since"):
        resume(recording.run.id, engine=Elsewhere(OUTLINE, scripts()), store=store)  # type: ignore[arg-type]


class Executing(FakeEngine):
    """Remembers that it was asked to execute what a run brings with it."""

    described = 0

    def describe(self, sources: object, device: str) -> Any:
        self.described += 1
        return super().describe((), device)


def stopped(store: Store) -> Recording:
    """A run that was stopped after some trials."""
    watcher, engine = Followed(), Stopping(OUTLINE, scripts())  # type: ignore[arg-type]
    engine.stop_at = 5
    with pytest.raises(Interrupted):
        measure(order(), engine=engine, store=store, watcher=watcher)
    return store.load(watcher.run_id)


def test_nothing_of_a_run_from_elsewhere_is_executed(store: Store) -> None:
    """Who uploads a run chooses its sources, its host name, and when it was: it may be the latest."""
    brought, engine = stopped(store), Executing(OUTLINE, scripts())  # type: ignore[arg-type]
    with Store.open("sqlite://") as other:
        other.add_recording(brought)
        with pytest.raises(UsageError, match="it was measured elsewhere"):
            resume(other.resolve("latest"), engine=engine, store=other)
    assert engine.described == 0
    resume(brought.run.id, engine=engine, store=store)
    assert engine.described == 1


@pytest.mark.parametrize(
    ("told", "changed"), [("machine", {"hostname": "other"}), ("processor", {"cpu_model": "other"})]
)
def test_nothing_of_a_run_of_another_machine_is_executed(
    store: Store, told: str, changed: dict[str, str]
) -> None:
    run, engine = stopped(store).run, Executing(OUTLINE, scripts())  # type: ignore[arg-type]
    moved = replace(run.environment, host=replace(run.environment.host, **changed))
    with Store.open("sqlite://") as other:
        other.begin(replace(run, environment=moved))
        with pytest.raises(UsageError, match=f"the {told} changed since"):
            resume(run.id, engine=engine, store=other)
    assert engine.described == 0


def test_a_run_that_another_process_measures_is_left_alone(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.begin(replace(stopped(store).run, id="live", status=RunStatus.RUNNING))
    monkeypatch.setattr(resuming, "is_another", lambda owner: True)
    engine = Executing(OUTLINE, scripts())  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="run live is being measured, by process"):
        resume("live", engine=engine, store=store)
    assert engine.described == 0


def test_a_run_that_another_process_ended_meanwhile_is_not_gone_on_with(store: Store) -> None:
    """Both were asked to resume it; the other did, while this one still described what it brings."""
    watcher = Followed()
    stopping = Stopping(OUTLINE, scripts())  # type: ignore[arg-type]
    stopping.stop_at = ALL - 3
    budgeted = order(replace(SETTINGS, budget=1e6))
    with pytest.raises(Interrupted):
        measure(budgeted, engine=stopping, store=store, watcher=watcher)

    class Overtaken(FakeEngine):
        def describe(self, sources: object, device: str) -> Any:
            head = store.load(watcher.run_id).run
            store.finish(
                head.id, status=RunStatus.COMPLETE, finished=head.started + 1.0, load_end=head.load_start
            )
            return super().describe((), device)

    engine = Overtaken(OUTLINE, scripts())  # type: ignore[arg-type]
    found = resume(watcher.run_id, engine=engine, store=store)
    assert (engine.performed, found.run.status) == ([], RunStatus.COMPLETE)


def test_a_run_of_some_variants_resumes(store: Store) -> None:
    """A preset may leave variants out; those that it has must be as they were."""
    few = replace(OUTLINE, presets=(PresetOutline(name="quick", axes=(), variants=("dense", "thin")),))

    def engine(outline: SuiteOutline, stop_at: int = -1) -> Stopping:
        made = Stopping(outline, scripts())  # type: ignore[arg-type]
        made.stop_at = stop_at
        return made

    first, watcher = engine(few, stop_at=5), Followed()
    chosen = order(selection=Selection(preset="quick"))
    with pytest.raises(Interrupted):
        measure(chosen, engine=first, store=store, watcher=watcher)
    renamed = replace(few, variants=(*OUTLINE.variants[:2], VariantOutline(name="slim")))
    with pytest.raises(UsageError, match="variants changed since"):
        resume(watcher.run_id, engine=engine(renamed), store=store)
    whole = resume(watcher.run_id, engine=engine(few), store=store)
    assert {case.variant for case in whole.run.cases} == {"dense", "thin"}
    assert whole.run.status is RunStatus.COMPLETE


def test_a_run_that_came_to_its_end_is_not_prolonged(store: Store) -> None:
    """Whoever goes on because of what the end showed looks once more than was paid for."""
    whole = measure(order(), engine=engine_for(), store=store)
    again = engine_for()
    assert resume(whole.run.id, engine=again, store=store) == store.load(whole.run.id)
    assert again.performed == []


def test_progress_counts_to_its_own_total(store: Store) -> None:
    watcher = Followed()
    measure(order(), engine=engine_for(thin=RuntimeError("no")), store=store, watcher=watcher)
    done = [count for count, _ in watcher.seen]
    assert done == list(range(1, len(done) + 1))
    assert all(count <= total for count, total in watcher.seen)
    # thin has its solo passes and no launch alone
    assert watcher.seen[-1] == (ALL - 2, ALL - 2)


ONE_CELL = replace(OUTLINE, axes=(Axis(name="features", values=(8,)),))
PATIENT = Settings(launches=40, round_seconds=0.02)


class Aware(Stopping):
    """An engine whose scripts know the assignment at hand."""

    stop_at = -1
    at_hand: Assignment

    def perform(self, assignment: Assignment) -> Trial:
        self.at_hand = assignment
        return super().perform(assignment)

    @property
    def launch(self) -> LaunchAssignment | None:
        return self.at_hand if isinstance(self.at_hand, LaunchAssignment) else None


def aware_engine(outline: SuiteOutline, slow: Callable[[Aware], float]) -> Aware:
    """A baseline and `mine`, which takes `slow(engine)` times as long."""
    generator = random.Random(7)

    def noise() -> float:
        return 100_000 * generator.lognormvariate(0.0, 0.002)

    engine: Aware
    made = {
        "dense": {"forward": lambda: round(noise())},
        "mine": {"forward": lambda: round(noise() * slow(engine))},
    }
    variants = (VariantOutline(name="dense", baseline=True), VariantOutline(name="mine"))
    engine = Aware(replace(outline, variants=variants), made)
    return engine


def slow_in_company(engine: Aware) -> float:
    launch = engine.launch
    crowd = launch is not None and len(launch.cases) > 1
    return 1.3 if crowd and launch and launch.settings.isolation is Isolation.SHARED else 1.0


def only_verdict(judgement: Judgement, point: str = "features=8") -> Verdict:
    (verdict,) = (case.verdict for case in judgement.cases if case.verdict and case.case.cell.point == point)
    return verdict


def launches_of(engine: FakeEngine, role: Role) -> list[LaunchAssignment]:
    return [each for each in engine.performed if isinstance(each, LaunchAssignment) and each.role is role]


@pytest.mark.parametrize(
    ("factor", "kind"),
    [(1.0, VerdictKind.EQUIVALENT), (1.05, VerdictKind.SLOWER), (0.95, VerdictKind.FASTER)],
)
def test_a_clear_comparison_ends_early(store: Store, factor: float, kind: VerdictKind) -> None:
    engine = aware_engine(ONE_CELL, lambda _: factor)
    verdict = only_verdict(judged(measure(order(PATIENT), engine=engine, store=store)))
    assert (verdict.kind, verdict.reasons) == (kind, ())
    assert verdict.look == Look(launches=5, early=True, share=0.02)
    assert len(launches_of(engine, Role.MEASURE)) == 5
    assert verdict.ratio is not None
    assert verdict.ratio.low < factor < verdict.ratio.high


def test_a_run_that_is_told_not_to_stop_goes_on_to_its_end(store: Store) -> None:
    engine = aware_engine(ONE_CELL, lambda _: 1.05)
    settings = replace(PATIENT, launches=8, stop=False)
    verdict = only_verdict(judged(measure(order(settings), engine=engine, store=store)))
    assert verdict.look == Look(launches=8, early=False, share=1.0)
    assert len(launches_of(engine, Role.MEASURE)) == 8


def test_a_slower_cell_of_a_sweep_is_confirmed_by_fresh_launches(store: Store) -> None:
    def slow(engine: Aware) -> float:
        return 1.1 if engine.launch and engine.launch.cell.point == "features=16" else 1.0

    engine = aware_engine(OUTLINE, slow)
    judgement = judged(measure(order(PATIENT), engine=engine, store=store))
    assert only_verdict(judgement, "features=8").kind is VerdictKind.EQUIVALENT
    slower = only_verdict(judgement, "features=16")
    assert (slower.kind, slower.reasons) == (VerdictKind.SLOWER, ())
    confirming = launches_of(engine, Role.CONFIRM)
    assert engine.performed[-5:] == confirming, "after everything else"
    assert {launch.cell.point for launch in confirming} == {"features=16"}


def test_what_fresh_launches_do_not_show_is_taken_back(store: Store) -> None:
    def slow(engine: Aware) -> float:
        launch = engine.launch
        there = launch is not None and launch.cell.point == "features=16"
        return 1.1 if there and launch is not None and launch.role is Role.MEASURE else 1.0

    engine = aware_engine(OUTLINE, slow)
    judgement = judged(measure(order(replace(PATIENT, alone=0)), engine=engine, store=store))
    verdict = only_verdict(judgement, "features=16")
    assert (verdict.kind, verdict.reasons) == (VerdictKind.INCONCLUSIVE, (Reason.NOT_CONFIRMED,))


def test_a_variant_that_company_slows_is_measured_in_separate_processes(store: Store) -> None:
    engine = aware_engine(ONE_CELL, slow_in_company)
    judgement = judged(measure(order(PATIENT), engine=engine, store=store))
    verdict = only_verdict(judgement)
    assert (verdict.kind, verdict.reasons) == (VerdictKind.EQUIVALENT, (Reason.SEPARATE_PROCESSES,))
    alone = Counter(launch.cases[0].variant for launch in launches_of(engine, Role.ALONE))
    assert alone == {"dense": 1, "mine": 5}
    isolations = [launch.settings.isolation for launch in launches_of(engine, Role.MEASURE)]
    assert isolations.index(Isolation.SEPARATE) == 4, "right after the pilot and the launches alone"
    (found,) = (each for each in judgement.findings if each.name is FindingName.CHANGES_ITS_NEIGHBOURS)
    assert "/mine[" in found.case


@pytest.mark.parametrize("stop_at", range(0, 17, 2))
def test_a_run_resumed_while_it_changes_its_mind_comes_to_the_same_end(store: Store, stop_at: int) -> None:
    """A cell that is set apart: interrupted anywhere, it has the same launches in the end."""

    def shape(recording: Recording) -> list[tuple[int, Role, Isolation]]:
        return [(launch.number, launch.role, launch.isolation) for launch in recording.launches]

    whole = measure(order(PATIENT), engine=aware_engine(ONE_CELL, slow_in_company), store=store)
    assert len(whole.trials) == 2 + 4 + (1 + 5) + 5, "solos, pilot, alone, and apart until it is decided"
    watcher, engine = Followed(), aware_engine(ONE_CELL, slow_in_company)
    engine.stop_at = stop_at
    with pytest.raises(Interrupted):
        measure(order(PATIENT), engine=engine, store=store, watcher=watcher)
    resumed = resume(watcher.run_id, engine=aware_engine(ONE_CELL, slow_in_company), store=store)
    assert shape(resumed) == shape(whole)


def test_variants_that_do_not_fit_on_the_device_together_run_one_after_another() -> None:
    outline = SuiteOutline(
        name="scripted", variants=(VariantOutline(name="dense", baseline=True), VariantOutline(name="thin"))
    )
    half = DeviceMemory(available=100 << 30, held=60 << 30, peak=70 << 30, peak_reserved=70 << 30)
    engine = FakeEngine(outline, scripts(), memory={"dense": half, "thin": half})  # type: ignore[arg-type]
    order = Order(sources=(BuiltinSource(name="scripted"),), settings=SETTINGS)
    with Store.open("sqlite://") as store:
        recording = measure(order, engine=engine, store=store)
    assert {launch.isolation for launch in recording.launches} == {Isolation.ALONE}
    assert all(len(launch.lanes) == 2 for launch in recording.launches)
    (verdict,) = [case.verdict for case in judged(recording).cases if case.verdict]
    assert verdict.kind is VerdictKind.FASTER
    assert verdict.reasons == (Reason.ONE_AFTER_ANOTHER,)


def test_a_run_that_was_stopped_is_found_in_the_store_that_was_named() -> None:
    assert "--store" not in ways_on("20261116-074940-8ztw")
    there = ways_on("20261116-074940-8ztw", store="my runs.db")
    assert "stepmark run --resume 20261116-074940-8ztw --store 'my runs.db'" in there
    assert "stepmark show 20261116-074940-8ztw --store 'my runs.db'" in there
