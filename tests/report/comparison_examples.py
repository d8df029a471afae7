"""Comparisons by hand, one for everything a report can be asked to show."""

from __future__ import annotations

from stepmark.records.case import Case, Cell, Mode
from stepmark.records.comparison import (
    Aspect,
    CaseComparison,
    Centre,
    ComparedRun,
    Comparison,
    Difference,
    PhaseComparison,
    RunSpread,
    Standing,
    Terms,
)
from stepmark.records.estimate import Estimate, Method
from stepmark.records.settings import Policy
from stepmark.records.verdict import Reason, VerdictKind

EPOCH = 1_800_000_000.0
KNOWN, ASSUMED = RunSpread(deviation=0.008, num_runs=5), RunSpread(deviation=0.02, num_runs=0)
BASELINE = ComparedRun(
    id="20270115-080000-k3f9", name="main", started=EPOCH, commit="1f0c2a" + "0" * 34, dirty=False
)
CANDIDATE = ComparedRun(
    id="20270116-080000-zz7a", name=None, started=EPOCH + 86_400.0, commit="9b81d7" + "0" * 34, dirty=True
)


def case(variant: str, *, features: int = 512, dtype: str = "float32", mode: Mode = Mode.TRAIN) -> Case:
    cell = Cell(suite="mylayer", axes=(("features", features), ("tokens", 64)), dtype=dtype, mode=mode)
    return Case(variant=variant, cell=cell)


def phase(
    name: str,
    kind: VerdictKind,
    times: tuple[float, float],
    ratio: tuple[float, float, float] | None,
    *reasons: Reason,
    spread: RunSpread | None = KNOWN,
) -> PhaseComparison:
    estimate = None
    if ratio:
        point, low, high = ratio
        estimate = Estimate(
            point=point, low=low, high=high, confidence=0.95, method=Method.WELCH_LAUNCHES, num_launches=12
        )
    return PhaseComparison(
        phase=name,
        kind=kind,
        ratio=estimate,
        reasons=(*reasons, Reason.UNPAIRED),
        baseline_seconds=times[0],
        candidate_seconds=times[1],
        baseline_launches=12,
        candidate_launches=14,
        spread=spread if ratio else None,
    )


def normal() -> Comparison:
    """Verdicts of every kind, a spread that is known for some, versions that differ."""
    crosses = Reason.INTERVAL_CROSSES_MARGIN
    faster = (
        phase("step", VerdictKind.FASTER, (1.234e-3, 0.987e-3), (0.80, 0.781, 0.82)),
        phase("forward", VerdictKind.FASTER, (0.4e-3, 0.3e-3), (0.75, 0.73, 0.77)),
        phase("backward", VerdictKind.INCONCLUSIVE, (0.83e-3, 0.82e-3), (0.988, 0.96, 1.017), crosses),
    )
    wide = phase(
        "step", VerdictKind.INCONCLUSIVE, (11.9e-3, 12.3e-3), (1.034, 0.97, 1.102), crosses, spread=ASSUMED
    )
    slower = phase("step", VerdictKind.SLOWER, (9.5e-3, 14.1e-3), (1.484, 1.39, 1.58), spread=ASSUMED)
    equal = phase("step", VerdictKind.EQUIVALENT, (1.5e-3, 1.501e-3), (1.001, 0.994, 1.008))
    cases = (
        CaseComparison(case=case("dense"), baseline=case("dense"), phases=(equal,)),
        CaseComparison(case=case("mine"), baseline=case("mine"), phases=faster),
        CaseComparison(
            case=case("dense", features=4096), baseline=case("dense", features=4096), phases=(wide,)
        ),
        CaseComparison(
            case=case("mine", features=4096), baseline=case("mine", features=4096), phases=(slower,)
        ),
    )
    differs = (
        _difference(Aspect.TORCH, "torch", "2.12.1", "2.13.0"),
        _difference(Aspect.CODE, "commit", "1f0c2a0000", "9b81d70000 (dirty)"),
    )
    return Comparison(baseline=BASELINE, candidate=CANDIDATE, terms=Terms(), differences=differs, cases=cases)


def troubled() -> Comparison:
    """Refused, allowed and failed cases, and cases of one run alone."""
    refused = phase("step", VerdictKind.INVALID, (1.2e-3, 0.7e-3), None)
    failed = PhaseComparison(
        phase="step", kind=VerdictKind.INVALID, reasons=(Reason.CASE_FAILED, Reason.UNPAIRED)
    )
    half, single = case("mine", dtype="bfloat16"), case("mine")
    dtype = _difference(Aspect.DTYPE, "dtype", "float32", "bfloat16", Standing.REFUSED)
    work = _difference(Aspect.WORK, "parameters", "262656", "16777216", Standing.REFUSED)
    return Comparison(
        baseline=BASELINE,
        candidate=CANDIDATE,
        terms=Terms(policy=Policy(margin=0.05), centre=Centre.MEDIAN, allow=(Aspect.THREADS,)),
        differences=(_difference(Aspect.THREADS, "threads", "1", "2", Standing.ALLOWED),),
        cases=(
            CaseComparison(case=half, baseline=single, phases=(refused,), differences=(dtype,)),
            CaseComparison(
                case=case("low_rank_with_a_long_name", mode=Mode.FORWARD),
                baseline=case("low_rank_with_a_long_name", mode=Mode.FORWARD),
                phases=(refused,),
                differences=(work,),
            ),
            CaseComparison(case=case("dense"), baseline=case("dense"), phases=(failed,)),
        ),
        only_baseline=tuple(case("dense", features=n).id for n in (1024, 2048, 4096, 8192)),
        only_candidate=(case("new").id,),
    )


EXAMPLES = {"comparison_normal": normal, "comparison_troubled": troubled}


def _difference(
    aspect: Aspect, what: str, baseline: str, candidate: str, standing: Standing = Standing.NAMED
) -> Difference:
    return Difference(aspect=aspect, what=what, baseline=baseline, candidate=candidate, standing=standing)
