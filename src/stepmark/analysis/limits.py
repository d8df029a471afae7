"""Per cent of limit: counted work and memory traffic over the measured time, against measured ceilings.

Method.       The work of the phases that the primary time spans (matrix products, convolutions, attention;
              what the step declares where nothing could be counted) takes a least time at the matrix rates of
              its dtypes; its share is that time over the measured one. The bytes that its operations read and
              write over the time are a share of the rate at which copies read and write memory, or, beyond
              it, of the fastest copy. The larger share is the per cent of limit.
Assumptions.  Every operation reads its inputs and writes its outputs once.
Fails.        Operations that reuse each other's data in a cache come out above 100 %. A compiled step fuses
              operations, so its traffic is not known and only its work counts. Short work between long
              launches is far from both limits: the host is its limit (host-bound).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from stepmark.records.case import Cell
from stepmark.records.ceilings import Ceilings
from stepmark.records.evidence import Evidence
from stepmark.records.inspection import Inspection, PhaseInspection, spanned_by_primary
from stepmark.records.limit import Limit, computing_seconds, fitting_rate, is_relaxed


def limit_of(
    cell: Cell, evidence: Evidence | None, ceilings: Ceilings | None, seconds: float | None
) -> Limit | None:
    """None where nothing was inspected, counted or timed, or no ceilings of the device are known."""
    if evidence is None or evidence.inspection is None or ceilings is None or ceilings.device != cell.device:
        return None
    if not seconds or seconds <= 0.0:
        return None
    inspection = evidence.inspection
    phases = spanned_by_primary(inspection, evidence.layout)
    rate = fitting_rate(ceilings, relaxed=is_relaxed(evidence.conditions.flags, cell.device))
    flops = sum(phase.flops for phase in phases)
    least = sum(computing_seconds(phase, rate) for phase in phases)
    if not flops and phases and len(phases) == len(inspection.phases) and evidence.declared.flops:
        flops = evidence.declared.flops
        least = flops / (rate(evidence.declared.autocast or cell.dtype) or inf)
    moved = None if inspection.eager else sum(phase.traffic for phase in phases)
    if not flops and not moved:
        return None
    memory_share, in_cache = _memory_share((moved or 0.0) / seconds, ceilings)
    return Limit(
        flops_per_second=flops / seconds,
        bytes_per_second=None if moved is None else moved / seconds,
        work_share=least / seconds,
        memory_share=memory_share,
        in_cache=in_cache,
        at_least=_is_incomplete(inspection, phases),
    )


def _memory_share(rate: float, ceilings: Ceilings) -> tuple[float, bool]:
    """The share, and whether it is of a cache's rate."""
    if ceilings.copy_memory <= 0.0:
        return 0.0, False
    share = rate / ceilings.copy_memory
    if share <= 1.0 or ceilings.copy_cache <= ceilings.copy_memory:
        return share, False
    return rate / ceilings.copy_cache, True


def _is_incomplete(inspection: Inspection, phases: Sequence[PhaseInspection]) -> bool:
    return inspection.eager or any(phase.unseen or phase.uncounted for phase in phases)
