"""Numbers: results of a case held against a reference in float64.

Errors are relative to the largest number of the reference: a small element that rounding moved does not count
more than the large ones beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import isfinite
from typing import Any

import torch

from stepmark.instruments.inspection.subject import tensors_in
from stepmark.measure.failures import is_allocation_failure
from stepmark.records.inspection import NumberCheck

TOLERANCES = {torch.float64: 1e-9, torch.float32: 1e-4, torch.bfloat16: 5e-2, torch.float16: 1e-2}
_REDUCED = 5e-3
"""For float32 where products may be done in TensorFloat-32, whose significand has 10 bits."""
_COARSE = 0.25
"""For dtypes of 8 bits and less."""
INFINITE = 1e300


def tolerance_of(dtypes: Iterator[torch.dtype] | list[torch.dtype], *, reduced: bool = False) -> float:
    """That of the coarsest; whole numbers must be equal."""
    return max((_tolerance(dtype, reduced=reduced) for dtype in dtypes), default=0.0)


def _tolerance(dtype: torch.dtype, *, reduced: bool) -> float:
    if dtype.is_complex:
        dtype = {torch.complex64: torch.float32, torch.complex128: torch.float64}.get(dtype, torch.float16)
    if not dtype.is_floating_point:
        return 0.0
    if reduced and dtype is torch.float32:
        return _REDUCED
    return TOLERANCES.get(dtype, _COARSE)


def compare(what: str, got: Any, expected: Any, *, tolerance: float) -> Iterator[NumberCheck]:
    """One check for each tensor of the results."""
    ours, theirs = list(tensors_in(got)), list(tensors_in(expected))
    if not theirs:
        yield _problem(what, tolerance, f"the reference gave {_kind(expected)}, no tensor")
    elif len(ours) != len(theirs):
        yield _problem(what, tolerance, f"{len(ours)} tensors against {len(theirs)} of the reference")
    else:
        for index, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            name = what if len(ours) == 1 else f"{what} {index}"
            yield compare_tensors(name, one, other, tolerance=tolerance)


def compare_tensors(what: str, got: torch.Tensor, expected: torch.Tensor, *, tolerance: float) -> NumberCheck:
    if got.shape != expected.shape:
        shapes = f"shape {tuple(got.shape)} against {tuple(expected.shape)} of the reference"
        return _problem(what, tolerance, shapes)
    if not got.numel():
        return NumberCheck(what=what, error=0.0, tolerance=tolerance)
    ours, theirs = _wide(got), _wide(expected)
    agree = (ours == theirs) | (ours.isnan() & theirs.isnan())
    difference = torch.where(agree, 0.0, (ours - theirs).abs().to(torch.float64))
    difference = difference.nan_to_num(nan=INFINITE, posinf=INFINITE)
    at = int(difference.argmax().item())
    finite = theirs.abs()[theirs.isfinite()]
    largest = finite.max().item() if finite.numel() else 0.0
    worst = difference.flatten()[at].item()
    place = tuple(int(index) for index in torch.unravel_index(torch.tensor(at), got.shape))
    return NumberCheck(
        what=what,
        error=worst / largest if largest and worst < INFINITE else worst,
        tolerance=tolerance,
        place=place,
        got=_number(ours.flatten()[at]),
        expected=_number(theirs.flatten()[at]),
    )


def failed(what: str, error: Exception, *, tolerance: float) -> NumberCheck:
    """The reference itself failed. For want of memory it says nothing about the numbers: that is raised."""
    if is_allocation_failure(error):
        raise error
    return _problem(what, tolerance, f"the reference failed: {type(error).__name__}: {error}"[:500])


def missing_gradient(what: str, *, tolerance: float) -> NumberCheck:
    return _problem(what, tolerance, "there is none, and the reference has one that is not zero")


def _problem(what: str, tolerance: float, problem: str) -> NumberCheck:
    return NumberCheck(what=what, error=INFINITE, tolerance=tolerance, problem=problem)


def _wide(tensor: torch.Tensor) -> torch.Tensor:
    """On the CPU, dense, and wide enough for every difference to be exact enough."""
    values = tensor.detach().cpu()
    if values.layout is not torch.strided:
        values = values.to_dense()
    return values.to(torch.complex128 if values.dtype.is_complex else torch.float64)


def _number(value: torch.Tensor) -> float | None:
    number = value.item()
    return number if isinstance(number, float) and isfinite(number) else None


def _kind(value: Any) -> str:
    return "nothing" if value is None else type(value).__name__


def check_operations(
    operations: Mapping[str, Callable[[], Any]],
    references: Mapping[str, Callable[[], Any]],
    *,
    tolerance: float | None,
) -> Iterator[NumberCheck]:
    """Operations in their order, since one may use what another left; each reference right before its own."""
    for name, operation in operations.items():
        if name not in references:
            operation()
            continue
        try:
            expected = references[name]()
            expected = [one.detach().clone() for one in tensors_in(expected)] or expected
        except Exception as error:
            yield failed(name, error, tolerance=tolerance or 0.0)
            continue
        got = operation()
        allowed = tolerance if tolerance is not None else tolerance_of([one.dtype for one in tensors_in(got)])
        yield from compare(name, got, expected, tolerance=allowed)
