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
from stepmark.errors import BenchFileError
from stepmark.instruments.prediction import refuse_hopeless
from stepmark.instruments.torch_evidence import evidence_of
from stepmark.instruments.torch_inputs import make_inputs, torch_dtype
from stepmark.measure.program import Call, Program
from stepmark.records.case import Case, Mode
from stepmark.records.sample import Layout, Total


def bind(variant: Variant, case: Case, *, seed: int) -> Program:
    """Build the variant at the case's point and turn it into a program. Nothing is run yet."""
    device, dtype = torch.device(case.cell.device), torch_dtype(case.cell.dtype)
    point = Point(case, device=device, dtype=dtype, seed=seed)
    if variant.needs is not None:
        refuse_hopeless(variant.needs(point), device=device, dtype=dtype)
    torch.manual_seed(seed)
    workload = variant.at(point)
    _check(workload, case)
    if isinstance(workload, Ops):
        return _operations(workload)
    bound = _BoundStep(workload, mode=case.cell.mode, device=device, dtype=dtype, seed=seed)
    return bound.inference() if case.cell.mode is Mode.FORWARD else bound.training()


def _check(workload: Workload | Any, case: Case) -> None:
    """Refuse what no amount of measuring will turn into a number: the bench file must be mended."""
    who, mode = f"variant '{case.variant}' of suite '{case.cell.suite}'", case.cell.mode
    if workload is None:
        raise BenchFileError(f"{who} returned nothing: it must return a Step or Ops")
    if not isinstance(workload, Step | Ops):
        raise BenchFileError(f"{who} returned {type(workload).__name__}: it must return a Step or Ops")
    if isinstance(workload, Ops) and mode is not Mode.OPS:
        raise BenchFileError(f"{who} returned Ops in mode {mode}: declare Suite(..., modes=['ops'])")
    if isinstance(workload, Step) and mode is Mode.OPS:
        raise BenchFileError(f"{who} returned a Step in mode ops: declare modes=['train'] or ['forward']")


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
        # A loss may have parameters and buffers too: class weights, learnt temperatures.
        modules = [one for one in (step.module, step.loss) if isinstance(one, torch.nn.Module)]
        for one in modules:
            one.to(device=device, dtype=dtype).train(mode is Mode.TRAIN)
        self.parameters = list(dict.fromkeys(p for one in modules for p in one.parameters()))
        options = dict(step.compile) if not isinstance(step.compile, bool) else {}
        self.forward = torch.compile(module, **options) if step.compile is not False else module
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
        given = [one for one in (*self.inputs, *self.targets) if isinstance(one, torch.Tensor)]
        leaves = trainable + [one for one in given if one.requires_grad]
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
        phases["backward"] = iteration.backward if self.loss is None else iteration.backward_from_loss
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


def _under(context: Any, function: Any, *arguments: Any) -> Any:
    with context():
        return function(*arguments)


class _Iteration:
    """The state one iteration hands from phase to phase: output, loss, and the graph between them."""

    def __init__(self, step: _BoundStep, leaves: list[torch.Tensor]) -> None:
        self._step = step
        self._leaves = leaves
        self._inputs, self._targets = step.inputs, step.targets
        self._module, self._loss_function = step.forward, step.loss
        self._gradient: torch.Tensor | None = None
        self._searching = True
        self._loss: Any = None
        self.output: Any = None
        if step._autocast is not None:
            self._module = partial(_under, step.autocast, step.forward)
            if step.loss is not None:
                self._loss_function = partial(_under, step.autocast, step.loss)

    def prepare(self) -> None:
        if self._searching and self.output is not None:
            self._add_leaves_of_the_graph()
        self.output = self._loss = None
        for leaf in self._leaves:
            leaf.grad = None

    def _add_leaves_of_the_graph(self) -> None:
        """A callable may hold parameters that only the graph shows; their gradients are cleared as well."""
        self._searching = False
        end = self.output if self._loss is None else self._loss
        known = {id(leaf) for leaf in self._leaves}
        self._leaves += [leaf for leaf in _leaves_of(end) if id(leaf) not in known]

    def forward(self) -> None:
        self.output = self._module(*self._inputs)

    def loss(self) -> None:
        assert self._loss_function is not None
        self._loss = self._loss_function(self.output, *self._targets)

    def backward_from_loss(self) -> None:
        self._loss.backward()

    def backward(self) -> None:
        gradient = self._gradient if self._gradient is not None else self._fixed_gradient()
        self.output.backward(gradient)

    def _fixed_gradient(self) -> torch.Tensor:
        if not isinstance(self.output, torch.Tensor):
            raise TypeError(
                f"the module returns {type(self.output).__name__}, not a tensor: give the step a loss"
            )
        generator = torch.Generator().manual_seed(self._step.seed + 3)
        values = torch.randn(self.output.shape, generator=generator)
        self._gradient = values.to(self.output.device, self.output.dtype)
        return self._gradient


def _leaves_of(end: Any) -> list[torch.Tensor]:
    """The tensors into which a backward pass from here accumulates gradients."""
    nodes = [getattr(end, "grad_fn", None)]
    seen: set[Any] = set()
    while nodes:
        node = nodes.pop()
        if node is not None and node not in seen:
            seen.add(node)
            nodes += [following for following, _ in node.next_functions]
    return [node.variable for node in seen if type(node).__name__ == "AccumulateGrad"]
