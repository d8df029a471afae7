"""Backward passes inside autocast, of forward passes outside: what reaches the kernels, and the gradients."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import stepmark.zoo
from stepmark.zoo.fragmented import FragmentedLinear, Selection, _GroupedProduct
from stepmark.zoo.kernels import lora_ways
from stepmark.zoo.kernels.gated import silu_gate
from stepmark.zoo.kernels.launch import Launcher
from stepmark.zoo.kernels.rotation import rotated_heads
from stepmark.zoo.lora import LoRALinear
from stepmark.zoo.losses import cross_entropy
from stepmark.zoo.norms import layer_norm, rms_norm
from stepmark.zoo.rope import Rope
from stepmark.zoo.softmax import softmax
from stepmark.zoo.switchback import SwitchBackLinear

Passed = tuple[list[Tensor], list[Tensor]]
"""What a forward pass gave, and what it asks gradients of."""
Launches = list[tuple[Any, ...]]
"""Kernels by name, each with the dtypes of its tensors."""
pytestmark = [
    pytest.mark.filterwarnings(
        "ignore:invalid value encountered:RuntimeWarning"
    ),  # NumPy, where softmax masks
    pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning"),  # by torch itself
]
LORA_ROWS = lora_ways.LEAST_ROWS_IN_BLOCKS


@pytest.fixture
def launches(monkeypatch: pytest.MonkeyPatch) -> Launches:
    seen: Launches = []
    plain = Launcher.__call__

    def call(self: Launcher, grid: tuple[int, int, int], *args: Any, **options: Any) -> None:
        dtypes = [one.dtype for one in args if isinstance(one, Tensor)]
        seen.append((self.function.__name__, *dtypes))
        plain(self, grid, *args, **options)

    monkeypatch.setattr(Launcher, "__call__", call)
    return seen


@pytest.fixture
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The way that LoRA takes where it has it, whatever is fastest."""
    wanted: str = request.param

    def choice(_: object, __: str, ___: str, calls: dict[str, Any]) -> str:
        return next((name for name in calls if name.startswith(wanted)), next(iter(calls)))

    monkeypatch.setattr(lora_ways.Plan, "_choice", choice)
    monkeypatch.setattr(lora_ways.Plan, "_eligible", lambda _, makers: makers)
    monkeypatch.setattr(lora_ways, "_plans", {})
    return wanted


def of_layer(layer: nn.Module, x: Tensor) -> Passed:
    x = x.requires_grad_()
    y = layer(x)
    selected_hard = isinstance(layer, FragmentedLinear) and layer.selection == "hard"
    wanted = {name: one for name, one in layer.named_parameters() if one.requires_grad}
    if selected_hard:
        del wanted["selector"]
    return [y], [x, *wanted.values()]


def of_function(function: Callable[..., Any], *inputs: Tensor) -> Passed:
    leaves = [one.requires_grad_() for one in inputs]
    found = function(*leaves)
    return [found] if isinstance(found, Tensor) else [*found], leaves


def lora_layer(device: str) -> LoRALinear:
    torch.manual_seed(0)
    base = nn.Linear(32, 48, device=device)
    return LoRALinear(base, rank=4, zero_b=False, backend="triton")


def fragmented_layer(device: str, selection: Selection) -> FragmentedLinear:
    torch.manual_seed(0)
    return FragmentedLinear(24, 10, 6, 3, True, selection=selection, device=device, backend="triton")


def switchback_layer(device: str, backend: Any, **more: Any) -> SwitchBackLinear:
    torch.manual_seed(0)
    return SwitchBackLinear(24, 16, True, device=device, backend=backend, **more)


def heads(device: str) -> Passed:
    cos, sin = Rope(4, 8, device=device)(5)
    call = partial(rotated_heads, cos=cos, sin=sin, heads=2, backend="triton")
    return of_function(call, torch.randn(2, 5, 24, device=device))


def loss(device: str) -> Passed:
    labels = torch.randint(0, 9, (6,), device=device)
    call = partial(cross_entropy, labels=labels, backend="triton")
    return of_function(call, torch.randn(6, 9, device=device))


def grouped(device: str) -> Passed:
    spans = ((0, 0, 2), (2, 2, 5))

    def call(own: Tensor, weight: Tensor) -> Tensor:
        product: Tensor = _GroupedProduct.apply(own, weight, spans)  # type: ignore[no-untyped-call]
        return product

    return of_function(call, *[torch.randn(s, device=device) for s in ((5, 8), (3, 8, 4))])


def rows(device: str) -> Tensor:
    return torch.randn(5, 24, device=device)


FORWARDS: dict[str, Callable[[str], Passed]] = {
    "LoRA": lambda device: of_layer(lora_layer(device), torch.randn(6, 32, device=device)),
    "hard": lambda device: of_layer(fragmented_layer(device, "hard"), rows(device)),
    "soft": lambda device: of_layer(fragmented_layer(device, "soft"), rows(device)),
    "grouped in torch": grouped,
    "switchback": lambda device: of_layer(switchback_layer(device, "triton"), rows(device)),
    "switchback, codes kept": lambda device: of_layer(
        switchback_layer(device, "triton", quantization="global", memory_efficient=True), rows(device)
    ),
    "switchback in torch": lambda device: of_layer(switchback_layer(device, "torch"), rows(device)),
    "layer norm": lambda device: of_function(
        partial(layer_norm, backend="triton"), *[torch.randn(s, device=device) for s in ((5, 24), 24, 24)]
    ),
    "RMS norm in torch": lambda _: of_function(  # written out on a CPU alone
        partial(rms_norm, backend="torch"), torch.randn(5, 24), torch.randn(24)
    ),
    "softmax": lambda device: of_function(partial(softmax, backend="triton"), rows(device)),
    "gate": lambda device: of_function(partial(silu_gate, backend="triton"), rows(device)),
    "heads": heads,
    "loss": loss,
}


def assert_the_same_inside_autocast(passed: Passed, device: str, launches: Launches, **more: Any) -> None:
    outputs, leaves = passed
    given = [torch.ones_like(one) for one in outputs]
    for _ in range(2):  # on a GPU what was launched once may be launched again without the launcher
        launches.clear()
        outside = torch.autograd.grad(outputs, leaves, given, retain_graph=True, **more)
        wanted = [*launches]
    launches.clear()
    with torch.autocast(device, dtype=torch.bfloat16):
        inside = torch.autograd.grad(outputs, leaves, given, **more)
    assert launches == wanted
    for one, other in zip(inside, outside, strict=True):
        torch.testing.assert_close(one, other, rtol=0.0, atol=0.0)


@pytest.mark.parametrize("name", FORWARDS)
def test_autocast_does_not_reach_a_backward_pass(name: str, device: str, launches: Launches) -> None:
    passed = FORWARDS[name](device)
    assert launches or "torch" in name
    assert_the_same_inside_autocast(passed, device, launches)


@pytest.mark.parametrize("way", ["torch", "torch_spread", "spread", "whole", "rows"], indirect=True)
@pytest.mark.parametrize("compiled", [False, True])
def test_it_does_not_reach_any_way_of_lora(way: str, compiled: bool, device: str, launches: Launches) -> None:
    layer: Any = lora_layer(device)
    if compiled:
        torch.compiler.reset()
        call: Any = torch.compile(layer, backend="aot_eager", fullgraph=True)
    else:
        call = layer
    x = torch.randn(LORA_ROWS, 32, device=device, requires_grad=True)
    adapter = layer.adapter
    passed = [call(x)], [x, adapter.A, adapter.B]
    assert way.startswith("torch") or any(way in name for name, *_ in launches)
    assert_the_same_inside_autocast(passed, device, launches)


def test_it_does_not_reach_gradients_that_are_differentiated(device: str, launches: Launches) -> None:
    assert_the_same_inside_autocast(FORWARDS["LoRA"](device), device, launches, create_graph=True)


@pytest.mark.parametrize("name", ["hard", "switchback", "switchback, codes kept"])
def test_it_does_not_reach_an_operator(name: str, device: str, launches: Launches) -> None:
    torch.compiler.reset()
    kept: dict[str, Any] = {"quantization": "global", "memory_efficient": True} if "kept" in name else {}
    if name == "hard":
        layer: nn.Module = fragmented_layer(device, "hard")
    else:
        layer = switchback_layer(device, "triton", **kept)
    call: Any = torch.compile(layer, backend="aot_eager", fullgraph=True)
    x = rows(device).requires_grad_()
    wanted = [one for which, one in layer.named_parameters() if which != "selector"]
    assert_the_same_inside_autocast(([call(x)], [x, *wanted]), device, launches)


def test_what_a_compiler_traces_inside_autocast_is_what_is_called(device: str) -> None:
    layer = switchback_layer(device, "torch")
    torch.compiler.reset()
    call: Any = torch.compile(layer, backend="aot_eager", fullgraph=True)
    x = rows(device).requires_grad_()
    with torch.autocast(device, dtype=torch.bfloat16):
        found, expected = ([y, *torch.autograd.grad(y.sum(), x)] for y in (call(x), layer(x)))
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other)


def test_no_function_of_the_zoo_is_left_out(device: str) -> None:
    for module in pkgutil.walk_packages(stepmark.zoo.__path__, "stepmark.zoo."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    every = {
        one.__name__ for one in torch.autograd.Function.__subclasses__() if "stepmark.zoo" in one.__module__
    }
    seen = {node for make in FORWARDS.values() for node in nodes(make(device)[0])}
    copies = {"_OwnGradients"}
    assert {f"{name}Backward" for name in every - copies} <= seen


def nodes(outputs: list[Tensor]) -> Iterator[str]:
    """Names of all nodes that gradients of these pass."""
    left = [one.grad_fn for one in outputs]
    while left:
        node = left.pop()
        if node is not None:
            yield type(node).__name__
            left += [further for further, _ in node.next_functions]
