"""Evidence: what the solo pass saw of a case, never a timing that is judged."""

from __future__ import annotations

from stepmark.records.record import Record
from stepmark.records.sample import Layout


class TensorFacts(Record, frozen=True, kw_only=True):
    """Shape and type of one tensor."""

    shape: tuple[int, ...]
    dtype: str
    device: str


class Evidence(Record, frozen=True, kw_only=True):
    """What the step is made of."""

    layout: Layout
    parameters: int = 0
    trainable_parameters: int = 0
    parameter_bytes: int = 0
    optimizer_state_bytes: int = 0
    """After the plain steps."""
    inputs: tuple[TensorFacts, ...] = ()
    output: TensorFacts | None = None
    """Of the first plain step, where it is a single tensor."""
    first_step_seconds: float = 0.0
    """Allocation, lazy initialisation and compilation included."""
    peak_rss_bytes: int = 0
    """Of the solo process."""
