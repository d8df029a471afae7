"""eager-fallback: a case that is declared as compiled runs in Python, all of it or in part.

Evidence. Graph breaks that torch's compiler counted in the solo pass, or a compiler that an environment
          variable or a stance turns off.
Why.      At a break the step goes back to the interpreter: the time is that of a mixture, and the "compiled"
          of the table does not mean what readers take it to mean.
"""

from __future__ import annotations

from stepmark.audit.lanes import CaseLanes
from stepmark.audit.quantities import counted
from stepmark.records.finding import Finding, FindingName, Severity


def eager_fallback(case: CaseLanes) -> Finding | None:
    """Once per case, with the most frequent reason."""
    inspection = case.inspection
    if inspection is None or not case.declared.compile:
        return None
    compiler = inspection.compiler
    if compiler.disabled:
        message, remedy = "torch's compiler is turned off here", "unset TORCH_COMPILE_DISABLE and stances"
    elif compiler.breaks:
        reason = f", the most frequent: {' '.join(compiler.reasons[0].split())}" if compiler.reasons else ""
        message = f"torch's compiler gave up at {counted(compiler.breaks, 'place')}{reason}"
        remedy = "compile with fullgraph=True to find them, or say that the graph is broken"
    else:
        return None
    return Finding(
        name=FindingName.EAGER_FALLBACK,
        severity=Severity.WARNING,
        case=case.id,
        message=message,
        remedy=remedy,
        numbers=(("breaks", float(compiler.breaks)), ("graphs", float(compiler.frames))),
    )
