"""Numbers of a step: its output and gradients against those of its reference, run on a copy in float64."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import torch
from msgspec.structs import replace

from stepmark.instruments.inspection.backward_watch import is_zero
from stepmark.instruments.inspection.compiler import set_aside
from stepmark.instruments.inspection.numbers import (
    compare,
    compare_tensors,
    failed,
    missing_gradient,
    tolerance_of,
)
from stepmark.instruments.inspection.snapshot import RandomState, Snapshot
from stepmark.instruments.inspection.subject import Subject, named_parameters, tensors_in
from stepmark.instruments.torch_flags import torch_flags
from stepmark.measure.failures import is_allocation_failure
from stepmark.records.inspection import NumberCheck
from stepmark.records.limit import is_relaxed

_COMPILED = "_orig_mod"
"""Under which a compiled module keeps the one it was made of."""


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A step, and what it says its numbers should be."""

    subject: Subject
    module: Any
    loss: Callable[..., Any] | None
    reference: Callable[..., Any]
    tolerance: float | None
    autocast: torch.dtype | None
    run: Callable[[], Any]
    """Forward, loss and backward as the case does them, the optimizer left out: gives the output."""
    gradient: Callable[[], torch.Tensor | None]
    """From which backward starts where there is no loss."""


def check_step(claim: Claim) -> tuple[NumberCheck, ...]:
    """The case runs as it is measured; the step is as before afterwards. Raises where there is no memory for
    the comparison, which says nothing about the numbers."""
    snapshot = Snapshot(claim.subject)
    random = RandomState(claim.subject.device)
    try:
        try:
            twin = _Twin(claim, wide=True)  # before a pass moves what the module keeps between passes
        except Exception as error:
            return (failed("output", error, tolerance=claim.tolerance or 0.0),)
        output = claim.run()
        random.restore()
        return tuple(_checks(claim, twin, output, snapshot))
    finally:
        if claim.subject.prepare is not None:
            claim.subject.prepare()
        snapshot.restore()


def _checks(claim: Claim, twin: _Twin, output: Any, snapshot: Snapshot) -> list[NumberCheck]:
    got = [one.detach() for one in tensors_in(output)]
    allowed = _allowed(claim, got)
    try:
        with set_aside():
            expected = claim.reference(twin.module, *twin.inputs)
    except Exception as error:
        return [failed("output", error, tolerance=allowed)]
    checks = list(compare("output", got, expected, tolerance=allowed))
    if _goes_backward(claim, expected):
        try:
            with set_aside():
                _backward(claim, twin, expected)
        except Exception as error:
            return [*checks, failed("gradients", error, tolerance=allowed)]
        checks += _gradients(claim, twin, allowed)
    if not any(one.error > one.tolerance and not one.problem for one in checks):
        return checks
    snapshot.restore()
    return _forgiven(checks, _own_errors(claim, twin, expected))


def _goes_backward(claim: Claim, expected: Any) -> bool:
    return claim.subject.trains and any(one.requires_grad for one in tensors_in(expected))


def _backward(claim: Claim, twin: _Twin, output: Any) -> None:
    """A loss that is a function may hold the step's own parameters: what it gives them is the twin's."""
    own = {name: one for name, one in claim.subject.parameters.items() if name in twin.parameters}
    kept = {name: one.grad for name, one in own.items()}
    for parameter in own.values():
        parameter.grad = None
    try:
        twin.backward(claim, output)
    finally:
        for name, parameter in own.items():
            twin.add_gradient(name, parameter.grad)
            parameter.grad = kept[name]


def _forgiven(checks: list[NumberCheck], own: Mapping[str, float]) -> list[NumberCheck]:
    """Nobody can be asked for more than twice as well as the reference does in the same precision."""
    return [replace(one, tolerance=max(one.tolerance, 2.0 * own.get(one.what, 0.0))) for one in checks]


def _own_errors(claim: Claim, twin: _Twin, expected: Any) -> dict[str, float]:
    """What the reference itself loses in the precision of the case: rounding may put a number on the other
    side of a kink, and gradients that are zero in exact arithmetic are nothing but rounding. Empty where a
    tolerance was given, or the reference does not run in that precision."""
    if claim.tolerance is not None:
        return {}
    narrow = _Twin(claim, wide=False)
    try:
        with set_aside():
            output = narrow.forward(claim)
            if _goes_backward(claim, expected):
                _backward(claim, narrow, output)
    except Exception as error:
        if is_allocation_failure(error):
            raise
        return {}
    found = list(compare("output", [one.detach() for one in tensors_in(output)], expected, tolerance=0.0))
    pairs = [(name, one.grad, twin.parameters[name].grad) for name, one in narrow.parameters.items()]
    inputs = zip(narrow.inputs, twin.inputs, strict=True)
    pairs += [
        (f"input {index}", ours.grad, theirs.grad)
        for index, (ours, theirs) in enumerate(inputs)
        if isinstance(ours, torch.Tensor) and ours.requires_grad
    ]
    found += [
        compare_tensors(f"gradient of {name}", ours, theirs, tolerance=0.0)
        for name, ours, theirs in pairs
        if ours is not None and theirs is not None
    ]
    return {one.what: one.error for one in found if not one.problem}


def _gradients(claim: Claim, twin: _Twin, allowed: float) -> Iterator[NumberCheck]:
    for name, ours, theirs in (*_parameters(claim, twin), *_inputs(claim, twin)):
        what = f"gradient of {name}"
        if theirs is None or (ours is None and (is_zero(theirs) or _is_used_up(claim, twin, name))):
            continue
        if ours is None:
            yield missing_gradient(what, tolerance=allowed)
        else:
            yield compare_tensors(what, ours, theirs, tolerance=allowed)


def _is_used_up(claim: Claim, twin: _Twin, name: str) -> bool:
    """The backward pass itself updated the parameter: its gradient was there."""
    now, before = claim.subject.parameters.get(name), twin.parameters.get(name)
    return now is not None and before is not None and not torch.equal(now.to(before.dtype), before)


def _parameters(claim: Claim, twin: _Twin) -> Iterator[tuple[str, Any, Any]]:
    for name, parameter in claim.subject.parameters.items():
        other = twin.parameters.get(name)
        if other is not None and parameter.requires_grad:
            yield name, parameter.grad, other.grad


def _inputs(claim: Claim, twin: _Twin) -> Iterator[tuple[str, Any, Any]]:
    for index, (ours, theirs) in enumerate(zip(claim.subject.inputs, twin.inputs, strict=True)):
        if isinstance(ours, torch.Tensor) and ours.requires_grad:
            yield f"input {index}", ours.grad, theirs.grad


def _allowed(claim: Claim, output: Sequence[torch.Tensor]) -> float:
    if claim.tolerance is not None:
        return claim.tolerance
    dtypes = [one.dtype for one in output]
    dtypes += [one.dtype for one in claim.subject.parameters.values() if one.dtype.is_floating_point]
    dtypes += [claim.autocast] if claim.autocast is not None else []
    return tolerance_of(dtypes, reduced=_products_are_reduced(claim.subject))


def _products_are_reduced(subject: Subject) -> bool:
    """Whether products of float32 may be rounded more than float32 is."""
    if is_relaxed(torch_flags().items(), subject.device.type):
        return True
    convolves = any(
        isinstance(one, torch.nn.modules.conv._ConvNd) for top in subject.modules for one in top.modules()
    )
    return subject.device.type == "cuda" and convolves


class _Twin:
    """The step once more: in float64, or in its own precision."""

    def __init__(self, claim: Claim, *, wide: bool) -> None:
        memo: dict[int, Any] = {}  # of both: what they share stays shared
        self.module, self.loss = (_copy(one, memo, wide=wide) for one in (claim.module, claim.loss))
        self.inputs, self.targets = (
            [_value(one, wide=wide) for one in values]
            for values in (claim.subject.inputs, claim.subject.targets)
        )
        self.parameters = named_parameters(self.module, self.loss)

    def forward(self, claim: Claim) -> Any:
        """The reference under the step's own autocast."""
        if claim.autocast is None:
            return claim.reference(self.module, *self.inputs)
        with torch.autocast(claim.subject.device.type, dtype=claim.autocast):
            return claim.reference(self.module, *self.inputs)

    def backward(self, claim: Claim, output: Any) -> None:
        if self.loss is not None:
            self.loss(output, *self.targets).backward()
            return
        (end,) = tensors_in(output)
        gradient = claim.gradient()
        assert gradient is not None
        torch.autograd.backward(end, gradient.to(end.device, end.dtype))

    def add_gradient(self, name: str, more: torch.Tensor | None) -> None:
        parameter = self.parameters[name]
        if more is not None:
            more = more.to(parameter.dtype)
            parameter.grad = more if parameter.grad is None else parameter.grad + more


def _copy(module: Any, memo: dict[int, Any], *, wide: bool) -> Any:
    """Modules without gradients; functions as they are: what they hold cannot be known."""
    module = getattr(module, _COMPILED, module)
    if not isinstance(module, torch.nn.Module):
        return module
    for part in module.modules():
        # A tensor that a pass computed and a module kept cannot be copied as it is.
        for value in vars(part).values():
            if isinstance(value, torch.Tensor) and not value.is_leaf:
                memo[id(value)] = value.detach().clone()
    copy = deepcopy(module, memo)
    if wide:
        copy = copy.double()
        for part in copy.modules():
            vars(part).update(_widened(vars(part)))
    for parameter in copy.parameters():
        parameter.grad = None
    return copy


def _widened(attributes: Mapping[str, Any]) -> dict[str, torch.Tensor]:
    """Tensors that are neither parameters nor buffers, which `double` leaves as they are."""
    return {
        name: value.double()
        for name, value in attributes.items()
        if isinstance(value, torch.Tensor) and value.dtype.is_floating_point
    }


def _value(value: Any, *, wide: bool) -> Any:
    if not isinstance(value, torch.Tensor):
        return value
    copy = value.detach().clone()
    if wide and copy.dtype.is_floating_point:
        copy = copy.double()
    return copy.requires_grad_(value.requires_grad)
