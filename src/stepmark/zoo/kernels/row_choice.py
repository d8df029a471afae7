"""The choice between a Triton kernel over rows and plain torch: by name, or by measurement.

Measured is what will be run: forward alone, or forward and backward where somebody asks for gradients. Rows
are rounded up to a power of two, so that batches of similar size share a choice.

A decision is remembered, because asking is a part of what a small call takes from Python: least where torch
was chosen and its operator takes the tensors as they are (`python -m benchmarks.asking`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import partial

import torch
from torch import Tensor

from stepmark.zoo.kernels.backend import Backend, check_one_device, resolve
from stepmark.zoo.kernels.dispatch import Key, _rehearsal, choose, is_for_a_graph

Operation = Callable[..., Tensor]
DTYPES = (torch.float32, torch.bfloat16, torch.float16)
MOST_ROWS = (1 << 31) - 1 - (1 << 16)
"""Their numbers have 32 bits, those of a tile that ends behind the last too."""

VERSION = 2
"""Of choices, raised with what makes them."""

MOST_DECISIONS = 4096
"""That are remembered; a program with more shapes asks again."""

_decided: dict[Hashable, bool] = {}
_torch_takes: dict[Hashable, torch.Size] = {}
"""The shape of a row, which torch's operators ask for."""

_has_cuda: bool = torch.backends.cuda.is_built()  # type: ignore[no-untyped-call]
_is_capturing: Callable[[], bool] = torch._C._cuda_isCurrentStreamCapturing if _has_cuda else lambda: False
"""Whether the current stream is; a torch without CUDA cannot be asked."""
_has_autocast: Callable[[], bool] = torch._C._is_any_autocast_enabled
_has_gradients, _is_compiling = torch.is_grad_enabled, torch.compiler.is_compiling


def rows_for_torch(
    name: str, backend: Backend, x: Tensor, weight: Tensor | None = None, bias: Tensor | None = None
) -> torch.Size | None:
    """The shape of a row, where torch's operator was decided for on tensors like these, on CUDA, and takes
    them unchanged. It checks them itself, so that less need be known of them than of a kernel's. Under
    autocast it gives float32, whatever it takes."""
    if not x.is_cuda or _is_compiling() or _rehearsal.is_on or _is_capturing() or _has_autocast():
        return None
    return _torch_takes.get(_plain_place(name, backend, x, weight, bias))


def recalled(
    name: str, backend: Backend, x: Tensor, weight: Tensor | None = None, bias: Tensor | None = None
) -> bool | None:
    """What was decided on tensors like these, on CUDA: Triton or not, or nothing yet. Such tensors have been
    checked before; asking costs less than checking. Torch asks itself where they lie, and a kernel does not.
    """
    if _rehearsal.is_on or _is_capturing():
        return None
    decided = _decided.get(_place(name, backend, x, weight, bias))
    if decided and (
        (weight is not None and weight.get_device() != x.get_device())
        or (bias is not None and bias.get_device() != x.get_device())
    ):
        return None
    return decided


def uses_triton(
    backend: Backend,
    name: str,
    tensors: Sequence[Tensor | None],
    *,
    widest: int,
    ways: Callable[[], tuple[Operation, Operation]],
) -> bool:
    """Whether Triton computes the operation `name` on these tensors, whose first has the rows in its last
    dimension. `ways` gives plain torch and the kernel, both to be called with the tensors."""
    check_one_device(*tensors)
    decision = _is_named(backend, tensors, widest)
    if decision is None:
        decision = _choose(name, tensors, ways)
    if not is_for_a_graph():
        remember(decision, name, backend, *tensors)
    return decision


def remember(in_triton: bool, name: str, backend: Backend, *tensors: Tensor | None) -> None:
    """The decision on tensors like these, rows first; as gradients are switched on or off now."""
    if len(_decided) >= MOST_DECISIONS:
        _decided.clear()
        _torch_takes.clear()
    _decided[_place(name, backend, *tensors)] = in_triton  # type: ignore[arg-type]
    rows, *vectors = tensors
    assert rows is not None
    if not in_triton and all(one is None or one.dtype == rows.dtype for one in vectors):
        _torch_takes[_plain_place(name, backend, *tensors)] = rows.shape[-1:]  # type: ignore[arg-type]


def _plain_place(
    name: str, backend: Backend, x: Tensor, weight: Tensor | None = None, bias: Tensor | None = None
) -> Hashable:
    """Of a decision for torch. A bias that alone wants gradients shares one: only its speed depends on it.
    Vectors have the rows' dtype there, or torch would refuse them; to compare is less than to hash."""
    trained, dtype = x.requires_grad or (weight is not None and weight.requires_grad), x.dtype
    return (
        name,
        backend,
        x.shape,
        dtype,
        trained and _has_gradients(),
        None if weight is None else weight.dtype is dtype,
        None if bias is None else bias.dtype is dtype,
    )


def _place(
    name: str, backend: Backend, x: Tensor, weight: Tensor | None = None, bias: Tensor | None = None
) -> Hashable:
    """Where a decision is kept. Every call asks for it, so that it is written out."""
    return (
        name,
        backend,
        _has_gradients(),
        x.shape,
        x.dtype,
        x.requires_grad,
        None if weight is None else (weight.shape, weight.dtype, weight.requires_grad),
        None if bias is None else (bias.shape, bias.dtype, bias.requires_grad),
    )


def _is_named(backend: Backend, tensors: Sequence[Tensor | None], widest: int) -> bool | None:
    """Decided without measurement: by name, or because there is no choice."""
    x = tensors[0]
    assert x is not None
    if not resolve(backend, x):
        return False
    if why_not := _why_not(tensors, widest):
        if backend == "triton":
            raise ValueError(f"backend='triton' cannot be used: {why_not}")
        return False
    return True if backend == "triton" else None


def _why_not(tensors: Sequence[Tensor | None], widest: int) -> str | None:
    for one in tensors:
        if one is not None and one.dtype not in DTYPES:
            return f"the kernel computes in float32, and a tensor is {one.dtype}"
    x = tensors[0]
    assert x is not None
    width = x.shape[-1]
    if width > widest:
        return f"a row of {width} entries; the kernel takes up to {widest}"
    num_rows = x.numel() // width
    return f"{num_rows} rows; the kernel takes up to {MOST_ROWS}" if num_rows > MOST_ROWS else None


def _choose(
    name: str, tensors: Sequence[Tensor | None], ways: Callable[[], tuple[Operation, Operation]]
) -> bool:
    x = tensors[0]
    assert x is not None
    wanted = torch.is_grad_enabled() and any(one is not None and one.requires_grad for one in tensors)
    num_rows = max(1, x.numel() // x.shape[-1])
    dtypes = [str(None if one is None else one.dtype).removeprefix("torch.") for one in tensors]
    key: Key = (1 << (num_rows - 1).bit_length(), x.shape[-1], *dtypes)
    plain, kernel = ways()
    run = _train if wanted else _infer
    likes = [None if one is None else one.detach().requires_grad_(wanted) for one in tensors]
    calls = {"torch": partial(run, plain, likes), "triton": partial(run, kernel, likes)}
    operation = f"{name}-{'train' if wanted else 'forward'}/{VERSION}"
    # Calls from Python scatter, and torch's is the steadier: a kernel that was chosen where both seemed alike
    # took 1.6 of its time for a LayerNorm of 4096 x 1600 on an H200.
    return choose(operation, key, calls, default="torch") == "triton"


def _infer(operation: Operation, tensors: Sequence[Tensor | None]) -> Tensor:
    with torch.no_grad():
        return operation(*tensors)


def _train(operation: Operation, tensors: Sequence[Tensor | None]) -> Tensor:
    """y alone is compared: along its own output a norm's gradient is nought but for rounding."""
    with torch.enable_grad():
        y = operation(*tensors)
    # The output serves as its own gradient: nothing is made that the layer would not make.
    torch.autograd.grad(y, [one for one in tensors if one is not None], y.detach())
    return y.detach()
