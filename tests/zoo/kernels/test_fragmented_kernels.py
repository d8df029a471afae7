"""FragmentedLinear by its kernels: the definition's gradients; copies, strides, changed weights, graphs."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
import torch
from torch import Tensor

from stepmark.zoo.fragmented import TOLERANCES, FragmentedLinear, Selection, masked_product
from stepmark.zoo.fragmented_reference import hard_reference, soft_reference
from stepmark.zoo.kernels import fragmented, fragmented_gate
from tests.zoo.agreement import largest_error
from tests.zoo.kernels.fragmented_cases import draw, in_float64
from tests.zoo.kernels.thinning import covering

NAMES = ("selector", "weight", "compressor", "decompressor", "bias")
SELECTIONS: list[Selection] = ["soft", "hard"]
DTYPES = fragmented.DTYPES


def layer_and_input(device: str, dtype: torch.dtype, **options: Any) -> tuple[FragmentedLinear, Tensor]:
    torch.manual_seed(0)
    layer = FragmentedLinear(24, 10, 6, 3, True, device=device, dtype=dtype, backend="triton", **options)
    return layer, torch.randn(5, 24, device=device, dtype=dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("selection", "rows"), covering(SELECTIONS, [1, 5]))
def test_gradients_are_the_definitions(
    device: str, dtype: torch.dtype, selection: Selection, rows: int
) -> None:
    layer, x = layer_and_input(device, dtype, selection=selection)
    x = x[:rows].requires_grad_()
    wide = [one.detach().cpu().double().requires_grad_() for one in (x, *layer._own_parameters())]  # type: ignore[union-attr]
    reference = soft_reference if selection == "soft" else hard_reference
    truth = reference(*wide[:-1], bias=wide[-1])
    grad = torch.randn(rows, 10, device=device, dtype=dtype)
    truth.backward(grad.cpu().double())  # type: ignore[no-untyped-call]
    y = layer(x)
    y.backward(grad)
    assert largest_error(y, truth.detach()) <= TOLERANCES[dtype]
    for name, found, wanted in zip(("x", *NAMES), (x, *layer._own_parameters()), wide, strict=True):
        assert found is not None
        if name == "selector" and selection == "hard":
            assert found.grad is None
        else:
            assert largest_error(found.grad, wanted.grad) <= TOLERANCES[dtype], name


@pytest.mark.parametrize("name", [name for name in NAMES if name != "decompressor"])
def test_kernels_are_for_one_dtype(device: str, name: str) -> None:
    layer, x = layer_and_input(device, torch.float32, selection="hard")
    assert fragmented.suits(x, layer._own_parameters())
    mixed = layer._own_parameters()._replace(**{name: getattr(layer, name).detach().half()})
    assert not fragmented.suits(x, mixed)
    assert not fragmented.suits(x.half(), layer._own_parameters())


@pytest.mark.parametrize("compiled", [False, True])
def test_a_selector_may_be_more_exact_than_the_weights(device: str, compiled: bool) -> None:
    layer, x = layer_and_input(device, torch.bfloat16, selection="hard")
    exact = layer.selector.detach().float() * (1 + 2**-12)
    layer.selector = torch.nn.Parameter(exact)
    torch.compiler.reset()
    call = torch.compile(layer, backend="aot_eager", fullgraph=True) if compiled else layer
    with torch.no_grad():
        torch.testing.assert_close(call(x), masked_product(x, layer._own_parameters()), rtol=0.0, atol=0.0)


@pytest.mark.parametrize("dtype", DTYPES)
def test_parts_that_were_kept_give_the_gradients_of_those_computed_again(
    device: str, dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    layer, x = layer_and_input(device, dtype, selection="soft")
    grads = []
    for most in (0, 5):
        monkeypatch.setattr(fragmented_gate, "MOST_KEPT_ROWS", most)
        layer.zero_grad()
        y = layer(x)
        assert len(y.grad_fn.saved_tensors) == (8 if most == 0 else 10)
        y.sum().backward()
        grads.append([one.grad for one in layer.parameters()])
    for found, again in zip(*grads, strict=True):
        assert largest_error(found, again.double()) <= TOLERANCES[dtype] / 4


@pytest.mark.parametrize("selection", SELECTIONS)
def test_only_what_asks_for_a_gradient_gets_one(device: str, selection: Selection) -> None:
    layer, x = layer_and_input(device, torch.float32, selection=selection)
    for name in NAMES:
        layer.requires_grad_(False).zero_grad()
        getattr(layer, name).requires_grad_(True)
        y = layer(x)
        if name == "selector" and selection == "hard":
            continue
        y.sum().backward()
        given = {other for other in NAMES if getattr(layer, other).grad is not None}
        assert given == {name}


def test_a_saturated_softmax_leaves_the_rest_its_digits(device: str) -> None:
    layer, x = layer_and_input(device, torch.bfloat16, selection="soft")
    x = x * 4.0
    wide = [None if one is None else one.detach().cpu().double() for one in (x, *layer._own_parameters())]
    truth = soft_reference(*wide[:-1], bias=wide[-1])  # type: ignore[arg-type]
    assert largest_error(layer(x).detach(), truth) <= TOLERANCES[torch.bfloat16]


def test_changed_weights_are_seen_whoever_changed_them(device: str) -> None:
    layer, x = layer_and_input(device, torch.float32)
    x = x[:2]
    other, _ = layer_and_input(device, torch.float32)
    layer.eval()

    def same() -> bool:
        y = layer(x)
        return largest_error(y, in_float64(x, layer._own_parameters())) <= 1e-5

    with torch.no_grad():
        assert same()
        layer.weight.mul_(2.0)
        assert same()
        layer.compressor.data.neg_()  # no version counter moves
        assert same()
        layer.load_state_dict({name: 3.0 * value for name, value in other.state_dict().items()})
        assert same()
    layer.train()
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    layer(x).square().sum().backward()
    optimizer.step()
    layer.eval()
    with torch.no_grad():
        assert same()
        layer.bfloat16()
        y = layer(x.bfloat16())
    truth = in_float64(x.bfloat16(), layer._own_parameters())
    assert largest_error(y, truth) <= TOLERANCES[torch.bfloat16]


@pytest.mark.parametrize("selection", SELECTIONS)
def test_leading_dimensions_and_strides_do_not_matter(device: str, selection: Selection) -> None:
    layer, _ = layer_and_input(device, torch.float32, selection=selection)
    every = torch.randn(24, 2, 3, device=device).permute(2, 1, 0)
    with torch.no_grad():
        for x in (every, every[:, 0], every[:1, 0], every[0, 0], every[:2, :1].expand(2, 3, 24)):
            torch.testing.assert_close(layer(x), layer(x.contiguous()))
        assert layer(every[:0]).shape == (0, 2, 10)


@pytest.mark.parametrize("selection", SELECTIONS)
def test_copies_and_stored_layers_compute_the_same(device: str, selection: Selection) -> None:
    layer, x = layer_and_input(device, torch.float32, selection=selection)
    with torch.no_grad():
        for twin in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
            assert twin.backend == "triton"
            assert torch.equal(twin(x), layer(x))


def test_compiled_it_is_one_operator(device: str) -> None:
    layer, x = layer_and_input(device, torch.float32, selection="hard")
    twin = copy.deepcopy(layer)
    compiled = torch.compile(twin, backend="aot_eager", fullgraph=True)
    torch.testing.assert_close(compiled(x), layer(x))
    compiled(x).square().sum().backward()
    layer(x).square().sum().backward()
    for ours, plain in zip(twin.parameters(), layer.parameters(), strict=True):
        assert (ours.grad is None) == (plain.grad is None)
        if plain.grad is not None:
            torch.testing.assert_close(ours.grad, plain.grad)


def compiled_and_eager(
    layer: FragmentedLinear, x: Tensor, *, dynamic: bool | None = None
) -> tuple[list[Tensor], list[Tensor]]:
    """Outputs and all gradients of both."""
    torch.compiler.reset()
    compiled = torch.compile(layer, backend="aot_eager", fullgraph=True, dynamic=dynamic)
    x = x.requires_grad_()
    wanted = [x, *(one for name, one in layer.named_parameters() if name != "selector")]
    found, expected = ([y, *torch.autograd.grad(y.square().sum(), wanted)] for y in (compiled(x), layer(x)))
    return found, expected


@pytest.mark.parametrize("dynamic", [True, False])
def test_compiled_it_takes_no_rows_as_it_does_from_python(device: str, dynamic: bool) -> None:
    """How many rows there are is known when the operator runs."""
    layer, x = layer_and_input(device, torch.float32, selection="hard")
    for rows in (x[:0], x.reshape(1, 5, 24)[:, :0]):
        for one, other in zip(*compiled_and_eager(layer, rows.detach(), dynamic=dynamic), strict=True):
            torch.testing.assert_close(one, other, rtol=0.0, atol=0.0)


def test_a_graph_that_was_traced_with_rows_takes_none(device: str) -> None:
    layer, x = layer_and_input(device, torch.float32, selection="hard")
    torch.compiler.reset()
    compiled = torch.compile(layer, backend="aot_eager", fullgraph=True, dynamic=True)
    for rows in (x, x[:3], x[:0], x[:2]):
        torch.testing.assert_close(compiled(rows), layer(rows))


@pytest.mark.parametrize(
    ("dtype", "features", "lies"),
    [
        (torch.float64, 24, "straight"),
        (torch.float32, 2 * fragmented_gate.MOST_FEATURES, "straight"),
        (torch.float32, 24, "turned"),
    ],
)
def test_compiled_it_computes_densely_what_there_are_no_kernels_for(
    device: str, dtype: torch.dtype, features: int, lies: str
) -> None:
    torch.manual_seed(0)
    shape = (features, 10, 4, 3, True)
    layer = FragmentedLinear(*shape, selection="hard", device=device, dtype=dtype, backend="triton")
    if lies == "turned":
        layer.compressor = torch.nn.Parameter(layer.compressor.detach().t().contiguous().t())
    x = torch.randn(5, features, device=device, dtype=dtype)
    assert not fragmented.suits(x, layer._own_parameters())
    for one, other in zip(*compiled_and_eager(layer, x), strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_the_dense_way_is_the_definition(device: str, dtype: torch.dtype) -> None:
    x, parameters = draw((5, 8, 4, 17, 3), dtype, device)
    assert largest_error(masked_product(x, parameters), in_float64(x, parameters)) <= TOLERANCES[dtype]


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("dtype", "rows", "number"),
    [
        (torch.float32, 1, 32),
        (torch.float32, 8, 2),
        (torch.bfloat16, 16, 32),
        (torch.float16, 33, 8),
        (torch.bfloat16, 300, 32),
    ],
)
def test_auto_on_a_gpu(dtype: torch.dtype, rows: int, number: int) -> None:
    """Chosen by measurement; no wait for the device; the same in a graph, which sees new weights."""
    torch.manual_seed(0)
    layer = FragmentedLinear(512, 640, number, device="cuda", dtype=dtype).eval()
    x = torch.randn(rows, 512, device="cuda", dtype=dtype)
    with torch.no_grad():
        layer(x)
        torch.cuda.set_sync_debug_mode("error")
        try:
            y = layer(x)
        finally:
            torch.cuda.set_sync_debug_mode("default")
        assert largest_error(y, in_float64(x, layer._own_parameters())) <= TOLERANCES[dtype]
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = layer(x)
        layer.weight.mul_(0.5)
        graph.replay()
        assert largest_error(y, in_float64(x, layer._own_parameters())) <= TOLERANCES[dtype]


@pytest.mark.gpu
def test_streams_do_not_share_scratch() -> None:
    torch.manual_seed(0)
    layer = FragmentedLinear(512, 512, 16, device="cuda").eval()
    inputs = [torch.randn(1, 512, device="cuda") for _ in range(4)]
    with torch.no_grad():
        wanted = [layer(x) for x in inputs]
        torch.cuda.synchronize()
        streams = [torch.cuda.Stream() for _ in inputs]  # type: ignore[no-untyped-call]
        found: list[Tensor] = []
        for _ in range(20):
            for x, stream in zip(inputs, streams, strict=True):
                with torch.cuda.stream(stream):
                    found.append(layer(x))
        torch.cuda.synchronize()
    for index, y in enumerate(found):
        assert torch.equal(y, wanted[index % 4])
