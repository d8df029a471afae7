"""References: runs that come with stepmark, by name, for others to be compared with.

A name is a folder in `references/`; it holds a file for each run. A suite may be spread over several runs.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator
from functools import cache
from pathlib import Path

from stepmark.errors import UsageError
from stepmark.published.joined import joined
from stepmark.published.reference_file import ENDING, from_reference, head_of
from stepmark.records.record import Record
from stepmark.records.run import Recording, Run
from stepmark.records.source import BuiltinSource

FOLDER = Path(__file__).parent / "references"


class Reference(Record, frozen=True, kw_only=True):
    """A named set of runs."""

    name: str
    date: str
    """Of the newest run."""
    hardware: str
    software: str
    suites: tuple[str, ...]


def reference_names() -> tuple[str, ...]:
    """In alphabetical order."""
    return tuple(sorted({file.parent.name for file in FOLDER.glob(f"*/*{ENDING}")}))


def references() -> tuple[Reference, ...]:
    """All of them, by the heads of their runs."""
    return tuple(_described(name, [run for _, run in _heads(name)]) for name in reference_names())


def reference_run(name: str, suites: Collection[str]) -> Recording:
    """The run of this reference that has the suites, or all that have one of them, joined; a UsageError where
    none has."""
    heads = _heads(name)
    fitting = [file for file, run in heads if {outline.name for outline in run.suites} & {*suites}]
    if not fitting:
        known = sorted({outline.name for _, run in heads for outline in run.suites})
        raise UsageError(
            f"reference {name} has none of the suites {', '.join(sorted(suites))}",
            remedy=f"it has: {', '.join(known)}",
        )
    return joined([from_reference(file.read_bytes()) for file in fitting])


def reference_of_suite(name: str, suite: str) -> Recording:
    """Of this reference one suite, or all suites of one built-in name, whatever runs they are from."""
    heads = _heads(name)
    known: dict[str, set[str]] = {}
    for _, run in heads:
        for outline in run.suites:
            source = run.sources[outline.source_index]
            builtin = source.name if isinstance(source, BuiltinSource) else outline.name
            for told in (outline.name, builtin):
                known.setdefault(told, set()).add(outline.name)
    if suite not in known:
        raise UsageError(
            f"reference {name} has no suite '{suite}'" if suite else f"reference {name} has many suites",
            remedy=f"name one of its own, as in {name}::{min(known)}: {', '.join(sorted(known))}",
        )
    return reference_run(name, known[suite]).of_suites(known[suite])


def reference_runs(name: str) -> Iterator[Recording]:
    """All runs of this reference, one after the other as they are."""
    for file, _ in _heads(name):
        yield from_reference(file.read_bytes())


@cache
def _heads(name: str) -> tuple[tuple[Path, Run], ...]:
    files = sorted((FOLDER / name).glob(f"*{ENDING}"))
    return tuple((file, head_of(file.read_bytes())) for file in files)


def _described(name: str, runs: list[Run]) -> Reference:
    newest = max(runs, key=lambda run: run.started)
    host, torch = newest.environment.host, newest.environment.torch
    accelerated = any(case.cell.device != "cpu" for case in newest.cases)
    return Reference(
        name=name,
        date=time.strftime("%Y-%m-%d", time.gmtime(newest.started)),
        hardware=", ".join(torch.devices) if accelerated and torch.devices else host.cpu_model,
        software=f"torch {torch.version}, stepmark {newest.environment.stepmark}",
        suites=tuple(dict.fromkeys(outline.name for run in runs for outline in run.suites)),
    )
