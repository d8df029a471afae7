"""An iteration: the state that one training step hands from phase to phase."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from stepmark.instruments.inspection.graph import leaves_among, nodes_behind
from stepmark.instruments.inspection.subject import tensors_in
from stepmark.instruments.random_values import RandomValues

MOST_DIVISION = 128.0
"""Of a gradient's numbers by their length: twice as much would make one in a hundred denormal in float16."""


def under(context: Any, function: Any, *arguments: Any) -> Any:
    """Call the function inside the context."""
    with context():
        return function(*arguments)


class Iteration:
    """Output, loss, and the graph between them; every iteration builds its own and uses it once."""

    def __init__(
        self,
        module: Callable[..., Any],
        loss: Callable[..., Any] | None,
        inputs: Sequence[Any],
        targets: Sequence[Any],
        *,
        leaves: list[torch.Tensor],
        seed: int,
        updated: bool = False,
    ) -> None:
        """`updated`: an optimizer follows each backward pass."""
        self._module, self._loss_function = module, loss
        self._inputs, self._targets = inputs, targets
        self._leaves = leaves
        self._seed = seed
        self._alternates = updated and loss is None
        self.cycle = 2 if self._alternates else 1
        """Iterations after which the same gradient comes again."""
        self._searching = True
        self.output: Any = None
        self.loss: Any = None
        self.gradient: torch.Tensor | None = None
        """From which backward starts where there is no loss; made in the first iteration."""
        self._opposite: torch.Tensor | None = None
        """Takes turns with it under an optimizer, and both are short. A gradient that stays is that of a loss
        without a least value: it led 9 of 60 ordinary stacks of layers to weights that are not finite within
        40 steps and 14 within 1000, the two in turns none (`python -m benchmarks.audit.drift`)."""

    def prepare(self) -> None:
        if self._searching and self.output is not None:
            self._add_leaves_of_the_graph()
        if self._opposite is not None and self.output is not None:  # else none has run since the last time
            self.gradient, self._opposite = self._opposite, self.gradient
        self.output = self.loss = None
        for leaf in self._leaves:
            leaf.grad = None

    def _add_leaves_of_the_graph(self) -> None:
        """A callable may hold parameters that only the graph shows; their gradients are cleared as well."""
        self._searching = False
        end = self.output if self.loss is None else self.loss
        known = {id(leaf) for leaf in self._leaves}
        found = leaves_among(nodes_behind(tensors_in(end)))
        self._leaves += [leaf for leaf in found if id(leaf) not in known]

    def forward(self) -> None:
        self.output = self._module(*self._inputs)

    def compute_loss(self) -> None:
        assert self._loss_function is not None
        self.loss = self._loss_function(self.output, *self._targets)

    def backward_from_loss(self) -> None:
        try:
            self.loss.backward()
        except AttributeError:
            if isinstance(self.loss, torch.Tensor):
                raise
            raise TypeError(f"the loss returns {type(self.loss).__name__}, not a tensor") from None

    def backward(self) -> None:
        gradient = self.gradient if self.gradient is not None else self._fixed_gradient()
        self.output.backward(gradient)

    def _fixed_gradient(self) -> torch.Tensor:
        if not isinstance(self.output, torch.Tensor):
            raise TypeError(
                f"the module returns {type(self.output).__name__}, not a tensor: give the step a loss"
            )
        of = self.output
        values = RandomValues(self._seed).normal(of.shape, of.device, of.dtype)
        if self._alternates:
            values /= min(values.numel() ** 0.5, MOST_DIVISION)
        self.gradient = values
        self._opposite = -self.gradient if self._alternates else None
        return self.gradient

    def output_again(self) -> Any:
        """The module's call by itself; the iteration does not notice."""
        return self._module(*self._inputs)

    def without_optimizer(self) -> Any:
        """One iteration up to its gradients; gives the output."""
        self.prepare()
        self.forward()
        if self._loss_function is None:
            self.backward()
        else:
            self.compute_loss()
            self.backward_from_loss()
        return self.output
