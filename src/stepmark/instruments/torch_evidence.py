"""Evidence of a bound step: what the solo pass reads off after its plain steps."""

from __future__ import annotations

import resource
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from stepmark.authoring.expectation import Expect
from stepmark.authoring.workload import Ops, Step
from stepmark.instruments.device_memory import device_memory
from stepmark.instruments.inspection.conditions import conditions
from stepmark.instruments.inspection.subject import tensors_in
from stepmark.records.evidence import Declared, Evidence, TensorFacts
from stepmark.records.sample import Layout


def evidence_of(
    layout: Layout,
    parameters: Sequence[torch.Tensor],
    inputs: Sequence[Any],
    optimizer: Any,
    output: Callable[[], Any],
    *,
    claims: Declared | None = None,
) -> Evidence:
    """Counts, bytes, shapes and dtypes; what the case claims; the settings that its steps ran under."""
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
        device_memory=device_memory((*parameters, *inputs)),
        declared=claims or Declared(),
        conditions=conditions(),
    )


def declared(workload: Step | Ops) -> Declared:
    """What a workload says of itself."""
    expects = workload.expects or Expect()
    of_step: dict[str, Any] = {}
    if isinstance(workload, Step):
        of_step = {
            "compile": workload.compile is not False,
            "autocast": workload.autocast,
            "optimizer": workload.optimizer is not None,
            # Of a function nobody knows which parameters it holds.
            "parameters": expects.parameters if isinstance(workload.module, torch.nn.Module) else None,
        }
    return Declared(
        reference=bool(workload.reference if isinstance(workload, Step) else workload.references),
        deterministic=expects.deterministic,
        flops=expects.flops,
        output=expects.output,
        tokens=expects.tokens,
        dtype=expects.dtype,
        **of_step,
    )


def tensor_facts(tensor: torch.Tensor) -> TensorFacts:
    """A nested tensor has sizes that are no numbers, or none at all: the shape is then of what it holds."""
    held = tensor.values() if tensor.is_nested else tensor
    return TensorFacts(
        shape=tuple(held.shape), dtype=str(tensor.dtype).removeprefix("torch."), device=str(tensor.device)
    )


def _state_bytes(optimizer: Any) -> int:
    """Of torch's optimizers, and of others that keep tensors in a `state` of whatever form."""
    state = getattr(optimizer, "state", None)
    kept = dict(state) if isinstance(state, Mapping) else state
    return sum({id(tensor): tensor.nbytes for tensor in tensors_in(kept)}.values())


def _peak_rss() -> int:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
