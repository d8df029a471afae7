"""mutates-inputs: a forward pass wrote its inputs or its weights.

Evidence. Inputs and parameters whose values were written by a forward pass under instruments.
Why.      Every iteration then works on other data than the one before: values may run to zero or infinity,
          and the variants no longer compute the same thing.
"""

from __future__ import annotations

from stepmark.audit.lanes import CaseLanes
from stepmark.audit.quantities import listed
from stepmark.records.finding import Finding, FindingName, Severity


def mutates_inputs(case: CaseLanes) -> Finding | None:
    """Once per case, inputs first."""
    if case.inspection is None:
        return None
    inputs, weights = case.inspection.mutated_inputs, case.inspection.mutated_weights
    written = [*inputs, *weights]
    if not written:
        return None
    return Finding(
        name=FindingName.MUTATES_INPUTS,
        severity=Severity.WARNING,
        case=case.id,
        message=f"a forward pass wrote {listed(written)}",
        remedy="use operations that are not in place, or work on a copy",
        numbers=(("inputs", float(len(inputs))), ("weights", float(len(weights)))),
    )
