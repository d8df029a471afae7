"""Binding on real torch: what a phase holds, what stays outside the clock, what is refused."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from stepmark.authoring.inputs import randint, randn
from stepmark.authoring.suite import Variant
from stepmark.authoring.workload import Ops, Step
from stepmark.errors import BenchFileError, Unsupported
from stepmark.instruments.torch_binding import bind
from stepmark.instruments.torch_clock import TorchInstrument
from stepmark.measure.program import Program
from stepmark.measure.sampler import run_block
from stepmark.records.case import AxisValue, Case, Cell, Execution, Mode
from stepmark.records.evidence import TensorFacts
from stepmark.records.sample import Total

few = settings(max_examples=10)


def bound(
    build: Callable[[Any], Any],
    mode: Mode = Mode.TRAIN,
    *,
    dtype: str = "float32",
    device: str = "cpu",
    seed: int = 1,
    execution: Execution = Execution.EAGER,
    **axes: AxisValue,
) -> Program:
    cell = Cell(
        suite="mine", axes=tuple(axes.items()), device=device, dtype=dtype, mode=mode, execution=execution
    )
    return bind(
        Variant(name="dense", build=build, baseline=True), Case(variant="dense", cell=cell), seed=seed
    )


def of(workload: Any, mode: Mode = Mode.TRAIN, **options: Any) -> Program:
    return bound(lambda c: workload, mode, **options)


def run(program: Program, iterations: int = 1) -> None:
    """As the sampler runs it, one iteration a block."""
    for _ in range(iterations):
        run_block(program, (1,) * len(program.layout.phases), TorchInstrument())


class Watched(nn.Module):
    """A layer that notes what it finds at the start of every forward."""

    def __init__(self, features: int = 4) -> None:
        super().__init__()
        self.inner = nn.Linear(features, features)
        self.clear: list[bool] = []
        self.dropped: list[bool] = []
        self.inputs: list[torch.Tensor] = []
        self._last: Callable[[], object] = lambda: None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.clear.append(all(parameter.grad is None for parameter in self.parameters()) and x.grad is None)
        self.dropped.append(self._last() is None)
        self.inputs.append(x)
        output: torch.Tensor = self.inner(x)
        self._last = weakref.ref(output)
        return output


@pytest.mark.parametrize(
    ("device", "chosen"), [("cuda:1", [torch.device("cuda:1")]), ("cuda", []), ("cpu", [])]
)
def test_a_device_with_a_number_is_the_current_one_when_the_variant_is_built(
    device: str, chosen: list[torch.device], monkeypatch: pytest.MonkeyPatch
) -> None:
    current: list[Any] = []
    monkeypatch.setattr(torch.cuda, "set_device", current.append)

    def build(_: Any) -> Step:
        assert current == chosen
        raise Unsupported("nothing here to build it on")

    with pytest.raises(Unsupported):
        bound(build, device=device)


def grads(module: nn.Module) -> list[torch.Tensor]:
    return [parameter.grad.clone() for parameter in module.parameters() if parameter.grad is not None]


# ── one real step ───────────────────────────────────────────────────────────────────────────────────


@few
@given(st.integers(1, 6), st.booleans())
def test_gradients_never_accumulate(iterations: int, with_loss: bool) -> None:
    """Parameters stay, so the gradient after many iterations is that after one."""
    loss = nn.functional.mse_loss if with_loss else None
    found = []
    for count in (1, iterations):
        torch.manual_seed(0)
        module = nn.Linear(4, 4)
        run(
            of(
                Step(
                    module,
                    inputs=randn(3, 4, requires_grad=True),
                    target=randn(3, 4) if loss else (),
                    loss=loss,
                )
            ),
            count,
        )
        found.append(grads(module))
    assert len(found[0]) == 2
    assert all(torch.equal(one, many) for one, many in zip(*found, strict=True))


def test_gradients_are_cleared_and_the_last_graph_dropped_before_the_clock_starts() -> None:
    module = Watched()
    program = of(Step(module, inputs=randn(3, 4, requires_grad=True), optimizer=torch.optim.SGD))
    run(program, 3)
    run_block(program, (2,) * len(program.layout.phases), TorchInstrument())
    assert len(module.clear) > 3
    assert all(module.clear)
    assert all(module.dropped)


def test_gradients_of_parameters_a_function_holds_do_not_accumulate_either() -> None:
    layer = nn.Linear(4, 4)
    program = of(Step(lambda x: layer(x).relu(), inputs=randn(3, 4, requires_grad=True)))
    run(program)
    once = grads(layer)
    run(program, 5)
    assert len(once) == 2
    assert all(torch.equal(a, b) for a, b in zip(once, grads(layer), strict=True))


class Once(torch.autograd.Function):
    """Its backward may run once per forward."""

    forwards = backwards = 0

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        Once.forwards += 1
        ctx.used = False
        return x * 2

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> torch.Tensor:
        assert not ctx.used, "the graph was used twice"
        ctx.used = True
        Once.backwards += 1
        return gradients[0] * 2


@pytest.mark.parametrize("loss", [None, torch.sum])
def test_every_iteration_builds_its_graph_and_uses_it_once(loss: Any) -> None:
    Once.forwards = Once.backwards = 0
    kept: list[torch.Tensor] = []

    class Layer(nn.Linear):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            kept.append(torch.tanh(Once.apply(super().forward(x))))  # type: ignore[no-untyped-call]
            return kept[-1]

    run(of(Step(Layer(4, 4), inputs=randn(3, 4), loss=loss)), 5)
    assert (Once.forwards, Once.backwards) == (5, 5)
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        kept[-1].sum().backward()  # type: ignore[no-untyped-call]


@pytest.mark.parametrize(
    ("parts", "phases"),
    [
        ({}, ["forward", "backward"]),
        ({"loss": nn.functional.mse_loss, "target": randn(3, 4)}, ["forward", "loss", "backward"]),
        ({"optimizer": torch.optim.SGD}, ["forward", "backward", "optimizer"]),
        (
            {"loss": nn.functional.mse_loss, "target": randn(3, 4), "optimizer": torch.optim.SGD},
            ["forward", "loss", "backward", "optimizer"],
        ),
    ],
)
def test_phases_are_what_the_step_has(parts: dict[str, Any], phases: list[str]) -> None:
    program = of(Step(nn.Linear(4, 4), inputs=randn(3, 4), **parts))
    assert program.layout.phases == ("step", *phases)
    assert (program.layout.whole, program.layout.primary) == ("step", "step")
    run(program, 2)


@pytest.mark.parametrize(
    "optimizer", [torch.optim.AdamW, lambda parameters: torch.optim.SGD(parameters, lr=0.5), None]
)
def test_only_an_optimizer_moves_the_parameters(optimizer: Any) -> None:
    module = nn.Linear(4, 4)
    program = of(Step(module, inputs=randn(3, 4), optimizer=optimizer))
    before = [parameter.detach().clone() for parameter in module.parameters()]
    positions = [before]
    for _ in range(3):
        run(program)
        positions.append([parameter.detach().clone() for parameter in module.parameters()])
    moved = [not torch.equal(a[0], b[0]) for a, b in pairwise(positions)]
    assert moved == [optimizer is not None] * 3


def test_the_optimizer_is_given_what_is_trained() -> None:
    module = nn.Linear(4, 4)
    module.bias.requires_grad_(False)
    given_to: list[list[torch.Tensor]] = []

    def make(parameters: list[torch.Tensor]) -> torch.optim.Optimizer:
        given_to.append(list(parameters))
        return torch.optim.SGD(parameters)

    of(Step(module, inputs=randn(3, 4), optimizer=make))
    ((only,),) = given_to
    assert only is module.weight


def test_without_a_loss_backward_starts_from_a_fixed_random_gradient() -> None:
    def gradient(seed: int) -> torch.Tensor:
        arrived: list[torch.Tensor] = []

        def twice(x: torch.Tensor) -> torch.Tensor:
            output = x * 2
            output.register_hook(arrived.append)  # type: ignore[no-untyped-call]
            return output

        run(of(Step(twice, inputs=torch.zeros(3, 4, requires_grad=True)), seed=seed), 3)
        assert len(arrived) == 3
        assert len({one.data_ptr() for one in arrived}) == 1, "made once, not in every backward"
        return arrived[0]

    assert torch.equal(gradient(1), gradient(1))
    assert not torch.equal(gradient(1), gradient(2))
    assert gradient(1).std() > 0.1, "not all the same, as the gradient of a sum would be"


def test_the_loss_is_called_with_the_output_and_the_targets() -> None:
    seen: list[tuple[torch.Size, ...]] = []

    def loss(output: torch.Tensor, target: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        seen.append((output.shape, target.shape, labels.shape))
        return (output - target).square().sum()

    run(of(Step(nn.Linear(4, 2), inputs=randn(3, 4), loss=loss, target=[randn(3, 2), randint(5, 3)])))
    assert seen == [((3, 2), (3, 2), (3,))]


def test_a_loss_that_is_a_module_is_part_of_the_step() -> None:
    class Scaled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scale = nn.Parameter(torch.ones(()))
            self.shift = nn.Buffer(torch.zeros(()))

        def forward(self, output: torch.Tensor) -> torch.Tensor:
            return (output * self.scale + self.shift).square().mean()

    loss = Scaled().eval()
    program = of(Step(nn.Linear(4, 4), inputs=randn(3, 4), loss=loss), dtype="bfloat16")
    run(program)
    once = grads(loss)
    run(program, 4)
    assert torch.equal(once[0], grads(loss)[0]), "its gradients do not accumulate"
    assert (loss.scale.dtype, loss.shift.dtype, loss.training) == (torch.bfloat16, torch.bfloat16, True)
    assert program.inspect is not None
    assert program.inspect().parameters == 20 + 1


# ── inputs ──────────────────────────────────────────────────────────────────────────────────────────


def test_inputs_are_made_once_outside_every_clock() -> None:
    module = Watched()
    run(of(Step(module, inputs=randn(3, 4))), 5)
    assert len({id(x) for x in module.inputs}) == 1


@few
@given(st.integers(0, 2**31 - 10))
def test_variants_of_a_cell_see_the_same_inputs_and_parameters(seed: int) -> None:
    one, same, other = Watched(), Watched(), Watched()
    for module, own in ((one, seed), (same, seed), (other, seed + 1)):

        def build(c: Any, module: Watched = module) -> Step:
            module.inner.reset_parameters()
            return Step(module, inputs=randn(3, c.features))

        program = bound(build, seed=own, features=4)
        run(program)
    assert torch.equal(one.inputs[0], same.inputs[0])
    assert torch.equal(one.inner.weight, same.inner.weight)
    assert not torch.equal(one.inputs[0], other.inputs[0])
    assert not torch.equal(one.inner.weight, other.inner.weight)


def test_inputs_and_targets_are_different_draws() -> None:
    seen: list[torch.Tensor] = []

    def loss(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        seen.extend((output.detach(), target))
        return output.sum()

    run(of(Step(lambda x: x * 1, inputs=randn(3, 4, requires_grad=True), target=randn(3, 4), loss=loss)))
    assert not torch.equal(*seen)


def test_the_point_carries_device_dtype_mode_and_seed() -> None:
    seen: list[Any] = []

    def build(c: Any) -> Step:
        seen.append((c.device, c.dtype, c.mode, c.seed, c.features))
        return Step(nn.Linear(4, 4), inputs=randn(3, 4))

    bound(build, Mode.FORWARD, dtype="float64", seed=9, features=512)
    assert seen == [(torch.device("cpu"), torch.float64, Mode.FORWARD, 9, 512)]


# ── forward alone ───────────────────────────────────────────────────────────────────────────────────


def test_inference_is_forward_alone_without_gradients() -> None:
    outputs: list[torch.Tensor] = []

    class Layer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            outputs.append(self.inner(x))
            return outputs[-1]

    layer = Layer()
    program = of(
        Step(layer, inputs=randn(3, 4), loss=nn.functional.mse_loss, optimizer=torch.optim.SGD), Mode.FORWARD
    )
    assert (program.layout.phases, program.layout.whole, program.prepare) == (("forward",), None, None)
    run(program, 3)
    program.iterate()
    assert len(outputs) == 4
    assert not layer.training
    assert not layer.inner.training
    assert all(output.grad_fn is None and not output.requires_grad for output in outputs)
    assert all(torch.equal(outputs[0], output) for output in outputs), "dropout is off"
    assert torch.is_grad_enabled()


def test_training_is_in_training_mode() -> None:
    layer = nn.Sequential(nn.Linear(4, 4)).eval()
    of(Step(layer, inputs=randn(3, 4)))
    assert layer.training
    assert layer[0].training


def test_a_plain_function_can_be_measured_forward() -> None:
    run(of(Step(torch.relu, inputs=randn(3, 4)), Mode.FORWARD), 2)


# ── dtype, device, autocast, compile ────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("mode", [Mode.TRAIN, Mode.FORWARD])
@pytest.mark.parametrize("dtype", ["float64", "bfloat16"])
def test_modules_and_inputs_get_the_cases_dtype(mode: Mode, dtype: str) -> None:
    module = Watched()
    program = of(Step(module, inputs=randn(3, 4)), mode, dtype=dtype)
    run(program)
    assert {parameter.dtype for parameter in module.parameters()} == {getattr(torch, dtype)}
    assert module.inputs[0].dtype == getattr(torch, dtype)
    assert program.inspect is not None
    assert program.inspect().output == TensorFacts(shape=(3, 4), dtype=dtype, device="cpu")


class Rotated(nn.Module):
    """Multiplies by complex numbers, as rotary embeddings do."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(4, 4)
        self.turns: torch.Tensor
        self.register_buffer("turns", torch.polar(torch.ones(4), torch.arange(4.0)))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        turned: torch.Tensor = self.inner(x) * self.turns
        return turned.real


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_complex_numbers_of_a_module_stay_complex(dtype: str) -> None:
    module = Rotated()
    before = module.turns.clone()
    program = of(Step(module, inputs=randn(3, 4)), dtype=dtype)
    assert torch.equal(module.turns, before)
    assert module.inner.weight.dtype == getattr(torch, dtype)
    run(program)


def test_modules_and_inputs_go_to_the_cases_device() -> None:
    module = Watched()
    run(of(Step(module, inputs=randn(3, 4)), Mode.FORWARD, device="meta"))
    assert {tensor.device.type for tensor in (*module.parameters(), module.inputs[0])} == {"meta"}


@pytest.mark.parametrize("mode", [Mode.TRAIN, Mode.FORWARD])
def test_autocast_covers_forward_and_loss_and_nothing_else(mode: Mode) -> None:
    where: dict[str, bool] = {}
    outputs: list[torch.Tensor] = []

    class Layer(nn.Linear):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            where["forward"] = torch.is_autocast_enabled("cpu")
            outputs.append(super().forward(x))
            if outputs[-1].requires_grad:
                outputs[-1].register_hook(note)  # type: ignore[no-untyped-call]
            return outputs[-1]

    def note(_: torch.Tensor) -> None:
        where["backward"] = torch.is_autocast_enabled("cpu")

    def loss(output: torch.Tensor) -> torch.Tensor:
        where["loss"] = torch.is_autocast_enabled("cpu")
        return output.float().sum()

    class Watching(torch.optim.SGD):
        def step(self, closure: Any = None) -> Any:
            where["optimizer"] = torch.is_autocast_enabled("cpu")
            return super().step(closure)

    layer = Layer(4, 4)
    run(of(Step(layer, inputs=randn(3, 4), loss=loss, optimizer=Watching, autocast="bfloat16"), mode))
    expected = {"forward": True, "loss": True, "backward": False, "optimizer": False}
    assert where == (expected if mode is Mode.TRAIN else {"forward": True})
    assert outputs[0].dtype == torch.bfloat16
    assert layer.weight.dtype == torch.float32
    assert not torch.is_autocast_enabled("cpu")


@pytest.mark.parametrize(
    ("compile_", "options"),
    [
        (True, {}),
        ({}, {}),
        ({"backend": "eager", "dynamic": False}, {"backend": "eager", "dynamic": False}),
        (False, None),
    ],
)
@pytest.mark.parametrize("mode", [Mode.TRAIN, Mode.FORWARD])
def test_compile_is_torch_compile_with_these_options(
    compile_: Any, options: dict[str, Any] | None, mode: Mode, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[Any, dict[str, Any]]] = []
    ran: list[bool] = []

    def fake_compile(module: Any, **given: Any) -> Callable[..., Any]:
        asked.append((module, given))

        def compiled(*arguments: Any) -> Any:
            ran.append(True)
            return module(*arguments)

        return compiled

    monkeypatch.setattr(torch, "compile", fake_compile)
    module = nn.Linear(4, 4)
    program = of(Step(module, inputs=randn(3, 4), compile=compile_, optimizer=torch.optim.SGD), mode)
    assert ran == [], "nothing is run while it is built"
    run(program, 2)
    assert asked == ([] if options is None else [(module, options)])
    assert len(ran) == (0 if options is None else 2)


# ── operations ──────────────────────────────────────────────────────────────────────────────────────


def nothing() -> None:
    pass


OPERATIONS = {"quantize": nothing, "matmul": nothing}


@pytest.mark.parametrize(
    ("ops", "primary"),
    [
        (Ops(OPERATIONS), "quantize"),
        (Ops(OPERATIONS, totals={"all": ["quantize", "matmul"], "some": ["matmul"]}), "all"),
        (Ops(OPERATIONS, totals={"all": ["quantize", "matmul"]}, primary="matmul"), "matmul"),
    ],
)
def test_operations_with_totals_and_a_primary(ops: Ops, primary: str) -> None:
    layout = of(ops, Mode.OPS).layout
    assert (layout.phases, layout.primary, layout.whole) == (("quantize", "matmul"), primary, None)
    assert layout.totals == tuple(Total(name=name, parts=tuple(parts)) for name, parts in ops.totals.items())


def test_operations_are_called_as_they_are() -> None:
    log: list[str] = []
    program = of(Ops({"a": lambda: log.append("a"), "b": lambda: log.append("b")}), Mode.OPS)
    assert log == []
    run_block(program, (2, 3), TorchInstrument())
    assert log == ["a", "a", "b", "b", "b"]


# ── what is refused ─────────────────────────────────────────────────────────────────────────────────


def test_a_variant_that_returns_nothing() -> None:
    with pytest.raises(BenchFileError, match="variant 'dense' of suite 'mine' returned nothing"):
        of(None)


def test_a_variant_that_returns_something_else() -> None:
    with pytest.raises(BenchFileError, match="returned Linear: it must return a Step or Ops"):
        of(nn.Linear(4, 4))


def test_operations_and_steps_belong_to_their_modes() -> None:
    with pytest.raises(BenchFileError, match=r"returned Ops in mode train: declare .*modes=\['ops'\]"):
        of(Ops(OPERATIONS), Mode.TRAIN)
    with pytest.raises(BenchFileError, match=r"returned a Step in mode ops: declare modes=\['train'\]"):
        of(Step(nothing), Mode.OPS)


def frozen() -> nn.Module:
    return nn.Linear(4, 4).requires_grad_(False)


@pytest.mark.parametrize(
    "module", [torch.relu, nn.ReLU(), frozen()], ids=["function", "no parameters", "frozen"]
)
def test_a_step_that_trains_nothing(module: Any) -> None:
    with pytest.raises(ValueError, match="nothing in this step requires a gradient") as caught:
        of(Step(module, inputs=randn(3, 4)))
    assert "requires_grad=True" in str(caught.value)
    assert "those that a function holds are not seen" in str(caught.value)
    run(of(Step(module, inputs=randn(3, 4, requires_grad=True))))


def test_an_optimizer_without_parameters() -> None:
    with pytest.raises(ValueError, match="an optimizer but no parameters"):
        of(Step(nn.ReLU(), inputs=randn(3, 4, requires_grad=True), optimizer=torch.optim.SGD))


def test_an_output_that_is_no_tensor_needs_a_loss() -> None:
    program = of(Step(nn.LSTM(4, 4), inputs=randn(3, 2, 4)))
    with pytest.raises(TypeError, match="the module returns tuple, not a tensor: give the step a loss"):
        run(program)
    run(of(Step(nn.LSTM(4, 4), inputs=randn(3, 2, 4), loss=lambda output: output[0].sum())), 2)


def test_a_loss_that_returns_nothing_is_not_passed_over() -> None:
    program = of(Step(nn.Linear(4, 4), inputs=randn(3, 4), loss=lambda output: None))
    with pytest.raises(TypeError, match="the loss returns NoneType, not a tensor"):
        run(program)


def test_an_unknown_dtype() -> None:
    with pytest.raises(BenchFileError, match="torch has no dtype 'float33': write one like float32"):
        of(Step(nn.Linear(4, 4), inputs=randn(3, 4)), dtype="float33")
    with pytest.raises(BenchFileError, match="torch has no dtype 'True'"):
        of(Step(nn.Linear(4, 4), inputs=randn(3, 4), autocast=True))


# ── evidence ────────────────────────────────────────────────────────────────────────────────────────


def test_evidence_of_a_trained_step() -> None:
    program = of(Step(nn.Linear(4, 2), inputs=[randn(3, 4)], optimizer=torch.optim.AdamW))
    run(program, 2)
    assert program.inspect is not None
    found = program.inspect()
    assert (found.parameters, found.trainable_parameters, found.parameter_bytes) == (10, 10, 40)
    assert found.optimizer_state_bytes > 80
    assert found.inputs == (TensorFacts(shape=(3, 4), dtype="float32", device="cpu"),)
    assert found.output == TensorFacts(shape=(3, 2), dtype="float32", device="cpu")
    assert found.layout == program.layout


def test_compiled_execution_compiles_what_the_variant_wrote(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[tuple[Any, dict[str, Any]]] = []

    def compile_(call: Any, **options: Any) -> Any:
        compiled.append((call, options))
        return call

    monkeypatch.setattr(torch, "compile", compile_)
    layer, product = nn.Linear(4, 4), lambda: 1
    program = of(Step(layer, inputs=randn(2, 4)), execution=Execution.COMPILED)
    assert compiled == [(layer, {})]
    assert program.inspect is not None
    run(program)
    assert program.inspect().declared.compile, "the case says so, whatever its variant says"
    compiled.clear()
    chosen = {"dynamic": False}
    of(Step(layer, inputs=randn(2, 4), compile=chosen), execution=Execution.COMPILED)
    assert compiled == [(layer, chosen)], "once, and as the variant asks"
    compiled.clear()
    ops = of(Ops({"product": product}), Mode.OPS, execution=Execution.COMPILED)
    assert compiled == [(product, {})]
    assert ops.inspect is not None
    assert ops.inspect().declared.compile


def test_only_graphs_ask_for_capturable_optimizers() -> None:
    made: list[torch.optim.Optimizer] = []

    def optimizer(parameters: Any) -> torch.optim.Optimizer:
        made.append(torch.optim.AdamW(parameters))
        return made[-1]

    step = Step(nn.Linear(4, 4), inputs=randn(2, 4), optimizer=optimizer)
    of(step)
    program = of(step, execution=Execution.GRAPH)
    assert [one.param_groups[0]["capturable"] for one in made] == [False, True]
    assert program.layout.phases == ("step",)


def test_weights_that_an_optimizer_changes_are_looked_at() -> None:
    module = nn.Linear(4, 4)
    program = of(Step(module, inputs=randn(3, 4), optimizer=torch.optim.SGD))
    assert program.not_finite is not None
    program.iterate()
    assert program.not_finite() == ()
    with torch.no_grad():
        module.bias[2] = float("nan")
    assert program.not_finite() == ("bias",)
    assert of(Step(nn.Linear(4, 4), inputs=randn(3, 4))).not_finite is None
