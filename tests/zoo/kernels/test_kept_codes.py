"""Kept codes: quantised once for a weight, again for a changed one, and for nothing else."""

from __future__ import annotations

import copy
import pickle
from threading import Thread

import pytest
import torch
from torch import nn

from stepmark.zoo.kernels import kept_codes
from stepmark.zoo.kernels.kept_codes import KeptCodes
from stepmark.zoo.kernels.switchback import Way
from tests.zoo.kernels.stands_in import StandsIn
from tests.zoo.kernels.switchback_cases import both_passes, layer_of


def test_codes_are_kept_until_the_weight_changes(device: str) -> None:
    layer = layer_of(16, 8, ("vector", False), device=device, keep_codes=True)
    x, grad = torch.randn(4, 16, device=device), torch.randn(4, 8, device=device)
    fresh = both_passes(layer, x, grad)
    assert all(map(torch.equal, both_passes(layer, x, grad), fresh))
    assert layer._kept.num_quantised == 1
    with torch.no_grad():
        layer.weight.mul_(2.0)
    torch.testing.assert_close(both_passes(layer, x, grad)[1], 2 * fresh[1])
    assert layer._kept.num_quantised == 2
    layer.weight = nn.Parameter(layer.weight.detach() * 0.5)
    torch.testing.assert_close(both_passes(layer, x, grad)[1], fresh[1])
    layer.weight.data = layer.weight.data * 2.0
    torch.testing.assert_close(both_passes(layer, x, grad)[1], 2 * fresh[1])


def test_copies_and_stored_layers_compute_the_same(device: str) -> None:
    layer = layer_of(12, 5, ("global", False), device=device, keep_codes=True, precision="auto")
    x = torch.randn(4, 12, device=device)
    y = layer(x)
    for other in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert other._kept.num_quantised == 0
        assert torch.equal(other(x), y)
        assert (other.backend, other.precision, other.keep_codes) == ("triton", "auto", True)
    assert {*layer.state_dict()} == {"weight", "bias"}


def test_a_layer_made_in_inference_mode_computes(device: str) -> None:
    """What inference mode has made has no versions."""
    with torch.inference_mode():
        layer = layer_of(16, 8, ("vector", False), device=device, keep_codes=True)
        x = torch.randn(4, 16, device=device)
        y = layer(x)
        layer.weight.mul_(2.0)
        torch.testing.assert_close(layer(x) - layer.bias, 2 * (y - layer.bias))


class InterruptedWhenCompared(str):
    """The name of codes, before whose comparison another thread has its turn."""

    __slots__ = ("others",)
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        if others := getattr(self, "others", None):
            self.others = None
            others.start()
            others.join()
        return str.__eq__(self, other)


def test_codes_are_those_of_the_asking_thread(device: str) -> None:
    """Replicas of a layer share what is kept: another one's codes, on another device, may come in between."""
    kept = KeptCodes()
    own, others = (torch.full((2, 2), size, device=device) for size in (1.0, 2.0))
    way, same = (
        Way(InterruptedWhenCompared("int8"), one_scale=True, memory_efficient=False, measured=False)
        for _ in range(2)
    )
    assert kept.codes(own, own, way).scale.item() == 1.0
    way.code.others = Thread(target=kept.codes, args=(others, others, same))  # type: ignore[attr-defined]
    assert kept.codes(own, own, same).scale.item() == 1.0
    assert kept.codes(others, others, way).scale.item() == 2.0
    assert kept.num_quantised == 2


def test_another_stream_has_codes_of_its_own(monkeypatch: pytest.MonkeyPatch, stands_in: StandsIn) -> None:
    """It would read them before the kernels that make them have run."""
    kept, weight, stream = KeptCodes(), stands_in.tensor(2, 2), 7
    way = Way("int8", one_scale=True, memory_efficient=False, measured=False)
    monkeypatch.setattr(torch._C, "_cuda_getCurrentRawStream", lambda _: stream, raising=False)
    monkeypatch.setattr(kept_codes, "is_capturing", lambda: False)
    monkeypatch.setattr(kept_codes, "weight_codes", lambda *_: object())
    first = kept.codes(weight, weight, way)
    assert kept.codes(weight, weight, way) is first
    stream = 8
    second = kept.codes(weight, weight, way)
    assert second is not first
    assert kept.codes(weight, weight, way) is second
