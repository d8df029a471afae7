"""What is wrong with the published SwitchBack result."""

from __future__ import annotations

from stepmark.interchange.switchback_jsonl import SwitchbackLines
from stepmark.published.defect import Basis, Defect, DefectName
from stepmark.published.slow_baseline import SlowBaseline, slow_baselines
from stepmark.published.switchback import recomposed, speedup
from stepmark.records.finding import Severity


def defects(document: SwitchbackLines) -> tuple[Defect, ...]:
    """The gravest first."""
    sums = recomposed(document)
    error = max(each.largest_error for each in sums)
    return (
        _slow(document, slow_baselines(document)),
        Defect(
            name=DefectName.OPERANDS_TRUNCATED,
            severity=Severity.ERROR,
            basis=Basis.READ,
            message="int8 operands were cast from random fp16 numbers, almost all of them between -3 and 3, "
            "instead of being quantised: no product could have been checked for accuracy",
            remedy="operands are quantised before the clock starts, by the quantisers that are timed",
        ),
        Defect(
            name=DefectName.WRONG_SCALES,
            severity=Severity.ERROR,
            basis=Basis.READ,
            message="scale vectors had the length of the wrong side, so that the kernel read beyond their "
            "end: rowwise_fwd where switch is false, rowwise_bwd where it is true; both backward products "
            "got the scales of x instead of those of g",
            remedy="scales come from the quantiser, and shapes are checked",
        ),
        Defect(
            name=DefectName.TOTALS_NOT_TIMED,
            severity=Severity.NOTE,
            basis=Basis.COMPUTED,
            message=f"the {len(sums)} totals are sums of parts timed alone, 64 calls back to back (largest "
            f"deviation from the sum {error:.1g}): no layer was ever run as a whole",
            remedy="the suite switchback_layer times whole layers, forward and backward",
        ),
    )


def _slow(document: SwitchbackLines, slow: tuple[SlowBaseline, ...]) -> Defect:
    best = max(speedup(row, "global") for row in document.rows)
    rates = [each.rate / 1e12 for each in slow]
    usual = [rate / 1e12 for each in slow for rate in each.neighbours]
    corrected = [each.global_corrected for each in slow]
    dims = ", ".join(str(dim) for dim in sorted({each.dim for each in slow}))
    return Defect(
        name=DefectName.SLOW_BASELINE,
        severity=Severity.ERROR,
        basis=Basis.COMPUTED,
        message=f"the best speed-up ({best:.2f}) is a slow baseline: in {len(slow)} rows (dim {dims}) a "
        f"16-bit product ran at {min(rates):.0f} to {max(rates):.0f} TFLOP/s, its neighbours at "
        f"{min(usual):.0f} to {max(usual):.0f}; at their rate these rows gain "
        f"{min(corrected):.2f} to {max(corrected):.2f}",
        remedy="every operation is a row of its own, so that a slow one can be seen beside its neighbours",
    )
