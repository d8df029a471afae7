"""The evidence: all raw lines of the study, and how the tables ask for parts of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from benchmarks.verdicts import calibration, raw_file
from benchmarks.verdicts.calibration import Price
from benchmarks.verdicts.conditions import WORKLOADS
from benchmarks.verdicts.peers.visit import neighbours
from benchmarks.verdicts.replay import Replayed, replay
from benchmarks.verdicts.results import OURS, Line, Load, Ours, Session, Side, Trouble, Visit
from stepmark.records.settings import Policy


@dataclass(frozen=True)
class Comparison:
    """One of ours, with its end as the product would have made it."""

    ours: Ours
    stopped: Replayed
    """Replayed where it ran to the end of its budget."""

    @property
    def seconds(self) -> float:
        """Until the verdict, by the launches that were needed for it."""
        unneeded = self.ours.measured.launches.seconds[self.stopped.num_launches :]
        return self.ours.measured.measuring - sum(unneeded)


@dataclass(frozen=True)
class Pair:
    """Two sides of a peer, measured right after one another."""

    visit: Visit
    old: Side
    new: Side

    @property
    def effect(self) -> float:
        return self.new.effect


@dataclass(frozen=True)
class Evidence:
    lines: Sequence[Line]
    prices: Sequence[Price] = ()

    @cached_property
    def sessions(self) -> list[Session]:
        return [line for line in self.lines if isinstance(line, Session)]

    @cached_property
    def troubles(self) -> list[Trouble]:
        return [line for line in self.lines if isinstance(line, Trouble)]

    @cached_property
    def comparisons(self) -> list[Comparison]:
        return [_replayed(line) for line in self.lines if isinstance(line, Ours)]

    @cached_property
    def pairs(self) -> list[Pair]:
        return [
            Pair(line, old, new)
            for line in self.lines
            if isinstance(line, Visit)
            for old, new in neighbours(line.sides)
        ]

    def identical(self) -> Iterator[tuple[str, int, Load, list[Comparison]]]:
        """Identical sides by workload, threads and load, where there are any."""
        for workload in WORKLOADS:
            for threads in (1, 2):
                for load in Load:
                    found = self.ours(workload=workload, threads=threads, load=load)
                    if found:
                        yield workload, threads, load, found

    def ours(
        self,
        *,
        tool: str = OURS,
        workload: str | None = None,
        threads: int | None = None,
        load: Load | None = None,
        effect: float = 0.0,
    ) -> list[Comparison]:
        """Those that match; None matches all."""
        return [
            comparison
            for comparison in self.comparisons
            if (at := comparison.ours.condition).tool == tool
            and at.effect == effect
            and workload in (None, at.workload)
            and threads in (None, at.threads)
            and load in (None, at.load)
        ]

    def peers(
        self, tool: str, *, workload: str | None = None, load: Load = Load.QUIET, effect: float = 0.0
    ) -> list[Pair]:
        return [
            pair
            for pair in self.pairs
            if (at := pair.visit.condition).tool == tool
            and at.load is load
            and pair.effect == effect
            and workload in (None, at.workload)
        ]


def read(folders: Sequence[Path]) -> Evidence:
    """Everything in these folders; calibrations side by side, one that a folder took over only once."""
    lines = [line for folder in folders for line in raw_file.read(folder)]
    prices = dict.fromkeys(price for folder in folders for price in calibration.read(folder))
    return Evidence(lines, [*prices])


def _replayed(ours: Ours) -> Comparison:
    found = ours.measured
    if found.stopping:
        end = Replayed(found.verdict, found.point, found.low, found.high, len(found.launches.centres))
    else:
        policy = Policy(margin=found.margin, confidence=found.confidence)
        end = replay(found.launches.centres, most=found.most, policy=policy)
    return Comparison(ours, end)
