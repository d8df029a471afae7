"""Launches of LoRA's kernels: launchers, made when Triton is first needed, and what they are told."""

from __future__ import annotations

from functools import cache, reduce
from itertools import count
from operator import or_
from typing import Any, NamedTuple

import torch
from torch import Tensor

from stepmark.zoo.kernels.launch import Known, Launcher
from stepmark.zoo.kernels.lora_sizes import Sizes, Tile


def padded(rank: int) -> int:
    return max(16, 1 << (rank - 1).bit_length())


def exactness(sizes: Sizes) -> str:
    """Of products of float32; products of 16 bits have one only."""
    return "tf32" if sizes.precision == "tf32" else "ieee"


keys = count()


def options_of(tile: Tile, sizes: Sizes, depth: int, **flags: bool) -> dict[str, Any]:
    """Constants and options of a launch, and a key that stands for them and for the dtype."""
    return {
        "R": sizes.rank,
        **flags,
        "BM": tile.rows,
        "BN": tile.columns,
        "BK": tile.depth,
        "BR": padded(sizes.rank),
        "EVEN_K": depth % tile.depth == 0,
        "PRECISION": exactness(sizes),
        "num_warps": tile.warps,
        "num_stages": tile.stages,
        "key": next(keys),
    }


class FixedLaunch:
    """A launch whose grid, numbers and constants stay as they are: tensors change, and the scale, where a
    kernel has one.

    With every tensor aligned, as torch allocates them, the compiled kernel is the one that the launcher found
    when it was last asked with these numbers; so it is not asked, which is half of a launch's host time.
    """

    def __init__(
        self,
        launcher: Launcher,
        grid: tuple[int, int, int],
        numbers: tuple[int, ...],
        options: dict[str, Any],
    ) -> None:
        self.launcher, self.grid, self.numbers, self.options = launcher, grid, numbers, options
        self._aligned: dict[int, Known] = {}

    def __call__(self, *tensors: Tensor, scale: float | None = None) -> None:
        scales = () if scale is None else (scale,)
        addresses = [*map(Tensor.data_ptr, tensors)]
        if not self._aligned or reduce(or_, addresses) % 16:
            self._ask(tensors, addresses, scales)
            return
        device = torch._C._cuda_getDevice()
        known = self._aligned.get(device)
        if known is None or tensors[0].get_device() != device:
            self._ask(tensors, addresses, scales)
            return
        launch, handles, constants = known
        stream = torch._C._cuda_getCurrentRawStream(device)
        launch(*self.grid, stream, *handles, *addresses, *self.numbers, *scales, *constants)

    def _ask(self, tensors: tuple[Tensor, ...], addresses: list[int], scales: tuple[float, ...]) -> None:
        """And remember what the launcher does; where it keeps that in another way, ask it every time."""
        self.launcher(self.grid, *tensors, *self.numbers, *scales, **self.options)
        if tensors[0].is_cuda and not any(address % 16 for address in addresses):
            device = tensors[0].get_device()
            values = (*addresses, *self.numbers, *scales)
            known = self.launcher.known(device, self.options["key"], values)
            if known is not None:
                self._aligned[device] = known


class Launchers(NamedTuple):
    whole: Launcher
    thin: Launcher
    spread: Launcher
    rows: Launcher
    gradients: Launcher
    sum: Launcher
    backward: Launcher
    fused: Launcher


@cache
def launchers() -> Launchers:
    """Made when first used: Triton is imported here."""
    from stepmark.zoo.kernels import lora_gradients_kernels as gradients
    from stepmark.zoo.kernels import lora_kernels as kernels

    return Launchers(
        Launcher(kernels.whole_kernel),
        Launcher(kernels.thin_kernel),
        Launcher(kernels.spread_kernel),
        Launcher(kernels.rows_kernel),
        Launcher(gradients.gradients_kernel),
        Launcher(gradients.sum_kernel),
        Launcher(gradients.backward_kernel),
        Launcher(kernels.fused_kernel),
    )


@cache
def processors() -> int:
    """Streaming multiprocessors of the current device; in the interpreter a few programs stand for them."""
    if not torch.cuda.is_available():
        return 4
    return int(torch.cuda.get_device_properties(torch.cuda.current_device()).multi_processor_count)
