"""Sizes of a FragmentedLinear call, its parameters, and how its features are split among programs."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor


class Parameters(NamedTuple):
    """Of the layer, in the order of its definition."""

    selector: Tensor
    weight: Tensor
    compressor: Tensor
    decompressor: Tensor
    bias: Tensor | None


class Sizes(NamedTuple):
    """What a kernel's configuration follows from."""

    rows: int
    fragments: int
    size: int
    """Features a fragment."""
    outputs: int
    narrow: int
    dtype: torch.dtype
    has_bias: bool

    @property
    def features(self) -> int:
        return self.fragments * self.size

    @property
    def key(self) -> tuple[int | str, ...]:
        """For a table of choices: rows as the next power of two."""
        dtype = str(self.dtype).removeprefix("torch.")
        return (next_power(self.rows), self.fragments, self.size, self.outputs, self.narrow, dtype)


class Split(NamedTuple):
    """Programs that share the features of a row: each has some whole fragments, or a piece of one."""

    splits: int
    length: int
    """Features a program at most, a power of two."""
    own: int
    """Fragments a program."""
    pieces: int
    """Programs a fragment, a power of two; those past its end have nothing to do."""


def sizes_of(x: Tensor, parameters: Parameters) -> Sizes:
    fragments, size, outputs = parameters.weight.shape
    narrow, has_bias = parameters.compressor.shape[1], parameters.bias is not None
    return Sizes(x.shape[0], fragments, size, outputs, narrow, x.dtype, has_bias)


def split_for_rows(sizes: Sizes, splits: int) -> Split:
    """About so many splits. Fragments share one where their size is a power of two, as sums over each of them
    are taken by reshaping."""
    length = max(16, next_power(-(-sizes.features // splits)))
    if length > sizes.size:
        own = length // sizes.size if sizes.size == next_power(sizes.size) else 1
        own = min(own, next_power(sizes.fragments))
        return Split(-(-sizes.fragments // own), next_power(own * sizes.size), own, 1)
    return _in_pieces(sizes, length)


def split_for_tiles(sizes: Sizes, splits: int) -> Split:
    """About so many splits, of any number of fragments."""
    if splits <= sizes.fragments:
        own = -(-sizes.fragments // splits)
        return Split(-(-sizes.fragments // own), next_power(own * sizes.size), own, 1)
    return _in_pieces(sizes, max(16, next_power(-(-sizes.features // splits))))


def _in_pieces(sizes: Sizes, length: int) -> Split:
    pieces = next_power(-(-sizes.size // length))
    return Split(sizes.fragments * pieces, length, 1, pieces)


def next_power(number: int) -> int:
    """The smallest power of two that is not below."""
    return 1 << (number - 1).bit_length()
