"""What stands in for a GPU where only the Python around a launch is looked at: devices, and a kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import prod
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

STREAM = 7


class OnDevice(Tensor):
    """A tensor of the CPU that says it lies on a GPU."""

    __torch_function__ = torch._C._disabled_torch_function_impl  # type: ignore[assignment]
    is_cuda = True
    number = 0

    def get_device(self) -> int:
        return self.number

    @property
    def device(self) -> torch.device:  # type: ignore[override]
        return torch.device("cuda", self.number)


class StandsIn:
    """A jit function of Triton with two devices."""

    arg_names = ("x", "size", "BLOCK")

    def __init__(self) -> None:
        self.current = 0
        self.asked: list[int] = []
        """The size of every launch that asked Triton."""
        self.launched: list[tuple[tuple[Any, ...], tuple[Any, ...]]] = []
        """Of every launch that did not: grid and stream, values and constants."""
        self.on: list[int] = []
        """The device of every launch."""

    def __getitem__(self, grid: tuple[int, int, int]) -> Callable[..., Any]:
        def launch(_: object, *values: Any, **__: Any) -> Any:
            self.asked.append(values[0])
            self.on.append(self.current)
            return SimpleNamespace(run=self._Run(self), function="handle", packed_metadata="packed")

        return launch

    class _Run:
        """Triton's launcher in Python, for a kernel that needs scratch memory."""

        global_scratch_size, profile_scratch_size = 1, 0

        def __init__(self, kernel: StandsIn) -> None:
            self._kernel = kernel

        def __call__(self, *given: Any) -> None:
            handles = 5
            self._kernel.launched.append((given[:4], given[4 + handles :]))
            self._kernel.on.append(self._kernel.current)

    @contextmanager
    def on_device(self, device: torch.device | int) -> Iterator[None]:
        before = self.current
        self.current = device if isinstance(device, int) else device.index
        try:
            yield
        finally:
            self.current = before

    def tensor(self, *shape: int, device: int = 0) -> Tensor:
        """Noughts, at an address that is a multiple of 16."""
        made = torch.zeros(prod(shape) + 16)
        skipped = -(made.data_ptr() // 4) % 4
        one = made[skipped : skipped + prod(shape)].view(shape).as_subclass(OnDevice)
        one.number = device
        return one
