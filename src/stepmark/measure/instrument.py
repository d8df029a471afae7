"""An instrument: the verbs by which measuring reaches a device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol


class Clock(Protocol):
    """Marks moments and says later when they were."""

    @property
    def queues(self) -> bool:
        """Whether calls return before their work is done and marks wait in line with it: the moments are the
        device's, and the host has moments of its own."""

    def begin(self) -> None:
        """A block begins: waits for the device where there is one, so that both times start from here."""

    def mark(self) -> Any:
        """A moment: nanoseconds on a CPU, a recorded event on a device."""

    def nanoseconds(self, marks: Sequence[Any]) -> Sequence[int]:
        """The moments in nanoseconds; waits for the device where there is one."""

    def host_nanoseconds(self, marks: Sequence[Any]) -> Sequence[int]:
        """When the host made the marks, on the same scale; asked only of a clock that queues."""


class Instrument(Clock, Protocol):
    """A clock on a device whose global settings can be watched."""

    def flags(self) -> Mapping[str, str]:
        """Global settings that a lane could change under its neighbours."""

    def restore(self, flags: Mapping[str, str]) -> None:
        """Put the settings back."""
