"""Binding: a workload becomes a program of timed phases.

What each phase of a training step holds
-----------------------------------------
prepare     outside the clock: gradients set to None, the last iteration's output and graph dropped
forward     the module's call, under autocast where asked
loss        the loss's call; absent when the step has none
backward    from the loss; without one, from a random gradient of the output, made in the first iteration
optimizer   optimizer.step(); absent when the step has none

Every iteration builds its own graph and uses it once; gradients never accumulate.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any

import torch

from stepmark.authoring.point import Point
from stepmark.authoring.suite import Variant
from stepmark.authoring.workload import Ops, Step, Workload
from stepmark.instruments.torch_evidence import evidence_of
from stepmark.instruments.torch_inputs import make_inputs, torch_dtype
from stepmark.measure.program import Call, Program
from stepmark.records.case import Case, Mode
from stepmark.records.sample import Layout, Total


def bind(variant: Variant, case: Case, *, seed: int) -> Program:
    """Build the variant at the case's point and turn it into a program. Nothing is run yet."""
    device, dtype = torch.device(case.cell.device), torch_dtype(case.cell.dtype)
    torch.manual_seed(seed)
    workload = variant.at(Point(case, device=device, dtype=dtype, seed=seed))
    _check(workload, case)
    if isinstance(workload, Ops):
        return _operations(workload)
    bound = _BoundStep(workload, mode=case.cell.mode, device=device, dtype=dtype, seed=seed)
    return bound.inference() if case.cell.mode is Mode.FORWARD else bound.training()


def _check(workload: Workload | Any, case: Case) -> None:
    if workload is None:
        raise TypeError(f"variant '{case.variant}' returned nothing: it must return a Step or Ops")
    if not isinstance(workload, Step | Ops):
        raise TypeError(f"variant '{case.variant}' returned {type(workload).__name__}, not a Step or Ops")
    if isinstance(workload, Ops) != (case.cell.mode is Mode.OPS):
        kind = type(workload).__name__
        right = "modes=['ops']" if isinstance(workload, Ops) else "modes=['train'] or ['forward']"
        raise TypeError(f"variant '{case.variant}' returned {kind} in mode {case.cell.mode}: declare {right}")


def _operations(ops: Ops) -> Program:
    first = next(iter(ops.totals)) if ops.totals else next(iter(ops.operations))
    return Program(
        layout=Layout(
            phases=tuple(ops.operations),
            primary=ops.primary or first,
            totals=tuple(Total(name=name, parts=tuple(parts)) for name, parts in ops.totals.items()),
        ),
        calls=tuple(ops.operations.values()),
    )


class _BoundStep:
    """A step on its device, with everything made that is made outside the clock."""

    def __init__(
        self, step: Step, *, mode: Mode, device: torch.device, dtype: torch.dtype, seed: int
    ) -> None:
        module: Any = step.module
        if isinstance(module, torch.nn.Module):
            module = module.to(device=device, dtype=dtype)
            module.train(mode is Mode.TRAIN)
        self.parameters = list(module.parameters()) if isinstance(module, torch.nn.Module) else []
        self.module = module
        options = dict(step.compile) if not isinstance(step.compile, bool) else {}
        self.forward = torch.compile(module, **options) if step.compile else module
        self.inputs = make_inputs(step.inputs, device=device, dtype=dtype, seed=seed + 1)
        self.targets = make_inputs(step.target, device=device, dtype=dtype, seed=seed + 2)
        self.loss = step.loss
        self.device, self.seed = device, seed
        self._autocast = torch_dtype(step.autocast) if step.autocast else None
        self._make_optimizer = step.optimizer

    def autocast(self) -> AbstractContextManager[Any]:
        if self._autocast is None:
            return nullcontext()
        return torch.autocast(self.device.type, dtype=self._autocast)

    def inference(self) -> Program:
        """Forward alone, no gradients."""
        call: Call = partial(self.forward, *self.inputs)
        if self._autocast is not None:
            call = partial(_under, self.autocast, call)
        layout = Layout(phases=("forward",), primary="forward")
        return Program(
            layout=layout,
            calls=(call,),
            context=torch.no_grad,
            inspect=partial(evidence_of, layout, self.parameters, self.inputs, None, call),
        )

    def training(self) -> Program:
        """forward, loss, backward and optimizer, as far as the step has them."""
        trainable = [parameter for parameter in self.parameters if parameter.requires_grad]
        leaves = trainable + [
            one for one in self.inputs if isinstance(one, torch.Tensor) and one.requires_grad
        ]
        if not leaves:
            raise ValueError(
                "nothing in this step requires a gradient: train a module with parameters, "
                "give an input requires_grad=True, or measure it with modes=['forward']"
            )
        if self._make_optimizer and not trainable:
            raise ValueError("this step has an optimizer but no parameters to train")
        optimizer = self._make_optimizer(trainable) if self._make_optimizer else None
        iteration = _Iteration(self, leaves)
        phases: dict[str, Call] = {"forward": iteration.forward}
        if self.loss is not None:
            phases["loss"] = iteration.loss
        phases["backward"] = iteration.backward
        if optimizer is not None:
            phases["optimizer"] = optimizer.step
        layout = Layout(phases=("step", *phases), primary="step", whole="step")
        return Program(
            layout=layout,
            calls=tuple(phases.values()),
            prepare=iteration.prepare,
            inspect=partial(
                evidence_of, layout, self.parameters, self.inputs, optimizer, lambda: iteration.output
            ),
        )


def _under(context: Any, call: Call) -> object:
    with context():
        return call()


class _Iteration:
    """The state one iteration hands from phase to phase: output, loss, and the graph between them."""

    def __init__(self, step: _BoundStep, leaves: list[torch.Tensor]) -> None:
        self._step = step
        self._leaves = leaves
        self._inputs, self._targets = step.inputs, step.targets
        self._module, self._loss_function = step.forward, step.loss
        self._gradient: torch.Tensor | None = None
        self._loss: Any = None
        self.output: Any = None
        if step._autocast is not None:
            self._module = partial(_under_call, step.autocast, step.forward)
            if step.loss is not None:
                self._loss_function = partial(_under_call, step.autocast, step.loss)

    def prepare(self) -> None:
        self.output = self._loss = None
        for leaf in self._leaves:
            leaf.grad = None

    def forward(self) -> None:
        self.output = self._module(*self._inputs)

    def loss(self) -> None:
        assert self._loss_function is not None
        self._loss = self._loss_function(self.output, *self._targets)

    def backward(self) -> None:
        if self._loss is not None:
            self._loss.backward()
        else:
            self.output.backward(self._gradient if self._gradient is not None else self._fixed_gradient())

    def _fixed_gradient(self) -> torch.Tensor:
        if not isinstance(self.output, torch.Tensor):
            raise TypeError(
                f"the module returns {type(self.output).__name__}, not a tensor: give the step a loss"
            )
        generator = torch.Generator().manual_seed(self._step.seed + 3)
        values = torch.randn(self.output.shape, generator=generator)
        self._gradient = values.to(self.output.device, self.output.dtype)
        return self._gradient


def _under_call(context: Any, function: Any, *arguments: Any) -> Any:
    with context():
        return function(*arguments)
