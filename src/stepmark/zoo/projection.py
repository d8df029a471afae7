"""Projections of the transformer: linear maps without bias, one by one or several in one product."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

CUT = 3.0
"""Deviations at which initial values are cut."""


def cut_normal(weight: Tensor, deviation: float) -> None:
    """Fill with a normal that is cut at three deviations."""
    nn.init.trunc_normal_(weight, std=deviation, a=-CUT * deviation, b=CUT * deviation)


class Projection(nn.Linear):
    """A linear map without bias that begins at unit gain."""

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(in_features, out_features, bias=False, device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        cut_normal(self.weight, sqrt(2.0 / (self.in_features + self.out_features)))


class StackedProjection(nn.Module):
    """Projections of the same input as one product: x (..., in) -> (..., parts out), part after part.

    The weights lie in one tensor (parts out, in), each part begun as a Projection of its own. The state dict
    of the module that holds it has them apart, under the parts' names, once `name_parts` has told it to.
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        parts: Sequence[str],
        *,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.in_features, self.out_features, self.parts = in_features, out_features, tuple(parts)
        empty = torch.empty(len(self.parts) * out_features, in_features, device=device, dtype=dtype)
        self.weight = nn.Parameter(empty)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Each part with the deviation that a projection of its own would have."""
        for part in self.weight.detach().chunk(len(self.parts)):
            cut_normal(part, sqrt(2.0 / (self.in_features + self.out_features)))

    def forward(self, x: Tensor) -> Tensor:
        return linear(x, self.weight)

    def extra_repr(self) -> str:
        return f"{self.in_features} to {' + '.join(self.parts)}, {self.out_features} each"


def name_parts(holder: nn.Module) -> None:
    """The holder's state dict names the parts of its stacked projections: query.weight, not qkv.weight."""
    holder.register_state_dict_post_hook(_taken_apart)  # type: ignore[no-untyped-call]
    holder.register_load_state_dict_pre_hook(_put_together)  # type: ignore[no-untyped-call]


def _taken_apart(holder: nn.Module, state: dict[str, Any], prefix: str, _: Any) -> None:
    for name, stacked in _stacks(holder):
        weight = state.pop(f"{prefix}{name}.weight")
        for part, own in zip(stacked.parts, weight.chunk(len(stacked.parts)), strict=True):
            state[f"{prefix}{part}.weight"] = own


def _put_together(holder: nn.Module, state: dict[str, Any], prefix: str, *_: Any) -> None:
    """Where a part is missing, nothing is put together, and torch says which weight it missed."""
    for name, stacked in _stacks(holder):
        keys = [f"{prefix}{part}.weight" for part in stacked.parts]
        if all(key in state for key in keys):
            state[f"{prefix}{name}.weight"] = torch.cat([state.pop(key) for key in keys])


def _stacks(holder: nn.Module) -> list[tuple[str, StackedProjection]]:
    return [(name, child) for name, child in holder.named_children() if isinstance(child, StackedProjection)]
