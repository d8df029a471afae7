"""The reference runs of the card of docs/gpu.md: found by suite, without names of machines, and judged."""

from __future__ import annotations

import pytest

from benchmarks.h200.page import PAGE
from stepmark.pipeline import judged
from stepmark.published.references import reference_names, reference_run, references

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
    assert (known.date, known.hardware) == ("2026-11-18", "NVIDIA H200")
    assert {*SUITES.values()} <= {*known.suites}


@pytest.mark.parametrize("suite", SUITES)
def test_a_run_can_be_judged_and_names_nobody(suite: str) -> None:
    recording = reference_run(NAME, [SUITES[suite]])
    environment = recording.run.environment
    assert environment.host.hostname == "reference"
    assert all(card.uuid is None for card in environment.torch.cards)
    cases = judged(recording).cases
    measured = sum(case.primary is not None for case in cases)
    assert f"| {suite} | {measured} of {len(cases)} |" in PAGE.read_text()
