"""The choice between SwitchBack's passes in 8 bits and plain 16-bit products.

Where 8 bits take longer than three plain products, plain ones are computed: the layer is then nn.Linear, to
the last bit. The choice is made for the two passes together, because the forward pass leaves what the
backward pass needs. From Python they are timed through autograd, as a layer in training makes them: on an
H200, at 8192 x 1024 x 4096, the passes in 8 bits take 0.26 to 0.43 ms when they are called one after the
other, 0.94 to 1.19 ms through autograd, and nn.Linear's 0.23 to 0.28 ms.
"""

from __future__ import annotations

import math
from functools import cached_property, partial
from typing import Any, Final

import torch
from torch import Tensor, nn

from stepmark.zoo.kernels.dispatch import Call, choose, is_for_a_graph
from stepmark.zoo.kernels.product import rows_measured, without_graphs
from stepmark.zoo.kernels.switchback import PLAIN, CodesOf, Needs, Way, backward, forward
from stepmark.zoo.kernels.switchback_autograd import SwitchBack

OPERATION: Final = "switchback-layer/2"
ENOUGH_WORK: Final = 4e12
"""Operations of both passes that show which way is faster: 6 ms on an H200. More rows take more time in
proportion."""

_known: dict[tuple[Any, ...], str] = {}


def chosen(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    *,
    ways: dict[str, Way],
    needs: Needs,
    codes_of: CodesOf | None = None,
) -> str:
    """The name of the fastest of the ways, or PLAIN. Measured once for a size, on the layer's own tensors."""
    captured, work = is_for_a_graph(), 6.0 * weight.numel()
    rows = rows_measured(x.shape[0], max(4096, 1 << int(math.log2(ENOUGH_WORK / work))))
    about = (needs.x, needs.weight, codes_of is not None, *ways.values())
    place = (x.device.index, rows, *weight.shape, x.dtype, about)
    known = None if captured else _known.get(place)
    if known is None:
        passes = Passes(x[:rows], weight, bias, needs=needs, codes_of=codes_of)
        every = {PLAIN: None, **ways}
        known = choose(
            OPERATION,
            (rows, *weight.shape, str(x.dtype).removeprefix("torch."), _in_short(about)),
            without_graphs(_each(passes.alone, every), operations=work * rows),
            default=PLAIN,
            through_autograd=_each(passes.through_autograd, every) if any(passes.needs) else None,
        )
        if not captured:
            _known[place] = known
    return known


class Passes:
    """Both passes of a layer on its own tensors, whose gradients stay as they are.

    They give y and the gradients that are needed, of x, weight and bias in this order. No way stands for
    plain products.
    """

    def __init__(
        self, x: Tensor, weight: Tensor, bias: Tensor | None, *, needs: Needs, codes_of: CodesOf | None
    ) -> None:
        self._tensors = tuple(None if one is None else one.detach() for one in (x, weight, bias))
        self.needs = needs._replace(bias=needs.bias and bias is not None)
        self._codes_of = codes_of

    def alone(self, way: Way | None) -> tuple[Tensor, ...]:
        """Without autograd."""
        x, weight, bias = self._tensors
        assert x is not None
        assert weight is not None
        if way is not None:
            y, kept = forward(x, weight, bias, way, needs=self.needs, codes_of=self._codes_of)
            gradients = backward(self._grad, kept, way, needs=self.needs) if any(self.needs) else ()
            return y, *(one for one in gradients if one is not None)
        found = [nn.functional.linear(x, weight, bias)]
        if self.needs.x:
            found.append(torch.mm(self._grad, weight))
        if self.needs.weight:
            found.append(torch.mm(self._grad.t(), x))
        if self.needs.bias:
            found.append(torch.sum(self._grad, 0))
        return tuple(found)

    def through_autograd(self, way: Way | None) -> tuple[Tensor, ...]:
        """As a layer makes them in training; nothing is added to anybody's gradient."""
        leaves = self._leaves
        if way is None:
            y = nn.functional.linear(*leaves)  # type: ignore[arg-type]
        else:
            y = SwitchBack.apply(*leaves, way, self.needs, self._codes_of)  # type: ignore[no-untyped-call]
        wanted = [
            leaf for leaf, needed in zip(leaves, self.needs, strict=True) if leaf is not None and needed
        ]
        return y.detach(), *torch.autograd.grad(y, wanted, self._grad)

    @cached_property
    def _leaves(self) -> tuple[Tensor | None, ...]:
        """Made where they are used: what inference mode has made cannot be trained, but for copies."""
        return tuple(
            None
            if one is None
            else (one.clone() if one.is_inference() else one.detach()).requires_grad_(needed)
            for one, needed in zip(self._tensors, self.needs, strict=True)
        )

    @cached_property
    def _grad(self) -> Tensor:
        """The output serves as its own gradient: of its shape and size, and nobody's random numbers."""
        with torch.no_grad():
            return nn.functional.linear(*self._tensors)  # type: ignore[arg-type]


def _each(passes: Any, ways: dict[str, Way | None]) -> dict[str, Call]:
    return {name: partial(passes, way) for name, way in ways.items()}


def _in_short(about: tuple[Any, ...]) -> str:
    """The flags of a choice as letters and digits."""
    return "".join(
        f"-{one.code}{one.one_scale:d}{one.memory_efficient:d}" if isinstance(one, Way) else f"{one:d}"
        for one in about
    )
