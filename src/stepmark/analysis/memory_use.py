"""Memory of a case, gathered from the evidence of its solo pass."""

from __future__ import annotations

from stepmark.records.evidence import Evidence
from stepmark.records.memory import MemoryUse, PhaseMemory


def memory_use(evidence: Evidence | None) -> MemoryUse | None:
    """None where nothing was inspected."""
    if evidence is None or evidence.inspection is None or not evidence.inspection.phases:
        return None
    inspection = evidence.inspection
    return MemoryUse(
        own=inspection.memory.own,
        optimizer_state=evidence.optimizer_state_bytes,
        phases=tuple(
            PhaseMemory(
                phase=phase.phase,
                peak=phase.peak_bytes,
                reserved=phase.reserved_bytes,
                saved=phase.saved_bytes,
            )
            for phase in inspection.phases
        ),
        device=evidence.device_memory,
        parameter_bytes=evidence.parameter_bytes,
    )
