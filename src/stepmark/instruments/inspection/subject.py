"""The subject of an inspection: the phases of one iteration, and the tensors that belong to the step."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import torch

from stepmark.instruments.inspection.compiler import CompilerWatch
from stepmark.measure.program import Call
from stepmark.records.sample import Layout


@dataclass(frozen=True, kw_only=True)
class Subject:
    """What the instruments look at. The names of tensors are those that findings show."""

    layout: Layout
    calls: tuple[Call, ...]
    device: torch.device
    prepare: Call | None = None
    context: Callable[[], AbstractContextManager[object]] = nullcontext
    held: Mapping[str, Callable[[], Any]] = field(default_factory=dict)
    """Results that a phase leaves with the step instead of returning them, by phase."""
    forward: Callable[[], Any] | None = None
    """One forward pass from the inputs to the output; None where nobody knows which call that is."""
    trains: bool = False
    modules: tuple[torch.nn.Module, ...] = ()
    parameters: Mapping[str, torch.Tensor] = field(default_factory=dict)
    inputs: Sequence[Any] = ()
    targets: Sequence[Any] = ()
    optimizer: Any = None
    roots: tuple[Any, ...] = ()
    """Objects that hold everything of the step: whatever is reachable from them is its own."""
    deterministic: bool = False
    """The case says so."""
    compiler: CompilerWatch = field(default_factory=CompilerWatch)
    """Begun before anything of the step ran."""

    @property
    def phases(self) -> tuple[str, ...]:
        """In the order of the calls."""
        return tuple(phase for phase in self.layout.phases if phase != self.layout.whole)

    def named_inputs(self) -> Iterator[tuple[str, torch.Tensor]]:
        """Tensors among the inputs and targets: `input 0`, `target 0`."""
        for kind, values in (("input", self.inputs), ("target", self.targets)):
            for index, value in enumerate(values):
                for tensor in tensors_in(value):
                    yield f"{kind} {index}", tensor

    def buffers(self) -> list[torch.Tensor]:
        return [buffer for module in self.modules for buffer in module.buffers()]

    def trainable(self) -> dict[str, torch.Tensor]:
        return {name: one for name, one in self.parameters.items() if one.requires_grad}

    def own(self) -> list[torch.Tensor]:
        """Parameters, buffers, inputs, targets and optimizer state, as they are now."""
        state = getattr(self.optimizer, "state", None)
        return [
            *self.parameters.values(),
            *self.buffers(),
            *(tensor for _, tensor in self.named_inputs()),
            *(tensors_in(dict(state)) if isinstance(state, Mapping) else ()),
        ]

    def result_of(self, phase: str, returned: Any) -> Any:
        """The phase's result: what it left with the step, or what it returned."""
        return self.held[phase]() if phase in self.held else returned


def tensors_in(value: Any, *, depth: int = 4) -> Iterator[torch.Tensor]:
    """Tensors in a value made of tuples, lists, mappings and plain objects' fields."""
    if isinstance(value, torch.Tensor):
        yield value
    elif depth == 0:
        return
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from tensors_in(one, depth=depth - 1)
    elif isinstance(value, list | tuple | set | frozenset):
        for one in value:
            yield from tensors_in(one, depth=depth - 1)
    elif hasattr(value, "__dataclass_fields__") and not isinstance(value, type):
        for one in vars(value).values() if hasattr(value, "__dict__") else ():
            yield from tensors_in(one, depth=depth - 1)


def named_parameters(module: Any, loss: Any) -> dict[str, torch.Tensor]:
    """By name; those of the loss begin with `loss.`, and a parameter that both hold is the module's."""
    found: dict[str, torch.Tensor] = {}
    for prefix, one in (("", module), ("loss.", loss)):
        if isinstance(one, torch.nn.Module):
            known = {id(parameter) for parameter in found.values()}
            found |= {
                prefix + name: parameter
                for name, parameter in one.named_parameters()
                if id(parameter) not in known
            }
    return found
