"""Choosing between kernel and torch: by name, or by measurement once a shape; with a reason to refuse."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from stepmark.zoo.kernels import row_choice
from stepmark.zoo.kernels.dispatch import rehearsing
from stepmark.zoo.kernels.row_choice import recalled, uses_triton

WIDEST = 64


def ways() -> tuple[Callable[..., Tensor], Callable[..., Tensor]]:
    return torch.exp, lambda x: x.exp()


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, tuple[int | str, ...]]]:
    """What was asked to be measured; the kernel wins forward, torch wins in training."""
    seen: list[tuple[str, tuple[int | str, ...]]] = []

    def choose(
        operation: str,
        key: tuple[int | str, ...],
        candidates: dict[str, Callable[[], object]],
        *,
        default: str,
    ) -> str:
        assert default == "triton"
        for call in candidates.values():
            call()
        seen.append((operation, key))
        return "torch" if "train" in operation else "triton"

    monkeypatch.setattr(row_choice, "choose", choose)
    monkeypatch.setattr(row_choice, "resolve", lambda backend, _: backend != "torch")
    monkeypatch.setattr(row_choice, "_decided", {})
    return seen


def test_a_decision_is_recalled_and_training_is_another(
    measured: list[tuple[str, tuple[int | str, ...]]], device: str
) -> None:
    x = torch.randn(5, 8, device=device)
    wanted = x.clone().requires_grad_()
    assert recalled("exp", "auto", x) is None
    assert uses_triton("auto", "exp", (x,), widest=WIDEST, ways=ways)
    assert recalled("exp", "auto", torch.ones_like(x)) is True
    assert recalled("exp", "auto", wanted) is None
    assert not uses_triton("auto", "exp", (wanted,), widest=WIDEST, ways=ways)
    assert recalled("exp", "auto", wanted) is False
    with torch.no_grad():
        assert recalled("exp", "auto", wanted) is None
    assert measured == [("exp-forward/1", (8, 8, "float32")), ("exp-train/1", (8, 8, "float32"))]
    assert wanted.grad is None


def test_what_is_for_a_graph_is_asked_anew(
    measured: list[tuple[str, tuple[int | str, ...]]], device: str
) -> None:
    x = torch.randn(5, 8, device=device)
    with rehearsing():
        assert uses_triton("auto", "exp", (x,), widest=WIDEST, ways=ways)
    assert recalled("exp", "auto", x) is None
    assert len(measured) == 1


def test_by_name_nothing_is_measured(measured: list[tuple[str, tuple[int | str, ...]]], device: str) -> None:
    x = torch.randn(5, 8, device=device)
    assert uses_triton("triton", "exp", (x, None), widest=WIDEST, ways=ways)
    assert not uses_triton("torch", "exp", (x, None), widest=WIDEST, ways=ways)
    assert measured == []


@pytest.mark.parametrize(
    ("shape", "dtype", "reason"),
    [((2, 8), torch.float64, "a tensor is torch.float64"), ((2, 65), torch.float32, "up to 64")],
)
def test_what_a_kernel_cannot_take_is_torchs_or_refused(
    measured: list[tuple[str, tuple[int | str, ...]]],
    device: str,
    shape: tuple[int, int],
    dtype: torch.dtype,
    reason: str,
) -> None:
    x = torch.ones(shape, dtype=dtype, device=device)
    assert not uses_triton("auto", "exp", (x,), widest=WIDEST, ways=ways)
    with pytest.raises(ValueError, match=f"cannot be used: .*{reason}"):
        uses_triton("triton", "exp", (x,), widest=WIDEST, ways=ways)
    assert measured == []
