"""What a run was told to do: the settings of the protocol and the policy of its verdicts."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from msgspec.structs import replace

from stepmark.errors import UsageError
from stepmark.records.record import Record


class Isolation(StrEnum):
    """Where the variants of a cell live while they are timed."""

    SHARED = "shared"
    """All in one process: process-level differences cancel in the ratio. The default."""
    SEPARATE = "separate"
    """Each in its own process, blocks alternating: levels of processes no longer cancel."""
    ALONE = "alone"
    """Each in its own process, one after the other: for variants that do not fit on the device together. What
    the machine does meanwhile does not cancel either."""


def isolation_named(name: str) -> Isolation:
    """The isolation of this name, as users write it."""
    if name not in [*Isolation]:
        raise UsageError(f"there is no isolation '{name}'", remedy=f"use: {', '.join(Isolation)}")
    return Isolation(name)


class Settings(Record, frozen=True, kw_only=True):
    """The protocol's numbers; the reasons for the defaults stand in docs/protocol.md."""

    seed: int = 0
    """Everything random in a run follows from it."""
    launches: int = 40
    """Fresh processes per cell at most: the number of replications."""
    stop: bool = True
    """Whether a cell ends early once all its verdicts are decided (stats/sequential.py)."""
    pilot: int = 4
    """Launches of a cell after which the length of its later launches is chosen; 0 leaves it as it is."""
    confirm: int = 5
    """Fresh launches, at least, that a flagged cell of a sweep must survive; 0 asks for none."""
    alone: int = 1
    """Launches of each case without company, to see whether company changes its level; 0 asks for none."""
    enough_alone: int = 5
    """Launches without company before a changed level is believed."""
    budget: float | None = None
    """Seconds for the whole run; no new launch starts after it."""
    cell_budget: float | None = None
    """Seconds of launches after which a cell has no more, but for the few that an answer needs."""
    isolation: Isolation = Isolation.SHARED
    threads: int | None = 1
    """Threads of torch's operators; None leaves torch's own choice."""
    timeout: float = 120.0
    """Seconds a worker may go without any progress before it counts as hung."""
    round_seconds: float = 0.15
    """Sampling time each lane is given in one launch, until the pilot knows better."""
    instance_seconds: float = 0.05
    """Sampling time of each lane, at least, before all lanes of a launch are built anew."""
    min_rounds: int = 5
    max_rounds: int = 2000
    block_seconds: float = 0.0005
    """A block is as many iterations as fill this time, at least one."""
    warmup_seconds: float = 0.05
    """Least warm-up time of a lane."""
    warmup_cap: float = 5.0
    """Warm-up stops here at the latest and the lane is labelled as never settled."""
    solo_steps: int = 3
    """Plain steps of the solo pass at least; short steps are taken more often."""
    audit: bool = True
    """Whether the solo pass ends with an instrumented step."""


class Policy(Record, frozen=True, kw_only=True):
    """What a verdict demands; verdicts can be recomputed with another."""

    margin: float = 0.01
    """Ratios closer to 1 than this do not matter in practice."""
    confidence: float = 0.95
    accepted: tuple[str, ...] = ()
    """Findings, by name, that do not make a verdict INVALID."""

    def accepting(self, names: Iterable[str]) -> Policy:
        """The policy that accepts these findings too."""
        return replace(self, accepted=tuple(dict.fromkeys((*self.accepted, *names))))
