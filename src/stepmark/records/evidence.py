"""Evidence: what the solo pass saw of a case, never a timing that is judged."""

from __future__ import annotations

from stepmark.records.inspection import Inspection, NumberCheck
from stepmark.records.memory import DeviceMemory
from stepmark.records.record import Record
from stepmark.records.sample import Layout


class TensorFacts(Record, frozen=True, kw_only=True):
    """Shape and type of one tensor."""

    shape: tuple[int, ...]
    dtype: str
    device: str


class Declared(Record, frozen=True, kw_only=True):
    """What the case says of itself; None and False where it says nothing."""

    compile: bool = False
    autocast: str | None = None
    optimizer: bool = False
    reference: bool = False
    deterministic: bool = False
    parameters: int | None = None
    flops: float | None = None
    """Useful work of one iteration."""
    output: tuple[int, ...] | None = None
    """The output's shape."""
    tokens: int | None = None
    """Rows of the output: all its dimensions but the last."""
    dtype: str | None = None
    """Of the output."""


class Conditions(Record, frozen=True, kw_only=True):
    """The process's settings while the plain steps ran."""

    flags: tuple[tuple[str, str], ...] = ()
    """torch's global settings by name, as the steps left them."""
    threads: int = 0
    autocast: tuple[str, ...] = ()
    """Dtypes under which operations of the step ran autocast."""
    tracers: tuple[str, ...] = ()
    """Profilers, tracers and debuggers that look on: `sys.settrace`, `torch.profiler`."""
    anomaly: bool = False
    debug: tuple[str, ...] = ()
    """What makes this a build or an environment for debugging: `CUDA_LAUNCH_BLOCKING=1`."""


class CacheEvidence(Record, frozen=True, kw_only=True):
    """How the device's cache was seen to be cold after a flush."""

    cache_bytes: int
    flushed_bytes: int
    """Written by one flush."""
    probe_bytes: int
    """Of the tensor that was read,"""
    warm_seconds: float
    """with its values in the cache,"""
    cold_seconds: float
    """and after a flush."""
    flush_seconds: float


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
    device_memory: DeviceMemory | None = None
    """Of an accelerator, after the plain steps; None on a CPU."""
    declared: Declared = Declared()
    conditions: Conditions = Conditions()
    inspection: Inspection | None = None
    """None where the audit was left out, or the case is not of torch."""
    cache: CacheEvidence | None = None
    """Where the case is measured with cold caches."""
    numbers: tuple[NumberCheck, ...] = ()
    """Checks against the reference that the case declares."""
