"""Words that the examples share."""

from __future__ import annotations

from math import fsum

from stepmark.records.verdict import Reason, VerdictKind
from tests.report.builder import Compared

FASTER, SLOWER = VerdictKind.FASTER, VerdictKind.SLOWER
EQUIVALENT, INCONCLUSIVE, INVALID = VerdictKind.EQUIVALENT, VerdictKind.INCONCLUSIVE, VerdictKind.INVALID
CROSSES = (Reason.INTERVAL_CROSSES_MARGIN,)
FAILED = Compared(kind=INVALID, reasons=(Reason.CASE_FAILED,))


def train(
    step: float, *, forward: float, backward: float, optimizer: float = 0.0, loss: float = 0.0
) -> dict[str, float]:
    """Phases of a training step in seconds, from milliseconds; the remainder is what is left."""
    parts = {"forward": forward, "loss": loss, "backward": backward, "optimizer": optimizer}
    parts = {name: value for name, value in parts.items() if value}
    parts["remainder"] = step - fsum(parts.values())  # sum rounds differently from Python 3.12 on
    return {name: value * 1e-3 for name, value in {"step": step, **parts}.items()}
