"""The trial of the audit: what it says of every mistake, and of every benchmark that has none."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass

from hypothesis import HealthCheck, Phase, given, settings

from benchmarks.audit.correct import WAYS, benchmarks, written
from benchmarks.audit.gallery import Mistake, good_examples, mistakes
from benchmarks.audit.measuring import findings_of, findings_of_builtin, findings_of_file
from benchmarks.audit.solo import audited
from stepmark.authoring.suite import Suite
from stepmark.engines.local import LocalEngine
from stepmark.records.finding import Finding, Severity
from stepmark.store.store import Store
from stepmark.suites import BUILTIN

GENERATED = 100


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """One mistake, measured."""

    mistake: Mistake
    findings: tuple[Finding, ...]

    @property
    def caught(self) -> bool:
        """By the right name, at the right case."""
        return any(
            one.name == self.mistake.finding and f"/{self.mistake.variant}[" in one.case
            for one in self.findings
        )


@dataclass(frozen=True, kw_only=True)
class Correct:
    """A benchmark without a mistake, and what was said of it."""

    kind: str
    name: str
    findings: tuple[Finding, ...]

    @property
    def errors(self) -> tuple[Finding, ...]:
        return tuple(one for one in self.findings if one.severity is Severity.ERROR and not one.accepted)


def gallery(engine: LocalEngine, store: Store, device: str = "cpu") -> Iterator[Outcome]:
    """Every mistake that this device can show."""
    for mistake in mistakes():
        if mistake.device == device:
            yield Outcome(mistake=mistake, findings=findings_of(mistake, engine, store))


def correct(engine: LocalEngine, store: Store) -> Iterator[Correct]:
    """Suites, examples, mended twins, and generated ones."""
    for name in BUILTIN:
        found = findings_of_builtin(name, engine, store)
        yield Correct(kind="built-in suites", name=name, findings=found)
    for path in good_examples():
        yield Correct(kind="examples", name=path.stem, findings=findings_of_file(path, engine, store))
    for mistake in mistakes():
        if mistake.device == "cpu":
            found = findings_of(mistake.mended, engine, store)
            yield Correct(kind="mended mistakes", name=mistake.name, findings=found)
    for way in WAYS:
        yield Correct(kind="ways to write a step", name=way, findings=_audited(written(way)))
    yield from generated()


def generated() -> list[Correct]:
    """A hundred of them, the same every time."""
    found: list[Correct] = []

    @settings(
        max_examples=GENERATED,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(suite=benchmarks())
    def audit_one(suite: Suite) -> None:
        found.append(Correct(kind="generated", name=suite.about, findings=_audited(suite)))

    audit_one()
    return found


def _audited(suite: Suite) -> tuple[Finding, ...]:
    with warnings.catch_warnings():  # of torch, about what a benchmark is free to do
        warnings.simplefilter("ignore")
        return audited(suite)
