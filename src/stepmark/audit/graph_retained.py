"""graph-retained: one autograd graph is traversed again and again, or graphs pile up.

Evidence. The second inspected iteration traversed a graph of the first; or the ends of two and more graphs of
          earlier iterations are still alive.
Why.      A graph that is kept keeps its saved tensors: memory is not what a training step needs, and what
          backward frees in a real step is not freed in the clock.
"""

from __future__ import annotations

from stepmark.audit.lanes import CaseLanes
from stepmark.records.finding import Finding, FindingName, Severity

FEW = 2
"""One may be held by the iteration's own result."""


def graph_retained(case: CaseLanes) -> Finding | None:
    """Once per case."""
    gradients = case.inspection.gradients if case.inspection else None
    if gradients is None or not (gradients.same_graph or gradients.graphs_alive >= FEW):
        return None
    message = f"{gradients.graphs_alive} graphs of earlier iterations are still alive"
    if gradients.same_graph:
        message = "the backward pass traversed a graph of the iteration before once more"
    return Finding(
        name=FindingName.GRAPH_RETAINED,
        severity=Severity.WARNING,
        case=case.id,
        message=message,
        remedy="run forward and backward in each iteration without retain_graph; keep losses as numbers",
        numbers=(("graphs_alive", float(gradients.graphs_alive)),),
    )
