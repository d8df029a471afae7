"""Ceilings: rates that this process reaches, which no plain step exceeds."""

from __future__ import annotations

import time
from itertools import pairwise
from pathlib import Path

import pytest
import torch

from stepmark.instruments.host_facts import host_facts
from stepmark.instruments.torch_ceilings import (
    LARGEST_COPY,
    SMALLEST_COPY,
    copy_sizes,
    last_level_cache,
    measure_ceilings,
)
from stepmark.records.ceilings import Ceilings, machine_name


@pytest.fixture(scope="module")
def ceilings() -> Ceilings:
    return measure_ceilings("cpu")


def test_they_say_what_they_are_of(ceilings: Ceilings) -> None:
    host = host_facts()
    assert ceilings.host == machine_name(host.hostname, host.cpu_model)
    assert (ceilings.device, ceilings.threads) == ("cpu", torch.get_num_threads())
    assert ceilings.torch == torch.__version__


def test_all_rates_are_there(ceilings: Ceilings) -> None:
    assert 0.0 < ceilings.copy_memory <= ceilings.copy_cache
    assert ceilings.matrix[0].dtype == "float32"
    assert {"float32", "float64", "bfloat16"} <= {rate.dtype for rate in ceilings.matrix}
    assert all(rate.flops_per_second > 1e6 for rate in ceilings.matrix)


def rate(size: int, threads: int) -> float:
    """The best of some products by hand."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        left, right = torch.rand(size, size), torch.rand(size, size)
        times = []
        for _ in range(10):
            begin = time.perf_counter()
            left @ right
            times.append(time.perf_counter() - begin)
        return 2.0 * size**3 / min(times)
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("size", [128, 384, 768])
def test_no_product_is_beyond_the_limit_of_the_rule(ceilings: Ceilings, size: int) -> None:
    single = ceilings.flops_per_second("float32")
    assert single is not None
    assert rate(size, ceilings.threads) < 2.0 * single


def test_the_number_of_threads_is_put_back_and_multiplies() -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(before + 1)
    try:
        more = measure_ceilings("cpu")
        assert more.threads == torch.get_num_threads() == before + 1
    finally:
        torch.set_num_threads(before)


def test_copies_grow_from_a_cores_cache_to_beyond_the_last() -> None:
    sizes = copy_sizes("cpu")
    assert sizes[0] == SMALLEST_COPY
    assert sizes == sorted(set(sizes))
    assert sizes[-1] <= LARGEST_COPY
    assert all(b <= 4 * a for a, b in pairwise(sizes))


def test_the_largest_cache(tmp_path: Path) -> None:
    for number, text in enumerate(["48K", "2048K", "32M", "what?", ""]):
        folder = tmp_path / f"index{number}"
        folder.mkdir()
        (folder / "size").write_text(f"{text}\n")
    assert last_level_cache(str(tmp_path)) == 32 << 20
    assert last_level_cache(str(tmp_path / "nothing")) == 0


@pytest.mark.gpu
def test_an_accelerators_rates_have_narrow_types_too() -> None:
    rates = {rate.dtype: rate.flops_per_second for rate in measure_ceilings("cuda").matrix}
    assert {"float32", "tfloat32", "bfloat16", "float16", "int8", "float8_e4m3fn"} <= rates.keys()
    assert rates["float32"] < rates["tfloat32"] < rates["bfloat16"] < rates["float8_e4m3fn"]
    assert torch.get_float32_matmul_precision() == "highest"
