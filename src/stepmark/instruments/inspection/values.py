"""Values: tensors whose numbers are unlike real data: zero, constant, denormal, NaN, infinite."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import torch

from stepmark.records.inspection import Degenerate, ValueKind

SAMPLE = 4 << 20
"""Elements above which a tensor is looked at in even steps instead of whole."""
FEW = 1 << 16
"""The same for denormal numbers."""


def degenerates(kind: ValueKind, tensors: Iterable[tuple[str, torch.Tensor]]) -> Iterator[Degenerate]:
    """Those that are degenerate; counts of a sampled tensor are scaled up to all its elements."""
    for name, tensor in tensors:
        found = degenerate(kind, name, tensor)
        if found is not None:
            yield found


def not_finite(tensors: Mapping[str, torch.Tensor]) -> tuple[str, ...]:
    """Names of those with NaN or infinite numbers among what is looked at."""
    return tuple(name for name, tensor in tensors.items() if not _is_finite(tensor))


def _is_finite(tensor: torch.Tensor) -> bool:
    """As far as can be known: tensors of other kinds, quantised ones for instance, may not allow a look."""
    try:
        values = _floats(tensor)
        if values is None or not values.numel():
            return True
        return all(_finite(one.item()) for one in torch.aminmax(_in_steps(values, SAMPLE)))
    except (RuntimeError, TypeError, ValueError):
        return True


def degenerate(kind: ValueKind, name: str, tensor: torch.Tensor) -> Degenerate | None:
    values = _floats(tensor)
    if values is None or not values.numel():
        return None
    sample = _in_steps(values, SAMPLE)
    scale = values.numel() / sample.numel()
    low, high = (one.item() for one in torch.aminmax(sample))
    everywhere = low == 0 or tensor.layout is not torch.sparse_coo or values.numel() >= tensor.numel()
    constant = values.numel() > 1 and low == high and everywhere  # a sparse one has its zeros besides
    finite = _finite(low) and _finite(high)
    nan = infinite = 0
    if not finite:
        nan = int(sample.isnan().sum().item() * scale)
        infinite = int(sample.isinf().sum().item() * scale)
    denormal = _denormals(values)
    if not (constant or nan or infinite or denormal):
        return None
    return Degenerate(
        kind=kind,
        name=name,
        elements=values.numel(),
        dimensions=tensor.dim(),
        constant=constant,
        zero=constant and low == 0,
        nan=nan,
        infinite=infinite,
        denormal=denormal,
    )


def _finite(value: float) -> bool:
    return value - value == 0


def _floats(tensor: torch.Tensor) -> torch.Tensor | None:
    """Its floating-point numbers in a row, in a dtype that can be compared."""
    values = tensor.detach()
    if values.is_nested:
        values = values.values()
    if values.layout is torch.sparse_coo:
        values = values._values()
    if values.layout is not torch.strided or values.device.type == "meta":
        return None
    if values.dtype.is_complex:
        values = torch.view_as_real(values.resolve_conj())
    if not values.dtype.is_floating_point:
        return None
    if values.element_size() == 1:
        values = values.float()
    return values.reshape(-1)


def _denormals(values: torch.Tensor) -> int:
    """Counted on fewer elements: it takes four times as long, and few denormal numbers slow nothing down.
    Those of float16 are none: processors compute with it in float32, where they are ordinary numbers, and a
    layer of 16384 features begins with one in a hundred among its weights."""
    if values.dtype is torch.float16:
        return 0
    sample = _in_steps(values, FEW)
    smallest = torch.finfo(sample.dtype).tiny
    found = int(((sample != 0) & (sample.abs() < smallest)).sum().item())
    return int(found * values.numel() / sample.numel())


def _in_steps(values: torch.Tensor, most: int) -> torch.Tensor:
    return values[:: -(-values.numel() // most)]
