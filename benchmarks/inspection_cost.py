"""What looking costs: the instrumented pass of every quick case of the built-in suites beside its step.

Promised are two ordinary steps and 200 ms at most. Each case in its solo pass, one thread:
python -m benchmarks.inspection_cost
"""

from __future__ import annotations

from statistics import median

from benchmarks.machine import machine_line
from stepmark.engines.local import LocalEngine
from stepmark.measure.assignment import SoloAssignment
from stepmark.measure.expand import Selection, expand, select
from stepmark.records.sample import unpack
from stepmark.records.settings import Settings
from stepmark.records.source import BuiltinSource
from stepmark.records.trial import SoloTrial
from stepmark.suites import BUILTIN

ALLOWED = 0.2
SETTINGS = Settings()


def main() -> None:
    print(machine_line(), "· 1 thread")
    print("\n| suite | cases | ordinary step, ms | instrumented pass, ms | most beyond two steps, ms |")
    print("|---|---:|---:|---:|---:|")
    engine = LocalEngine(SETTINGS)
    try:
        worst = max(_row(name, engine) for name in BUILTIN)
    finally:
        engine.close()
    print(f"\nat most {1e3 * worst:.0f} ms beyond two steps; {1e3 * ALLOWED:.0f} ms are promised")


def _row(name: str, engine: LocalEngine) -> float:
    """A line of the table; the most that a case took beyond two steps."""
    source = BuiltinSource(name=name)
    described = engine.describe((source,), "cpu")
    cases = expand(select(described.suites, Selection(preset="quick")), condition=None, device="cpu")
    costs = []
    for case in cases:
        trial = engine.perform(SoloAssignment(case=case, source=source, settings=SETTINGS))
        assert isinstance(trial, SoloTrial)
        if trial.evidence and trial.evidence.inspection:
            costs.append((_step(trial), trial.evidence.inspection.seconds))
    steps, passes = [1e3 * step for step, _ in costs], [1e3 * taken for _, taken in costs]
    beyond = max(taken - 2.0 * step for step, taken in costs)
    print(
        f"| {name} | {len(costs)} | {min(steps):.3g} to {max(steps):.3g} | "
        f"{min(passes):.0f} to {max(passes):.0f} | {1e3 * beyond:.0f} |",
        flush=True,
    )
    return beyond


def _step(trial: SoloTrial) -> float:
    """Seconds of an ordinary step, all phases."""
    assert trial.evidence is not None
    whole = trial.evidence.layout.whole
    samples = [each for each in trial.samples if whole is None or each.phase == whole]
    return sum(median(unpack(sample.nanoseconds)) for sample in samples) * 1e-9


if __name__ == "__main__":
    main()
