"""A shortcut for FragmentedLinear without gradients: a call like the one before launches the same kernels.

Finding out which kernels suit takes Python longer than most of them take the device: of 27 µs of a call with
one row, on the host of an H200, the two launches took 10. What decides it is held against what it was: the
very parameters at the same addresses, an input of the same shape, the device, the stream. Where anything
differs the long way is taken, and remembered. Cast to and fro, a layer may lie where it lay before in another
dtype of as many bits.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from operator import is_
from typing import Any, NamedTuple

import torch
from torch import Tensor

from stepmark.zoo.kernels import dispatch
from stepmark.zoo.kernels.backend import Backend, is_differentiated
from stepmark.zoo.kernels.bound import ALIGNED, is_direct
from stepmark.zoo.kernels.fragmented import plan_for
from stepmark.zoo.kernels.fragmented_chain import Chain, Launches
from stepmark.zoo.kernels.fragmented_sizes import Parameters


class _Call(NamedTuple):
    """What the kernels of a call follow from, and these."""

    backend: Backend
    dtype: torch.dtype
    device: int
    stream: int
    shape: torch.Size
    """Of x."""
    own: tuple[Any, ...]
    """The parameters, as the layer lists them. Kept alive until the next call, where they are replaced."""
    some: tuple[Tensor, ...]
    """Those that are not None, and where they lie."""
    places: list[int]
    arguments: tuple[int | None, ...]
    """The same, and None for no bias."""
    y: tuple[int, ...]
    """Its shape."""
    launches: Launches


class Shortcut(threading.local):
    """Of one layer; each thread has its own, as it has scratch memory. Empty after a copy or a pickle."""

    def __init__(self) -> None:
        self._before: _Call | None = None

    def __reduce__(self) -> tuple[type[Shortcut], tuple[()]]:
        return Shortcut, ()

    def __call__(self, x: Tensor, own: Mapping[str, Any], backend: Backend) -> Tensor | None:
        """None where the long way must be taken. `own` are the layer's parameters by name."""
        before = self._before
        if before is None or is_differentiated():
            return None
        asked, dtype, device, stream, of_x, known, some, places, arguments, shape, launches = before
        here = x.data_ptr()
        if (
            here & ALIGNED
            or x.dtype is not dtype
            or x.shape != of_x
            or not x.is_contiguous()
            or x.get_device() != device
            or asked != backend
            or len(own) != len(known)
            or not all(map(is_, own.values(), known))
            or [one.data_ptr() for one in some] != places
            or some[0].dtype is not dtype
            or not all(map(Tensor.is_contiguous, some))
            or torch._C._cuda_getDevice() != device
            or torch._C._cuda_getCurrentRawStream(device) != stream
            or torch.is_autocast_enabled("cuda")
            or torch._C._cuda_isCurrentStreamCapturing()
            or dispatch._rehearsal.is_on
        ):
            return None
        y = x.new_empty(shape)
        launches(here, *arguments, y.data_ptr())
        return y

    def remember(self, x: Tensor, parameters: Parameters, own: Mapping[str, Any], backend: Backend) -> None:
        """A call that has just been made by kernels.hard, without gradients."""
        self._before = None
        if not x.is_cuda or not x.is_contiguous() or not is_direct() or dispatch.is_for_a_graph():
            return
        rows = x.view(-1, x.shape[-1])
        plan = plan_for(rows, parameters)
        device = torch._C._cuda_getDevice()
        some = tuple(one for one in parameters if one is not None)
        places = [one.data_ptr() for one in some]
        if (
            not isinstance(plan, Chain)
            or {*map(id, parameters)} != {*map(id, own.values())}
            or x.get_device() != device
            or any(one & ALIGNED for one in (x.data_ptr(), *places))
        ):
            return
        stream = torch._C._cuda_getCurrentRawStream(device)
        launches = plan.launches(device, stream, rows, parameters)
        shape = (*x.shape[:-1], parameters.weight.shape[2])
        arguments = tuple(places) if parameters.bias is not None else (*places, None)
        call = (backend, x.dtype, device, stream, x.shape, tuple(own.values()), some, places, arguments)
        self._before = _Call(*call, shape, launches)
