"""Ways to compute a norm or a softmax, and their times: forward, backward, and both called from Python."""

from __future__ import annotations

import importlib.util
import statistics
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from benchmarks.h200.common import side_by_side, time_cold, time_eager
from stepmark.zoo.kernels.norm import Parameters
from stepmark.zoo.kernels.norm_autograd import norm_rows
from stepmark.zoo.kernels.softmax_autograd import softmax_rows
from stepmark.zoo.norms import layer_norm, rms_norm
from stepmark.zoo.softmax import softmax

EPS = 1e-5
Way = Callable[..., Tensor]
Call = Callable[[], object]


class Shape(NamedTuple):
    """What is computed on what."""

    operation: str
    rows: int
    width: int
    dtype: str
    affine: bool = True

    def tensors(self) -> list[Tensor | None]:
        """x, weight and bias, all of which want gradients."""
        torch.manual_seed(0)
        kind = getattr(torch, self.dtype)
        x = torch.randn(self.rows, self.width, device="cuda").to(kind)
        vectors = [torch.randn(self.width, device="cuda").to(kind) for _ in range(2)]
        number = {"rms_norm": 1, "layer_norm": 2, "softmax": 0}[self.operation] if self.affine else 0
        given: list[Tensor | None] = [x, *vectors[:number]]
        return [None if one is None else one.requires_grad_() for one in given]

    def bytes(self) -> dict[str, int]:
        matrix = self.rows * self.width * getattr(torch, self.dtype).itemsize
        return {"forward": 2 * matrix, "backward": 3 * matrix}


WAYS = ("torch", "compiled", "liger", "triton", "auto")
"""Plain torch, compiled, Liger where it is installed, the kernel alone, and the zoo's own choice."""


def ways(shape: Shape, names: Sequence[str]) -> dict[str, Way]:
    size = (shape.width,)
    plain: dict[str, Way] = {
        "rms_norm": lambda x, weight=None: functional.rms_norm(x, size, weight, EPS),
        "layer_norm": lambda x, weight=None, bias=None: functional.layer_norm(x, size, weight, bias, EPS),
        "softmax": lambda x: torch.softmax(x, -1),
    }
    ours: dict[str, Way] = {
        "rms_norm": lambda x, weight=None: norm_rows(x, Parameters(weight, None), eps=EPS, centred=False),
        "layer_norm": lambda x, weight=None, bias=None: norm_rows(
            x, Parameters(weight, bias), eps=EPS, centred=True
        ),
        "softmax": softmax_rows,
    }
    chosen: dict[str, Way] = {
        "rms_norm": partial(rms_norm, eps=EPS),
        "layer_norm": partial(layer_norm, eps=EPS),
        "softmax": softmax,
    }
    name = shape.operation
    found = {"torch": plain[name], "triton": ours[name], "auto": chosen[name]}
    if "compiled" in names:
        found["compiled"] = torch.compile(plain[name], dynamic=False)
    found |= liger(shape)
    return {way: found[way] for way in names if way in found}


LIGER = {
    "rms_norm": "LigerRMSNormFunction",
    "layer_norm": "LigerLayerNormFunction",
    "softmax": "LigerSoftmaxFunction",
}


def liger(shape: Shape) -> dict[str, Way]:
    """As it comes: its RMSNorm overwrites the incoming gradient, and its LayerNorm needs weights."""
    if importlib.util.find_spec("liger_kernel") is None or (
        shape.operation == "layer_norm" and not shape.affine
    ):
        return {}
    apply = getattr(
        importlib.import_module(f"liger_kernel.ops.{shape.operation}"), LIGER[shape.operation]
    ).apply
    return {
        "liger": apply
        if shape.operation == "softmax"
        else lambda x, *vectors: apply(x, *(vectors or [None]), EPS)
    }


def forward_call(way: Way, tensors: Sequence[Tensor | None]) -> Call:
    def call() -> None:
        with torch.no_grad():
            way(*tensors)

    return call


def training_call(way: Way, tensors: Sequence[Tensor | None], gradient: Tensor) -> Call:
    wanted = [one for one in tensors if one is not None]
    return lambda: torch.autograd.grad(way(*tensors), wanted, gradient)


def captured_forward(call: Call, times: int) -> Any:
    """A graph of some calls, after calls that compile."""
    return _captured(call, times, torch.cuda.Stream())  # type: ignore[no-untyped-call]


def captured_backward(way: Way, tensors: Sequence[Tensor | None], gradient: Tensor, times: int) -> Any:
    """Backward passes of one forward pass, which ran in the stream of the capture, as autograd demands."""
    stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    wanted = [one for one in tensors if one is not None]
    with torch.cuda.stream(stream):
        y = way(*tensors)
    return _captured(partial(torch.autograd.grad, y, wanted, gradient, retain_graph=True), times, stream)


def _captured(call: Call, times: int, stream: Any) -> Any:
    with torch.cuda.stream(stream):
        for _ in range(3):
            call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        for _ in range(times):
            call()
    return graph


TIMES = 10


def replayed(graph: Any) -> float:
    """Microseconds of one of its calls, warm."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
    spent = []
    for _ in range(7):
        begin.record()
        graph.replay()
        end.record()
        end.synchronize()
        spent.append(1e3 * begin.elapsed_time(end) / TIMES)
    return float(statistics.median(spent))


def times_of(way: Way, shape: Shape) -> dict[str, float]:
    """Microseconds: graph replays with warm and cold L2."""
    tensors = shape.tensors()
    assert tensors[0] is not None
    gradient = torch.randn_like(tensors[0].detach())
    forward = forward_call(way, tensors)
    return {
        "forward_warm": replayed(captured_forward(forward, TIMES)),
        "forward_cold": time_cold(captured_forward(forward, 1).replay),
        "backward_warm": replayed(captured_backward(way, tensors, gradient, TIMES)),
        "backward_cold": time_cold(captured_backward(way, tensors, gradient, 1).replay),
    }


ROUNDS, SECONDS = 9, 0.005
"""Of calls from Python."""


def from_python(found: Mapping[str, Way], shape: Shape) -> dict[str, dict[str, float]]:
    """Microseconds by way and by what is called. All ways take turns: this host changes its speed by a factor
    from one moment to the next, and ways that were timed one after another differed by what it did then. Each
    has tensors of its own, as Liger's RMSNorm overwrites the incoming gradient."""
    calls: dict[str, dict[str, Call]] = {"forward_eager": {}, "training_eager": {}}
    for name, way in found.items():
        tensors = shape.tensors()
        assert tensors[0] is not None
        gradient = torch.randn_like(tensors[0].detach())
        calls["forward_eager"][name] = forward_call(way, tensors)
        calls["training_eager"][name] = training_call(way, tensors, gradient)
    times: dict[str, dict[str, float]] = {name: {} for name in found}
    for what, each in calls.items():
        for name, spent in side_by_side(each, partial(time_eager, seconds=SECONDS), ROUNDS).items():
            if spent is not None:
                times[name][what] = spent
    return times
