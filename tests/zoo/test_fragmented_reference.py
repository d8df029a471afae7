"""The definition of the fragmented layer, against loops and by hand."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from stepmark.zoo.fragmented_reference import fragment_scores, hard_reference, soft_reference
from tests.support.properties import steady

sizes = st.tuples(*[st.integers(1, 4)] * 4, st.integers(0, 3))
"""Rows, fragments, features of a fragment, outputs, compressed features."""


def draw(size: tuple[int, ...], seed: int) -> list[Tensor]:
    """x, selector, weight, compressor, decompressor and bias."""
    rows, fragments, features, outputs, compressed = size
    generator = torch.Generator().manual_seed(seed)
    shapes = [
        (rows, fragments * features),
        (fragments, features),
        (fragments, features, outputs),
        (fragments * features, compressed),
        (outputs, compressed),
        (outputs,),
    ]
    return [torch.randn(shape, generator=generator, dtype=torch.float64) for shape in shapes]


def by_loops(tensors: list[Tensor], *, hard: bool) -> Tensor:
    """Number by number, without a single tensor operation."""
    x, selector, weight, compressor, decompressor, bias = (tensor.tolist() for tensor in tensors)
    num, size = tensors[1].shape
    out = []
    for row in x:
        pieces = [row[f * size : (f + 1) * size] for f in range(num)]
        scores = [sum(a * b for a, b in zip(pieces[f], selector[f], strict=True)) for f in range(num)]
        if hard:
            share = [float(f == scores.index(max(scores))) for f in range(num)]
        else:
            share = [math.exp(score) / sum(map(math.exp, scores)) for score in scores]
        rest = [value * (1.0 - share[i // size]) for i, value in enumerate(row)]
        narrow = [
            sum(rest[i] * compressor[i][c] for i in range(len(rest))) for c in range(tensors[3].shape[1])
        ]
        out.append(
            [
                sum(share[f] * sum(pieces[f][i] * weight[f][i][o] for i in range(size)) for f in range(num))
                + sum(a * b for a, b in zip(decompressor[o], narrow, strict=True))
                + bias[o]
                for o in range(len(bias))
            ]
        )
    return torch.tensor(out, dtype=torch.float64)


@steady
@given(sizes, st.integers(0, 2**31), st.booleans())
def test_the_definition_number_by_number(size: tuple[int, ...], seed: int, hard: bool) -> None:
    tensors = draw(size, seed)
    reference = hard_reference if hard else soft_reference
    found = reference(*tensors[:-1], bias=tensors[-1])
    torch.testing.assert_close(found, by_loops(tensors, hard=hard), rtol=1e-10, atol=1e-10)


@steady
@given(sizes, st.integers(0, 2**31))
def test_decided_scores_make_soft_selection_hard(size: tuple[int, ...], seed: int) -> None:
    x, selector, *rest, _ = draw(size, seed)
    scores = fragment_scores(x, selector).sort(-1).values
    gap = (scores[:, -1] - scores[:, -2]).min().item() if size[1] > 1 else 1.0
    sharp = selector * (60.0 / max(gap, 1e-6))
    torch.testing.assert_close(soft_reference(x, sharp, *rest), hard_reference(x, sharp, *rest))


def test_one_fragment_is_a_plain_product() -> None:
    x, selector, weight, compressor, decompressor, _ = draw((3, 1, 5, 4, 2), 0)
    for reference in (soft_reference, hard_reference):
        found = reference(x, selector, weight, compressor, decompressor)
        torch.testing.assert_close(found, x @ weight[0])


def test_of_equal_scores_the_first_is_chosen() -> None:
    x = torch.ones(1, 4)
    weight = torch.tensor([[[1.0], [1.0]], [[10.0], [10.0]]])
    nothing = torch.zeros(4, 0), torch.zeros(1, 0)
    assert hard_reference(x, torch.ones(2, 2), weight, *nothing).item() == 2.0


@pytest.mark.parametrize("hard", [False, True])
def test_who_gets_a_gradient(hard: bool) -> None:
    tensors = [tensor.requires_grad_() for tensor in draw((3, 2, 3, 4, 2), 0)]
    reference = hard_reference if hard else soft_reference
    reference(*tensors[:-1], bias=tensors[-1]).sum().backward()  # type: ignore[no-untyped-call]
    assert [tensor.grad is None for tensor in tensors] == [False, hard, False, False, False, False]
