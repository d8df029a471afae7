"""Waits: torch's warnings and explicit waits become places; everything is put back."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest
import torch

from stepmark.instruments.inspection.impression import impression
from stepmark.instruments.inspection.optimizer_watch import OptimizerWatch
from stepmark.instruments.inspection.waits import waits_told, watched_waits

HERE = Path(__file__).name


def warn_like_torch() -> None:
    warnings.warn("called a synchronizing CUDA operation (Triggered internally at x.cpp:1)", stacklevel=2)


def test_torchs_warnings_are_places_and_others_are_not() -> None:
    with waits_told() as told:
        for _ in range(3):
            warn_like_torch()
        warnings.warn("something else", stacklevel=1)
    assert len(told) == 3
    assert len(set(told)) == 1
    assert told[0].startswith(f"{HERE}:")


def test_what_the_inspection_itself_asks_for_is_no_wait_of_the_step() -> None:
    with waits_told() as told:
        warnings.warn_explicit(
            "called a synchronizing CUDA operation", UserWarning, impression.__code__.co_filename, 7
        )
        warn_like_torch()
    assert len(told) == 1
    assert told[0].startswith(f"{HERE}:")


@pytest.mark.parametrize("owner", [torch.cuda, torch.accelerator])
def test_explicit_waits_are_seen_and_done(owner: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[object] = []
    monkeypatch.setattr(owner, "synchronize", lambda device=None: done.append(device))
    plain = owner.synchronize
    with waits_told() as told:
        owner.synchronize("cuda:0")
    assert done == ["cuda:0"]
    assert told[0].startswith(f"{HERE}:")
    assert owner.synchronize is plain


def test_a_step_that_fails_leaves_everything_as_it_was() -> None:
    before = torch.cuda.synchronize, torch.cuda.Stream.synchronize, torch.cuda.Event.synchronize
    with pytest.raises(RuntimeError), waits_told():
        raise RuntimeError
    assert (torch.cuda.synchronize, torch.cuda.Stream.synchronize, torch.cuda.Event.synchronize) == before


def test_on_a_cpu_nobody_waits() -> None:
    with watched_waits(torch.device("cpu")) as places:
        torch.zeros(3).sum().item()
    assert places == []


@pytest.mark.gpu
def test_a_value_that_is_asked_for_is_a_wait() -> None:
    device = torch.device("cuda")
    x = torch.randn(1000, device=device)
    with watched_waits(device) as places:
        x.mul(2.0)
    assert places == []
    with watched_waits(device) as places:
        x.sum().item()
        x.cpu()
        torch.nonzero(x > 0)
        torch.cuda.synchronize()
    assert len(places) == 4
    assert all(place.startswith(f"{HERE}:") for place in places)
    assert torch.cuda.get_sync_debug_mode() == 0


@pytest.mark.gpu
def test_an_optimizer_that_is_watched_does_not_wait() -> None:
    layer = torch.nn.Linear(200, 200, device="cuda")
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    layer(torch.randn(4, 200, device="cuda")).sum().backward()
    watch = OptimizerWatch(dict(layer.named_parameters()), optimizer)
    with watched_waits(torch.device("cuda")) as places, watch.iteration():
        optimizer.step()
    assert places == []
    facts = watch.facts()
    assert facts is not None
    assert facts.changed == 2
