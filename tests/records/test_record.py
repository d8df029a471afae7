"""What holds for every record: frozen, keyword-only, nothing unknown in it, and the same after a journey."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import stepmark.records
from stepmark.analysis.judge import judge
from stepmark.analysis.run_summary import summarize_run
from stepmark.records.case import Case, Cell
from stepmark.records.environment import Environment
from stepmark.records.evidence import Evidence
from stepmark.records.finding import Finding
from stepmark.records.outcome import Failure
from stepmark.records.outline import SuiteOutline
from stepmark.records.record import Record
from stepmark.records.run import CaseJudgement, Judgement, Run
from stepmark.records.run_summary import RunSummary
from stepmark.records.settings import Policy, Settings
from stepmark.records.source import Source
from stepmark.records.trial import LaunchTrial, SoloTrial, Trial
from stepmark.records.verdict import Verdict
from tests.support.arbitrary import records
from tests.support.recordings import Noise, make_recording


def all_records() -> list[type[Record]]:
    for module in pkgutil.iter_modules(stepmark.records.__path__):
        importlib.import_module(f"stepmark.records.{module.name}")
    kinds, found = [Record], []
    while kinds:
        kind = kinds.pop()
        kinds += kind.__subclasses__()
        if kind is not Record and kind.__module__.startswith("stepmark.records."):
            found.append(kind)
    return sorted(found, key=lambda kind: kind.__name__)


RECORDS = all_records()
WHOLE = [
    Case,
    CaseJudgement,
    Environment,
    Evidence,
    Failure,
    Finding,
    LaunchTrial,
    Policy,
    Run,
    Settings,
    SoloTrial,
    SuiteOutline,
    Verdict,
]
"""With what they hold, every record that is stored or exported."""
CODECS = [
    pytest.param(msgspec.json.encode, msgspec.json.decode, id="json"),
    pytest.param(msgspec.msgpack.encode, msgspec.msgpack.decode, id="msgpack"),
]


@pytest.mark.parametrize("kind", RECORDS, ids=lambda kind: kind.__name__)
def test_every_record_is_frozen_and_strict(kind: type[Record]) -> None:
    config = kind.__struct_config__
    assert config.frozen
    assert config.forbid_unknown_fields
    assert all(field.default_factory is msgspec.NODEFAULT for field in msgspec.structs.fields(kind)), (
        "no shared state"
    )


@pytest.mark.parametrize("kind", RECORDS, ids=lambda kind: kind.__name__)
def test_every_record_is_keyword_only(kind: type[Record]) -> None:
    with pytest.raises(TypeError, match="positional"):
        kind("by position")


def test_a_record_cannot_be_changed() -> None:
    cell = Cell(suite="mine")
    with pytest.raises(AttributeError, match="immutable"):
        cell.suite = "yours"  # type: ignore[misc]


@pytest.mark.parametrize(("encode", "decode"), CODECS)
@pytest.mark.parametrize("kind", WHOLE, ids=lambda kind: kind.__name__)
@settings(max_examples=12)
@given(data=st.data())
def test_every_record_survives_a_journey(
    kind: type[Record], encode: Any, decode: Any, data: st.DataObject
) -> None:
    record = data.draw(records(kind))
    assert decode(encode(record), type=kind) == record


@pytest.mark.parametrize(("encode", "decode"), CODECS)
@pytest.mark.parametrize("kind", WHOLE, ids=lambda kind: kind.__name__)
@settings(max_examples=3)
@given(data=st.data())
def test_an_unknown_field_is_refused(
    kind: type[Record], encode: Any, decode: Any, data: st.DataObject
) -> None:
    raw = decode(encode(data.draw(records(kind)))) | {"colour": "blue"}
    with pytest.raises(msgspec.ValidationError, match="unknown field `colour`"):
        decode(encode(raw), type=kind)


@pytest.mark.parametrize(("encode", "decode"), CODECS)
def test_a_judgement_survives_a_journey(encode: Any, decode: Any) -> None:
    judgement = judge(make_recording(axes={"features": (512, 1024)}, num_launches=3))
    verdict = judgement.cases[1].verdict
    assert verdict is not None
    assert None not in (verdict.look, verdict.power, verdict.p_value, judgement.cases[1].spread)
    assert decode(encode(judgement), type=Judgement) == judgement


@pytest.mark.parametrize(("encode", "decode"), CODECS)
@pytest.mark.parametrize("confidence", [0.95, 0.9999, 1.0 - 1e-12])
def test_so_does_one_that_hardly_knows_anything(encode: Any, decode: Any, confidence: float) -> None:
    """Two launches that are far apart, and so much confidence that hardly any ratio is impossible."""
    policy, noise = Policy(confidence=confidence), Noise(process=1.0, instance=1.0)
    judgement = judge(make_recording(num_launches=2, noise=noise, policy=policy, seed=1))
    summary = summarize_run(judgement)
    assert decode(encode(judgement), type=Judgement) == judgement
    assert decode(encode(summary), type=RunSummary) == summary


@pytest.mark.parametrize(("encode", "decode"), CODECS)
@settings(max_examples=12)
@given(data=st.data())
def test_unions_are_told_apart_by_their_tags(encode: Any, decode: Any, data: st.DataObject) -> None:
    """A trial and a source say what they are, so that a store or a worker can read any of them."""
    trial = data.draw(records(SoloTrial) | records(LaunchTrial))
    assert decode(encode(trial), type=Trial) == trial
    run = data.draw(records(Run))
    assert decode(encode(run.sources), type=tuple[Source, ...]) == run.sources


@pytest.mark.parametrize(("encode", "decode"), CODECS)
def test_wrong_types_are_refused_when_read(encode: Any, decode: Any) -> None:
    raw = decode(encode(Settings())) | {"launches": "ten"}
    with pytest.raises(msgspec.ValidationError, match="launches"):
        decode(encode(raw), type=Settings)
