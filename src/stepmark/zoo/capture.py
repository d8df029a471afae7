"""Captured execution: a module traced once into a graph, and the graph replayed instead of the module.

On the CPU the graph is torch.export's: the tensor operations of one call as straight-line code, without the
module's own Python. symbolic_trace of torch.fx stops at the first `if` on a shape, as every checked layer has
one, and torch.jit.trace is deprecated. On CUDA it is a pair of CUDA graphs, forward and backward, one launch
each.

What holds
----------
- Parameters are shared, not copied: a step of an optimizer is seen by the next replay. Others in their place,
  as load_state_dict(assign=True) puts there, are refused; so are other buffers, and on CUDA other memory.
- Shape, dtype, device, strides and the modes of all modules are those of the capture; others are refused.
- Gradients reach the parameters, and the input where the example required one. A capture under
  torch.no_grad() is for forward alone.
- An autograd.Function with a backward of its own may lose it in the graph. So a capture runs module and
  graph once on the example and compares outputs and gradients, and refuses where they differ.
- Capturing calls the module a few times: buffers that forward changes, as a batch norm does, move along.
- Outputs and gradients are the caller's own. CUDA graphs write to fixed memory, where the next replay would
  overwrite them and gradients that accumulate would come out wrong: so they are copied out of it.
- On CUDA the activations stay in that memory: a backward pass must come before the next replay, or it raises.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.export.graph_signature import InputKind

Replay = Callable[[Tensor], Tensor]

AGREEMENT = 1e-2
"""Largest difference between module and graph, relative to the largest entry. They run the same operations: a
lost gradient is off by all of it, rounding by far less."""


def captured(module: nn.Module, example: Tensor) -> Captured:
    """Trace the module on an example of its input."""
    return Captured(module, example)


class Captured:
    """A callable that replays."""

    def __init__(self, module: nn.Module, example: Tensor) -> None:
        self.module = module
        self.differentiable = torch.is_grad_enabled()
        """Whether replays record gradients."""
        self._modes = [(one, one.training) for one in module.modules()]
        self._example = example.detach().clone().requires_grad_(example.requires_grad)
        self._expected = _signature(example)
        self._replay = _graphed(module, self._example) if example.is_cuda else _traced(module, self._example)
        _compare(module, self._replay, self._example)
        self._held = _held_by(module)

    def __call__(self, x: Tensor) -> Tensor:
        self._check(x)
        if self.differentiable or not torch.is_grad_enabled():
            return self._replay(x)
        with torch.no_grad():
            return self._replay(x)

    def _check(self, x: Tensor) -> None:
        if _signature(x) != self._expected:
            raise ValueError(f"captured for {_words(self._expected)}, got {_words(_signature(x))}")
        for one, training in self._modes:
            if one.training is not training:
                mode = "training" if training else "evaluation"
                which = "the module" if one is self.module else f"a {type(one).__name__} in it"
                raise ValueError(f"captured in {mode} mode, and {which} has left it")
        for tensors, name, tensor, address in self._held:
            if tensors.get(name) is not tensor or (address is not None and tensor.data_ptr() != address):
                raise ValueError(f"captured with another {name} than the module has now: capture it again")
        wanted = x.requires_grad and torch.is_grad_enabled()
        if wanted and not (self.differentiable and self._example.requires_grad):
            raise ValueError(
                "this input requires a gradient and the graph has none for it: "
                "capture with an example that requires one, outside torch.no_grad()"
            )

    def __repr__(self) -> str:
        kind = "" if self.differentiable else ", forward alone"
        return f"Captured({type(self.module).__name__}, {_words(self._expected)}{kind})"


Held = tuple[Mapping[str, Tensor | None], str, Tensor, int | None]


def _held_by(module: nn.Module) -> list[Held]:
    """Parameters and buffers with the dictionaries that they are in; of those on CUDA their addresses, which
    are what a graph has."""
    return [
        (tensors, name, tensor, tensor.data_ptr() if tensor.is_cuda else None)
        for one in module.modules()
        for tensors in (one._parameters, one._buffers)
        for name, tensor in tensors.items()
        if tensor is not None
    ]


def _traced(module: nn.Module, example: Tensor) -> Replay:
    """The graph takes parameters, buffers and constants in its own order, then the input."""
    try:
        program = torch.export.export(module, (example,))
    except RuntimeError as failure:
        raise ValueError(
            f"{type(module).__name__} cannot be captured: its operations are not the same for all values of "
            f"its input, or it fails on the example ({str(failure).partition(chr(10))[0]})"
        ) from failure
    held: dict[str, Any] = {
        **dict(module.named_parameters(remove_duplicate=False)),
        **dict(module.named_buffers(remove_duplicate=False)),
        **program.constants,
    }
    inputs = program.graph_signature.input_specs
    state = [held[str(spec.target)] for spec in inputs if spec.kind is not InputKind.USER_INPUT]
    assert inputs[-1].kind is InputKind.USER_INPUT, "export puts the user's input last"
    run: Callable[..., Sequence[Any]] = program.graph_module.forward
    return partial(_last_of, partial(run, *state))


def _last_of(run: Callable[[Tensor], Sequence[Any]], x: Tensor) -> Tensor:
    result: Tensor = run(x)[-1]
    return result


def _graphed(module: nn.Module, example: Tensor) -> Replay:
    """Captured with stand-ins: a copy of the example, which becomes the graph's own input, and tensors that
    share the parameters' memory. Autograd nodes of the parameters themselves would be tied to the capture's
    stream."""
    names, parameters = [*dict(module.named_parameters())], [*module.parameters()]

    def call(x: Tensor, *values: Tensor) -> Any:
        return torch.func.functional_call(module, dict(zip(names, values, strict=True)), (x,))

    stand_ins = [one.detach().requires_grad_(one.requires_grad) for one in (example.clone(), *parameters)]
    run = torch.cuda.make_graphed_callables(call, tuple(stand_ins), allow_unused_input=True)
    return _GraphReplay(run, parameters)


class _GraphReplay:
    """Replays a graph of x and the parameters, and copies what comes out of it."""

    def __init__(self, run: Callable[..., Any], parameters: Sequence[Tensor]) -> None:
        self._run = run
        self._parameters = parameters
        self.replays = 0

    def __call__(self, x: Tensor) -> Tensor:
        self.replays += 1
        inputs = [x, *self._parameters]
        places = [place for place, one in enumerate(inputs) if one.requires_grad]
        if places and torch.is_grad_enabled():
            owned = _OwnGradients.apply(self, *(inputs[place] for place in places))  # type: ignore[no-untyped-call]
            for place, one in zip(places, owned, strict=True):
                inputs[place] = one
        result: Tensor = self._run(*inputs).clone()
        return result


class _OwnGradients(torch.autograd.Function):
    """Hands tensors through, and copies their gradients on the way back."""

    @staticmethod
    def forward(ctx: Any, replay: _GraphReplay, *tensors: Tensor) -> tuple[Tensor, ...]:
        ctx.replay, ctx.number = replay, replay.replays
        ctx.set_materialize_grads(False)
        return tuple(one.view_as(one) for one in tensors)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        if ctx.number != ctx.replay.replays:
            raise RuntimeError(
                "the graph was replayed again before this backward pass, which has lost its activations: "
                "run backward first, or capture the module twice"
            )
        return None, *(None if one is None else one.clone() for one in gradients)


def _compare(module: nn.Module, replay: Replay, example: Tensor) -> None:
    """Outputs and gradients, with the same random numbers on both sides."""
    expected, found = (_outcome(run, module, example) for run in (module, replay))
    for name, value in expected.items():
        if not _agree(value, found.get(name)):
            raise ValueError(
                f"{type(module).__name__} cannot be captured: in the graph its {name} is another"
                + ("" if name == "output" else "; under torch.no_grad() it can be, for forward alone")
            )


def _outcome(run: Callable[[Tensor], Any], module: nn.Module, example: Tensor) -> dict[str, Tensor | None]:
    devices = [example.device] if example.is_cuda else []
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(0)
        output = run(example)
    if not isinstance(output, Tensor):
        kind = type(output).__name__
        raise ValueError(f"a captured module returns one tensor, not {kind}")  # noqa: TRY004
    outcome: dict[str, Tensor | None] = {"output": output.detach().clone()}
    sources: dict[str, Tensor] = {
        f"gradient of {name}": one for name, one in module.named_parameters() if one.requires_grad
    }
    if example.requires_grad:
        sources["gradient of the input"] = example
    if output.requires_grad:
        gradients = torch.autograd.grad(
            output, [*sources.values()], torch.ones_like(output), allow_unused=True
        )
        outcome |= dict(zip(sources, gradients, strict=True))
    return outcome


def _agree(expected: Tensor | None, found: Tensor | None) -> bool:
    if expected is None or found is None:
        return expected is found
    if expected.shape != found.shape or expected.dtype != found.dtype:
        return False
    largest = float(expected.detach().abs().max()) if expected.numel() else 0.0
    return torch.allclose(expected, found, rtol=0.0, atol=AGREEMENT * largest, equal_nan=True)


def _signature(x: Tensor) -> tuple[torch.Size, torch.dtype, torch.device, tuple[int, ...]]:
    return x.shape, x.dtype, x.device, x.stride()


def _words(signature: tuple[torch.Size, torch.dtype, torch.device, tuple[int, ...]]) -> str:
    shape, dtype, device, strides = signature
    return f"{tuple(shape)} of {dtype} on {device} with strides {strides}"
