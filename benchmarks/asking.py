"""What it costs a norm or a softmax to ask whether torch is to compute: `python -m benchmarks.asking`.

Ten seconds, without a GPU: the question is Python, and the same whoever computes. Tensors of four rows of
eight are on the CPU and say that they are on CUDA, where torch was decided for. Microseconds, the least of
many rounds in which both take turns.
"""

from __future__ import annotations

import timeit
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional

from benchmarks.machine import machine_line
from stepmark.zoo.kernels import row_choice
from stepmark.zoo.norms import layer_norm, rms_norm
from stepmark.zoo.softmax import softmax

WIDTH = 8
CALLS, ROUNDS = 1000, 100
Call = Callable[[], object]


class SaysCuda(Tensor):
    """A tensor of the CPU."""

    __torch_function__ = torch._C._disabled_torch_function_impl  # type: ignore[assignment]
    is_cuda = True
    is_cpu = False


def tensor(*shape: int) -> Tensor:
    return torch.randn(shape).as_subclass(SaysCuda).requires_grad_()


def calls(x: Tensor, weight: Tensor, bias: Tensor) -> dict[str, tuple[Call, Call]]:
    """Torch's function and ours."""
    row = (WIDTH,)
    return {
        "LayerNorm": (
            lambda: functional.layer_norm(x, row, weight, bias, 1e-5),
            lambda: layer_norm(x, weight, bias, eps=1e-5),
        ),
        "RMSNorm": (
            lambda: functional.rms_norm(x, row, weight, 1e-5),
            lambda: rms_norm(x, weight, eps=1e-5),
        ),
        "softmax": (lambda: torch.softmax(x, -1), lambda: softmax(x)),
    }


def decide(x: Tensor, weight: Tensor, bias: Tensor) -> None:
    """For torch, with these tensors and gradients as they are now."""
    for name, vectors in {"layer_norm": (weight, bias), "rms_norm": (weight,), "softmax": ()}.items():
        row_choice.remember(False, name, "auto", x, *vectors)


def least(*timed: Call) -> list[float]:
    """Microseconds of each."""
    found = [float("inf")] * len(timed)
    for _ in range(ROUNDS):
        for place, call in enumerate(timed):
            found[place] = min(found[place], timeit.timeit(call, number=CALLS) / CALLS * 1e6)
    return found


def main() -> None:
    torch.set_num_threads(1)
    if not torch.cuda.is_available():  # without a driver torch cannot be asked of captures
        row_choice._is_capturing = lambda: False
    print(machine_line())
    tensors = tensor(4, WIDTH), tensor(WIDTH), tensor(WIDTH)
    for gradients in (True, False):
        with torch.set_grad_enabled(gradients):
            decide(*tensors)
            for name, (plain, ours) in calls(*tensors).items():
                torchs, asked = least(plain, ours)
                told = name if gradients else f"{name}, no gradients"
                print(f"{told}: torch {torchs:.2f} us, asking adds {asked - torchs:.2f}")


if __name__ == "__main__":
    main()
