"""Evidence of a bound step: what the solo pass reads off after its plain steps."""

from __future__ import annotations

import resource
import sys
from collections.abc import Callable, Sequence
from typing import Any

import torch

from stepmark.records.evidence import Evidence, TensorFacts
from stepmark.records.sample import Layout


def evidence_of(
    layout: Layout,
    parameters: Sequence[torch.Tensor],
    inputs: Sequence[Any],
    optimizer: Any,
    output: Callable[[], Any],
) -> Evidence:
    """Counts, bytes, shapes and dtypes."""
    with torch.no_grad():
        last = output()
    return Evidence(
        layout=layout,
        parameters=sum(parameter.numel() for parameter in parameters),
        trainable_parameters=sum(p.numel() for p in parameters if p.requires_grad),
        parameter_bytes=sum(parameter.nbytes for parameter in parameters),
        optimizer_state_bytes=_state_bytes(optimizer),
        inputs=tuple(tensor_facts(one) for one in inputs if isinstance(one, torch.Tensor)),
        output=tensor_facts(last) if isinstance(last, torch.Tensor) else None,
        peak_rss_bytes=_peak_rss(),
    )


def tensor_facts(tensor: torch.Tensor) -> TensorFacts:
    return TensorFacts(
        shape=tuple(tensor.shape), dtype=str(tensor.dtype).removeprefix("torch."), device=str(tensor.device)
    )


def _state_bytes(optimizer: Any) -> int:
    state = getattr(optimizer, "state", None) or {}
    return sum(
        value.nbytes
        for slots in state.values()
        for value in slots.values()
        if isinstance(value, torch.Tensor)
    )


def _peak_rss() -> int:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
