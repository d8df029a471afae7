"""Memory of an accelerator: nothing on a CPU; pools of captured graphs among the allocator's segments."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from stepmark.instruments.device_memory import device_memory, graph_pools, release_device_memory


def test_a_process_that_used_no_accelerator() -> None:
    if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        pytest.skip("another test used it")
    assert device_memory([torch.zeros(3), "x"]) is None
    release_device_memory()
    assert not torch.cuda.is_initialized()  # type: ignore[no-untyped-call]


def test_a_device_that_does_not_answer_is_noticed_where_memory_is_given_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def no_answer() -> None:
        raise RuntimeError("CUDA error: an illegal memory access was encountered")

    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.cuda, "synchronize", no_answer)
    with pytest.raises(RuntimeError, match="illegal"):
        release_device_memory()


def test_pools_of_their_own() -> None:
    segments: list[dict[str, Any]] = [
        {"total_size": 1, "segment_pool_id": (0, 0)},
        {"total_size": 2, "segment_pool_id": (0, 1)},
        {"total_size": 4, "segment_pool_id": [0, 2]},
        {"total_size": 8},
    ]
    assert graph_pools(segments) == 6


@pytest.mark.gpu
def test_a_captured_graph_has_a_pool() -> None:
    x = torch.randn(1 << 20, device="cuda")
    torch.cuda.synchronize()
    before = device_memory([x])
    assert before is not None
    assert before.held >= x.nbytes
    assert before.available > before.peak_reserved >= before.peak >= before.held
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = torch.cat([x] * 8)
    after = device_memory([x])
    assert after is not None
    assert after.graph_pools - before.graph_pools >= y.nbytes
