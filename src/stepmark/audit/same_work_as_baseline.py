"""same-work-as-baseline: a variant executes exactly the operations of the baseline.

Evidence. The operations of all phases in order, with shapes, dtypes and settings (whole numbers and words,
          not other numbers), are the same in both, under the same conditions, and at least one was seen.
          Silent where either is compiled and the other is not, and where kernels wrote memory unseen.
Why.      The two differ in name only: an option that was not passed on, a lazy path that falls back to the
          eager one. Their ratio shows the noise of the measurement. A twin that is meant as such can say so:
          `accepts=["same-work-as-baseline"]`.
"""

from __future__ import annotations

from stepmark.audit.lanes import CaseLanes
from stepmark.audit.quantities import counted
from stepmark.records.finding import Finding, FindingName, Severity


def same_work_as_baseline(case: CaseLanes) -> Finding | None:
    """Once per variant."""
    baseline = case.baseline
    if baseline is None or not _comparable(case) or not _comparable(baseline):
        return None
    if _work(case) != _work(baseline) or _circumstances(case) != _circumstances(baseline):
        return None
    operations = sum(phase.operations for phase in case.phases)
    return Finding(
        name=FindingName.SAME_WORK_AS_BASELINE,
        severity=Severity.WARNING,
        case=case.id,
        message=f"runs the {counted(operations, 'operation')} of {baseline.case.variant}, in the same order",
        remedy="see that the variant's options take effect; a twin can accept this finding",
        numbers=(("operations", float(operations)),),
    )


def _comparable(case: CaseLanes) -> bool:
    seen = any(phase.operations for phase in case.phases)
    return case.inspection is not None and not case.inspection.problem and seen and not case.unseen


def _work(case: CaseLanes) -> list[tuple[str, str]]:
    return [(phase.phase, phase.fingerprint) for phase in case.phases]


def _circumstances(case: CaseLanes) -> tuple[object, ...]:
    """What changes the time of the same operations."""
    compiled = case.inspection is not None and (case.inspection.eager or case.inspection.compiler.frames > 0)
    return compiled, case.declared.compile, case.conditions
