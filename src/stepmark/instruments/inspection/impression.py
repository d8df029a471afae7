"""An impression of a tensor's values: enough to tell later whether they have changed."""

from __future__ import annotations

from collections.abc import Iterable

import torch

_SMALL = 4096
"""Elements of a tensor that is copied to be compared; larger ones are summed up."""
_FEW = 256
"""Elements of a tensor that a quick look takes, in even steps."""


def impression(tensor: torch.Tensor) -> object:
    """Equal for equal values; for other values unequal, but for chances that do not matter."""
    if not _has_memory(tensor):
        return tensor.detach().float().sum().item()
    values = _numbers(tensor)
    if values.numel() <= _SMALL:
        return bytes_of(values)
    wide = torch.float64 if values.dtype.is_floating_point else torch.int64
    return values.sum(dtype=wide).item(), bytes_of(_sampled(values, _SMALL))


def impressions(tensors: Iterable[torch.Tensor]) -> list[bytes]:
    """A quick look at each: a change of a few numbers may escape it."""
    return [bytes_of(_sampled(_numbers(one), _FEW)) for one in tensors if _has_memory(one)]


def bytes_of(values: torch.Tensor) -> bytes:
    raw = values.detach().cpu().contiguous().view(-1)
    return raw.view(torch.uint8).numpy().tobytes() if raw.numel() else b""


def _has_memory(tensor: torch.Tensor) -> bool:
    """Of its own: a wrapper around other tensors has none."""
    return type(tensor) in (torch.Tensor, torch.nn.Parameter) and tensor.device.type != "meta"


def _numbers(tensor: torch.Tensor) -> torch.Tensor:
    """In a row, in a dtype that can be added up."""
    values = tensor.detach()
    if values.layout is not torch.strided:
        values = values.to_dense()
    if values.dtype.is_complex:
        values = torch.view_as_real(values.resolve_conj())
    if values.element_size() == 1:
        values = values.view(torch.uint8)
    return values.flatten()


def _sampled(values: torch.Tensor, most: int) -> torch.Tensor:
    return values[:: max(1, values.numel() // most)]
