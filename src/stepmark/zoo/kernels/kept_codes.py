"""Kept codes of a parameter: quantised again when that is another tensor, or another version of it.

And in another stream, which would not wait for the codes.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from stepmark.zoo.kernels.dispatch import is_capturing
from stepmark.zoo.kernels.quantize import WeightCodes
from stepmark.zoo.kernels.switchback import Way, weight_codes


class KeptCodes:
    """Empty after a copy or a pickle. While a graph is captured nothing is kept: its replays would go on with
    the codes of the weight as it was. Nor of what inference mode has made, whose versions nobody counts."""

    def __init__(self) -> None:
        self._kept: tuple[Tensor, tuple[Any, ...], WeightCodes] | None = None
        self.num_quantised = 0

    def __reduce__(self) -> tuple[type[KeptCodes], tuple[()]]:
        return KeptCodes, ()

    def codes(self, parameter: Tensor, weight: Tensor, way: Way) -> WeightCodes:
        """Codes of `weight`, which is the parameter or a cast of it."""
        if is_capturing() or torch.compiler.is_compiling() or parameter.is_inference():
            return weight_codes(weight, way)
        stream = torch._C._cuda_getCurrentRawStream(weight.get_device()) if weight.is_cuda else None
        state = (way, parameter._version, parameter.data_ptr(), weight.dtype, stream)
        kept = self._kept  # looked at once: replicas of a layer share this, each with a thread and a device
        if kept is None or kept[0] is not parameter or kept[1] != state:
            kept = self._kept = (parameter, state, weight_codes(weight, way))
            self.num_quantised += 1
        return kept[2]
