"""Work counted by hand: products, convolutions, attention, recurrent layers, operators of one's own."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn import functional

from stepmark.authoring.work import register_work
from stepmark.instruments.inspection.work import work_of
from tests.instruments.inspection.logged import logged

sizes = st.integers(1, 9)
few = settings(max_examples=15)


def flops(function: Callable[[], Any]) -> float:
    return logged(function)[0].flops


def ones(*shape: int, **options: Any) -> Tensor:
    return torch.ones(shape, **options)


@few
@given(sizes, sizes, sizes, sizes)
def test_a_product_costs_two_for_each_multiplication(b: int, m: int, k: int, n: int) -> None:
    product = 2 * m * k * n
    assert flops(lambda: ones(m, k) @ ones(k, n)) == product
    assert flops(lambda: torch.addmm(ones(n), ones(m, k), ones(k, n))) == product
    assert flops(lambda: ones(m, n).addmm_(ones(m, k), ones(k, n))) == product
    assert flops(lambda: torch.mm(ones(m, k), ones(k, n), out=ones(m, n))) == product
    assert flops(lambda: ones(b, m, k) @ ones(b, k, n)) == b * product
    assert flops(lambda: torch.baddbmm(ones(b, m, n), ones(b, m, k), ones(b, k, n))) == b * product
    assert flops(lambda: ones(b, m, n).baddbmm_(ones(b, m, k), ones(b, k, n))) == b * product
    assert flops(lambda: torch.addbmm(ones(m, n), ones(b, m, k), ones(b, k, n))) == b * product
    assert flops(lambda: functional.linear(ones(b, m, k), ones(n, k), ones(n))) == b * product


@few
@given(sizes, sizes)
def test_vectors_count_as_thin_matrices(m: int, k: int) -> None:
    assert flops(lambda: torch.mv(ones(m, k), ones(k))) == 2 * m * k
    assert flops(lambda: torch.addmv(ones(m), ones(m, k), ones(k))) == 2 * m * k
    assert flops(lambda: torch.dot(ones(k), ones(k))) == 2 * k


def test_whole_numbers_count_as_well() -> None:
    def product() -> Tensor:
        return torch._int_mm(ones(32, 16, dtype=torch.int8), ones(16, 8, dtype=torch.int8))

    (log,) = logged(product)
    assert log.flops == 2 * 32 * 16 * 8
    assert log.products == {"int8": (1, log.flops)}


def test_operations_that_only_move_numbers_are_no_work() -> None:
    x = ones(8, 8)
    assert flops(lambda: (x + x).relu().sum().exp().reshape(1).expand(4)) == 0


@few
@given(sizes, sizes, sizes)
def test_a_linear_layer_costs_three_products_forward_and_backward(m: int, k: int, n: int) -> None:
    layer, x = nn.Linear(k, n), ones(m, k, requires_grad=True)
    assert flops(lambda: layer(x).sum().backward()) == 3 * 2 * m * k * n
    assert flops(lambda: layer(x.detach()).sum().backward()) == 2 * 2 * m * k * n


def test_a_convolution_costs_its_filter_at_every_place() -> None:
    layer = nn.Conv2d(3, 5, kernel_size=3, padding=1)
    x = ones(2, 3, 8, 8)
    forward = 2 * (2 * 8 * 8) * 5 * (3 * 3 * 3)
    assert flops(lambda: layer(x)) == forward
    assert flops(lambda: layer(x).sum().backward()) == 2 * forward


@pytest.mark.parametrize("groups", [1, 2, 8])
@pytest.mark.parametrize("kind", [nn.Conv1d, nn.Conv2d, nn.ConvTranspose1d, nn.ConvTranspose2d])
def test_groups_of_a_convolution_meet_their_own_channels_only(kind: Any, groups: int) -> None:
    layer = kind(8, 16, kernel_size=3, stride=2, groups=groups)
    x = ones(2, 8, *[7] * (layer.weight.dim() - 2), requires_grad=True)
    output = layer(x)
    places = prod((x if layer.transposed else output).shape[2:])
    forward = 2 * 2 * places * 8 * 16 // groups * prod(layer.kernel_size)
    assert flops(lambda: layer(x)) == forward
    assert flops(lambda: output.backward(torch.ones_like(output))) == 2 * forward


def test_gradients_of_a_convolution_that_nobody_asks_for_cost_nothing() -> None:
    layer, x = nn.Conv1d(4, 4, 3, groups=4), ones(2, 4, 9)
    forward = 2 * 2 * 7 * 4 * 3
    assert flops(lambda: layer(x).sum().backward()) == 2 * forward
    layer.requires_grad_(False)
    x.requires_grad_()
    assert flops(lambda: layer(x).sum().backward()) == 2 * forward


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("heads", [1, 3])
def test_attention_costs_scores_and_values(causal: bool, heads: int) -> None:
    tokens, keys, width = 7, 7, 4
    q = ones(2, heads, tokens, width, requires_grad=True)
    k = ones(2, heads, keys, width, requires_grad=True)
    product = 2 * 2 * heads * tokens * keys * width
    (log,) = logged(lambda: functional.scaled_dot_product_attention(q, k, k, is_causal=causal))
    assert log.flops == 2 * product
    assert log.skippable == (product if causal else 0)
    attend = functional.scaled_dot_product_attention
    (log,) = logged(lambda: torch.autograd.backward(attend(q, k, k, is_causal=causal).sum()))
    assert log.flops == 2 * product + 5 * product


def test_attention_written_out_costs_the_same_as_the_kernel() -> None:
    q = ones(2, 3, 7, 4)
    by_hand = flops(lambda: torch.softmax(q @ q.mT, -1) @ q)
    assert flops(lambda: functional.scaled_dot_product_attention(q, q, q)) == by_hand


def test_a_recurrent_layer_costs_its_weights_at_every_step() -> None:
    layer, x = nn.LSTM(5, 7), ones(6, 3, 5)
    weights = 4 * 7 * (5 + 7)
    assert flops(lambda: layer(x)) == 2 * 6 * 3 * weights
    assert flops(lambda: layer(x)[0].sum().backward()) == 3 * 2 * 6 * 3 * weights


def test_recurrent_layers_of_an_accelerator_cost_the_same_in_one_call() -> None:
    layer, x = nn.LSTM(5, 7, num_layers=2, bidirectional=True), ones(6, 3, 5)
    matrices = sum(one.numel() for one in layer.parameters() if one.dim() > 1)
    weights = list(layer.parameters())
    aten = torch.ops.aten
    assert work_of(aten._cudnn_rnn.default, (x, weights, 4), {}, None) == 2 * 6 * 3 * matrices
    assert work_of(aten._cudnn_rnn_backward.default, (x, weights, 4), {}, None) == 2 * 2 * 6 * 3 * matrices
    assert flops(lambda: layer(x)) == 2 * 6 * 3 * matrices


def test_a_product_with_a_sparse_matrix_costs_what_is_stored() -> None:
    sparse = torch.eye(50).to_sparse()
    assert flops(lambda: torch.sparse.mm(sparse, ones(50, 4))) == 2 * 50 * 4


def test_operators_made_of_others_are_taken_apart() -> None:
    x, w = ones(3, 4, 5), ones(6, 5)
    with torch.inference_mode():
        (log,) = logged(lambda: functional.linear(x, w))
    assert log.flops == 2 * prod((3, 4, 5, 6))


@torch.library.custom_op("stepmark_tests::gemm", mutates_args=())
def gemm(a: Tensor, b: Tensor) -> Tensor:
    return a @ b


@torch.library.custom_op("stepmark_tests::counted_gemm", mutates_args=())
def counted_gemm(a: Tensor, b: Tensor) -> Tensor:
    return a @ b


def test_an_operator_of_ones_own_is_counted_by_the_formula_given_for_it() -> None:
    register_work("stepmark_tests::counted_gemm", lambda a, b: 2.0 * a.numel() * b.shape[1])
    (log,) = logged(lambda: counted_gemm(ones(3, 4), ones(4, 5)))
    assert log.flops == 2 * 3 * 4 * 5
    assert log.uncounted == set()
    assert not log.unseen


def test_an_operator_without_a_formula_is_named_and_not_counted() -> None:
    (log,) = logged(lambda: gemm(ones(3, 4), ones(4, 5)) + 1)
    assert log.flops == 0
    assert log.uncounted == {"stepmark_tests.gemm.default"}
    assert not log.unseen


def test_matrix_work_of_torch_that_has_no_formula_is_named_too() -> None:
    (log,) = logged(lambda: torch.linalg.inv(torch.eye(4)))
    assert any("linalg" in name for name in log.uncounted)


@pytest.mark.parametrize(
    "function",
    [
        lambda: torch.cdist(ones(40, 8), ones(30, 8)),
        lambda: functional.bilinear(ones(5, 8), ones(5, 8), ones(3, 8, 8)),
        lambda: torch.conv_tbc(ones(5, 2, 8), ones(3, 8, 4), ones(4)),
    ],
)
def test_products_inside_of_other_operators_are_named(function: Callable[[], Any]) -> None:
    (log,) = logged(function)
    assert log.uncounted
