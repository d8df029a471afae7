"""Peers of SwitchBack, where they are carried: bitsandbytes' kernels (patched) and torchao's int8 training.

bitsandbytes 0.49.2's files under bitsandbytes/triton, in a package with empty __init__ files, with
`tl.libdevice.llrint(...)` written as `libdevice.llrint((...).to(tl.float32))` of triton.language.extra.cuda,
so that Triton 3.6 compiles them; tuned by measurements of 6 ms, not 125, and its row quantiser, which has no
loop, over warps alone and not over stages.
They are looked for in the folders bnb and torchao of the one that STEPMARK_PEERS names. Where they are not
there they are left out, which is said.
"""

from __future__ import annotations

import os
import sys
from functools import cache, partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from benchmarks.h200.common import Call

CARRIED = Path(os.environ.get("STEPMARK_PEERS", "no-peers"))


@cache
def _is_there(folder: Path) -> bool:
    """Said once where it is not: a table without a column should not look like one that has all."""
    if not folder.exists():
        print(f"left out: there is no folder {folder}; STEPMARK_PEERS names the one above", flush=True)
    return folder.exists()


def bitsandbytes_calls(x: Tensor, g: Tensor, w: Tensor) -> dict[str, Call]:
    """A forward and backward pass of each of its two variants; float16 only, as they are."""
    folder = CARRIED / "bnb"
    if not _is_there(folder) or x.dtype != torch.float16:
        return {}
    sys.path.insert(0, str(folder))
    try:
        kernels = _BitsAndBytes()
    except Exception as error:
        print(f"bitsandbytes: {type(error).__name__}: {error}", flush=True)
        return {}
    finally:
        sys.path.remove(str(folder))
    return {
        "bnb rowwise": partial(kernels.rowwise, x, g, w),
        "bnb global": partial(kernels.whole, x, g, w),
    }


class _BitsAndBytes:
    """Its functions, under the names that they have there."""

    def __init__(self) -> None:
        import triton
        from bitsandbytes.triton import int8_matmul_mixed_dequantize as mixed  # type: ignore[import-not-found]
        from bitsandbytes.triton import int8_matmul_rowwise_dequantize as rowwise
        from bitsandbytes.triton import quantize_columnwise_and_transpose as columns
        from bitsandbytes.triton import quantize_global as whole
        from bitsandbytes.triton import quantize_rowwise as rows

        self.rows, self.columns, self.global_ = rows, columns, whole
        self.row_product = rowwise.int8_matmul_rowwise_dequantize
        self.global_product = mixed.int8_matmul_mixed_dequantize
        for module in (mixed, rowwise, columns, whole, rows):
            for found in vars(module).values():
                _tune_quickly(found, triton)

    def rowwise(self, x: Tensor, g: Tensor, w: Tensor) -> None:
        x8, x_scale = self.rows.quantize_rowwise(x)
        w8, w_scale = self.rows.quantize_rowwise(w)
        self.row_product(x8, w8.t(), x_scale, w_scale, None)
        g8, g_scale = self.rows.quantize_rowwise(g)
        turned, turned_scale = self.columns.quantize_columnwise_and_transpose(w)
        self.row_product(g8, turned.t(), g_scale, turned_scale, None)
        torch.mm(g.t(), x)

    def whole(self, x: Tensor, g: Tensor, w: Tensor) -> None:
        x8, x_scale = self.rows.quantize_rowwise(x)
        w8, w_scale = self.global_.quantize_global(w)
        self.global_product(x8, w8.t(), x_scale, w_scale, None)
        g8, g_scale = self.rows.quantize_rowwise(g)
        turned, turned_scale = self.global_.quantize_global_transpose(w)
        self.global_product(g8, turned.t(), g_scale, turned_scale, None)
        torch.mm(g.t(), x)


def _tune_quickly(kernel: Any, triton: Any) -> None:
    while hasattr(kernel, "fn") and not hasattr(kernel, "configs"):
        kernel = kernel.fn
    if not isinstance(kernel, triton.runtime.Autotuner):
        return
    kernel.do_bench = partial(triton.testing.do_bench, warmup=1, rep=5)
    if not any(config.kwargs for config in kernel.configs):
        by_warps = {config.num_warps: config for config in kernel.configs}
        kernel.configs = [*by_warps.values()]


def torchao_calls(x: Tensor, g: Tensor, w: Tensor) -> dict[str, Call]:
    """torchao's int8 training of a linear layer, weight gradient in 16 bits, compiled; with autograd."""
    folder = CARRIED / "torchao"
    if not _is_there(folder):
        return {}
    sys.path.insert(0, str(folder))
    try:
        layer = _torchao_layer(w)
    except Exception as error:
        print(f"torchao: {type(error).__name__}: {error}", flush=True)
        return {}
    finally:
        sys.path.remove(str(folder))
    leaf = x.detach().requires_grad_()

    def both_passes() -> None:
        leaf.grad = None
        for parameter in layer.parameters():
            parameter.grad = None
        layer(leaf).backward(g)

    return {"torchao compiled": both_passes}


def _torchao_layer(w: Tensor) -> Any:
    from torchao import quantize_  # type: ignore[import-not-found]
    from torchao.prototype.quantized_training import (  # type: ignore[import-not-found]
        Int8MixedPrecisionTrainingConfig,
    )

    layer = torch.nn.Linear(w.shape[1], w.shape[0], bias=False, device=w.device, dtype=w.dtype)
    with torch.no_grad():
        layer.weight.copy_(w)
    quantize_(layer, Int8MixedPrecisionTrainingConfig(output=True, grad_input=True, grad_weight=False))
    return torch.compile(layer, dynamic=False)
