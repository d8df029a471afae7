"""Settings that change what limits a case, device by device."""

from __future__ import annotations

import pytest

from stepmark.records.limit import is_relaxed


@pytest.mark.parametrize(
    ("precision", "on_cpu", "on_cuda"),
    [
        ("highest", False, False),
        ("high", True, True),
        ("medium", True, True),
        ("cuda tf32, mkldnn ieee", False, True),
        ("cuda ieee, mkldnn bf16", True, False),
        ("cuda tf32, mkldnn tf32", True, True),
    ],
)
def test_fewer_bits_are_those_of_the_device_at_hand(precision: str, on_cpu: bool, on_cuda: bool) -> None:
    flags = [("default_dtype", "torch.float32"), ("float32_matmul_precision", precision)]
    assert is_relaxed(flags, "cpu") is on_cpu
    assert is_relaxed(flags, "cuda") is is_relaxed(flags, "cuda:1") is on_cuda


def test_settings_that_nobody_read_are_torchs_own() -> None:
    assert not is_relaxed([], "cuda")
