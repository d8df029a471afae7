"""Creations: tensors that calls inside a phase make of random numbers or of Python's data.

Also seen on the way, because only calls of torch's functions show them: memory handed to code that is not
torch's, and the dtypes under which calls ran autocast.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from stepmark.instruments.inspection.operation_log import TINY, OperationLog
from stepmark.records.inspection import CreationKind

_RANDOM = frozenset(
    {"rand", "randn", "randint", "randperm", "normal", "rand_like", "randn_like", "randint_like"}
)
_REFILLED = frozenset({"normal_", "uniform_", "random_", "exponential_", "log_normal_", "cauchy_"})
"""They draw numbers into a tensor that is there; masks of a dropout are drawn by others."""
_HOST = frozenset({"tensor", "as_tensor", "asarray", "from_numpy", "frombuffer", "new_tensor"})
_UNDISPATCHED = ("from_numpy", "frombuffer")
"""Functions of torch that no mode sees."""
_LEAVING = frozenset({"numpy", "__array__", "__dlpack__", "data_ptr", "untyped_storage", "storage"})


@dataclass(frozen=True)
class Created:
    """One tensor, by the numbers of its storages."""

    kind: CreationKind
    call: str
    bytes: int
    numbers: tuple[int, ...]
    at: int
    """How many operations of the phase came before it."""


class CreationWatch(TorchFunctionMode):
    """A function mode beside the log of operations."""

    def __init__(self, log: OperationLog, device: torch.device) -> None:
        super().__init__()
        self._log = log
        self._device = device.type
        self.created: list[Created] = []
        """Of the phase that is going on."""
        self.autocast: set[str] = set()

    def begin(self) -> None:
        self.created = []

    @contextmanager
    def undispatched(self) -> Iterator[None]:
        """Also look at functions that no mode sees."""
        originals = {name: getattr(torch, name) for name in _UNDISPATCHED}
        try:
            for name, original in originals.items():
                setattr(torch, name, self._noting(name, original))
            yield
        finally:
            for name, original in originals.items():
                setattr(torch, name, original)

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")
        if torch.is_autocast_enabled(self._device):
            self.autocast.add(str(torch.get_autocast_dtype(self._device)).removeprefix("torch."))
        if name in _LEAVING and args and isinstance(args[0], torch.Tensor):
            self._log.escaped(args[0], writable=True)
        elif name == "tolist":
            self._log.escaped(args[0], writable=False)
        result = func(*args, **kwargs)
        if name in _RANDOM or name in _REFILLED:
            self._note(CreationKind.RANDOM, name, result)
        elif name in _HOST and not _made_of_tensors(args, kwargs):
            self._note(CreationKind.HOST, name, result)
        return result

    def _noting(self, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            result = original(*args, **kwargs)
            self._note(CreationKind.HOST, name, result)
            return result

        return call

    def _note(self, kind: CreationKind, name: str, made: Any) -> None:
        if not isinstance(made, torch.Tensor) or not self._log.phases:
            return
        if kind is CreationKind.HOST and self._log.phases[-1].handed_out:
            return  # the result of a kernel that is not torch's comes back this way
        size = made.numel() * made.element_size()
        if size > TINY and made.dim():
            now = self._log.phases[-1]
            numbers = self._log.storages.numbers(made, birth=now.index)
            call = f"Tensor.{name}" if name in _REFILLED or name == "new_tensor" else f"torch.{name}"
            self.created.append(Created(kind, call, size, numbers, len(now.operations)))


def _made_of_tensors(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """`new_tensor` is called on a tensor and given data."""
    data = args[-1] if args else next(iter(kwargs.values()), None)
    return isinstance(data, torch.Tensor)
