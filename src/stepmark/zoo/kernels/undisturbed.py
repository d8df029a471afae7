"""Undisturbed: a call in a thread of its own, where nothing is switched on or off that its caller has so.

Gradients and inference, autocast, hooks on saved tensors (checkpointing counts what they see), modes that
watch operations, and autograd itself, which is off inside an operator of torch.library: all are a thread's.
The call has its caller's device and stream.

Where autograd calls, there is no other thread: its own runs the passes that begin in it, and would wait for
itself. The call is then made as it is, with gradients and without autocast.

Backward passes are kept from autocast alone, in the thread that they are in (`without_autocast`).
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import torch

Given = ParamSpec("Given")
Result = TypeVar("Result")

autocast_off = torch._C._DisableAutocast
"""A context. Operators of torch.library take it where they compute gradients."""


def undisturbed(call: Callable[[], Result]) -> Result:
    """What the call returns, or raises."""
    if is_inside_a_backward_pass():
        with torch.enable_grad(), autocast_off():
            return call()
    stream = torch.cuda.current_stream() if torch.cuda.is_available() else None
    with ThreadPoolExecutor(max_workers=1) as pool:
        return pool.submit(_on, stream, call).result()


def without_autocast(call: Callable[Given, Result]) -> Callable[Given, Result]:
    """For gradients. Where `backward()` is called inside autocast, torch's products come back in 16 bits,
    whatever the forward pass was computed in; kernels are remembered by the dtype of that, and would write as
    many wider numbers. Asking costs a backward pass 0.1 µs, torch.amp.custom_bwd with its custom_fwd 3 µs. A
    compiler traces the two passes together, and cannot trace the context."""

    @wraps(call)
    def exact(*args: Given.args, **kwargs: Given.kwargs) -> Result:
        if not torch._C._is_any_autocast_enabled() or torch.compiler.is_compiling():
            return call(*args, **kwargs)
        with autocast_off():
            return call(*args, **kwargs)

    return exact


def is_inside_a_backward_pass() -> bool:
    """Whether autograd's engine calls, in whichever thread."""
    return torch._C._current_graph_task_id() != -1


def _on(stream: torch.cuda.Stream | None, call: Callable[[], Result]) -> Result:
    if stream is None:
        return call()
    chosen: contextlib.AbstractContextManager[Any] = torch.cuda.stream(stream)
    with chosen:
        torch.cuda.synchronize()  # cuBLAS would warn of a thread that has no context yet
        return call()


@contextlib.contextmanager
def waits_allowed() -> Iterator[None]:
    """Comparing results waits for the device, which a rehearsal refuses to the step that it rehearses."""
    refusing = torch.cuda.is_available() and torch.cuda.get_sync_debug_mode()
    if not refusing:
        yield
        return
    torch.cuda.set_sync_debug_mode("default")
    try:
        yield
    finally:
        torch.cuda.set_sync_debug_mode(refusing)
