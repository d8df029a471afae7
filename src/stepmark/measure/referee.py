"""A referee: who tells the schedule what is decided, what is doubtful, and how long to measure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Protocol

from stepmark.records.settings import Isolation
from stepmark.records.trial import LaunchTrial


class Referee(Protocol):
    """Sees every launch; answers about cells by their id. The answers follow from the launches alone, so that
    a resumed run gets the same ones."""

    def note(self, trial: LaunchTrial) -> None:
        """Learn from a launch."""

    def decided(self, cell: str) -> bool:
        """Whether a look now would settle every verdict of the cell."""

    def round_seconds(self, cell: str, isolation: Isolation) -> float | None:
        """Sampling time of each lane in the cell's next launches of this isolation, which has a spread of its
        own; None leaves the setting."""

    def doubted(self, cell: str) -> Collection[str]:
        """Variants whose level in company looks changed and who should run alone again."""

    def crowded(self, cell: str) -> bool:
        """Whether company is now known to change a level: the cell belongs in separate processes."""

    def flagged(self) -> Mapping[str, int]:
        """Cells of a sweep that must be measured again before they are called FASTER or SLOWER, with the
        number of fresh launches each needs."""


class NoReferee:
    """Nothing is ever decided early."""

    def note(self, trial: LaunchTrial) -> None: ...

    def decided(self, cell: str) -> bool:  # noqa: ARG002
        return False

    def round_seconds(self, cell: str, isolation: Isolation) -> float | None:  # noqa: ARG002
        return None

    def doubted(self, cell: str) -> Collection[str]:  # noqa: ARG002
        return ()

    def crowded(self, cell: str) -> bool:  # noqa: ARG002
        return False

    def flagged(self) -> Mapping[str, int]:
        return {}
