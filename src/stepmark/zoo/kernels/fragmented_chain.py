"""A chain of FragmentedLinear's kernels: narrow features by splits, the choice, the fragments' products.

Scratch holds what one kernel leaves to the next. Called again with addresses as round as before, and not for
a graph, kernels are launched by addresses, with scratch of the thread and the stream: all that stays the same
from call to call was put together before.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import cache
from operator import itemgetter
from typing import Any, NamedTuple

import torch
from torch import Tensor

from stepmark.zoo.kernels.bound import ALIGNED, Bound, is_direct, scratch_address
from stepmark.zoo.kernels.fragmented_sizes import Parameters, Sizes
from stepmark.zoo.kernels.launch import Launcher

Found = tuple[Tensor, Tensor | None, Tensor | None]
"""y, h and the chosen fragments."""
Launches = Callable[..., None]
"""Of a whole chain, by the addresses of x, selector, weight, compressor, decompressor, bias and y."""


class Kernel(NamedTuple):
    """What is launched. It is given those of the places that it asks for, by their names."""

    name: str
    grid: tuple[int, int, int]
    options: dict[str, Any]


class Places(NamedTuple):
    """Where everything lies, by the names of the kernels' parameters: first what comes with every call."""

    x: Any
    selector: Any
    weight: Any
    compressor: Any
    decompressor: Any
    bias: Any
    y: Any
    scratch: Any
    hidden: Any
    chosen: Any
    rows: int
    x_stride: int


class _Step(NamedTuple):
    """A kernel about to be launched."""

    kernel: Kernel
    launcher: Launcher
    asked: Callable[[tuple[Any, ...]], tuple[Any, ...]]
    """Of all places those that it is given, in its order."""
    hands_on: bool
    """It writes or reads narrow features and choices."""


class Chain:
    """Kernels that leave nothing but y, and those that keep narrow features and choices too. `scratch` is how
    many float32 they leave to one another."""

    def __init__(
        self,
        sizes: Sizes,
        *,
        plain: Sequence[Kernel],
        keeping: Sequence[Kernel],
        scratch: int,
        hidden_dtype: torch.dtype,
        key: int,
    ) -> None:
        self.sizes, self.plain, self.keeping, self.key = sizes, plain, keeping, key
        self.shape = (sizes.rows, sizes.outputs)
        self.number, self.hidden_dtype = scratch, hidden_dtype
        self.hidden_at = 4 * _rounded(scratch)
        self.chosen_at = self.hidden_at + 4 * _rounded(sizes.rows * sizes.narrow)
        self._steps: dict[bool, tuple[_Step, ...]] = {}
        self._bound: dict[int, tuple[Bound, ...]] = {}
        self._known = _Known()

    def __call__(self, x: Tensor, parameters: Parameters, *, keep: bool = False) -> Found:
        stride = self.sizes.features if self.sizes.rows == 1 else x.stride(0)
        if x.is_cuda and not keep and is_direct() and not torch._C._cuda_isCurrentStreamCapturing():
            y = self._again(x, parameters, stride)
            if y is not None:
                return y, None, None
        steps = self.steps(keep=keep)
        places = self._places(x, parameters, stride, steps)
        for step in steps:
            kernel = step.kernel
            step.launcher(kernel.grid, *step.asked(places), key=(self.key, keep), **kernel.options)
        return places.y, places.hidden, places.chosen

    def steps(self, *, keep: bool) -> tuple[_Step, ...]:
        """The kernels, and what they are given: found once, because it takes as long as a launch."""
        steps = self._steps.get(keep)
        if steps is None:
            kernels = self.keeping if keep else self.plain
            steps = self._steps[keep] = tuple(map(_step, kernels))
        return steps

    def _places(self, x: Tensor, parameters: Parameters, stride: int, steps: Sequence[_Step]) -> Places:
        scratch = x.new_empty(self.number, dtype=torch.float32)
        hidden = chosen = None
        if any(step.hands_on for step in steps):
            hidden = x.new_empty(self.sizes.rows, self.sizes.narrow, dtype=self.hidden_dtype)
            chosen = x.new_empty(self.sizes.rows, dtype=torch.int32)
        y = x.new_empty(self.shape)
        return Places(x, *parameters, y, scratch, hidden, chosen, self.sizes.rows, stride)

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
                bound = self._bound[device] = self._bind(x, parameters)
            known = self._known.launches[device, stream] = self._filled_in(bound, device, stream)
        return known

    def _filled_in(self, bound: tuple[Bound, ...], device: int, stream: int) -> Launches:
        rows = self.sizes.rows
        scratch = scratch_address(self.chosen_at // 4 + rows, device, stream)
        steps = self.steps(keep=False)
        wanted = any(step.hands_on for step in steps)
        found = (scratch + self.hidden_at, scratch + self.chosen_at) if wanted else (None, None)
        more = (scratch, *found, rows, self.sizes.features)
        calls = [(*one.in_stream(stream), step.asked) for step, one in zip(steps, bound, strict=True)]

        def launches(*places: int | None) -> None:
            given = places + more
            for launch, head, constants, asked in calls:
                launch(*head, *asked(given), *constants)

        return launches

    def _bind(self, x: Tensor, parameters: Parameters) -> tuple[Bound, ...]:
        steps = self.steps(keep=False)
        places = self._places(x, parameters, self.sizes.features, steps)
        return tuple(
            Bound(step.launcher, step.kernel.grid, step.asked(places), step.kernel.options) for step in steps
        )


class _Known(threading.local):
    """Scratch is a thread's own."""

    def __init__(self) -> None:
        self.launches: dict[tuple[int, int], Launches] = {}


def _step(kernel: Kernel) -> _Step:
    launcher = launchers()[kernel.name]
    names = [name for name in launcher.function.arg_names if name not in kernel.options]
    told = all(kernel.options.get(name, True) for name in ("KEEP", "READY"))
    asked = itemgetter(*map(Places._fields.index, names))
    return _Step(kernel, launcher, asked, hands_on=told and "hidden" in names)


def _rounded(number: int) -> int:
    """Up to a multiple of 16 bytes of float32."""
    return -(-number // 4) * 4


@cache
def launchers() -> dict[str, Launcher]:
    """By the kernels' names."""
    from stepmark.zoo.kernels.fragmented_products_kernels import narrow_and_products, products_chosen
    from stepmark.zoo.kernels.fragmented_rows_kernels import choose_rows, expert_rows, narrow_rows
    from stepmark.zoo.kernels.fragmented_tiles_kernels import expert_groups, expert_tiles, narrow_tiles

    rows, tiles = (narrow_rows, choose_rows, expert_rows), (narrow_tiles, expert_tiles, expert_groups)
    products = (narrow_and_products, products_chosen)
    return {kernel.__name__: Launcher(kernel) for kernel in (*rows, *tiles, *products)}
