"""A request as a file: the same on both sides, whatever its size."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepmark.engines.request_file import read_request, written
from stepmark.errors import EngineError
from stepmark.measure.requests import Describe, Handed, MeasureCeilings, StandBy
from stepmark.records.source import PickledSource

requests = st.one_of(
    st.builds(StandBy, device=st.text()),
    st.builds(MeasureCeilings, device=st.text(), threads=st.none() | st.integers(1, 64)),
    st.builds(
        Describe,
        sources=st.lists(st.builds(PickledSource, payload=st.binary(max_size=100_000), path=st.just(()))).map(
            tuple
        ),
        device=st.text(),
        threads=st.just(1),
    ),
)


@given(requests)
def test_what_is_written_is_read(request: Handed) -> None:
    with written(request) as file:
        assert read_request(os.dup(file.fileno())) == request


def test_without_room_for_it_the_error_says_where_to_make_some(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    with pytest.raises(EngineError, match="no temporary file"):
        written(StandBy(device="cpu"))
