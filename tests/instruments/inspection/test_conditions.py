"""Conditions: settings and onlookers, each seen when it is there and only then."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import torch

from stepmark.instruments.inspection.conditions import conditions


@contextmanager
def profiled() -> Iterator[None]:
    before = sys.getprofile()
    sys.setprofile(lambda *_: None)
    try:
        yield
    finally:
        sys.setprofile(before)


def test_a_plain_process_has_nothing_to_show(monkeypatch: pytest.MonkeyPatch) -> None:
    found = conditions()
    assert (found.anomaly, found.debug, found.autocast) == (False, (), ())
    assert found.threads == torch.get_num_threads()
    flags = dict(found.flags)
    assert flags["default_dtype"] == "torch.float32"
    assert flags["float32_matmul_precision"] == "highest"
    assert {"cudnn_allow_tf32", "cuda_matmul_allow_tf32"} <= flags.keys()


def test_profilers_are_named() -> None:
    with profiled():
        assert "sys.setprofile" in conditions().tracers
    assert "sys.setprofile" not in conditions().tracers
    with torch.profiler.profile(acc_events=True):
        assert "torch.profiler" in conditions().tracers
    assert "torch.profiler" not in conditions().tracers


def test_anomaly_mode_is_seen() -> None:
    with pytest.warns(UserWarning, match="Anomaly Detection"), torch.autograd.detect_anomaly():
        assert conditions().anomaly


@pytest.mark.parametrize(
    ("name", "value", "seen"),
    [
        ("CUDA_LAUNCH_BLOCKING", "1", True),
        ("CUDA_LAUNCH_BLOCKING", "0", False),
        ("PYTHONMALLOC", "debug", True),
        ("PYTHONMALLOC", "malloc", False),
        ("TORCH_DISTRIBUTED_DEBUG", "DETAIL", True),
        ("TORCH_DISTRIBUTED_DEBUG", "OFF", False),
    ],
)
def test_variables_for_debugging_are_seen(
    name: str, value: str, seen: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    assert (conditions().debug == (f"{name}={value}",)) is seen


def test_autocast_left_on_is_seen() -> None:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert conditions().autocast == ("bfloat16",)


def test_flushed_denormals_are_seen() -> None:
    if not torch.set_flush_denormal(True):
        pytest.skip("this processor does not flush denormals")
    try:
        assert dict(conditions().flags)["flush_denormal"] == "True"
    finally:
        torch.set_flush_denormal(False)
    assert dict(conditions().flags)["flush_denormal"] == "False"
