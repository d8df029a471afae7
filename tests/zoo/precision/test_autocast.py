"""The dtype-by-place table: what a real step shows on the CPU, and on a GPU where there is one."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from stepmark.zoo.precision import PUBLISHED_PLACES, ToyModel, differences, dtypes_by_place

NARROW = [torch.float16, torch.bfloat16]


def test_without_autocast_everything_is_single_precision() -> None:
    seen = dtypes_by_place(None)
    assert seen.autocast == "none"
    places = (seen.parameters, seen.first_layer, seen.norm, seen.logits, seen.loss, seen.gradients)
    assert set(places) == {"float32"}


@pytest.mark.parametrize("dtype", NARROW, ids=str)
def test_autocast_narrows_products_and_leaves_parameters_and_gradients(dtype: torch.dtype) -> None:
    seen = dtypes_by_place(dtype)
    name = str(dtype).removeprefix("torch.")
    assert (seen.device, seen.autocast) == ("cpu", name)
    assert (seen.first_layer, seen.logits) == (name, name)
    assert (seen.parameters, seen.gradients) == ("float32", "float32")


@pytest.mark.parametrize("dtype", NARROW, ids=str)
def test_the_table_is_what_torch_does_here(dtype: torch.dtype) -> None:
    """The norm and the loss, operation by operation: what the list of the CPU says today may change."""
    seen = dtypes_by_place(dtype)
    with torch.autocast("cpu", dtype=dtype):
        norm = torch.nn.functional.layer_norm(torch.randn(3, 10).to(dtype), (10,), torch.ones(10))
        loss = torch.nn.functional.cross_entropy(torch.randn(3, 5).to(dtype), torch.tensor([0, 1, 2]))
    assert f"torch.{seen.norm}" == str(norm.dtype)
    assert f"torch.{seen.loss}" == str(loss.dtype)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("dtype", NARROW, ids=str)
def test_on_cuda_the_published_row_comes_out(dtype: torch.dtype) -> None:
    name = str(dtype).removeprefix("torch.")
    published = replace(PUBLISHED_PLACES, autocast=name, first_layer=name, logits=name)
    assert not differences(dtypes_by_place(dtype, device="cuda"), published)


def test_differences_name_the_places() -> None:
    seen = replace(PUBLISHED_PLACES, device="cpu", norm="float16")
    assert differences(seen, PUBLISHED_PLACES) == {"device": ("cpu", "cuda"), "norm": ("float16", "float32")}
    assert not differences(seen, seen)


def test_the_toy_is_the_handouts() -> None:
    model = ToyModel(20, 7)
    assert [tuple(parameter.shape) for parameter in model.parameters()] == [(10, 20), (10,), (10,), (7, 10)]
    assert model(torch.zeros(3, 20)).shape == (3, 7)
