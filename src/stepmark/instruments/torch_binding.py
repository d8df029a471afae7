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

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from typing import Any

import msgspec
import torch

from stepmark.authoring.point import Point
from stepmark.authoring.suite import Variant
from stepmark.authoring.workload import Ops, Step, Workload
from stepmark.errors import BenchFileError
from stepmark.instruments.compiling import make_room
from stepmark.instruments.graph_capture import REPEATS, capture, make_capturable
from stepmark.instruments.inspection.examine import examine
from stepmark.instruments.inspection.numbers import check_operations
from stepmark.instruments.inspection.step_numbers import Claim, check_step
from stepmark.instruments.inspection.subject import Subject, named_parameters
from stepmark.instruments.inspection.values import not_finite
from stepmark.instruments.l2_flush import flush_of
from stepmark.instruments.prediction import refuse_hopeless
from stepmark.instruments.torch_evidence import declared, evidence_of
from stepmark.instruments.torch_inputs import make_inputs, torch_dtype
from stepmark.instruments.torch_iteration import Iteration, under
from stepmark.instruments.torch_optimizer import make_optimizer
from stepmark.measure.program import Call, Program
from stepmark.records.case import Cache, Case, Cell, Execution, Mode
from stepmark.records.evidence import Evidence
from stepmark.records.inspection import NumberCheck
from stepmark.records.sample import Layout, Total


def bind(variant: Variant, case: Case, *, seed: int, repeats: int = REPEATS) -> Program:
    """Build the variant at the case's point and turn it into a program: a graph holds short calls that often.
    Nothing is run yet."""
    device, dtype = torch.device(case.cell.device), torch_dtype(case.cell.dtype)
    if device.type == "cuda" and device.index is not None:
        torch.cuda.set_device(device)  # Triton's kernels, new streams and a mere "cuda" go to the current one
    point = Point(case, device=device, dtype=dtype, seed=seed)
    if variant.needs is not None:
        refuse_hopeless(variant.needs(point), device=device, dtype=dtype)
    torch.manual_seed(seed)
    workload = variant.at(point)
    _check(workload, case)
    program = _in_execution(_as_executed(workload, case.cell.execution), case.cell, device, dtype, seed)
    make_room()
    is_cold = case.cell.cache is Cache.COLD
    if case.cell.execution is Execution.GRAPH:
        program = capture(program, device, repeats=1 if is_cold else repeats)
    return cold(program, device) if is_cold else program


def _as_executed(workload: Workload, execution: Execution) -> Workload:
    """The workload as the execution changes it: compiled, for instance."""
    if execution is not Execution.COMPILED:
        return workload
    if isinstance(workload, Step):
        return workload if workload.compile is not False else replace(workload, compile=True)
    compiled = {name: torch.compile(call) for name, call in workload.operations.items()}
    return replace(workload, operations=compiled)


def _in_execution(
    workload: Workload, cell: Cell, device: torch.device, dtype: torch.dtype, seed: int
) -> Program:
    if isinstance(workload, Ops):
        return _operations(workload, device, compiled=cell.execution is Execution.COMPILED)
    bound = _BoundStep(workload, mode=cell.mode, device=device, dtype=dtype, seed=seed)
    if cell.mode is Mode.FORWARD:
        return bound.inference()
    return bound.training(capturable=cell.execution is Execution.GRAPH)


def cold(program: Program, device: torch.device) -> Program:
    """The same program with a flush of the device's cache before every iteration, and the proof of it."""
    flush = flush_of(device)
    inspect = program.inspect

    def with_proof() -> Evidence:
        seen = inspect() if inspect else Evidence(layout=program.layout)
        return msgspec.structs.replace(seen, cache=flush.evidence)

    return replace(program, flush=flush.call, flush_seconds=flush.seconds, inspect=with_proof)


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


def _operations(ops: Ops, device: torch.device, *, compiled: bool) -> Program:
    first = next(iter(ops.totals)) if ops.totals else next(iter(ops.operations))
    layout = Layout(
        phases=tuple(ops.operations),
        primary=ops.primary or first,
        totals=tuple(Total(name=name, parts=tuple(parts)) for name, parts in ops.totals.items()),
    )
    calls = tuple(ops.operations.values())
    subject = Subject(layout=layout, calls=calls, device=device, roots=calls)
    return Program(
        layout=layout,
        calls=calls,
        inspect=partial(
            evidence_of,
            layout,
            (),
            (),
            None,
            _nothing,
            claims=msgspec.structs.replace(declared(ops), compile=compiled),
        ),
        examine=partial(examine, subject),
        verify=partial(_check_operations, ops) if ops.references else None,
    )


def _nothing() -> None:
    """No operation's result is the output."""


def _check_operations(ops: Ops) -> tuple[NumberCheck, ...]:
    return tuple(check_operations(ops.operations, ops.references, tolerance=ops.tolerance))


IN_DTYPE: Mapping[torch.dtype, Callable[[torch.nn.Module], torch.nn.Module]] = {
    torch.float16: torch.nn.Module.half,
    torch.bfloat16: torch.nn.Module.bfloat16,
    torch.float32: torch.nn.Module.float,
    torch.float64: torch.nn.Module.double,
}
"""These leave complex numbers alone, of which `to(dtype)` would keep the real parts only."""


def _moved(module: torch.nn.Module, device: torch.device, dtype: torch.dtype) -> torch.nn.Module:
    module = module.to(device=device)
    return IN_DTYPE[dtype](module) if dtype in IN_DTYPE else module.to(dtype=dtype)


class _BoundStep:
    """A step on its device, with everything made that is made outside the clock."""

    def __init__(
        self, step: Step, *, mode: Mode, device: torch.device, dtype: torch.dtype, seed: int
    ) -> None:
        module: Any = step.module
        # A loss may have parameters and buffers too: class weights, learnt temperatures.
        modules = [one for one in (step.module, step.loss) if isinstance(one, torch.nn.Module)]
        for one in modules:
            _moved(one, device, dtype).train(mode is Mode.TRAIN)
        self.modules = tuple(modules)
        self.parameters = list(dict.fromkeys(p for one in modules for p in one.parameters()))
        options = dict(step.compile) if not isinstance(step.compile, bool) else {}
        self.forward = torch.compile(module, **options) if step.compile is not False else module
        self.inputs = make_inputs(step.inputs, device=device, dtype=dtype, seed=seed + 1)
        self.targets = make_inputs(step.target, device=device, dtype=dtype, seed=seed + 2)
        self.loss = step.loss
        self.step = step
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
            call = partial(under, self.autocast, call)
        layout = Layout(phases=("forward",), primary="forward")
        subject = self._subject(layout, (call,), call, context=torch.no_grad)
        return Program(
            layout=layout,
            calls=(call,),
            context=torch.no_grad,
            inspect=partial(
                evidence_of, layout, self.parameters, self.inputs, None, call, claims=declared(self.step)
            ),
            examine=partial(examine, subject),
            verify=self._verify(subject, partial(under, torch.no_grad, call), _nothing),
        )

    def training(self, *, capturable: bool = False) -> Program:
        """forward, loss, backward and optimizer, as far as the step has them."""
        trainable = [parameter for parameter in self.parameters if parameter.requires_grad]
        given = [one for one in (*self.inputs, *self.targets) if isinstance(one, torch.Tensor)]
        leaves = trainable + [one for one in given if one.requires_grad]
        if not leaves:
            raise ValueError(
                "nothing in this step requires a gradient: train a module with parameters (those that a "
                "function holds are not seen), give an input requires_grad=True (stepmark versus: --input "
                "64x1024:grad), or measure it with modes=['forward'] (--mode forward)"
            )
        optimizer = make_optimizer(self._make_optimizer, trainable) if self._make_optimizer else None
        if capturable:
            make_capturable(optimizer)
        iteration = self._iteration(leaves, updated=optimizer is not None)
        phases: dict[str, Call] = {"forward": iteration.forward}
        if self.loss is not None:
            phases["loss"] = iteration.compute_loss
        phases["backward"] = iteration.backward if self.loss is None else iteration.backward_from_loss
        if optimizer is not None:
            phases["optimizer"] = optimizer.step
        layout = Layout(phases=("step", *phases), primary="step", whole="step")
        subject = self._subject(
            layout,
            tuple(phases.values()),
            iteration.output_again,
            prepare=iteration.prepare,
            held={"forward": lambda: iteration.output, "loss": lambda: iteration.loss},
            trains=True,
            targets=self.targets,
            optimizer=optimizer,
            roots=(self.step.module, self.loss, optimizer, iteration),
        )
        return Program(
            layout=layout,
            calls=tuple(phases.values()),
            prepare=iteration.prepare,
            cycle=iteration.cycle,
            inspect=partial(
                evidence_of,
                layout,
                self.parameters,
                self.inputs,
                optimizer,
                lambda: iteration.output,
                claims=declared(self.step),
            ),
            examine=partial(examine, subject),
            not_finite=partial(not_finite, subject.parameters) if optimizer is not None else None,
            verify=self._verify(subject, iteration.without_optimizer, lambda: iteration.gradient),
        )

    def _iteration(self, leaves: list[torch.Tensor], *, updated: bool) -> Iteration:
        module, loss = self.forward, self.loss
        if self._autocast is not None:
            module = partial(under, self.autocast, module)
            loss = partial(under, self.autocast, loss) if loss is not None else None
        seed = self.seed + 3
        return Iteration(module, loss, self.inputs, self.targets, leaves=leaves, seed=seed, updated=updated)

    def _subject(
        self, layout: Layout, calls: tuple[Call, ...], forward: Callable[[], Any], **more: Any
    ) -> Subject:
        return Subject(
            layout=layout,
            calls=calls,
            device=self.device,
            forward=forward,
            modules=self.modules,
            parameters=named_parameters(self.step.module, self.loss),
            inputs=self.inputs,
            deterministic=self.step.expects is not None and self.step.expects.deterministic,
            **{"roots": (self.step.module,), **more},
        )

    def _verify(
        self, subject: Subject, run: Callable[[], Any], gradient: Callable[[], Any]
    ) -> Callable[[], tuple[NumberCheck, ...]] | None:
        if self.step.reference is None:
            return None
        claim = Claim(
            subject=subject,
            module=self.step.module,
            loss=self.loss,
            reference=self.step.reference,
            tolerance=self.step.tolerance,
            autocast=self._autocast,
            run=run,
            gradient=gradient,
        )
        return partial(check_step, claim)
