"""compiled-unannounced: the step is compiled though the case does not say so, or not although it does.

Evidence. Graphs that torch's compiler made in the solo pass, against `Step(compile=...)`. A variant whose
          name says it (compil, inductor, dynamo, captur) has announced it. A compiler that is turned off is
          eager-fallback's business.
Why.      Compiled against eager is a comparison of two things at once, and a reader of the table must see it.
"""

from __future__ import annotations

import re

from stepmark.audit.lanes import CaseLanes
from stepmark.audit.quantities import counted
from stepmark.records.finding import Finding, FindingName, Severity

ANNOUNCED = re.compile("compil|inductor|dynamo|captur", re.IGNORECASE)


def compiled_unannounced(case: CaseLanes) -> Finding | None:
    """Once per case."""
    inspection = case.inspection
    if inspection is None or inspection.compiler.disabled:
        return None
    frames, declared = inspection.compiler.frames, case.declared.compile
    if frames and not declared and not ANNOUNCED.search(case.case.variant):
        message = (
            f"torch's compiler made {counted(frames, 'graph')}, and the case does not say that it is compiled"
        )
        remedy = "say it in the variant's name or by Step(compile=True), or take torch.compile out"
    elif declared and not frames:
        message = "declared as compiled, and torch's compiler made no graph"
        remedy = "see that the compiled callable is the one that runs"
    else:
        return None
    return Finding(
        name=FindingName.COMPILED_UNANNOUNCED,
        severity=Severity.WARNING,
        case=case.id,
        message=message,
        remedy=remedy,
        numbers=(("graphs", float(frames)),),
    )
