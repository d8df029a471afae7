"""A chain of FragmentedLinear's kernels: narrow features by splits, the choice, the fragments' products.

Scratch holds the sums over splits (see fragmented_rows_kernels). Called again with addresses as round as
before, and not for a graph, kernels are launched by addresses, with scratch of the thread and the stream.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import torch
from torch import Tensor

from stepmark.zoo.kernels.bound import ALIGNED, Bound, is_direct, scratch_address
from stepmark.zoo.kernels.fragmented_sizes import Parameters, Sizes, Split
from stepmark.zoo.kernels.launch import Launcher

Found = tuple[Tensor, Tensor | None, Tensor | None]
"""y, h and the chosen fragments."""
Place = Any
"""A tensor, or its address."""


class Kernel(NamedTuple):
    """What is launched."""

    name: str
    grid: tuple[int, int, int]
    options: dict[str, Any]


class Places(NamedTuple):
    """Where everything lies."""

    x: Place
    selector: Place
    weight: Place
    compressor: Place
    decompressor: Place
    bias: Place
    scratch: Place
    hidden: Place
    chosen: Place
    y: Place


class Chain:
    """`first` and `third` kernels with the choice between them; inline, the third chooses for itself."""

    def __init__(
        self, sizes: Sizes, split: Split, kernels: tuple[Kernel, Kernel, Kernel], *, key: int, inline: bool
    ) -> None:
        self.sizes, self.key, self.inline = sizes, key, inline
        self.first, self.second, third = kernels
        self.takes_scratch = third.name == "expert_rows"
        ready = [{"READY": one} if self.takes_scratch else {} for one in (False, True)]
        self.thirds = [third._replace(options=third.options | more) for more in ready]
        self.shape = (sizes.rows, sizes.outputs)
        self.number = sizes.rows * split.splits * (2 * sizes.narrow + 2)
        self.hidden_dtype = torch.float32 if kernels[0].name == "narrow_rows" else sizes.dtype
        self.hidden_at = 4 * _rounded(self.number)
        self.chosen_at = self.hidden_at + 4 * _rounded(sizes.rows * sizes.narrow)
        self._bound: dict[int, tuple[Bound, ...]] = {}

    def __call__(self, x: Tensor, parameters: Parameters, *, keep: bool = False) -> Found:
        stride = self.sizes.features if self.sizes.rows == 1 else x.stride(0)
        if x.is_cuda and not keep and is_direct() and not torch._C._cuda_isCurrentStreamCapturing():
            y = self._again(x, parameters, stride)
            if y is not None:
                return y, None, None
        ready = keep or not self.inline
        places = self._tensors(x, parameters, ready=ready)
        for kernel, values in self._launches(places, stride, ready=ready):
            launchers()[kernel.name](kernel.grid, *values, key=(self.key, ready), **kernel.options)
        return places.y, places.hidden, places.chosen

    def _tensors(self, x: Tensor, parameters: Parameters, *, ready: bool) -> Places:
        scratch = x.new_empty(self.number, dtype=torch.float32)
        hidden = chosen = None
        if ready:
            hidden = x.new_empty(self.sizes.rows, self.sizes.narrow, dtype=self.hidden_dtype)
            chosen = x.new_empty(self.sizes.rows, dtype=torch.int32)
        return Places(x, *parameters, scratch, hidden, chosen, x.new_empty(self.shape))

    def _launches(
        self, at: Places, stride: int, *, ready: bool
    ) -> Iterator[tuple[Kernel, tuple[Place, ...]]]:
        rows = self.sizes.rows
        yield self.first, (at.x, at.selector, at.compressor, at.scratch, rows, stride)
        if ready:
            yield self.second, (at.scratch, at.hidden, at.chosen, rows)
        ours = (at.x, at.weight, at.decompressor, at.bias)
        if self.takes_scratch:
            yield self.thirds[ready], (*ours, at.scratch, at.hidden, at.chosen, at.y, rows, stride)
        else:
            yield self.thirds[ready], (*ours, at.hidden, at.chosen, at.y, rows, stride)

    def _again(self, x: Tensor, parameters: Parameters, stride: int) -> Tensor | None:
        """None where addresses are not as round as Triton likes them."""
        device, ready = torch._C._cuda_getDevice(), not self.inline
        stream = torch._C._cuda_getCurrentRawStream(device)
        y = x.new_empty(self.shape)
        selector, weight, compressor, decompressor, bias = parameters
        here, there = x.data_ptr(), y.data_ptr()
        s, w, c, d = selector.data_ptr(), weight.data_ptr(), compressor.data_ptr(), decompressor.data_ptr()
        b = None if bias is None else bias.data_ptr()
        if (here | there | s | w | c | d | (b or 0)) & ALIGNED or stride != self.sizes.features:
            return None
        bound = self._bound.get(device)
        if bound is None:
            bound = self._bound[device] = self._bind(x, parameters, stride)
        scratch = scratch_address(self.chosen_at // 4 + self.sizes.rows, device, stream)
        hidden, chosen = (scratch + self.hidden_at, scratch + self.chosen_at) if ready else (None, None)
        places = Places(here, s, w, c, d, b, scratch, hidden, chosen, there)
        for kernel, (_, values) in zip(bound, self._launches(places, stride, ready=ready), strict=True):
            kernel(stream, *values)
        return y

    def _bind(self, x: Tensor, parameters: Parameters, stride: int) -> tuple[Bound, ...]:
        ready = not self.inline
        places = self._tensors(x, parameters, ready=ready)
        launches = list(self._launches(places, stride, ready=ready))
        return tuple(
            Bound(launchers()[kernel.name], kernel.grid, values, kernel.options)
            for kernel, values in launches
        )


def _rounded(number: int) -> int:
    """Up to a multiple of 16 bytes of float32."""
    return -(-number // 4) * 4


@cache
def launchers() -> dict[str, Launcher]:
    """By the kernels' names."""
    from stepmark.zoo.kernels.fragmented_rows_kernels import choose_rows, expert_rows, narrow_rows
    from stepmark.zoo.kernels.fragmented_tiles_kernels import expert_groups, expert_tiles, narrow_tiles

    kernels = (narrow_rows, choose_rows, expert_rows, narrow_tiles, expert_tiles, expert_groups)
    return {kernel.__name__: Launcher(kernel) for kernel in kernels}
