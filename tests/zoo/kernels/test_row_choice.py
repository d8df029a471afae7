"""Choosing between kernel and torch: by name, or by measurement once a shape; with a reason to refuse."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from stepmark.zoo.kernels import row_choice
from stepmark.zoo.kernels.dispatch import rehearsing
from stepmark.zoo.kernels.row_choice import recalled, rows_for_torch, uses_triton
from stepmark.zoo.norms import layer_norm, layer_norm_reference, rms_norm
from stepmark.zoo.softmax import softmax

WIDEST = 64


class SaysCuda(Tensor):
    """A tensor of the CPU: what Python asks before torch computes is the same."""

    __torch_function__ = torch._C._disabled_torch_function_impl  # type: ignore[assignment]
    is_cuda = True


def says_cuda(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.randn(shape, dtype=dtype).as_subclass(SaysCuda)


def ways() -> tuple[Callable[..., Tensor], Callable[..., Tensor]]:
    return torch.exp, lambda x: x.exp()


@pytest.fixture(autouse=True)
def no_driver_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without one, a torch that was built for CUDA fails where it is asked about captures."""
    if not torch.cuda.is_available():
        monkeypatch.setattr(row_choice, "_is_capturing", lambda: False)


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
        assert default == "torch"
        for call in candidates.values():
            call()
        seen.append((operation, key))
        return "torch" if "train" in operation else "triton"

    monkeypatch.setattr(row_choice, "choose", choose)
    monkeypatch.setattr(row_choice, "resolve", lambda backend, _: backend != "torch")
    monkeypatch.setattr(row_choice, "_decided", {})
    monkeypatch.setattr(row_choice, "_torch_takes", {})
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
    assert measured == [("exp-forward/2", (8, 8, "float32")), ("exp-train/2", (8, 8, "float32"))]
    assert wanted.grad is None


class ElsewhereOnCuda(SaysCuda):
    device = torch.device("cuda", 1)

    def get_device(self) -> int:
        return 1


@pytest.mark.parametrize("elsewhere", ["weight", "bias"])
def test_a_kernel_is_not_recalled_for_parameters_on_another_device(
    measured: list[tuple[str, tuple[int | str, ...]]], elsewhere: str
) -> None:
    """It would read their addresses on its own: torch says so, as does what has not been decided."""
    tensors = {"x": says_cuda(4, 8), "weight": says_cuda(8), "bias": says_cuda(8)}
    row_choice.remember(True, "exp", "auto", *tensors.values())
    assert recalled("exp", "auto", **tensors) is True
    tensors[elsewhere] = tensors[elsewhere].as_subclass(ElsewhereOnCuda)
    assert recalled("exp", "auto", **tensors) is None
    with pytest.raises(ValueError, match="tensors on one device, got some on cpu and some on cuda:1"):
        uses_triton("auto", "exp", [*tensors.values()], widest=WIDEST, ways=ways)
    row_choice.remember(True, "exp", "auto", tensors["x"], None, tensors["bias"])
    there = elsewhere == "weight"
    assert recalled("exp", "auto", tensors["x"], None, tensors["bias"]) is (True if there else None)
    assert measured == []


def test_decisions_are_forgotten_when_there_are_many(
    measured: list[tuple[str, tuple[int | str, ...]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_choice, "MOST_DECISIONS", 3)
    for rows in range(1, 10):
        x = says_cuda(rows, 8)
        row_choice.remember(False, "exp", "auto", x)
        assert recalled("exp", "auto", x) is False
        assert rows_for_torch("exp", "auto", x) == (8,)
        assert len(row_choice._decided) <= 3
        assert len(row_choice._torch_takes) <= 3
    assert measured == []


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


def test_rows_that_32_bits_do_not_count_are_torchs_or_refused(
    measured: list[tuple[str, tuple[int | str, ...]]], device: str
) -> None:
    x = torch.ones(1, device=device).expand(1 << 31, 8)
    assert not uses_triton("auto", "exp", (x,), widest=WIDEST, ways=ways)
    with pytest.raises(ValueError, match="2147483648 rows; the kernel takes up to 2147"):
        uses_triton("triton", "exp", (x,), widest=WIDEST, ways=ways)
    assert measured == []


def test_where_torch_was_chosen_its_operator_gets_the_shape_of_a_row(
    measured: list[tuple[str, tuple[int | str, ...]]],
) -> None:
    x, weight = says_cuda(5, 8).requires_grad_(), says_cuda(8)
    assert not uses_triton("auto", "exp", (x, weight), widest=WIDEST, ways=lambda: (torch.add, torch.add))
    assert rows_for_torch("exp", "auto", x, weight) == (8,)
    assert rows_for_torch("exp", "auto", says_cuda(5, 8).requires_grad_(), says_cuda(8)) == (8,)
    others = {
        "another operation": ("log", "auto", x, weight),
        "asked for by name": ("exp", "triton", x, weight),
        "another shape": ("exp", "auto", says_cuda(4, 8).requires_grad_(), weight),
        "another dtype": ("exp", "auto", x.detach().half().requires_grad_(), weight),
        "no gradients": ("exp", "auto", x.detach(), weight),
        "without a weight": ("exp", "auto", x),
        "a weight to be cast": ("exp", "auto", x, says_cuda(8, dtype=torch.float16)),
        "a bias": ("exp", "auto", x, weight, says_cuda(8)),
        "a bias to be cast": ("exp", "auto", x, weight, says_cuda(8, dtype=torch.float16)),
        "on the CPU": ("exp", "auto", torch.randn(5, 8, requires_grad=True), weight),
    }
    found = {what: rows_for_torch(*given) for what, given in others.items()}  # type: ignore[arg-type]
    assert found == dict.fromkeys(others)
    with torch.no_grad():
        assert rows_for_torch("exp", "auto", x, weight) is None
    with rehearsing():
        assert rows_for_torch("exp", "auto", x, weight) is None
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert rows_for_torch("exp", "auto", x, weight) is None


def test_a_bias_of_another_dtype_does_not_go_the_way_of_those_before(
    measured: list[tuple[str, tuple[int | str, ...]]],
) -> None:
    """As the parameters of a norm may have that was cast by hand: torch's own operator refuses them."""
    x, weight = says_cuda(5, 8, dtype=torch.bfloat16), says_cuda(8, dtype=torch.bfloat16)
    biases = says_cuda(8, dtype=torch.bfloat16), says_cuda(8)
    for bias in biases:
        found = layer_norm(x, weight, bias, backend="torch")
        assert found.dtype is torch.bfloat16
        expected = layer_norm_reference(x.double(), weight.double(), bias.double())
        torch.testing.assert_close(found.double(), expected, rtol=0.0, atol=3e-2)
    assert rows_for_torch("layer_norm", "torch", x, weight, biases[0]) == (8,)
    assert rows_for_torch("layer_norm", "torch", x, weight, biases[1]) is None


def test_under_autocast_torchs_way_keeps_the_dtype_that_a_kernels_has(
    measured: list[tuple[str, tuple[int | str, ...]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """On CUDA autocast computes norms and softmax in float32 and leaves them so."""
    x, weight = (says_cuda(*shape, dtype=torch.bfloat16) for shape in ((5, 8), (8,)))
    for name in ("rms_norm", "layer_norm"):
        plain = getattr(torch, name)
        monkeypatch.setattr(torch, name, lambda *given, plain=plain: plain(*given).float())
    softmax_of = torch.softmax
    monkeypatch.setattr(
        torch, "softmax", lambda x, dim, dtype=None: softmax_of(x, dim, dtype or torch.float32)
    )
    with torch.autocast("cpu", dtype=torch.bfloat16):
        for _ in range(2):  # chosen, and remembered
            assert rms_norm(x, weight, backend="torch").dtype is torch.bfloat16
            assert layer_norm(x, weight, backend="torch").dtype is torch.bfloat16
            assert softmax(x, backend="torch").dtype is torch.bfloat16


def test_where_the_kernel_was_chosen_or_parameters_are_cast_torch_is_not_called_at_once(
    measured: list[tuple[str, tuple[int | str, ...]]],
) -> None:
    x = says_cuda(5, 8)
    assert uses_triton("auto", "exp", (x,), widest=WIDEST, ways=ways)
    assert rows_for_torch("exp", "auto", x) is None
    mixed = says_cuda(5, 8).requires_grad_(), says_cuda(8, dtype=torch.float16)
    assert not uses_triton("auto", "exp", mixed, widest=WIDEST, ways=lambda: (torch.add, torch.add))
    assert rows_for_torch("exp", "auto", *mixed) is None
    assert recalled("exp", "auto", *mixed) is False


@pytest.mark.parametrize("trained", [True, False])
def test_norms_give_what_torch_gives_and_ask_nothing_else(
    measured: list[tuple[str, tuple[int | str, ...]]], monkeypatch: pytest.MonkeyPatch, trained: bool
) -> None:
    x, weight, bias = says_cuda(5, 8), says_cuda(8), says_cuda(8)
    if trained:
        x, weight, bias = (one.requires_grad_() for one in (x, weight, bias))
    for name, vectors in {"rms_norm": (weight,), "layer_norm": (weight, bias)}.items():
        assert not uses_triton("torch", name, (x, *vectors), widest=WIDEST, ways=ways)
    monkeypatch.setattr(row_choice, "_decided", None)
    found = (
        rms_norm(x, weight, eps=1e-3, backend="torch"),
        layer_norm(x, weight, bias, eps=1e-3, backend="torch"),
    )
    right = (
        torch.rms_norm(x, (8,), weight, 1e-3),
        torch.layer_norm(x, (8,), weight, bias, 1e-3),
    )
    for one, other in zip(found, right, strict=True):
        torch.testing.assert_close(one, other, rtol=0.0, atol=0.0)
        assert one.requires_grad is trained
    with pytest.raises(RuntimeError, match="normalized_shape"):
        layer_norm(x, weight, says_cuda(7).requires_grad_(trained), backend="torch")
