"""Judgements with failures, doubts and too little evidence."""

from __future__ import annotations

from stepmark.audit import MEANINGS
from stepmark.records.case import Case, Cell
from stepmark.records.finding import Finding, FindingName, Severity
from stepmark.records.outcome import Cause, Outcome, Stage
from stepmark.records.run import Judgement, RunStatus
from stepmark.records.settings import Settings
from stepmark.records.verdict import Reason
from tests.report.builder import SEPARATE, Compared, Lane, cells, failure, make_judgement, outline
from tests.report.shorthand import CROSSES, FAILED, INCONCLUSIVE, INVALID, train

TORCH_ALLOCATION = (
    "RuntimeError: [enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: "
    "you tried to allocate 68719476736 bytes. Error code 12 (Cannot allocate memory)"
)


def failures() -> Judgement:
    """One cell in which everything that can go wrong went wrong, in an interrupted run."""
    axes = {"batch": (4096,)}
    (cell,) = cells("stress", axes)
    lanes = {
        "dense": Lane(times=train(12.31, forward=4.01, backward=8.12), half=0.02),
        "hungry": Lane(
            failure=failure(
                Outcome.OUT_OF_MEMORY,
                Cause.MEMORY,
                Stage.BUILD,
                TORCH_ALLOCATION,
            ),
            verdict=FAILED,
        ),
        "killed": Lane(
            failure=failure(
                Outcome.OUT_OF_MEMORY, Cause.OOM_KILLER, Stage.WARMUP, "killed by the kernel for memory"
            ),
            verdict=FAILED,
        ),
        "segfault": Lane(
            failure=failure(Outcome.CRASHED, Cause.SIGNAL, Stage.STEP, "segmentation fault (SIGSEGV)"),
            verdict=FAILED,
        ),
        "exits": Lane(
            failure=failure(Outcome.CRASHED, Cause.EXIT, Stage.STEP, "the process left with exit code 7"),
            verdict=FAILED,
        ),
        "hangs": Lane(
            failure=failure(
                Outcome.TIMED_OUT, Cause.HANG, Stage.ROUNDS, "no progress for 60 s", launch=2, round=17
            ),
            verdict=FAILED,
        ),
        "late": Lane(
            times=train(11.02, forward=3.62, backward=7.24),
            half=0.03,
            num_launches=3,
            failure=failure(
                Outcome.CRASHED,
                Cause.EXCEPTION,
                Stage.ROUNDS,
                "ValueError: step 50 is cursed",
                launch=3,
                round=50,
            ),
            verdict=FAILED,
        ),
        "wrong": Lane(
            failure=failure(
                Outcome.WRONG_NUMBERS, Cause.EXCEPTION, Stage.STEP, "output differs from dense by 0.31"
            ),
            verdict=FAILED,
        ),
        "int8": Lane(
            failure=failure(Outcome.UNSUPPORTED, Cause.DECLARED, Stage.BUILD, "needs CUDA"), verdict=FAILED
        ),
        "later": Lane(reached=False, verdict=Compared(kind=INVALID, reasons=(Reason.NOT_MEASURED,))),
    }
    return make_judgement(
        [(outline("stress", tuple(lanes), axes), {cell: lanes})], status=RunStatus.INTERRUPTED
    )


def baseline_failed() -> Judgement:
    """Nothing to compare with."""
    (cell,) = cells("mylayer", {"features": (512,)})
    lanes = {
        "dense": Lane(
            failure=failure(
                Outcome.CRASHED, Cause.EXCEPTION, Stage.BUILD, "TypeError: Linear() takes no batch"
            )
        ),
        "mine": Lane(
            times=train(0.33, forward=0.11, backward=0.2),
            verdict=Compared(kind=INVALID, reasons=(Reason.BASELINE_FAILED,)),
        ),
    }
    return make_judgement([(outline("mylayer", tuple(lanes), {"features": (512,)}), {cell: lanes})])


def findings() -> Judgement:
    """Errors, warnings and notes, of the baseline too, one accepted, and more than marks can show."""
    axes = {"features": (512,)}
    (cell,) = cells("mylayer", axes)
    made = [
        _finding(cell, variant, name, severity, accepted=accepted)
        for variant, name, severity, accepted in (
            ("dense", FindingName.NOISY_NEIGHBOUR, Severity.NOTE, False),
            ("dense", FindingName.LEFTOVER_MEMORY, Severity.WARNING, False),
            ("wrong", FindingName.WRONG_NUMBERS, Severity.ERROR, False),
            ("wrong", FindingName.LEFTOVER_MEMORY, Severity.WARNING, False),
            ("wrong", FindingName.NOISY_NEIGHBOUR, Severity.NOTE, False),
            ("twin", FindingName.SAME_WORK_AS_BASELINE, Severity.WARNING, True),
            ("hasty", FindingName.BACKWARD_DOES_NOTHING, Severity.ERROR, False),
            ("hasty", FindingName.OPTIMIZER_DOES_NOTHING, Severity.ERROR, False),
            ("hasty", FindingName.COMPILED_INSIDE, Severity.WARNING, False),
            ("hasty", FindingName.NEVER_SETTLED, Severity.WARNING, False),
            ("hasty", FindingName.FEW_LAUNCHES, Severity.WARNING, False),
            ("hasty", FindingName.THREADS_DIFFER, Severity.WARNING, False),
        )
    ]
    audited = Compared(kind=INVALID, ratio=(0.8, 0.79, 0.81), reasons=(Reason.AUDIT,))
    lanes = {
        "dense": Lane(times=train(0.41, forward=0.1, backward=0.3)),
        "wrong": Lane(times=train(0.33, forward=0.08, backward=0.24), verdict=audited),
        "twin": Lane(
            times=train(0.41, forward=0.1, backward=0.3),
            verdict=Compared(kind=INCONCLUSIVE, ratio=(1.004, 0.99, 1.018), reasons=CROSSES),
        ),
        "hasty": Lane(times=train(0.33, forward=0.08, backward=0.24), verdict=audited),
    }
    return make_judgement([(outline("mylayer", tuple(lanes), axes), {cell: lanes})], findings=made)


def _finding(cell: Cell, variant: str, name: FindingName, severity: Severity, *, accepted: bool) -> Finding:
    return Finding(
        name=name,
        severity=severity,
        case=Case(variant=variant, cell=cell).id,
        message=f"seen in {variant}: {len(name)} of 30 launches",
        remedy=f"what to do about {name.value}",
        meaning=MEANINGS[name],
        numbers=(("launches", float(len(name))),),
        accepted=accepted,
    )


def one_launch() -> Judgement:
    """A single launch decides nothing."""
    axes = {"features": (512,)}
    (cell,) = cells("mylayer", axes)
    lanes = {
        "dense": Lane(times=train(0.41, forward=0.1, backward=0.3), half=0.001, num_launches=1),
        "mine": Lane(
            times=train(0.33, forward=0.08, backward=0.24),
            half=0.001,
            num_launches=1,
            verdict=Compared(kind=INCONCLUSIVE, ratio=(0.8049, 0.8031, 0.8066), reasons=(Reason.ONE_LAUNCH,)),
        ),
    }
    return make_judgement(
        [(outline("mylayer", tuple(lanes), axes), {cell: lanes})], settings=Settings(launches=1)
    )


def separate() -> Judgement:
    """Variants in processes of their own."""
    axes = {"features": (512,)}
    (cell,) = cells("mylayer", axes)
    reasons = (Reason.INTERVAL_CROSSES_MARGIN, Reason.SEPARATE_PROCESSES)
    lanes = {
        "dense": Lane(times=train(0.41, forward=0.1, backward=0.3), half=0.04, num_launches=30),
        "mine": Lane(
            times=train(0.39, forward=0.08, backward=0.3),
            half=0.05,
            num_launches=30,
            verdict=Compared(kind=INCONCLUSIVE, ratio=(0.951, 0.902, 1.003), reasons=reasons),
        ),
    }
    return make_judgement([(outline("mylayer", tuple(lanes), axes), {cell: lanes})], settings=SEPARATE)
