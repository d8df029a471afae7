"""inputs-made-inside: data is created, or copied to the device, inside a timed phase.

Evidence. Random tensors, tensors made of Python or NumPy data and copies from the host that a phase made: 4
          KiB in all at least, and a tenth of the step's inputs; 64 KiB where the inputs are not known. What
          dropout draws does not count.
Why.      Drawing a normal number costs more than multiplying one. The time is that of the generator, the same
          for all variants, and pulls every ratio towards 1.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

from stepmark.audit.lanes import CaseLanes
from stepmark.audit.quantities import listed, size
from stepmark.records.evidence import TensorFacts
from stepmark.records.finding import Finding, FindingName, Severity

LEAST = 4096
LEAST_SHARE = 0.1
LEAST_UNKNOWN = 65536


def inputs_made_inside(case: CaseLanes) -> Finding | None:
    """Once per case, for the phase that makes most."""
    if not case.phases:
        return None
    made, phase = max(
        ((sum(each.bytes for each in phase.created), phase) for phase in case.phases),
        key=lambda pair: pair[0],
    )
    inputs = input_bytes(case.evidence.inputs if case.evidence else ())
    if made < (max(LEAST, LEAST_SHARE * inputs) if inputs else LEAST_UNKNOWN):
        return None
    calls = listed(list(dict.fromkeys(f"{each.call} ({each.kind})" for each in phase.created)))
    of = f" (the inputs have {size(inputs)})" if inputs else ""
    return Finding(
        name=FindingName.INPUTS_MADE_INSIDE,
        severity=Severity.WARNING,
        case=case.id,
        message=f"{phase.phase} makes {size(made)} of data by {calls}{of}",
        remedy="make the data once, as the step's inputs or before the operations are defined",
        numbers=(("created_bytes", float(made)), ("input_bytes", float(inputs))),
    )


def input_bytes(tensors: Iterable[TensorFacts]) -> int:
    """Of all inputs together."""
    return sum(math.prod(tensor.shape) * _element_bytes(tensor.dtype) for tensor in tensors)


def _element_bytes(dtype: str) -> int:
    """`float8_e4m3fn` has 8 bits; `bool` says nothing and has 8 too."""
    bits = re.search(r"\d+", dtype)
    return max(int(bits.group()) // 8, 1) if bits else 1
