"""wrong-numbers: outputs or gradients differ from the reference beyond the stated tolerance.

Evidence. The checks of a case that declares a reference: the largest difference from a float64 run of it,
          relative to the reference's largest number; or a comparison that could not be made at all.
Why.      A fast layer that computes something else is not an alternative.
"""

from __future__ import annotations

from stepmark.audit.lanes import CaseLanes
from stepmark.records.finding import Finding, FindingName, Severity
from stepmark.records.inspection import NumberCheck


def wrong_numbers(case: CaseLanes) -> Finding | None:
    """Once per case, for the worst check."""
    checks = case.evidence.numbers if case.evidence else ()
    wrong = [check for check in checks if is_wrong(check)]
    if not wrong:
        return None
    worst = max(wrong, key=lambda check: (bool(check.problem), check.error / (check.tolerance or 1e-300)))
    others = f"; {len(wrong)} of {len(checks)} checks failed" if len(checks) > 1 else ""
    return Finding(
        name=FindingName.WRONG_NUMBERS,
        severity=Severity.ERROR,
        case=case.id,
        message=_described(worst) + others,
        remedy="mend the layer, or state the tolerance that its precision deserves",
        numbers=(
            ("error", worst.error),
            ("tolerance", worst.tolerance),
            ("wrong_checks", float(len(wrong))),
            ("checks", float(len(checks))),
        ),
    )


def is_wrong(check: NumberCheck) -> bool:
    """An error that is no number is beyond every tolerance."""
    return bool(check.problem) or not check.error <= check.tolerance


def _described(check: NumberCheck) -> str:
    if check.problem:
        return f"{check.what} could not be compared with the reference: {' '.join(check.problem.split())}"
    where = f" at {list(check.place)}" if check.place else ""
    numbers = ""
    if check.got is not None and check.expected is not None:
        numbers = f" ({check.got:.4g} instead of {check.expected:.4g})"
    return (
        f"{check.what} differs from the reference by {check.error:.2g}{where}{numbers}; "
        f"{check.tolerance:.2g} is allowed"
    )
