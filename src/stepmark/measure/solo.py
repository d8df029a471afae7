"""A solo pass: one case alone in its process, built, stepped a few times and inspected; never judged."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from stepmark.measure.assemble import sample_of
from stepmark.measure.failures import from_exception, is_allocation_failure
from stepmark.measure.instrument import Instrument
from stepmark.measure.lane import Bind
from stepmark.measure.program import Program
from stepmark.measure.protocol import Entered, Event, LaneFailed, SoloDone
from stepmark.measure.sampler import Block, run_block, take_block
from stepmark.records.evidence import Conditions, Evidence
from stepmark.records.inspection import Inspection, NumberCheck
from stepmark.records.outcome import Stage
from stepmark.records.sample import Layout
from stepmark.records.settings import Settings

MOST_STEPS = 40
"""Plain steps where they are short: enough to see how single calls spread."""
SHORT = 50_000_000
"""Nanoseconds of plain steps after which only the settings' own number is taken."""


def pass_alone(
    variant: str, bind: Bind, *, instrument: Instrument, settings: Settings, emit: Callable[[Event], Any]
) -> None:
    """Build, a first step, some plain steps, then what can be read off them."""
    stage = Stage.BUILD
    emit(Entered(stage=stage, variant=variant))
    try:
        program = bind()
        stage = Stage.STEP
        emit(Entered(stage=stage, variant=variant))
        emit(_plain_steps(program, instrument, settings))
    except BaseException as error:
        emit(LaneFailed(variant=variant, failure=from_exception(error, stage)))


def _plain_steps(program: Program, instrument: Instrument, settings: Settings) -> SoloDone:
    layout = program.layout
    single = (1,) * len(layout.phases)
    first = run_block(program, single, instrument)
    blocks: list[Block] = []
    spent = 0
    while len(blocks) < settings.solo_steps or (len(blocks) < MOST_STEPS and spent < SHORT):
        blocks.append(take_block(program, single, instrument))
        spent += _whole(layout, blocks[-1].nanoseconds)
    evidence = program.inspect() if program.inspect else Evidence(layout=layout)
    inspection = program.examine() if program.examine and settings.audit else None
    numbers: tuple[NumberCheck, ...] = ()
    if program.verify and settings.audit:
        try:
            numbers = program.verify()
        except Exception as error:
            inspection = _without_numbers(inspection, error)
    return SoloDone(
        evidence=replace(
            evidence,
            first_step_seconds=_whole(layout, first) * 1e-9,
            conditions=_with_autocast(evidence.conditions, inspection),
            inspection=inspection,
            numbers=numbers,
        ),
        samples=tuple(sample_of(phase, 1, i, blocks) for i, phase in enumerate(layout.phases)),
    )


def _without_numbers(inspection: Inspection | None, error: Exception) -> Inspection:
    """The case has run: where a copy in float64 finds no room beside it, nothing is known of its numbers."""
    if not is_allocation_failure(error):
        raise error
    seen = inspection or Inspection(phases=())
    return replace(seen, problem=seen.problem or f"no room to compare its numbers: {error}"[:500])


def _with_autocast(conditions: Conditions, inspection: Inspection | None) -> Conditions:
    """Autocast that a step enters by itself shows only while it runs."""
    seen = inspection.autocast if inspection else ()
    return replace(conditions, autocast=tuple(sorted({*conditions.autocast, *seen})))


def _whole(layout: Layout, block: tuple[int, ...]) -> int:
    """Nanoseconds of all of it."""
    return block[layout.phases.index(layout.whole)] if layout.whole else sum(block)
