"""Watching a lane: cheap counters of its process, read around blocks and outside every clock.

Compilations are asked for after every block: torch's own count, without leaving the interpreter. Memory is
asked of the operating system, which leaves its marks: after a reading a block of 0.4 ms was 0.5 % longer, and
4 % without a lead-in. So it is read around a few blocks only, at most READINGS in a lane's share of a launch.
What is left of watching made such a block 0.2 % longer, the same for all lanes, and longer ones not
measurably. An accelerator's card is glanced at after the same blocks, when their work is done.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

from stepmark.records.card import CardReading

READINGS = 24

Glance = Callable[[], CardReading]
"""Reads clock, power and strain of the card that the lanes run on."""


class Sight(NamedTuple):
    """What was seen of one block."""

    compilations: int = 0
    """Frames compiled and kernels tuned since the last block of any lane."""
    grown: int | None = None
    """Bytes that the process has more than at the lane's last reading; None where none was taken."""
    own: int | None = None
    """Of them, in the course of this block."""
    card: CardReading | None = None
    """Right after the block."""


class Watch(Protocol):
    """One for all lanes of a process."""

    def compilations(self) -> int:
        """Since the process began."""

    def memory(self) -> int | None:
        """Bytes in use now; None where they cannot be read."""


class Unwatched:
    """Sees nothing."""

    def compilations(self) -> int:
        return 0

    def memory(self) -> int | None:
        return None


class ProcessSights:
    """What lanes of one process share: what was seen last, and when they were last built anew."""

    def __init__(self, watch: Watch, glance: Glance | None = None) -> None:
        self.watch = watch
        self.glance = glance
        self.builds = 0
        self.settle()

    def settle(self) -> None:
        """Forget what happened until now: building and warming up are no part of the rounds."""
        self.builds += 1
        self.memory = self.watch.memory()
        self._compilations = self.watch.compilations()

    def new_compilations(self) -> int:
        before, self._compilations = self._compilations, self.watch.compilations()
        return max(0, self._compilations - before)


class LaneSights:
    """What is seen of one lane, block by block: `before` a block, then `after` it."""

    def __init__(self, process: ProcessSights, *, seconds: float) -> None:
        """`seconds` is the lane's share of the launch."""
        self._process = process
        self._interval = seconds * 1e9 / READINGS
        self._spent, self._due = 0, 0.0
        self._last: tuple[int, int | None] = (0, None)
        self._is_due = False
        self._begin: int | None = None

    def before(self) -> None:
        self._is_due = self._spent >= self._due
        self._begin = self._process.watch.memory() if self._is_due else None

    def after(self, nanoseconds: int) -> Sight:
        """Of a block that took this long."""
        compilations = self._process.new_compilations()
        begun, self._spent = self._spent, self._spent + nanoseconds
        if not self._is_due:
            return Sight(compilations=compilations)
        card = self._process.glance() if self._process.glance is not None else None
        self._due = begun + self._interval
        builds, last = self._last
        since = last if builds == self._process.builds else self._process.memory
        now = self._process.watch.memory()
        self._last = (self._process.builds, now)
        if now is None or since is None or self._begin is None:
            return Sight(compilations=compilations, card=card)
        return Sight(compilations=compilations, grown=now - since, own=now - self._begin, card=card)
