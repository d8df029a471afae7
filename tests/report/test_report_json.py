"""JSON and JSON lines: versioned, complete, and lossless for samples."""

from __future__ import annotations

import json
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from stepmark.records.run import FORMAT, Recording, Run
from stepmark.records.sample import Sample, pack
from stepmark.records.trial import LaunchTrial, SoloTrial
from stepmark.report import json_document, json_lines
from stepmark.report.unpacked import plain_trial
from tests.report.ordinary_examples import normal
from tests.report.small_recording import HUGE, record
from tests.report.troubled_examples import failures
from tests.support.properties import steady

PACKED = {"nanoseconds", "host", "lag", "rounds", "first", "live_bytes", "own_bytes"} | {
    "clocks",
    "milliwatts",
    "strain",
}


def repacked(value: Any) -> Any:
    """Lists of integers back to packed bytes, where the records have those."""
    if isinstance(value, dict):
        return {
            name: pack(part) if name in PACKED and isinstance(part, list) else repacked(part)
            for name, part in value.items()
        }
    return [repacked(part) for part in value] if isinstance(value, list) else value


def rebuilt(fields: dict[str, Any], kind: Any) -> Any:
    return msgspec.convert(repacked(fields), kind, builtin_types=(bytes,))


def test_the_document_holds_everything() -> None:
    judgement = normal()
    recording = record(judgement)
    document = json.loads(json_document.render(judgement, recording))
    assert document["format"] == FORMAT
    assert rebuilt(document["run"], Run) == judgement.run
    assert len(document["judgement"]["cases"]) == len(judgement.cases)
    trials = [rebuilt(trial, SoloTrial | LaunchTrial) for trial in document["trials"]]
    assert trials == list(recording.trials)


def test_a_document_without_trials_is_valid() -> None:
    judgement = failures()
    document = json.loads(json_document.render(judgement, Recording(run=judgement.run)))
    assert document["trials"] == []
    assert document["judgement"]["cases"][1]["failure"]["outcome"] == "out-of-memory"


def test_lines_are_objects_with_a_kind_the_run_first() -> None:
    judgement = normal()
    objects = [json.loads(line) for line in json_lines.lines(judgement, record(judgement))]
    kinds = list(dict.fromkeys(one["kind"] for one in objects))
    assert kinds == ["run", "solo", "launch", "lane", "sample", "case", "summary", "verdict"]
    assert objects[0]["format"] == FORMAT
    assert sum(one["kind"] == "summary" for one in objects) == sum(len(c.summaries) for c in judgement.cases)


def test_the_recording_can_be_rebuilt_from_the_lines() -> None:
    judgement = normal()
    recording = record(judgement)
    solos, launches = [], []
    for one in map(json.loads, json_lines.render(judgement, recording).splitlines()):
        kind = one.pop("kind")
        if kind == "solo":
            one.pop("case_id")
            solos.append(rebuilt({"type": "solo", **one}, SoloTrial))
        elif kind == "launch":
            one.pop("cell_id")
            launches.append({"type": "launch", **one, "lanes": []})
        elif kind == "lane":
            place = {name: one.pop(name) for name in ("cell_id", "launch")}
            assert place["launch"] == launches[-1]["number"]
            launches[-1]["lanes"].append({**one, "samples": []})
        elif kind == "sample":
            lane = launches[-1]["lanes"][-1]
            assert one["variant"] == lane["variant"]
            lane["samples"].append({name: one[name] for name in ("phase", "iterations", "nanoseconds")})
    again = Recording(
        run=recording.run,
        solos=tuple(solos),
        launches=tuple(rebuilt(launch, LaunchTrial) for launch in launches),
    )
    assert again == recording
    assert str(HUGE + 1) in json_lines.render(judgement, recording)


@steady
@given(st.lists(st.integers(min_value=0, max_value=2**63 - 1)))
def test_samples_survive_to_the_last_nanosecond(values: list[int]) -> None:
    sample = Sample(phase="step", iterations=3, nanoseconds=pack(values))
    text = json.dumps(plain_trial(sample))
    assert rebuilt(json.loads(text), Sample) == sample
