"""Defects: what is wrong with a published result, from a closed list, with the reason and the remedy."""

from __future__ import annotations

from enum import StrEnum

from stepmark.records.finding import Severity
from stepmark.records.record import Record


class DefectName(StrEnum):
    """The closed list; docs/published.md explains each."""

    LEFTOVER_LAYER = "leftover-layer"
    OPTIMIZER_IN_BACKWARD = "optimizer-in-backward"
    LOSS_IN_BACKWARD = "loss-in-backward"
    INFERENCE_TRAINS = "inference-trains"
    GATHERED_WEIGHTS = "gathered-weights"
    SLOW_BASELINE = "slow-baseline"
    OPERANDS_TRUNCATED = "operands-truncated"
    WRONG_SCALES = "wrong-scales"
    TOTALS_NOT_TIMED = "totals-not-timed"
    BATCH_IS_WIDTH = "batch-is-width"
    INPUTS_IN_CLOCK = "inputs-in-clock"
    GRADIENTS_ACCUMULATE = "gradients-accumulate"
    COMPILED_UNNOTICED = "compiled-unnoticed"
    WARM_UP_IS_COMPILATION = "warm-up-is-compilation"
    PROFILER_STALL = "profiler-stall"
    NO_SYNCHRONISATION = "no-synchronisation"
    BACKWARD_DOES_NOTHING = "backward-does-nothing"
    OPTIMIZER_NEVER_RAN = "optimizer-never-ran"
    SAME_KERNEL = "same-kernel"
    EXCESS_WORK = "excess-work"
    COMPILES_EVERY_CALL = "compiles-every-call"
    NO_BASE_WEIGHT = "no-base-weight"


class Basis(StrEnum):
    """How a defect is known."""

    COMPUTED = "computed"
    """From the published numbers alone."""
    READ = "read"
    """In the source of the harness; not run."""
    INFERRED = "inferred"
    """The likeliest explanation of the numbers."""


class Defect(Record, frozen=True, kw_only=True):
    """One thing that is wrong."""

    name: DefectName
    severity: Severity
    basis: Basis
    message: str
    """What happened, with its numbers."""
    remedy: str
    """What stepmark does instead."""
