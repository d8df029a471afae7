"""Comparing runs: two of them by reference, with what the store knows of the spread from run to run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from stepmark.analysis.invalidation import invalidate_comparison
from stepmark.analysis.run_comparison import compare_runs
from stepmark.analysis.run_facts import replicates
from stepmark.errors import StoreError, UsageError
from stepmark.pipeline import audited
from stepmark.published.references import reference_names, reference_run
from stepmark.records.comparison import (
    Aspect,
    CaseComparison,
    Comparison,
    Terms,
    aspects_allowed,
    centre_named,
)
from stepmark.records.run import Recording, Run
from stepmark.records.settings import Policy
from stepmark.report.comparison_formats import render_comparison
from stepmark.result import Result
from stepmark.store.location import store_url
from stepmark.store.store import Store
from stepmark.store.trouble import is_damage
from stepmark.units import parse_fraction

OF_ANOTHER_MACHINE = (Aspect.MACHINE, Aspect.PROCESSOR)
"""May differ from a reference that comes with stepmark; the accelerator may not."""
NUM_LOOKED_AT = 200
"""Newest runs among which replications are looked for: what a machine was like long ago says little."""
NUM_READ = 20
"""Replications read at most: the spread is then known to a sixth of itself."""


class ComparisonResult:
    """Two runs, compared: what `stepmark.compare` hands back to a program."""

    def __init__(self, comparison: Comparison) -> None:
        self.comparison = comparison

    @property
    def cases(self) -> tuple[CaseComparison, ...]:
        """Every case that both runs have."""
        return self.comparison.cases

    def render(self, format: str = "table", *, phases: bool = False) -> str:
        """The report as text."""
        return render_comparison(format, self.comparison, phases=phases)

    def __repr__(self) -> str:
        sides = (self.comparison.baseline.id, self.comparison.candidate.id)
        return f"<ComparisonResult {sides[0]} and {sides[1]}: {len(self.cases)} cases>"


def compare(
    baseline: Result | str,
    candidate: Result | str,
    *,
    margin: str | float = 0.01,
    confidence: float = 0.95,
    centre: str = "minimum",
    allow: Sequence[str] = (),
    store: str | None = None,
) -> ComparisonResult:
    """Compare two runs that were not interleaved; each is a result, or a reference to a stored run.

    References and the spread from run to run need a store: the default one, unless `store` names another. Two
    results without a `store` are compared by themselves.
    """
    terms = Terms(
        policy=Policy(margin=parse_fraction(margin), confidence=confidence),
        centre=centre_named(centre),
        allow=aspects_allowed(allow),
    )
    if store is None and isinstance(baseline, Result) and isinstance(candidate, Result):
        old, new = baseline.recording, candidate.recording
        return ComparisonResult(_audited(compare_runs(old, new, terms=terms), old, new))
    with Store.open(store_url(store), create=False) as opened:
        sides = [side.recording if isinstance(side, Result) else side for side in (baseline, candidate)]
        return ComparisonResult(compare_stored(opened, *sides, terms=terms))


def compare_stored(
    store: Store, baseline: str | Recording, candidate: str | Recording, *, terms: Terms | None = None
) -> Comparison:
    """Two runs, each given by reference or as it was just measured.

    A reference that comes with stepmark is of another machine: that is allowed, and named."""
    new = _load(store, candidate, baseline)
    old = _load(store, baseline, new)
    shipped = [side for side in (baseline, candidate) if side in reference_names()]
    if shipped:
        terms = terms or Terms()
        terms = replace(terms, allow=tuple(dict.fromkeys((*terms.allow, *OF_ANOTHER_MACHINE))))
    if old.run.id == new.run.id:
        raise UsageError(
            f"run {old.run.id} would be compared with itself",
            remedy="name two runs: stepmark runs lists them",
        )
    known = {each.name for each in store.baselines()} | {*reference_names()}
    names = [side if isinstance(side, str) and side in known else None for side in (baseline, candidate)]
    comparison = compare_runs(
        old, new, terms=terms, history=_replications(store, old, new), names=(names[0], names[1])
    )
    return _audited(comparison, old, new)


def _audited(comparison: Comparison, old: Recording, new: Recording) -> Comparison:
    return invalidate_comparison(comparison, baseline=audited(old), candidate=audited(new))


def _load(store: Store, side: str | Recording, other: str | Recording) -> Recording:
    """By id, baseline or reference; of a reference the run that has the suites of the other side."""
    if isinstance(side, Recording):
        return side
    if side not in reference_names():
        return store.load(store.resolve(side))
    if isinstance(other, str) and other in reference_names():
        raise UsageError("two references are compared", remedy="name a run of your own as one of them")
    run = other.run if isinstance(other, Recording) else store.run(store.resolve(other))
    return reference_run(side, [outline.name for outline in run.suites])


def _replications(store: Store, *compared: Recording) -> Iterator[Recording]:
    """Other runs of known code under the same conditions, newest first, one in memory at a time."""
    runs = [recording.run for recording in compared]
    ids = {run.id for run in runs}
    suites = {outline.name for run in runs for outline in run.suites}
    num_read = 0
    for head in store.heads(NUM_LOOKED_AT, readable=True):
        if num_read == NUM_READ:
            return
        if head.id in ids or not suites & {*head.suites}:
            continue
        found = _replication(store, head.id, runs)
        if found is not None:
            num_read += 1
            yield found


def _replication(store: Store, run_id: str, compared: Sequence[Run]) -> Recording | None:
    """None where it is none, or is damaged: a run that nobody asked for stops no comparison of others."""
    try:
        return store.load(run_id) if replicates(store.run(run_id), compared) else None
    except StoreError as error:
        if is_damage(error):
            return None
        raise
