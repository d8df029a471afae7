"""A chain of FragmentedLinear's kernels: narrow features by splits, the choice, the fragments' products.

Scratch holds the sums over splits (see fragmented_rows_kernels). Called again with addresses as round as
before, and not for a graph, kernels are launched by addresses, with scratch of the thread and the stream: all
that stays the same from call to call was put together before.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

import torch
from torch import Tensor

from stepmark.zoo.kernels.bound import ALIGNED, Bound, is_direct, scratch_address
from stepmark.zoo.kernels.fragmented_sizes import Parameters, Sizes, Split
from stepmark.zoo.kernels.launch import Launcher

Found = tuple[Tensor, Tensor | None, Tensor | None]
"""y, h and the chosen fragments."""
Launches = Callable[..., None]
"""Of a whole chain, by the addresses of x, selector, weight, compressor, decompressor, bias and y."""


class Kernel(NamedTuple):
    """What is launched."""

    name: str
    grid: tuple[int, int, int]
    options: dict[str, Any]


class Places(NamedTuple):
    """Where everything lies."""

    x: Any
    selector: Any
    weight: Any
    compressor: Any
    decompressor: Any
    bias: Any
    scratch: Any
    hidden: Any
    chosen: Any
    y: Any


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
        self._known = _Known()

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

    def _launches(self, at: Places, stride: int, *, ready: bool) -> Iterator[tuple[Kernel, tuple[Any, ...]]]:
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
        y = x.new_empty(self.shape)
        places = [None if one is None else one.data_ptr() for one in (x, *parameters, y)]
        if any((place or 0) & ALIGNED for place in places) or stride != self.sizes.features:
            return None
        device = torch._C._cuda_getDevice()
        self.launches(device, torch._C._cuda_getCurrentRawStream(device), x, parameters)(*places)
        return y

    def launches(self, device: int, stream: int, x: Tensor, parameters: Parameters) -> Launches:
        """For this thread and x with rows that follow one another, where all addresses are round."""
        known = self._known.launches.get((device, stream))
        if known is None:
            bound = self._bound.get(device)
            if bound is None:
                bound = self._bound[device] = self._bind(x, parameters, self.sizes.features)
            known = self._known.launches[device, stream] = self._filled_in(bound, device, stream)
        return known

    def _filled_in(self, bound: tuple[Bound, ...], device: int, stream: int) -> Launches:
        rows, stride, ready = self.sizes.rows, self.sizes.features, not self.inline
        scratch = scratch_address(self.chosen_at // 4 + rows, device, stream)
        found = (scratch + self.hidden_at, scratch + self.chosen_at) if ready else (None, None)
        (narrow, *choosing, expert) = [one.in_stream(stream) for one in bound]
        first, first_head, constants = narrow
        first_tail = (scratch, rows, stride, *constants)
        second, second_all = None, ()
        for launch, head, constants in choosing:
            second, second_all = launch, (*head, scratch, *found, rows, *constants)
        third, third_head, constants = expert
        third_middle = (scratch, *found) if self.takes_scratch else found
        third_tail = (rows, stride, *constants)

        def launches(*places: int | None) -> None:
            x, s, w, c, d, b, y = places
            first(*first_head, x, s, c, *first_tail)
            if second is not None:
                second(*second_all)
            third(*third_head, x, w, d, b, *third_middle, y, *third_tail)

        return launches

    def _bind(self, x: Tensor, parameters: Parameters, stride: int) -> tuple[Bound, ...]:
        ready = not self.inline
        places = self._tensors(x, parameters, ready=ready)
        launches = list(self._launches(places, stride, ready=ready))
        return tuple(
            Bound(launchers()[kernel.name], kernel.grid, values, kernel.options)
            for kernel, values in launches
        )


class _Known(threading.local):
    """Scratch is a thread's own."""

    def __init__(self) -> None:
        self.launches: dict[tuple[int, int], Launches] = {}


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
