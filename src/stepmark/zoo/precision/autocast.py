"""Autocast by place: which number format a small model really has at each place, seen by running it.

The toy model is fc1 (in -> 10, no bias), ReLU, LayerNorm(10), fc2 (10 -> out, no bias), with a cross-entropy
after it. Autocast leaves parameters alone, casts the inputs of matrix products, and keeps a list for each
kind of device of what needs float32: LayerNorm is on the list of CUDA. What other devices do is not assumed
here, it is seen; `differences` puts it beside the published row.

Source.  CS336 (Stanford), assignment 2, benchmarking_mixed_precision: the model and the row for CUDA.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

HIDDEN = 10


@dataclass(frozen=True, kw_only=True)
class DtypesByPlace:
    """The number format at each place of a training step."""

    device: str
    """The kind of device, such as cpu or cuda."""
    autocast: str
    """The format that autocast was asked for, or none."""
    parameters: str
    first_layer: str
    """What fc1 gives."""
    norm: str
    """What the LayerNorm gives."""
    logits: str
    loss: str
    gradients: str
    """Of the parameters."""


PUBLISHED_PLACES = DtypesByPlace(
    device="cuda",
    autocast="float16",
    parameters="float32",
    first_layer="float16",
    norm="float32",
    logits="float16",
    loss="float32",
    gradients="float32",
)
"""The handout's answer for CUDA."""


class ToyModel(nn.Module):
    """x (batch, in) -> logits (batch, out)."""

    def __init__(
        self, in_features: int, out_features: int, *, device: torch.device | str | None = None
    ) -> None:
        super().__init__()
        self.fc1 = nn.Linear(in_features, HIDDEN, bias=False, device=device)
        self.relu = nn.ReLU()
        self.ln = nn.LayerNorm(HIDDEN, device=device)
        self.fc2 = nn.Linear(HIDDEN, out_features, bias=False, device=device)

    def forward(self, x: Tensor) -> Tensor:
        logits: Tensor = self.fc2(self.ln(self.relu(self.fc1(x))))
        return logits


def dtypes_by_place(
    dtype: torch.dtype | None, *, device: torch.device | str = "cpu", batch: int = 8
) -> DtypesByPlace:
    """Take one training step under autocast to `dtype` (None: without) and look at every place."""
    kind = torch.device(device).type
    model = ToyModel(16, 5, device=device)
    seen = _watch(model)
    inputs = torch.randn(batch, 16, device=device)
    labels = torch.randint(5, (batch,), device=device)
    with torch.autocast(kind, dtype=dtype, enabled=dtype is not None):
        loss = cross_entropy(model(inputs), labels)
    loss.backward()  # type: ignore[no-untyped-call]
    gradients = [parameter.grad for parameter in model.parameters()]
    return DtypesByPlace(
        device=kind,
        autocast="none" if dtype is None else _name([dtype]),
        parameters=_name(parameter.dtype for parameter in model.parameters()),
        first_layer=_name([seen["fc1"]]),
        norm=_name([seen["ln"]]),
        logits=_name([seen["fc2"]]),
        loss=_name([loss.dtype]),
        gradients=_name(gradient.dtype for gradient in gradients if gradient is not None),
    )


def differences(seen: DtypesByPlace, other: DtypesByPlace) -> dict[str, tuple[str, str]]:
    """The places where two tables differ: what is in the one and in the other."""
    pairs = {field.name: (getattr(seen, field.name), getattr(other, field.name)) for field in fields(seen)}
    return {place: pair for place, pair in pairs.items() if pair[0] != pair[1]}


def _watch(model: nn.Module) -> dict[str, torch.dtype]:
    """A dictionary that the next forward pass fills with the format of every child's output."""
    seen: dict[str, torch.dtype] = {}

    def note(name: str) -> None:
        def hook(_module: nn.Module, _args: object, output: Tensor) -> None:
            seen[name] = output.dtype

        model.get_submodule(name).register_forward_hook(hook)

    for name, _ in model.named_children():
        note(name)
    return seen


def _name(dtypes: Iterable[torch.dtype]) -> str:
    return ", ".join(sorted({str(dtype).removeprefix("torch.") for dtype in dtypes}))
