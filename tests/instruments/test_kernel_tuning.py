"""Kernel tuning: whoever is imported is counted, nobody is imported for it, and everything is still done."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from stepmark.instruments.kernel_tuning import KernelTuning


def triton() -> dict[str, Any]:
    """Modules like Triton's, and the zoo's."""

    class Autotuner:
        def _bench(self, config: int) -> int:
            return config + 1

    return {
        "triton.knobs": SimpleNamespace(compilation=SimpleNamespace(listener=None)),
        "triton.runtime.autotuner": SimpleNamespace(Autotuner=Autotuner),
        "stepmark.zoo.kernels.dispatch": SimpleNamespace(measure=lambda candidates: len(candidates)),
    }


def test_compiling_trying_and_choosing_are_counted_and_done() -> None:
    modules = triton()
    tuning = KernelTuning(modules)
    assert tuning.count() == 0
    modules["triton.knobs"].compilation.listener(src="kernel", cache_hit=False)
    assert tuning.count() == 1
    assert modules["triton.runtime.autotuner"].Autotuner()._bench(2) == 3
    assert tuning.count() == 2
    assert modules["stepmark.zoo.kernels.dispatch"].measure("abc") == 3
    assert tuning.count() == 3


def test_another_listener_still_hears() -> None:
    heard: list[str] = []
    modules = triton()
    modules["triton.knobs"].compilation.listener = lambda *, src: heard.append(src)
    tuning = KernelTuning(modules)
    tuning.count()
    modules["triton.knobs"].compilation.listener(src="kernel")
    assert (heard, tuning.count()) == (["kernel"], 1)


def test_what_comes_later_is_asked_when_it_is_there() -> None:
    modules: dict[str, Any] = {}
    tuning = KernelTuning(modules)
    assert tuning.count() == 0
    modules |= triton()
    assert tuning.count() == 0
    modules["triton.runtime.autotuner"].Autotuner()._bench(2)
    assert tuning.count() == 1


def test_other_versions_without_these_names() -> None:
    modules = {"triton.knobs": SimpleNamespace(), "triton.runtime.autotuner": SimpleNamespace()}
    assert KernelTuning(modules).count() == 0


@pytest.mark.gpu
def test_a_triton_kernel_that_is_tuned_is_counted() -> None:
    import torch

    from stepmark.instruments.torch_watch import TorchWatch
    from tests.instruments import tuned_kernel

    scale: Any = tuned_kernel.scale
    watch = TorchWatch("cuda")
    watch.compilations()
    scale(torch.randn(1024, device="cuda"))
    first = watch.compilations()
    assert first > 0
    scale(torch.randn(1024, device="cuda"))
    assert watch.compilations() == first
    scale(torch.randn(2048, device="cuda"))
    assert watch.compilations() > first
