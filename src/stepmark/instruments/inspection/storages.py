"""Storages: every piece of memory that operations touch gets a number of its own, and its death is noticed.

Addresses are used again after a piece is freed, numbers never are. A sparse tensor is its indices and values;
opaque layouts have no storage here.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator

import torch

BEFORE = -1
"""The birth of storages that were there before the first phase."""


def dense_parts(tensor: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """The strided tensors that hold its numbers."""
    if tensor.layout is torch.strided:
        return (tensor,)
    if tensor.layout is torch.sparse_coo:
        return (tensor._indices(), tensor._values())
    if tensor.layout in (torch.sparse_csr, torch.sparse_bsr):
        return (tensor.crow_indices(), tensor.col_indices(), tensor.values())
    if tensor.layout in (torch.sparse_csc, torch.sparse_bsc):
        return (tensor.ccol_indices(), tensor.row_indices(), tensor.values())
    return ()


def storages_of(tensor: torch.Tensor) -> Iterator[torch.UntypedStorage]:
    for part in dense_parts(tensor):
        try:
            yield part.untyped_storage()
        except (NotImplementedError, RuntimeError):  # a wrapper around other tensors
            continue


def footprint(tensor: torch.Tensor) -> int:
    """Bytes of memory behind the numbers that the tensor shows; an expanded tensor has few."""
    total = 0
    for part in dense_parts(tensor):
        shown = 1
        for size, stride in zip(part.shape, part.stride(), strict=True):
            shown *= size if stride or size == 0 else 1
        total += shown * part.element_size()
    return total


def unrepeated(tensor: torch.Tensor) -> torch.Tensor:
    """The same memory, each number of an expanded tensor once: what shows one twice cannot be written to."""
    for dimension, stride in enumerate(tensor.stride()):
        if stride == 0 and tensor.shape[dimension] > 1:
            tensor = tensor.narrow(dimension, 0, 1)
    return tensor


class Storages:
    """The numbers, sizes and births of storages, and how many bytes of them are alive."""

    def __init__(self) -> None:
        self._numbers: dict[int, int] = {}
        self._references: dict[int, weakref.ref[torch.UntypedStorage]] = {}
        self._next = 0
        self.births: dict[int, int] = {}
        self.sizes: dict[int, int] = {}
        self.live = 0
        """Bytes of those born in a phase."""
        self.peak = 0

    def known(self, storage: torch.UntypedStorage) -> bool:
        return storage._cdata in self._numbers

    def number(self, storage: torch.UntypedStorage, *, birth: int = BEFORE) -> int:
        """The storage's number; its birth is noted when it is met for the first time."""
        key = storage._cdata
        number = self._numbers.get(key)
        size = storage.nbytes()
        if number is None:
            number = self._next
            self._next += 1
            self._numbers[key] = number
            self.births[number] = birth
            self.sizes[number] = 0
            self._references[number] = weakref.ref(storage, lambda _: self._died(key, number))
        if size != self.sizes[number]:
            self._resized(number, size)
        return number

    def numbers(self, tensor: torch.Tensor, *, birth: int = BEFORE) -> tuple[int, ...]:
        return tuple(self.number(storage, birth=birth) for storage in storages_of(tensor))

    def alive(self) -> set[int]:
        return set(self._references)

    def bytes_born(self, *, without: Iterable[torch.Tensor]) -> int:
        """Bytes that phases made and that are alive now."""
        left_out = {number for tensor in without for number in self.numbers(tensor)}
        born = [one for one in self.alive() - left_out if self.births[one] != BEFORE]
        return sum(self.sizes[number] for number in born)

    def _resized(self, number: int, size: int) -> None:
        if self.births[number] != BEFORE:
            self.live += size - self.sizes[number]
            self.peak = max(self.peak, self.live)
        self.sizes[number] = size

    def _died(self, key: int, number: int) -> None:
        if self._numbers.get(key) == number:
            del self._numbers[key]
        self._references.pop(number, None)
        if self.births[number] != BEFORE:
            self.live -= self.sizes[number]
