"""FragmentedLinear's kernels: the definition's values and gradients, whatever the split and the tile."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from stepmark.zoo.fragmented import TOLERANCES, FragmentedLinear, Selection, masked_product
from stepmark.zoo.fragmented_reference import fragment_scores, hard_reference, soft_reference
from stepmark.zoo.kernels import few_rows, fragmented
from stepmark.zoo.kernels.fragmented_chain import Chain
from stepmark.zoo.kernels.fragmented_plans import GroupsPlan, rows_plan, tiles_plan
from stepmark.zoo.kernels.fragmented_sizes import Parameters, Sizes, sizes_of, split_for_rows, split_for_tiles
from tests.zoo.agreement import largest_error

NAMES = ("selector", "weight", "compressor", "decompressor", "bias")
SELECTIONS: list[Selection] = ["soft", "hard"]
few_examples = settings(deadline=None, max_examples=20)
DTYPES = fragmented.DTYPES


def rows(sizes: Sizes, splits: int = 4, **options: Any) -> Chain:
    return rows_plan(sizes, splits=splits, tile_narrow=8, tile=16, rows=2, step=16, **options)


def tiles(sizes: Sizes, splits: int = 4, **options: Any) -> Chain:
    return tiles_plan(sizes, splits=splits, tile=16, tile_narrow=16, **({"step": 16} | options))


def groups(sizes: Sizes, **options: Any) -> GroupsPlan:
    return GroupsPlan(sizes, rows=16, tile=16, step=16, span=2, **options)


PLANS: dict[str, Any] = {
    "rows": rows,
    "rows, then choice": lambda sizes, splits: rows(sizes, splits, inline=False, early=True),
    "tiles": tiles,
    "tiles of large steps": lambda sizes, splits: tiles(sizes, splits, step=64),
    "tiles, then rows": lambda sizes, splits: tiles(sizes, splits, by_rows=2),
    "singles": lambda sizes, splits: tiles(sizes, splits, one_by_one=True),
    "groups": lambda sizes, splits: groups(sizes),
    "groups, apart": lambda sizes, splits: groups(sizes, fused=False),
    "masked": lambda sizes, splits: fragmented.masked,
}


def draw(shape: tuple[int, ...], dtype: torch.dtype, device: str, *, bias: bool = True) -> Any:
    """x and parameters for rows, fragments, features a fragment, outputs and narrow features."""
    rows, number, size, outputs, narrow = shape

    def normal(*sizes: int) -> Tensor:
        return torch.randn(sizes, device=device).to(dtype)

    low = normal(number * size, narrow), normal(outputs, narrow)
    parameters = Parameters(
        normal(number, size), normal(number, size, outputs), *low, normal(outputs) if bias else None
    )
    return normal(rows, number * size), parameters


def in_float64(x: Tensor, parameters: Parameters) -> Tensor:
    wide = [None if one is None else one.cpu().double() for one in parameters]
    return hard_reference(x.cpu().double(), *wide[:4], bias=wide[4])  # type: ignore[arg-type]


def agrees(plan: Any, x: Tensor, parameters: Parameters, *, least: float = 0.0) -> None:
    y, hidden, chosen = plan(x, parameters, keep=True)
    assert y.dtype == x.dtype
    assert largest_error(y, in_float64(x, parameters), least=least) <= TOLERANCES[x.dtype]
    assert hidden.shape == (x.shape[0], parameters.compressor.shape[1])
    again = plan(x, parameters)[0]
    assert largest_error(again, in_float64(x, parameters), least=least) <= TOLERANCES[x.dtype]
    scores = fragment_scores(x.cpu().double(), parameters.selector.cpu().double())
    assert torch.equal(chosen.cpu().long(), scores.argmax(-1))


@few_examples
@given(
    name=st.sampled_from(list(PLANS)),
    shape=st.tuples(*(st.integers(1, most) for most in (7, 6, 21, 34, 9))),
    splits=st.sampled_from([1, 3, 8]),
    dtype=st.sampled_from(DTYPES),
    bias=st.booleans(),
    seed=st.integers(0, 2**31),
)
def test_every_plan_computes_the_definition(
    device: str, name: str, shape: tuple[int, ...], splits: int, dtype: torch.dtype, bias: bool, seed: int
) -> None:
    torch.manual_seed(seed)
    x, parameters = draw(shape, dtype, device, bias=bias)
    agrees(PLANS[name](sizes_of(x, parameters), splits), x, parameters, least=1.0)


@pytest.mark.parametrize("name", PLANS)
@pytest.mark.parametrize(("number", "size"), [(8, 4), (2, 48), (3, 20)])
def test_sizes_shared_split_and_odd(device: str, name: str, number: int, size: int) -> None:
    """Several fragments in a split, several splits in a fragment, and sizes that are no powers of two."""
    torch.manual_seed(size)
    x, parameters = draw((5, number, size, 33, 7), torch.float32, device)
    agrees(PLANS[name](sizes_of(x, parameters), 4), x, parameters)


@pytest.mark.parametrize("name", PLANS)
@pytest.mark.parametrize("rows", [1, 5])
def test_special_rows(device: str, name: str, rows: int) -> None:
    """Nought, huge, tiny, one fragment always the best, each row another one; rows apart in memory."""
    torch.manual_seed(rows)
    memory, parameters = draw((2 * rows, 8, 4, 17, 3), torch.float32, device)
    normal = memory[::2]
    plan = PLANS[name](sizes_of(normal, parameters), 2)
    agrees(plan, normal, parameters)
    agrees(plan, normal * 0.0, parameters)
    agrees(plan, normal * 1e18, parameters)
    agrees(plan, normal * 1e-18, parameters)
    scores = 0.01 * normal
    scores[:, 12:16] = 5.0 * parameters.selector[3]
    agrees(plan, scores, parameters)
    for row in range(rows):
        scores[row] = 0.0
        scores[row, 4 * row : 4 * row + 4] = parameters.selector[row]
    agrees(plan, scores, parameters)


@pytest.mark.parametrize("name", PLANS)
def test_of_equal_scores_the_first_is_chosen(device: str, name: str) -> None:
    x, parameters = draw((3, 8, 4, 17, 3), torch.float32, device)
    parameters = parameters._replace(selector=torch.ones_like(parameters.selector))
    x = torch.ones_like(x)
    agrees(PLANS[name](sizes_of(x, parameters), 2), x, parameters)
    x[:, :8] = 0.5
    agrees(PLANS[name](sizes_of(x, parameters), 2), x, parameters)


@pytest.mark.parametrize("name", PLANS)
def test_weights_of_fragments_that_were_not_chosen_are_not_read(device: str, name: str) -> None:
    torch.manual_seed(3)
    x, parameters = draw((3, 8, 4, 17, 3), torch.float32, device)
    if name == "masked":
        pytest.skip("it reads all of them: what it is for")
    chosen = fragment_scores(x, parameters.selector).argmax(-1).tolist()
    for fragment in set(range(8)) - set(chosen):
        parameters.weight[fragment] = torch.nan
    assert PLANS[name](sizes_of(x, parameters), 2)(x, parameters)[0].isfinite().all()


@few_examples
@given(st.integers(1, 300), st.integers(1, 300), st.integers(1, 64))
def test_splits_cover_every_feature_once(number: int, size: int, wanted: int) -> None:
    sizes = Sizes(1, number, size, 1, 1, torch.float32, has_bias=False)
    for split in (split_for_rows(sizes, wanted), split_for_tiles(sizes, wanted)):
        if split.pieces > 1:
            assert split.own == 1
            assert split.splits == number * split.pieces
            assert split.pieces * split.length >= size
        else:
            assert split.splits * split.own >= number > (split.splits - 1) * split.own
            assert split.length >= split.own * size


def layer_and_input(device: str, dtype: torch.dtype, **options: Any) -> tuple[FragmentedLinear, Tensor]:
    torch.manual_seed(0)
    layer = FragmentedLinear(24, 10, 6, 3, True, device=device, dtype=dtype, backend="triton", **options)
    return layer, torch.randn(5, 24, device=device, dtype=dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("selection", SELECTIONS)
@pytest.mark.parametrize("rows", [1, 5])
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
    every = torch.randn(24, 2, 4, device=device).permute(2, 1, 0)
    with torch.no_grad():
        for x in (every, every[:, 0], every[:1, 0], every[0, 0], every[:, :1].expand(4, 3, 24)):
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


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_the_dense_way_is_the_definition(device: str, dtype: torch.dtype) -> None:
    x, parameters = draw((5, 8, 4, 17, 3), dtype, device)
    assert largest_error(masked_product(x, parameters), in_float64(x, parameters)) <= TOLERANCES[dtype]


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("add", [False, True])
def test_products_of_few_rows(device: str, turned: bool, add: bool) -> None:
    torch.manual_seed(0)
    a, b = torch.randn(5, 70, device=device), torch.randn(70, 50, device=device)
    b = b.t().contiguous().t() if turned else b
    into = torch.randn(5, 50, device=device) if add else None
    truth = a.double() @ b.double() + (0.0 if into is None else into.double())
    for name in few_rows.TILES:
        found = few_rows._by_tiles(None if into is None else into.clone(), a, b, name)
        assert largest_error(found, truth) <= 1e-6


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
