"""Kept codes: quantised once for a weight, again for a changed one, and for nothing else."""

from __future__ import annotations

import copy
import pickle

import torch
from torch import nn

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
