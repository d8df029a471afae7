"""The environment of a run: machine, software, repository, settings that change numbers."""

from __future__ import annotations

from stepmark.records.card import CardFacts
from stepmark.records.record import Record


class HostFacts(Record, frozen=True, kw_only=True):
    """The machine, as far as it can be read."""

    hostname: str
    os: str
    cpu_model: str
    physical_cores: int | None
    logical_cores: int
    memory_bytes: int
    frequency_mhz: float | None = None
    governor: str | None = None
    python: str = ""


class LoadFacts(Record, frozen=True, kw_only=True):
    """How busy the machine was at one moment."""

    time: float
    """Seconds since the epoch."""
    load_1m: float | None = None
    steal_seconds: float | None = None
    """Summed over cores since boot: the difference of two readings counts."""
    available_bytes: int | None = None


class TorchFacts(Record, frozen=True, kw_only=True):
    """torch, its build and the flags that change its numbers, read inside a worker."""

    version: str
    build: str
    """Compiler, BLAS and instruction sets, as torch reports them."""
    threads: int
    interop_threads: int
    flags: tuple[tuple[str, str], ...]
    """Precision and determinism flags by name."""
    devices: tuple[str, ...] = ()
    """Names of the accelerators, if any."""
    cards: tuple[CardFacts, ...] = ()
    """Of the accelerators: driver, UUID, memory, error correction and limits, where they can be asked."""


class RepositoryFacts(Record, frozen=True, kw_only=True):
    """Git state of the bench file's repository."""

    commit: str
    dirty: bool
    branch: str | None = None
    """None where no branch is checked out and nothing names one, and in records of format 2 and older."""


class Environment(Record, frozen=True, kw_only=True):
    """Everything around the code that can change a number."""

    stepmark: str
    host: HostFacts
    torch: TorchFacts
    command: tuple[str, ...]
    repository: RepositoryFacts | None = None
    variables: tuple[tuple[str, str], ...] = ()
    """Environment variables known to change torch's speed, where set."""

    def surroundings(self, device: str) -> str:
        """What a time on this device depends on, whatever the suite."""
        torch = self.torch
        drivers = sorted({card.driver for card in torch.cards if card.driver})
        accelerated = [*torch.devices, *(f"driver {one}" for one in drivers)]
        return ", ".join(
            [*([self.host.cpu_model] if device == "cpu" else accelerated), f"torch {torch.version}"]
        )
