"""A stopwatch: when a trial began, how long it took, and what the machine did meanwhile."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable

from stepmark.instruments.host_facts import load_facts
from stepmark.instruments.launch_counters import activity_between, read_counters
from stepmark.instruments.pseudo_files import PseudoFiles
from stepmark.measure.assemble import Timing
from stepmark.measure.protocol import Began, Event, Finished
from stepmark.records.trial import LaunchActivity


class Stopwatch:
    """Runs from its making on."""

    def __init__(self, now: Callable[[], float] = time.perf_counter) -> None:
        self._now = now
        self._started, self._begin = time.time(), now()

    def timing(self) -> Timing:
        return Timing(started=self._started, seconds=self._now() - self._begin)


class LaunchWatch(Stopwatch):
    """Also reads the machine's counters: at its making, and once more when it is asked what happened."""

    def __init__(self, server: int | None) -> None:
        self.load = load_facts()
        """At the start."""
        self._family = (os.getpid(),) if server is None else (os.getpid(), server)
        self._files = PseudoFiles()
        self._before = read_counters(self._files, self._family)
        super().__init__()

    def activity(self, events: Iterable[Event]) -> LaunchActivity:
        """`events` are those of the workers, which have all ended: their first and last words say what the
        system counts as theirs and is not of this launch, and what is and it does not count."""
        own = 0.0
        for event in events:
            match event:
                case Began():  # its family is charged for all of its life when it ends
                    own -= event.spent_before
                case Finished():
                    own += event.descendants_seconds
        after = read_counters(self._files, self._family)
        return activity_between(self._before, after, own_seconds=own)
