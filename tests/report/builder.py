"""Judgements made by hand: every number is written down, so golden files never depend on the statistics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

from stepmark.records.case import AxisValue, Case, Cell, Mode
from stepmark.records.environment import Environment, HostFacts, LoadFacts, RepositoryFacts, TorchFacts
from stepmark.records.estimate import Estimate, Method, OutlierCounts, Summary
from stepmark.records.finding import Finding
from stepmark.records.outcome import Cause, Failure, Outcome, Stage
from stepmark.records.outline import Axis, SuiteOutline, VariantOutline
from stepmark.records.record import Record
from stepmark.records.run import CaseJudgement, Judgement, Run, RunStatus
from stepmark.records.settings import Isolation, Policy, Settings
from stepmark.records.source import BuiltinSource
from stepmark.records.spread import Spread
from stepmark.records.verdict import Look, Power, Reason, Verdict, VerdictKind

EPOCH = 1_800_000_000.0
POLICY = Policy()


class Compared(Record, frozen=True):
    """A verdict in short."""

    kind: VerdictKind
    ratio: tuple[float, float, float] | None = None
    """Point, low, high."""
    reasons: tuple[Reason, ...] = ()


class Lane(Record, frozen=True):
    """A variant in a cell, in short."""

    times: Mapping[str, float] = {}
    """Seconds by phase, the primary first; empty where nothing was measured."""
    half: float = 0.01
    """Half the width of every interval, relative."""
    verdict: Compared | None = None
    by_phase: Mapping[str, Compared] = {}
    """Verdicts on other phases."""
    failure: Failure | None = None
    reached: bool = True
    parameters: int | None = None
    num_launches: int = 10


def estimate(point: float, low: float, high: float, *, num_launches: int = 10) -> Estimate:
    method = Method.T_LAUNCHES if num_launches > 1 else Method.BOOTSTRAP_BLOCKS
    return Estimate(
        point=point, low=low, high=high, confidence=0.95, method=method, num_launches=num_launches
    )


def make_case(case: Case, lane: Lane, *, baseline: Case) -> CaseJudgement:
    """What a judge would say of the lane."""
    primary = next(iter(lane.times), None)
    verdicts = {primary or "": lane.verdict, **lane.by_phase} if lane.verdict else {}
    return CaseJudgement(
        case=case,
        baseline=case == baseline,
        outcome=_outcome(lane),
        failure=lane.failure,
        primary=primary,
        phases=tuple(lane.times),
        summaries=tuple(_summary(case, phase, lane) for phase in lane.times),
        verdicts=tuple(
            _verdict(case, baseline, phase, short, lane) for phase, short in verdicts.items() if short
        ),
        num_launches=lane.num_launches if lane.times else 0,
        num_rounds=40 if lane.times else 0,
        spread=_spread(lane) if lane.verdict and lane.verdict.ratio else None,
        parameters=lane.parameters,
    )


def _spread(lane: Lane) -> Spread:
    return Spread(call=0.03, block=0.012, round=0.015, centre=lane.half / 8, launch=lane.half / 4)


def _outcome(lane: Lane) -> Outcome | None:
    if lane.failure:
        return lane.failure.outcome
    return Outcome.MEASURED if lane.reached else None


def _summary(case: Case, phase: str, lane: Lane) -> Summary:
    point = lane.times[phase]
    width = abs(point) * lane.half
    median = estimate(point, point - width, point + width, num_launches=lane.num_launches)
    mean = point * 1.01
    return Summary(
        case=case.id,
        phase=phase,
        median=median,
        mean=estimate(mean, mean - width, mean + width, num_launches=lane.num_launches),
        minimum=point * 0.97,
        spread_within=0.012,
        spread_between=0.02 if lane.num_launches > 1 else 0.0,
        num_blocks=40 * lane.num_launches,
        outliers=OutlierCounts(high_mild=3, high_severe=1),
    )


def _verdict(case: Case, baseline: Case, phase: str, short: Compared, lane: Lane) -> Verdict:
    ratio = estimate(*short.ratio, num_launches=lane.num_launches) if short.ratio else None
    return Verdict(
        case=case.id,
        baseline=baseline.id,
        phase=phase,
        kind=short.kind,
        policy=POLICY,
        ratio=ratio,
        reasons=short.reasons,
        look=Look(launches=lane.num_launches, early=False, share=1.0) if ratio else None,
        power=_power(short, lane) if ratio and lane.num_launches > 1 else None,
        p_value=0.001 if ratio else None,
    )


def _power(short: Compared, lane: Lane) -> Power:
    needed = 64 if short.kind is VerdictKind.INCONCLUSIVE else None
    return Power(
        deviation=lane.half,
        detectable=0.01 + lane.half,
        needed=needed,
        seconds=0.5 * needed if needed else None,
    )


def failure(outcome: Outcome, cause: Cause, stage: Stage, message: str, **where: int) -> Failure:
    return Failure(
        outcome=outcome,
        cause=cause,
        stage=stage,
        message=message,
        traceback=f'Traceback (most recent call last):\n  File "bench_mine.py", line 12\n{message}\n',
        output="loading weights\n",
        launch=where.get("launch"),
        round=where.get("round"),
    )


def make_judgement(
    suites: Sequence[tuple[SuiteOutline, Mapping[Cell, Mapping[str, Lane]]]],
    *,
    findings: Sequence[Finding] = (),
    status: RunStatus = RunStatus.COMPLETE,
    settings: Settings | None = None,
    devices: tuple[str, ...] = (),
) -> Judgement:
    """A judged run of one or more suites."""
    cases = tuple(
        make_case(Case(variant=name, cell=cell), lane, baseline=Case(variant=outline.baseline, cell=cell))
        for outline, cells in suites
        for cell, lanes in cells.items()
        for name, lane in lanes.items()
    )
    run = Run(
        id="20270115-080000-k3f9",
        started=EPOCH,
        sources=tuple(BuiltinSource(name=outline.name) for outline, _ in suites),
        suites=tuple(outline for outline, _ in suites),
        cases=tuple(case.case for case in cases),
        settings=settings or Settings(),
        policy=POLICY,
        environment=_environment(devices),
        load_start=LoadFacts(time=EPOCH, load_1m=0.2),
        finished=None if status is RunStatus.RUNNING else EPOCH + 92.0,
        status=status,
    )
    seconds = 0.0 if status is RunStatus.RUNNING else 92.0
    return Judgement(run=run, cases=cases, findings=tuple(findings), seconds=seconds)


def _environment(devices: tuple[str, ...]) -> Environment:
    return Environment(
        stepmark="0.1.0",
        host=HostFacts(
            hostname="bench",
            os="Linux 6.1",
            cpu_model="Example CPU 9000",
            physical_cores=8,
            logical_cores=16,
            memory_bytes=64 << 30,
            python="3.11.7",
        ),
        torch=TorchFacts(
            version="2.13.0", build="example", threads=1, interop_threads=1, flags=(), devices=devices
        ),
        command=("stepmark", "run", "bench_mine.py"),
        repository=RepositoryFacts(commit="0123456789abcdef0123456789abcdef01234567", dirty=True),
    )


def outline(name: str, variants: Sequence[str], axes: Mapping[str, Sequence[AxisValue]]) -> SuiteOutline:
    """The first variant is the baseline."""
    return SuiteOutline(
        name=name,
        axes=tuple(Axis(name=axis, values=tuple(values)) for axis, values in axes.items()),
        variants=tuple(VariantOutline(name=v, baseline=place == 0) for place, v in enumerate(variants)),
    )


def cells(
    suite: str,
    axes: Mapping[str, Sequence[AxisValue]],
    *,
    mode: Mode = Mode.TRAIN,
    device: str = "cpu",
    dtype: str = "float32",
) -> list[Cell]:
    """Every point of the axes."""
    return [
        Cell(suite=suite, axes=tuple(zip(axes, values, strict=True)), device=device, dtype=dtype, mode=mode)
        for values in product(*axes.values())
    ]


SEPARATE = Settings(isolation=Isolation.SEPARATE, launches=30)
