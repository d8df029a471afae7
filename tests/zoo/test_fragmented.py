"""FragmentedLinear: the definition's values and gradients, without the copies it is there to avoid."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from stepmark.zoo.fragmented import (
    TOLERANCES,
    FragmentedLinear,
    Selection,
    hard_product,
    masked_product,
    soft_product,
)
from stepmark.zoo.fragmented_reference import fragment_scores, hard_reference, soft_reference
from stepmark.zoo.kernels.fragmented_sizes import Parameters
from tests.support.properties import steady
from tests.zoo.agreement import DEVICES, largest_error

NAMES = ("selector", "weight", "compressor", "decompressor", "bias")
SELECTIONS: list[Selection] = ["soft", "hard"]


@st.composite
def layers(draw: st.DrawFn) -> tuple[FragmentedLinear, Tensor, Tensor]:
    """A layer of any shape and dtype, an input with any leading dimensions, and a gradient of the output."""
    fragments, features, outputs = (draw(st.integers(1, most)) for most in (5, 7, 9))
    leading = draw(st.lists(st.integers(0, 4), max_size=3))
    dtype = draw(st.sampled_from(list(TOLERANCES)))
    torch.manual_seed(draw(st.integers(0, 2**31)))
    layer = FragmentedLinear(
        fragments * features,
        outputs,
        fragments,
        draw(st.none() | st.integers(0, 4)),
        draw(st.booleans()),
        selection=draw(st.sampled_from(SELECTIONS)),
        dtype=dtype,
    )
    x = torch.randn(*leading, fragments * features, dtype=dtype)
    return layer, x, torch.randn(*leading, outputs, dtype=dtype)


def in_float64(layer: FragmentedLinear, x: Tensor, grad: Tensor) -> tuple[Tensor, dict[str, Tensor | None]]:
    """The reference's output and gradients on the same values."""
    given = [x, *(getattr(layer, name) for name in NAMES)]
    wide = [None if one is None else one.detach().cpu().double().requires_grad_() for one in given]
    reference = soft_reference if layer.selection == "soft" else hard_reference
    y = reference(*wide[:-1], bias=wide[-1])  # type: ignore[arg-type]
    y.backward(grad.cpu().double())  # type: ignore[no-untyped-call]
    named = zip(("x", *NAMES), wide, strict=True)
    return y.detach(), {name: None if one is None else one.grad for name, one in named}


def compare(layer: FragmentedLinear, x: Tensor, grad: Tensor, *, least: float = 0.0) -> None:
    """Outputs and all gradients, and the output without gradients."""
    x = x.requires_grad_()
    y = layer(x)
    y.backward(grad)
    truth, gradients = in_float64(layer, x, grad)
    tolerance = TOLERANCES[x.dtype]
    assert y.dtype == x.dtype
    assert largest_error(y, truth, least=least) <= tolerance
    with torch.no_grad():
        assert largest_error(layer(x), truth, least=least) <= tolerance
    assert largest_error(x.grad, gradients["x"], least=least) <= tolerance
    for name, parameter in layer.named_parameters():
        if name == "selector" and layer.selection == "hard":
            assert parameter.grad is None
        else:
            assert largest_error(parameter.grad, gradients[name], least=least) <= tolerance, name


@steady
@given(layers())
def test_values_and_gradients_are_the_definitions(drawn: tuple[FragmentedLinear, Tensor, Tensor]) -> None:
    compare(*drawn, least=1.0)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("selection", SELECTIONS)
@pytest.mark.parametrize("num_rows", [1, 16, 70])
def test_values_and_gradients_of_larger_layers(
    device: str, dtype: torch.dtype, selection: Selection, num_rows: int
) -> None:
    torch.manual_seed(num_rows)
    layer = FragmentedLinear(256, 320, 16, selection=selection, device=device, dtype=dtype)
    x = torch.randn(num_rows, 256, device=device, dtype=dtype)
    compare(layer, x, torch.randn(num_rows, 320, device=device, dtype=dtype))


@pytest.mark.parametrize("selection", SELECTIONS)
def test_finite_differences_agree(selection: Selection) -> None:
    torch.manual_seed(2)
    layer = FragmentedLinear(8, 3, 4, 2, bias=True, selection=selection, dtype=torch.float64)
    names = [name for name, _ in layer.named_parameters() if not (selection == "hard" and name == "selector")]

    def call(x: Tensor, *values: Tensor) -> Tensor:
        y: Tensor = torch.func.functional_call(layer, dict(zip(names, values, strict=True)), (x,))
        return y

    x = torch.randn(5, 8, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(call, (x, *(layer.get_parameter(name) for name in names)))


def test_training_is_soft_and_evaluation_hard() -> None:
    torch.manual_seed(0)
    auto = FragmentedLinear(12, 5, 3)
    soft, hard = copy.deepcopy(auto), copy.deepcopy(auto)
    soft.selection, hard.selection = "soft", "hard"
    x = torch.randn(7, 12)
    assert torch.equal(auto.train()(x), soft.eval()(x))
    assert torch.equal(auto.eval()(x), hard.train()(x))
    assert not torch.equal(soft(x), hard(x))


@pytest.mark.parametrize(("size", "count"), [(2048, 4_458_496), (4096, 17_829_888), (8192, 71_311_360)])
@pytest.mark.parametrize("fragments", [2, 128])
def test_parameters_are_as_many_as_published(size: int, count: int, fragments: int) -> None:
    layer = FragmentedLinear(size, size, fragments, device="meta")
    assert sum(parameter.numel() for parameter in layer.parameters()) == count


@steady
@given(layers())
def test_parameters_by_formula(drawn: tuple[FragmentedLinear, Tensor, Tensor]) -> None:
    layer = drawn[0]
    n, o, c = layer.in_features, layer.out_features, layer.compressed
    counted = sum(parameter.numel() for parameter in layer.parameters())
    assert counted == n * o + n + c * (n + o) + (o if layer.bias is not None else 0)


class _Sizes(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """The number of elements of everything that is newly made while it watches."""

    def __init__(self, known: list[Tensor]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.known = {tensor.untyped_storage().data_ptr() for tensor in known}
        self.largest = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        for tensor in out if isinstance(out, tuple | list) else (out,):
            if isinstance(tensor, Tensor) and tensor.untyped_storage().data_ptr() not in self.known:
                self.largest = max(self.largest, tensor.numel())
        return out


@pytest.mark.parametrize("selection", SELECTIONS)
@pytest.mark.parametrize("num_rows", [1, 24])
def test_nothing_is_made_that_is_larger_than_input_and_output(selection: Selection, num_rows: int) -> None:
    """Neither (rows, fragments, outputs) in soft nor weights gathered for the rows in hard selection."""
    layer = FragmentedLinear(32, 48, 8, selection=selection)
    x = torch.randn(num_rows, 32)
    with torch.no_grad(), _Sizes([x, *layer.parameters()]) as sizes:
        layer(x)
    assert 0 < sizes.largest <= num_rows * 48


@pytest.mark.parametrize("num_rows", [1, 6])
def test_weights_of_fragments_that_were_not_chosen_are_not_read(num_rows: int) -> None:
    torch.manual_seed(1)
    layer = FragmentedLinear(24, 5, 8, selection="hard", dtype=torch.float64)
    x = torch.randn(num_rows, 24, dtype=torch.float64)
    chosen = set(fragment_scores(x, layer.selector).argmax(-1).tolist())
    assert len(chosen) < 8
    with torch.no_grad():
        for fragment in set(range(8)) - chosen:
            layer.weight[fragment] = torch.nan
        assert layer(x).isfinite().all()


def test_the_weights_gradient_is_dense_with_noughts_where_nothing_was_chosen() -> None:
    torch.manual_seed(1)
    layer = FragmentedLinear(24, 5, 8).eval()
    x = torch.randn(6, 24)
    layer(x).sum().backward()
    grad = layer.weight.grad
    assert grad is not None
    assert grad.layout == torch.strided
    touched = {f for f in range(8) if grad[f].any()}
    assert touched == set(fragment_scores(x, layer.selector).argmax(-1).tolist())


def test_of_equal_scores_the_first_is_chosen() -> None:
    layer = FragmentedLinear(8, 3, 4).eval()
    torch.nn.init.constant_(layer.selector, 1.0)
    x = torch.ones(2, 8)
    layer(x).sum().backward()
    assert layer.weight.grad is not None
    assert layer.weight.grad[0].all()
    assert not layer.weight.grad[1:].any()
    with torch.no_grad():
        torch.testing.assert_close(layer(x[:1]), layer(x)[:1])


@pytest.mark.parametrize("num_rows", [1, 3])
def test_scores_that_sixteen_bits_cannot_tell_apart_are(num_rows: int) -> None:
    """256 and 257: the second is the larger, but bfloat16 rounds it to the first."""
    layer = FragmentedLinear(4, 1, 2, 0, dtype=torch.bfloat16).eval()
    torch.nn.init.constant_(layer.selector, 1.0)
    with torch.no_grad():
        layer.weight[0], layer.weight[1] = 0.0, 1.0
        y = layer(torch.tensor([[128.0, 128.0, 128.0, 129.0]] * num_rows, dtype=torch.bfloat16))
    assert y.tolist() == [[256.0]] * num_rows, "257 in bfloat16"


@pytest.mark.parametrize("selection", SELECTIONS)
def test_only_what_asks_for_a_gradient_gets_one(selection: Selection) -> None:
    layer = FragmentedLinear(12, 5, 3, selection=selection)
    layer.weight.requires_grad_(False)
    x = torch.randn(4, 12, requires_grad=True)
    layer(x).sum().backward()
    assert layer.weight.grad is None
    assert x.grad is not None
    layer.weight.requires_grad_(True)
    layer(x.detach()).sum().backward()
    assert layer.weight.grad is not None


@pytest.mark.parametrize("selection", SELECTIONS)
def test_strides_do_not_matter(selection: Selection) -> None:
    layer = FragmentedLinear(6, 5, 3, selection=selection)
    every = torch.randn(6, 2, 4).permute(2, 1, 0)
    for x in (every, every[:, 0], every[:1, 0], every[0, 0], every[:, :1].expand(4, 3, 6)):
        torch.testing.assert_close(layer(x), layer(x.contiguous()))
        with torch.no_grad():
            torch.testing.assert_close(layer(x), layer(x.contiguous()))


@pytest.mark.parametrize("num_rows", [1, 5])
@pytest.mark.parametrize("product", [soft_product, hard_product, masked_product])
def test_rows_may_overlap(product: Callable[[Tensor, Parameters], Tensor], num_rows: int) -> None:
    """Windows that slide along a signal: what is computed of their fragments does not lie by rows."""
    parameters = FragmentedLinear(6, 5, 3)._own_parameters()
    x = torch.randn(num_rows + 5).unfold(0, 6, 1)
    torch.testing.assert_close(product(x, parameters), product(x.contiguous(), parameters))


@pytest.mark.parametrize("selection", SELECTIONS)
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_compiled_layers_compute_the_same(selection: Selection, backend: str) -> None:
    torch.manual_seed(0)
    layer = FragmentedLinear(12, 5, 3, selection=selection)
    twin = copy.deepcopy(layer)
    compiled = torch.compile(twin, backend=backend)
    for _ in range(3):
        x = torch.randn(4, 12)
        torch.testing.assert_close(compiled(x), layer(x))
    compiled(x).square().sum().backward()
    layer(x).square().sum().backward()
    for ours, plain in zip(twin.parameters(), layer.parameters(), strict=True):
        assert (ours.grad is None) == (plain.grad is None)
        if plain.grad is not None:
            torch.testing.assert_close(ours.grad, plain.grad)


@pytest.mark.parametrize("selection", SELECTIONS)
def test_copies_and_stored_layers_compute_the_same(selection: Selection) -> None:
    layer = FragmentedLinear(12, 5, 3, bias=True, selection=selection)
    loaded = FragmentedLinear(12, 5, 3, bias=True, selection=selection)
    loaded.load_state_dict(layer.state_dict())
    x = torch.randn(4, 12)
    for twin in (loaded, copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert torch.equal(twin(x), layer(x))
    assert set(layer.state_dict()) == set(NAMES), "no buffers"


@pytest.mark.parametrize("selection", SELECTIONS)
@pytest.mark.parametrize("num_rows", [1, 6])
def test_autocast_narrows_the_output_as_it_does_of_a_linear_layer(
    selection: Selection, num_rows: int
) -> None:
    torch.manual_seed(0)
    layer = FragmentedLinear(12, 5, 3, selection=selection)
    x = torch.randn(num_rows, 12)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = layer(x)
        again = layer(x.bfloat16())
    assert y.dtype == again.dtype == torch.bfloat16
    y.float().sum().backward()
    assert layer.weight.grad is not None
    assert layer.weight.grad.dtype == torch.float32
    assert largest_error(y, layer(x).detach()) <= TOLERANCES[torch.bfloat16]
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        assert layer(x).dtype == torch.bfloat16


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((12, 5, 5), "divide in_features=12 evenly, got 5"),
        ((12, 5, 0), "divide in_features=12 evenly, got 0"),
        ((0, 5, 1), "at least one feature"),
        ((12, 5, 3, -1), "0 or more, got -1"),
    ],
)
def test_sizes_that_cannot_be_are_refused(arguments: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        FragmentedLinear(*arguments)


def test_a_selection_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match="'auto', 'soft' or 'hard', got 'warm'"):
        FragmentedLinear(12, 5, 3, selection="warm")  # type: ignore[arg-type]


def test_a_backend_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match="'auto', 'triton' or 'torch', got 'warm'"):
        FragmentedLinear(12, 5, 3, backend="warm")  # type: ignore[arg-type]


def test_inputs_that_do_not_fit_are_refused() -> None:
    layer = FragmentedLinear(12, 5, 3)
    with pytest.raises(ValueError, match=r"shape \(\.\.\., 12\), got \(4, 11\)"):
        layer(torch.randn(4, 11))
    with pytest.raises(ValueError, match=r"shape \(\.\.\., 12\), got \(\)"):
        layer(torch.tensor(1.0))
    with pytest.raises(ValueError, match=r"torch.float32, the layer's own, got torch.float64"):
        layer(torch.randn(4, 12, dtype=torch.float64))


def test_what_it_says_of_itself() -> None:
    text = repr(FragmentedLinear(64, 5, 4, bias=True))
    assert "in_features=64, out_features=5, fragments=4, compressed=2, bias=True, selection='auto'" in text
    assert "backend='auto'" in text
