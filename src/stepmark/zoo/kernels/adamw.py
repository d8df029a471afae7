"""An Adam or AdamW step of many tensors in one launch per pair of dtypes, in float32 whatever the dtypes.

Traffic    per entry: parameter, gradient and two moments read, all but the gradient written: 28 bytes in
           float32, 22 for half parameters with float32 moments
Tables     Addresses go to the device once and again only when one of them changes; so do the settings. What a
           step reads there (settings, counts of steps, a learning rate that is a tensor) may change between
           replays of a CUDA graph that holds the step. A step that is captured needs one before it that is
           not, which makes the state.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import torch
from torch import Tensor

from stepmark.zoo.kernels.adamw_table import Place, pieces_of
from stepmark.zoo.kernels.dispatch import is_capturing
from stepmark.zoo.kernels.launch import Launcher

DTYPES = (torch.float32, torch.bfloat16, torch.float16)
PIECE, WARPS = 2048, 4
"""Entries of a piece and the warps that take it. Of 1024, 2048 and 4096 with 4 and 8 the fastest on an H200:
0.94 of a copy's rate in float32. Pieces of 4096 take 1.4 times as long: fewer fit a multiprocessor."""
SHARE = 4
"""Programs per multiprocessor where there are fewer programs than pieces: 436 µs instead of 483 with half
moments on 124 million parameters, and 905 instead of 880 with float32 ones."""


class Entry(NamedTuple):
    """One parameter with what its step needs; all contiguous, `steps` a float32 scalar."""

    parameter: Tensor
    gradient: Tensor
    first: Tensor
    second: Tensor
    steps: Tensor
    group: int


class Settings(NamedTuple):
    """Of one group; a learning rate that is a float32 scalar on the device is read there."""

    lr: float | Tensor
    betas: tuple[float, float]
    eps: float
    decay: float

    def numbers(self) -> list[float]:
        """A row of the settings' table: shares and logarithms are taken in float64, where they are exact."""
        shares = [1.0 - beta for beta in self.betas]
        logs = [math.log(beta) if beta > 0.0 else -math.inf for beta in self.betas]
        lr = 0.0 if isinstance(self.lr, Tensor) else self.lr
        return [lr, self.decay, self.eps, *shares, *logs, 0.0]


class Launch(NamedTuple):
    """One launch's tables, and the tensors that must live as long as their addresses are in them."""

    tensors: Tensor
    pieces: Tensor
    finished: Tensor
    dtypes: tuple[torch.dtype, torch.dtype]
    held: tuple[Tensor, ...]


class FusedAdam:
    """The steps of one optimizer on one device."""

    def __init__(self, device: torch.device, *, decoupled: bool) -> None:
        self.device, self.decoupled = device, decoupled
        self.settings = torch.empty(0)
        self._written: list[Settings] = []
        self._pieces: dict[object, Tensor] = {}
        self._finished: dict[object, Tensor] = {}
        self._spare: dict[int, Tensor] = {}
        self._read_by_graphs: list[Tensor] = []
        self.piece, self.warps = PIECE, WARPS
        self.programs: int | None = None

    def prepare(self, entries: Sequence[Entry], groups: Sequence[Settings]) -> list[Launch]:
        """The launches for these entries, one per pair of dtypes."""
        pairs = sorted({_dtypes(entry) for entry in entries}, key=str)
        return [
            self._launch([entry for entry in entries if _dtypes(entry) == pair], groups) for pair in pairs
        ]

    def write(self, groups: Sequence[Settings]) -> None:
        """The groups' settings to the device, where they changed."""
        if self._written == groups:
            return
        if is_capturing():
            raise RuntimeError("settings changed since the last step: write_settings() before capturing one")
        numbers = [group.numbers() for group in groups]
        written = self._sent(torch.tensor(numbers, dtype=torch.float32))
        if written.shape == self.settings.shape:
            self.settings.copy_(written)
        else:
            self.settings = written
        self._written = list(groups)

    def run(self, launches: Sequence[Launch]) -> None:
        """In the current stream."""
        for tensors, pieces, finished, dtypes, _ in launches:
            parameters, states = _in_triton(dtypes)
            _launcher()(
                (self._programs(len(pieces), dtypes), 1, 1),
                tensors, pieces, self.settings, finished, len(pieces), len(tensors),
                key=(dtypes, self.decoupled, self.piece, self.warps),
                PARAMETERS=parameters, STATES=states, SIZE=self.piece, DECOUPLED=self.decoupled,
                num_warps=self.warps,
            )  # fmt: skip

    def _programs(self, num_pieces: int, dtypes: tuple[torch.dtype, torch.dtype]) -> int:
        """One per piece; where moments are half, too little is in a piece to be worth one's start."""
        few = SHARE * _processors(self.device) if dtypes[1].itemsize == 2 else num_pieces
        return max(1, min(num_pieces, few if self.programs is None else self.programs))

    def _launch(self, entries: Sequence[Entry], groups: Sequence[Settings]) -> Launch:
        places = [_place(entry, self._lr_address(groups, entry.group)) for entry in entries]
        lengths = tuple(entry.parameter.numel() for entry in entries)
        aligned = tuple(place.is_aligned() for place in places)
        if (pieces := self._pieces.get((lengths, aligned))) is None:
            pieces = self._pieces[lengths, aligned] = self._sent(pieces_of(lengths, aligned, self.piece))
        dtypes = _dtypes(entries[0])
        if (finished := self._finished.get(dtypes)) is None:
            finished = self._finished[dtypes] = torch.zeros((), dtype=torch.int32, device=self.device)
        tensors = self._sent(torch.tensor(places, dtype=torch.int64))
        held = tuple(one for entry in entries for one in (entry.first, entry.second, entry.steps))
        return Launch(tensors, pieces, finished, dtypes, held)

    def _lr_address(self, groups: Sequence[Settings], group: int) -> int:
        lr = groups[group].lr
        return lr.data_ptr() if isinstance(lr, Tensor) else self.settings[group].data_ptr()

    def _sent(self, table: Tensor) -> Tensor:
        """On the device. From pinned memory, so that nobody waits for it. A captured copy reads it at every
        replay: it is kept; and made beforehand, because memory may not be pinned during a capture."""
        if self.device.type != "cuda":
            return table
        if is_capturing() and table.nbytes in self._spare:
            pinned = self._spare.pop(table.nbytes).view(table.dtype).view(table.shape).copy_(table)
        else:
            pinned = table.pin_memory()
        if is_capturing():
            self._read_by_graphs.append(pinned)
        elif table.nbytes not in self._spare:
            self._spare[table.nbytes] = torch.empty(table.nbytes, dtype=torch.uint8).pin_memory()
        return pinned.to(self.device, non_blocking=True)


def _place(entry: Entry, lr: int) -> Place:
    parameter, gradient, first, second, steps = (tensor.data_ptr() for tensor in entry[:5])
    return Place(parameter, gradient, first, second, steps, lr, entry.group)


def _dtypes(entry: Entry) -> tuple[torch.dtype, torch.dtype]:
    return entry.parameter.dtype, entry.first.dtype


@cache
def _in_triton(dtypes: tuple[torch.dtype, torch.dtype]) -> tuple[Any, ...]:
    import triton.language

    return tuple(getattr(triton.language, str(dtype).removeprefix("torch.")) for dtype in dtypes)


@cache
def _processors(device: torch.device) -> int:
    return torch.cuda.get_device_properties(device).multi_processor_count if device.type == "cuda" else 1


@cache
def _launcher() -> Launcher:
    from stepmark.zoo.kernels.adamw_kernels import adam_step

    return Launcher(adam_step)
