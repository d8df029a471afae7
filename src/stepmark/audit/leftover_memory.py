"""leftover-memory: tensors that are not the step's own are alive while it is measured.

Evidence. Alive before the case was built, in the solo process: at least 1 MiB and a tenth of the step's own
          tensors. Or made during the build, still alive and not the step's own: at least 1 MiB and a quarter.
Why.      A peak of memory counts them: the layer that was left over from the example before is in every
          number of the table. They also take cache and allocator space.
"""

from __future__ import annotations

from stepmark.audit.lanes import CaseLanes
from stepmark.audit.quantities import size
from stepmark.records.finding import Finding, FindingName, Severity

LEAST = 1 << 20
BEFORE_SHARE, FOREIGN_SHARE = 0.1, 0.25


def leftover_memory(case: CaseLanes) -> Finding | None:
    """Once per case."""
    if case.inspection is None:
        return None
    memory = case.inspection.memory
    if memory.before_build >= max(LEAST, BEFORE_SHARE * memory.own):
        left = f"{size(memory.before_build)} of tensors were alive before the case was built"
        remedy = "make tensors inside the variant, not when the bench file is imported"
    elif memory.foreign >= max(LEAST, FOREIGN_SHARE * memory.own):
        left = f"{size(memory.foreign)} of tensors that are not the step's own outlived its build"
        remedy = "drop what was needed for the build only: a reference layer, a copy of the weights"
    else:
        return None
    return Finding(
        name=FindingName.LEFTOVER_MEMORY,
        severity=Severity.WARNING,
        case=case.id,
        message=f"{left}; its own have {size(memory.own)}",
        remedy=remedy,
        numbers=(
            ("before_build_bytes", float(memory.before_build)),
            ("foreign_bytes", float(memory.foreign)),
            ("own_bytes", float(memory.own)),
        ),
    )
