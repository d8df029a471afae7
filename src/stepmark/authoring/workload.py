"""What a variant returns: a training step, or a set of named operations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from stepmark.authoring.expectation import Expect
from stepmark.authoring.inputs import Input, dtype_name

Inputs = Input | Sequence[Any] | Any
"""An Input, a tensor, or a sequence of either."""


@dataclass(frozen=True)
class Step:
    """One training step: a module or callable, its inputs, and what turns its output into an update."""

    module: Callable[..., Any]
    inputs: Inputs = field(default=(), kw_only=True)
    """Made once per launch, outside every clock, and passed to the module by position."""
    loss: Callable[..., Any] | None = field(default=None, kw_only=True)
    """Called with the output and the targets. Without one, backward starts from a fixed random gradient
    of the output, made outside the clock, and the step has no loss phase."""
    target: Inputs = field(default=(), kw_only=True)
    optimizer: Callable[[Any], Any] | None = field(default=None, kw_only=True)
    """Called with the trainable parameters: `torch.optim.AdamW`, or a lambda with settings."""
    autocast: Any = field(default=None, kw_only=True)
    """A dtype, kept as its name: forward and loss run under torch.autocast."""
    compile: bool | Mapping[str, Any] = field(default=False, kw_only=True)
    """torch.compile the module, with these options."""
    reference: Callable[..., Any] | None = field(default=None, kw_only=True)
    """Called with a copy of the module and the inputs, all in float64: returns what the output should be.
    Output and gradients are held against it and against its own gradients, before anything is timed."""
    tolerance: float | None = field(default=None, kw_only=True)
    """Largest difference allowed, relative to the largest number of the reference; by dtype if not given."""
    expects: Expect | None = field(default=None, kw_only=True)
    """Claims that the audit checks."""

    def __post_init__(self) -> None:
        if not callable(self.module):
            raise TypeError(f"a step needs a module or a function: {_kind(self.module)} cannot be called")
        _refuse_class(self.module, "module")
        if self.optimizer is not None and not callable(self.optimizer):
            raise TypeError(
                f"optimizer={_kind(self.optimizer)} cannot be called: give what makes one from the trainable "
                "parameters, like torch.optim.AdamW or lambda p: torch.optim.SGD(p, lr=0.1)"
            )
        for name in ("loss", "reference"):
            given = getattr(self, name)
            if given is not None and not callable(given):
                raise TypeError(f"{name}={_kind(given)} cannot be called: give a function")
            _refuse_class(given, name)
        if not isinstance(self.compile, bool | Mapping):
            raise TypeError(
                f"compile={self.compile!r} is neither True nor options: write "
                "compile={'mode': 'max-autotune'}, for instance"
            )
        object.__setattr__(self, "autocast", dtype_name(self.autocast))


@dataclass(frozen=True)
class Ops:
    """Named operations measured one by one, with named sums of them."""

    operations: Mapping[str, Callable[[], Any]]
    totals: Mapping[str, Sequence[str]] = field(default_factory=dict, kw_only=True)
    primary: str | None = field(default=None, kw_only=True)
    """The operation or total a verdict is about: the first total, or the first operation, by default."""
    references: Mapping[str, Callable[[], Any]] = field(default_factory=dict, kw_only=True)
    """By operation: what its result should be, computed in float64 or exactly."""
    tolerance: float | None = field(default=None, kw_only=True)
    """As of a Step."""
    expects: Expect | None = field(default=None, kw_only=True)
    """Claims that the audit checks, about all operations together."""

    def __post_init__(self) -> None:
        if not isinstance(self.operations, Mapping):
            raise TypeError(f"Ops needs names: {{'matmul': lambda: a @ b}}, not a {_kind(self.operations)}")
        if not self.operations:
            raise ValueError("Ops needs at least one operation")
        for kind, functions in (("operation", self.operations), ("reference", self.references)):
            for name, function in functions.items():
                if not callable(function):
                    raise TypeError(
                        f"{kind} '{name}' is a {_kind(function)}, not a function: write lambda: ..., "
                        "which computes it anew each time"
                    )
        for total, parts in self.totals.items():
            if isinstance(parts, str):
                raise TypeError(f"total '{total}': '{parts}' is text, not a list: write ['{parts}']")
            unknown = [part for part in parts if part not in self.operations]
            if unknown:
                raise ValueError(f"total '{total}' names unknown operations: {', '.join(unknown)}")
            if not parts:
                raise ValueError(f"total '{total}' has no parts")
            if total in self.operations:
                raise ValueError(f"'{total}' is both an operation and a total")
        if self.primary is not None and self.primary not in {**self.operations, **self.totals}:
            raise ValueError(f"primary '{self.primary}' is neither an operation nor a total")
        strange = [name for name in self.references if name not in self.operations]
        if strange:
            raise ValueError(f"references name unknown operations: {', '.join(strange)}")


def _refuse_class(given: object, name: str) -> None:
    """Calling a class makes an object of it, and no output."""
    if isinstance(given, type):
        raise TypeError(
            f"{name}={given.__name__} is a class: give an object of it, like {given.__name__}(...)"
        )


def _kind(value: object) -> str:
    return type(value).__name__


Workload = Step | Ops
