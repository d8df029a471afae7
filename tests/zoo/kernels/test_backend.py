"""Backends: auto never surprises, and what is asked for by name and cannot be is refused with the reason."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
import torch
from torch import Tensor
from torch.autograd import forward_ad

from stepmark.zoo import FragmentedLinear, LoRAAdapter, layer_norm, rms_norm, softmax
from stepmark.zoo.kernels import backend as backends
from stepmark.zoo.kernels.backend import check_backend, resolve


def test_on_a_cpu_auto_is_torch() -> None:
    assert not resolve("auto", torch.ones(2))
    assert not resolve("torch", torch.ones(2))


def test_a_triton_kernel_on_a_cpu_needs_the_interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    assert resolve("triton", torch.ones(2))
    monkeypatch.delenv("TRITON_INTERPRET")
    with pytest.raises(ValueError, match="needs a CUDA tensor, and this one is on cpu"):
        resolve("triton", torch.ones(2))


@pytest.mark.gpu
def test_on_a_gpu_auto_is_triton() -> None:
    assert resolve("auto", torch.ones(2, device="cuda"))
    assert not resolve("torch", torch.ones(2, device="cuda"))


@pytest.mark.gpu
def test_a_gpu_without_triton_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backends, "has_triton", lambda: False)
    backends._why_not_on.cache_clear()
    assert not resolve("auto", torch.ones(2, device="cuda"))
    with pytest.raises(ValueError, match="triton is not installed"):
        resolve("triton", torch.ones(2, device="cuda"))
    backends._why_not_on.cache_clear()


@pytest.mark.parametrize("name", ["", "cuda", "Triton"])
def test_what_is_no_backend_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="expected backend 'auto', 'triton' or 'torch'"):
        check_backend(name)


OPERATIONS: dict[str, Callable[[str], Callable[[Tensor], Tensor]]] = {
    "rms_norm": lambda _: partial(rms_norm, backend="triton"),
    "layer_norm": lambda _: partial(layer_norm, backend="triton"),
    "softmax": lambda _: partial(softmax, backend="triton"),
    "fragmented": lambda device: FragmentedLinear(32, 16, 4, 2, device=device, backend="triton").eval(),
    "lora": lambda device: LoRAAdapter(32, 16, zero_b=False, device=device, backend="triton"),
}


@pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning")
@pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")  # torch's own
@pytest.mark.parametrize("name", OPERATIONS)
def test_derivatives_forwards_are_refused_and_do_not_get_lost(device: str, name: str) -> None:
    """Without gradients, too: there autograd still differentiates forwards."""
    operation, x = OPERATIONS[name](device), torch.randn(2, 32, device=device)
    with torch.no_grad():
        operation(x)
        with forward_ad.dual_level():
            operation(x)
            with pytest.raises(NotImplementedError, match="jvp"):
                operation(forward_ad.make_dual(x, torch.ones_like(x)))  # type: ignore[no-untyped-call]
