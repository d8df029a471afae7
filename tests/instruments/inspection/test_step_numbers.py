"""Numbers of a step: output and gradients against the reference on a copy in float64."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from stepmark.authoring.inputs import randint, randn
from stepmark.authoring.workload import Step
from stepmark.instruments.torch_flags import float32_matmul_precision, set_float32_matmul_precision
from stepmark.records.case import Mode
from stepmark.records.inspection import NumberCheck
from tests.instruments.inspection.bound import stepped


def verified(step: Step, mode: Mode = Mode.TRAIN, **options: Any) -> dict[str, NumberCheck]:
    program = stepped(step, mode, **options)
    assert program.verify is not None
    return {one.what: one for one in program.verify()}


def wrong(checks: dict[str, NumberCheck]) -> list[str]:
    return [name for name, one in checks.items() if one.problem or not one.error <= one.tolerance]


class Product(torch.autograd.Function):
    """A layer's product whose backward pass can be wrong."""

    slip = 1.0

    @staticmethod
    def forward(ctx: Any, x: Tensor, w: Tensor) -> Tensor:
        ctx.save_for_backward(x, w)
        return x @ w.t()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        x, w = ctx.saved_tensors
        return gradients[0] @ w, gradients[0].t() @ x * Product.slip


class Fast(nn.Module):
    """A layer of one's own, with a scale that may be wrong."""

    def __init__(self, scale: float = 1.0) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(4, 6))
        self.scale = scale

    def forward(self, x: Tensor) -> Tensor:
        return Product.apply(x, self.weight) * self.scale  # type: ignore[no-any-return, no-untyped-call]


def reference(module: Any, x: Tensor) -> Any:
    assert x.dtype == module.weight.dtype == torch.float64
    return x @ module.weight.t()


def test_a_right_layer_passes_with_its_gradients() -> None:
    checks = verified(Step(Fast(), inputs=randn(5, 6, requires_grad=True), reference=reference))
    assert [*checks] == ["output", "gradient of weight", "gradient of input 0"]
    assert wrong(checks) == []


def test_a_wrong_output_is_found_with_its_place() -> None:
    checks = verified(Step(Fast(scale=1.01), inputs=randn(5, 6), reference=reference))
    assert "output" in wrong(checks)
    assert checks["output"].error == pytest.approx(0.01, rel=1e-3)
    assert len(checks["output"].place) == 2


def test_a_wrong_gradient_is_found_behind_a_right_output(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Product, "slip", 0.5)
    step = Step(Fast(), inputs=randn(5, 6, requires_grad=True), reference=reference)
    assert wrong(verified(step)) == ["gradient of weight"]


def test_a_forward_pass_is_checked_without_gradients() -> None:
    assert [*verified(Step(Fast(), inputs=randn(5, 6), reference=reference), Mode.FORWARD)] == ["output"]


def test_the_loss_takes_part_in_the_gradients() -> None:
    step = Step(
        Fast(), inputs=randn(5, 6), target=randn(5, 4), loss=nn.functional.mse_loss, reference=reference
    )
    assert wrong(verified(step)) == []


class Detached(Fast):
    """Keeps its weight out of the graph."""

    def forward(self, x: Tensor) -> Tensor:
        return x @ self.weight.detach().t()


def test_a_gradient_that_is_missing_is_found() -> None:
    step = Step(Detached(), inputs=randn(5, 6, requires_grad=True), reference=reference)
    checks = verified(step)
    assert wrong(checks) == ["gradient of weight"]
    assert "there is none" in checks["gradient of weight"].problem


@settings(max_examples=10)
@given(
    st.sampled_from(["float64", "float32", "bfloat16", "float16"]),
    st.sampled_from([nn.GELU, nn.Tanh, nn.SiLU]),
    st.booleans(),
)
def test_correct_networks_pass_in_every_dtype(dtype: str, activation: Any, trained: bool) -> None:
    module = nn.Sequential(nn.Linear(32, 64), activation(), nn.LayerNorm(64), nn.Linear(64, 8))
    step = Step(module, inputs=randn(16, 32), reference=lambda twin, x: twin(x), optimizer=torch.optim.SGD)
    assert wrong(verified(step, Mode.TRAIN if trained else Mode.FORWARD, dtype=dtype)) == []


def test_autocast_is_allowed_its_rounding() -> None:
    module = nn.Sequential(nn.Linear(32, 64), nn.GELU(), nn.Linear(64, 8))
    step = Step(module, inputs=randn(16, 32), reference=lambda twin, x: twin(x), autocast="bfloat16")
    assert wrong(verified(step)) == []


def test_a_tolerance_given_is_the_one_that_counts() -> None:
    step = Step(Fast(scale=1.01), inputs=randn(5, 6), reference=reference, tolerance=0.1)
    assert wrong(verified(step)) == []


def test_whole_numbers_go_in_as_they_are() -> None:
    def look_up(module: Any, tokens: Tensor) -> Tensor:
        return nn.functional.embedding(tokens, module.weight)

    assert wrong(verified(Step(nn.Embedding(9, 4), inputs=randint(9, 5), reference=look_up))) == []


def test_functions_are_given_as_they_are() -> None:
    step = Step(torch.tanh, inputs=randn(5, requires_grad=True), reference=lambda _, x: x.tanh())
    assert [*verified(step)] == ["output", "gradient of input 0"]
    assert wrong(verified(step)) == []


class Remembers(nn.Module):
    """Keeps an output of its last pass, graph and all, which cannot be copied."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)
        self.last: Tensor | None = None

    def forward(self, x: Tensor) -> Tensor:
        output: Tensor = self.layer(x)
        self.last = output
        return output


def test_a_module_that_keeps_its_output_can_be_checked() -> None:
    step = Step(Remembers(), inputs=randn(3, 4), reference=lambda twin, x: twin.layer(x))
    assert wrong(verified(step)) == []


class Centred(nn.Module):
    """Takes off a running mean, which every pass moves on."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(6, 4)
        self.mean = nn.Buffer(torch.zeros(4))

    def forward(self, x: Tensor) -> Tensor:
        output: Tensor = self.layer(x) - self.mean
        self.mean.lerp_(self.layer(x).detach().mean(0), 0.5)
        return output


class Carried(nn.Module):
    """Goes on from the state that the last pass left in an attribute."""

    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.GRU(6, 4)
        self.state: Tensor | None = None

    def forward(self, x: Tensor) -> Tensor:
        output, state = self.cell(x, self.state)
        self.state = state.detach()
        return output  # type: ignore[no-any-return]


@pytest.mark.parametrize("mode", [Mode.TRAIN, Mode.FORWARD])
@pytest.mark.parametrize(
    "make", [Centred, Carried, lambda: nn.utils.parametrizations.spectral_norm(nn.Linear(6, 4))]
)
def test_the_reference_begins_where_the_pass_began(make: Any, mode: Mode) -> None:
    step = Step(
        make(),
        inputs=randn(3, 5, 6) if make is Carried else randn(5, 6),
        loss=lambda output: output.square().mean(),
        optimizer=torch.optim.SGD,
        reference=lambda module, x: module(x),
    )
    assert wrong(verified(step, mode)) == []


def test_a_wrong_layer_with_a_state_is_not_forgiven() -> None:
    step = Step(Centred(), inputs=randn(5, 6), reference=lambda module, x: 1.01 * module(x))
    assert "output" in wrong(verified(step, Mode.FORWARD))


def test_inputs_that_a_pass_writes_are_the_references_as_they_were() -> None:
    step = Step(lambda x: x.mul_(0.5), inputs=randn(4), reference=lambda _, x: 0.5 * x)
    assert wrong(verified(step, Mode.FORWARD)) == []


class Tied(nn.Module):
    """A loss that has its weights from the module."""

    def __init__(self, layer: nn.Linear) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, output: Tensor) -> Tensor:
        back: Tensor = output @ self.layer.weight
        return back.square().mean()


def test_weights_that_module_and_loss_share_are_shared_in_the_reference() -> None:
    layer = nn.Linear(6, 4)
    step = Step(layer, inputs=randn(5, 6), loss=Tied(layer), reference=lambda module, x: module(x))
    assert wrong(verified(step)) == []


@pytest.mark.parametrize("slip", [1.0, 1.01])
def test_a_function_may_penalise_the_weights_that_it_holds(slip: float) -> None:
    layer = nn.Linear(6, 4)

    def loss(output: Tensor) -> Tensor:
        return output.square().mean() + 10.0 * layer.weight.square().sum()

    step = Step(layer, inputs=randn(5, 6), loss=loss, reference=lambda module, x: slip * module(x))
    assert bool(wrong(verified(step))) == (slip != 1.0)


def test_a_gradient_that_the_backward_pass_used_up_is_not_missing() -> None:
    layer = nn.Linear(6, 4)

    def update(parameter: Tensor) -> None:
        assert parameter.grad is not None
        parameter.data.sub_(parameter.grad)
        parameter.grad = None

    layer.weight.register_post_accumulate_grad_hook(update)  # type: ignore[no-untyped-call]
    step = Step(layer, inputs=randn(5, 6), reference=lambda module, x: module(x))
    checks = verified(step)
    assert wrong(checks) == []
    assert "gradient of weight" not in checks
    assert "gradient of bias" in checks


def test_a_reference_that_fails_is_named_as_such() -> None:
    def broken(module: Any, x: Tensor) -> Tensor:
        raise KeyError("lost")

    checks = verified(Step(Fast(), inputs=randn(5, 6), reference=broken))
    assert "the reference failed: KeyError" in checks["output"].problem


@pytest.mark.parametrize("where", ["output", "gradients", "own errors"])
def test_a_reference_that_finds_no_memory_says_nothing_about_the_numbers(where: str) -> None:
    class Crowded(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, y: Tensor) -> Tensor:
            return y.clone()

        @staticmethod
        def backward(ctx: Any, *gradients: Tensor) -> Any:
            raise torch.OutOfMemoryError("CUDA out of memory")

    def crowded(module: Any, x: Tensor) -> Any:
        if where == "output" or (where == "own errors" and x.dtype is torch.float32):
            raise torch.OutOfMemoryError("CUDA out of memory")
        y = x @ module.weight.t()
        return Crowded.apply(y) if where == "gradients" else y  # type: ignore[no-untyped-call]

    module = Fast(scale=2.0 if where == "own errors" else 1.0)
    program = stepped(Step(module, inputs=randn(5, 6), reference=crowded))
    before = module.weight.detach().clone()
    assert program.verify is not None
    with pytest.raises(torch.OutOfMemoryError):
        program.verify()
    assert torch.equal(module.weight, before)
    assert module.weight.grad is None


def test_the_step_is_as_before() -> None:
    module = Fast()
    program = stepped(Step(module, inputs=randn(5, 6), reference=reference, optimizer=torch.optim.SGD))
    before, state = module.weight.detach().clone(), torch.get_rng_state()
    assert program.verify is not None
    program.verify()
    assert torch.equal(module.weight, before)
    assert module.weight.dtype is torch.float32
    assert torch.equal(torch.get_rng_state(), state)


class Kinked(nn.Module):
    """Coarse rounding puts every number on the kink, where there is no gradient."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(16))

    def forward(self, x: Tensor) -> Any:
        x = x.abs()
        return torch.relu(x * self.scale - x * 0.9999)


class Shifted(nn.Module):
    """A softmax does not feel its shift: the gradient is nothing but rounding."""

    def __init__(self) -> None:
        super().__init__()
        self.shift = nn.Parameter(torch.zeros(1))

    def forward(self, x: Tensor) -> Any:
        return torch.softmax(x + self.shift, -1)


def as_it_is(module: Any, x: Tensor) -> Any:
    return module(x)


def test_what_the_reference_loses_in_the_same_precision_is_forgiven() -> None:
    kinked = Step(Kinked(), inputs=randn(32, 16), reference=as_it_is)
    assert not wrong(verified(kinked, dtype="bfloat16"))
    shifted = Step(Shifted(), inputs=randn(32, 16), reference=as_it_is)
    assert not wrong(verified(shifted))


def test_a_tolerance_given_forgives_nothing() -> None:
    kinked = Step(Kinked(), inputs=randn(32, 16), reference=as_it_is, tolerance=0.05)
    assert wrong(verified(kinked, dtype="bfloat16"))
    shifted = Step(Shifted(), inputs=randn(32, 16), reference=as_it_is, tolerance=1e-4)
    assert wrong(verified(shifted)) == ["gradient of shift"]


@pytest.mark.parametrize(("backend", "tolerance"), [("mkldnn", 5e-3), ("cuda", 1e-4)])
def test_products_of_fewer_bits_on_this_device_are_allowed_their_error(
    backend: str, tolerance: float
) -> None:
    before = float32_matmul_precision()
    getattr(torch.backends, backend).matmul.fp32_precision = "tf32"
    try:
        checks = verified(Step(Fast(), inputs=randn(3, 6), reference=reference))
    finally:
        set_float32_matmul_precision(before)
    assert wrong(checks) == []
    assert {one.tolerance for one in checks.values()} == {tolerance}
