"""How near two results are, and the devices they can be compared on."""

from __future__ import annotations

import torch
from torch import Tensor

DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]


def largest_error(found: Tensor | None, truth: Tensor | None, *, least: float = 0.0) -> float:
    """The largest difference as a part of the truth's largest magnitude, or of `least` where that is larger:
    sums of a few numbers of size 1 may cancel to nothing, their rounding does not."""
    assert found is not None
    assert truth is not None
    assert found.shape == truth.shape
    if truth.numel() == 0:
        return 0.0
    distance = (found.double().cpu() - truth.double().cpu()).abs().max().item()
    return distance / max(truth.abs().max().item(), least) if distance else 0.0
