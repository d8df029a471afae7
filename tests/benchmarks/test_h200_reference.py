"""The reference runs of the card of docs/gpu.md: found by suite, without names of machines, and judged."""

from __future__ import annotations

import pytest

from benchmarks.h200.page import PAGE
from stepmark.authoring.load import load
from stepmark.measure.expand import Selection, cases_of, select
from stepmark.pipeline import judged
from stepmark.published.references import reference_names, reference_run, references
from stepmark.records.source import BuiltinSource

NAME = "h200-2026-11"
SUITES = {
    "fragmented": "fragmented",
    "lora": "lora_forward",
    "operations": "rms_norm",
    "optimizer": "optimizer",
    "precision": "mixed_precision",
    "switchback": "switchback",
    "transformer": "transformer",
}


def test_it_is_known_by_name() -> None:
    assert NAME in reference_names()
    (known,) = (one for one in references() if one.name == NAME)
    assert (known.date, known.hardware) == ("2026-11-20", "NVIDIA H200")
    assert {*SUITES.values()} <= {*known.suites}


@pytest.mark.parametrize("suite", SUITES)
def test_a_run_can_be_judged_and_names_nobody(suite: str) -> None:
    recording = reference_run(NAME, [SUITES[suite]])
    environment = recording.run.environment
    assert environment.host.hostname == "reference"
    assert all(card.uuid is None for card in environment.torch.cards)
    cases, asked = judged(recording).cases, published_cases(suite)
    measured = {case.case.id for case in cases if case.primary is not None}
    assert measured <= asked
    assert f"| {suite} | {len(measured)} of {len(asked)} |" in PAGE.read_text()


def published_cases(suite: str) -> set[str]:
    """What `--preset published` measures on such a card."""
    outlines = [each.outline(0) for each in load(BuiltinSource(name=suite))]
    published = Selection(preset="published")
    return {case.id for case in cases_of(select(outlines, published), published, device="cuda")}
