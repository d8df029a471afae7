"""Capturing programs into CUDA graphs: what becomes of layouts here, the graphs themselves on a device."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from itertools import count
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from stepmark.authoring.inputs import randn
from stepmark.authoring.suite import Suite
from stepmark.authoring.workload import Ops, Step
from stepmark.errors import Uncapturable
from stepmark.instruments.event_clock import EventInstrument
from stepmark.instruments.fake import FakeInstrument
from stepmark.instruments.graph_capture import REPEATS, WARM_UP, Replay, capture, make_capturable
from stepmark.instruments.torch_binding import bind
from stepmark.measure.failures import from_exception
from stepmark.measure.program import Program
from stepmark.measure.sampler import run_block
from stepmark.records.case import Cache, Case, Cell, Execution, Mode
from stepmark.records.evidence import Evidence
from stepmark.records.outcome import Outcome, Stage

CPU = torch.device("cpu")


def graphs_of(program: Program) -> list[Replay]:
    return [call for call in program.calls if isinstance(call, Replay)]


def test_a_step_becomes_one_graph_and_its_whole_the_only_phase() -> None:
    fake = FakeInstrument()
    program = fake.step({"forward": 1, "backward": 2})
    captured = capture(
        Program(
            layout=program.layout,
            calls=program.calls,
            prepare=program.prepare,
            inspect=lambda: Evidence(layout=program.layout, parameters=7),
        ),
        CPU,
    )
    layout = captured.layout
    assert (layout.phases, layout.primary, layout.whole) == (("step",), "step", None)
    assert captured.prepare is None
    assert len(graphs_of(captured)) == 1
    assert captured.inspect is not None
    assert captured.inspect() == Evidence(layout=captured.layout, parameters=7)


class NoDevice:
    """Stands for CUDA where there is none: what is captured and replayed is written down."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.current = self.first = SimpleNamespace(wait_stream=lambda _: None)
        self.end_fails = False

    def replay(self) -> None:
        self.log.append("replay")

    @contextmanager
    def stream(self, stream: Any) -> Iterator[None]:
        before, self.current = self.current, stream
        try:
            yield
        finally:
            self.current = before

    @contextmanager
    def graph(self, _: Any, *, stream: Any) -> Iterator[None]:
        """As torch's own: where the end fails the stream stays."""
        before, self.current = self.current, stream
        try:
            yield
        finally:
            if self.end_fails:
                raise RuntimeError("operation failed due to a previous error during capture")
            self.current = before


@pytest.fixture
def no_device(monkeypatch: pytest.MonkeyPatch) -> NoDevice:
    device = NoDevice()
    monkeypatch.setattr(torch.cuda, "device", lambda _: nullcontext())
    monkeypatch.setattr(torch.cuda, "stream", device.stream)
    monkeypatch.setattr(torch.cuda, "graph", device.graph)
    monkeypatch.setattr(torch.cuda, "Stream", lambda _: SimpleNamespace(wait_stream=lambda _: None))
    monkeypatch.setattr(torch.cuda, "current_stream", lambda _: device.current)
    monkeypatch.setattr(torch.cuda, "CUDAGraph", lambda: device)
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: False)
    monkeypatch.setattr(torch.cuda, "get_sync_debug_mode", lambda: 0)
    monkeypatch.setattr(torch.cuda, "set_sync_debug_mode", lambda _: None)
    return device


@pytest.mark.parametrize(("repeats", "times"), [(REPEATS, 2), (1, 1)])
def test_a_graph_holds_one_of_each_iteration_unless_they_are_to_be_cold(
    repeats: int, times: int, no_device: NoDevice
) -> None:
    program = capture(replace(FakeInstrument().step({"forward": 1}), cycle=2), CPU, repeats=repeats)
    assert program.times == (1,), "the first call captures"
    program.iterate()
    assert program.times == (times,)
    assert no_device.log == ["replay"]


@pytest.mark.parametrize("cycle", [1, 2])
def test_iterations_of_a_graph_are_prepared_one_by_one(cycle: int, no_device: NoDevice) -> None:
    log = no_device.log
    calls = {"step": lambda: log.append("step")}
    replay = Replay(calls, prepare=lambda: log.append("prepare"), device=CPU, cycle=cycle)
    replay()
    replay()
    captured = ["prepare", "step"] * cycle
    assert log == ["prepare", "step"] * WARM_UP + captured + ["replay", "replay"]
    assert replay.times == cycle


@pytest.mark.parametrize("end_fails", [False, True])
@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (torch.OutOfMemoryError("CUDA out of memory"), Outcome.OUT_OF_MEMORY),
        (ValueError("of the layer's own"), Outcome.CRASHED),
    ],
)
def test_what_broke_a_capture_is_told_and_not_that_its_end_failed(
    error: Exception, outcome: Outcome, end_fails: bool, no_device: NoDevice
) -> None:
    no_device.end_fails = end_fails
    runs = count(1)

    def step() -> None:
        if next(runs) > WARM_UP:
            raise error

    with pytest.raises(type(error)) as raised:
        Replay({"step": step}, prepare=None, device=CPU)()
    assert from_exception(raised.value, Stage.WARMUP).outcome is outcome
    assert no_device.current is no_device.first, "the next lane does not run on the stream of the capture"


def test_operations_have_a_graph_each() -> None:
    program = FakeInstrument().operations({"quantize": 1, "product": 2})
    captured = capture(program, CPU)
    assert captured.layout == program.layout
    assert len(graphs_of(captured)) == 2
    assert all(replay.pool is None for replay in graphs_of(captured)), "nothing has run yet"


def test_optimizers_are_told_to_count_on_the_device() -> None:
    parameters = [torch.nn.Parameter(torch.ones(2))]
    adam = torch.optim.AdamW(parameters)
    make_capturable(adam)
    assert adam.param_groups[0]["capturable"] is True
    for other in (torch.optim.SGD(parameters), None, object()):
        make_capturable(other)


suite = Suite("captured", modes=["train", "forward", "ops"])


@suite.variant(baseline=True)
def model(c: Any) -> Step | Ops:
    if c.mode is Mode.OPS:
        x = torch.randn(64, 64, device=c.device)
        return Ops({"product": lambda: x @ x, "softmax": lambda: x.softmax(-1)})
    layer = torch.nn.Sequential(torch.nn.Linear(32, 32), torch.nn.Dropout(0.1))
    return Step(layer, inputs=randn(8, 32), loss=lambda y: y.square().mean(), optimizer=torch.optim.AdamW)


@suite.variant
def waiting(c: Any) -> Step | Ops:
    if c.mode is Mode.OPS:
        x = torch.randn(64, 64, device=c.device)
        return Ops({"product": lambda: (x @ x).sum().item()})
    layer = torch.nn.Linear(32, 32)

    class Waits(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = layer

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            scaled: torch.Tensor = self.layer(x) * float(self.layer.weight.sum().item())
            return scaled

    return Step(Waits(), inputs=randn(8, 32))


def bound(variant: str, mode: Mode, cache: Cache = Cache.WARM) -> Program:
    cell = Cell(suite="captured", device="cuda", mode=mode, execution=Execution.GRAPH, cache=cache)
    return bind(suite.variants[variant], Case(variant=variant, cell=cell), seed=3)


@pytest.mark.gpu
@pytest.mark.parametrize("mode", list(Mode))
def test_replays_are_timed(mode: Mode) -> None:
    program, clock = bound("model", mode), EventInstrument("cuda")
    for _ in range(2):
        totals = run_block(program, (3,) * len(program.layout.phases), clock)
    assert all(total > 0 for total in totals)
    assert all(replay.pool is not None for replay in graphs_of(program))


@pytest.mark.gpu
@pytest.mark.parametrize("cache", list(Cache))
def test_short_operations_are_held_ten_times_unless_they_are_to_be_cold(cache: Cache) -> None:
    program = bound("model", Mode.OPS, cache)
    program.iterate()
    assert program.times == ((1, 1) if cache is Cache.COLD else (REPEATS, REPEATS))
    step = bound("model", Mode.TRAIN, cache)
    step.iterate()
    assert step.times == (1,)


@pytest.mark.gpu
def test_a_replayed_step_trains() -> None:
    torch.manual_seed(0)
    parameter = torch.nn.Parameter(torch.ones(4, device="cuda"))
    optimizer = torch.optim.AdamW([parameter], lr=0.1)
    make_capturable(optimizer)

    def backward() -> None:
        torch.autograd.backward(parameter.square().sum())

    def prepare() -> None:
        parameter.grad = None

    calls = {"backward": backward, "optimizer": optimizer.step}
    replay = Replay(calls, prepare=prepare, device=torch.device("cuda"))
    levels = []
    for _ in range(5):
        replay()
        levels.append(float(parameter.detach()[0]))
    assert levels == sorted(levels, reverse=True)
    assert len(set(levels)) == 5


@pytest.mark.gpu
def test_a_replay_of_a_step_without_a_loss_leads_back_to_where_it_began() -> None:
    without = Suite("without", modes=["train"])
    layer = torch.nn.Linear(16, 16)

    @without.variant(baseline=True)
    def sgd(_: Any) -> Step:
        return Step(layer, inputs=randn(8, 16), optimizer=lambda p: torch.optim.SGD(p, lr=0.1))

    cell = Cell(suite="without", device="cuda", mode=Mode.TRAIN, execution=Execution.GRAPH)
    program = bind(without.variants["sgd"], Case(variant="sgd", cell=cell), seed=3)
    program.iterate()
    assert program.times == (2,)
    before = layer.weight.detach().clone()
    for _ in range(50):
        program.iterate()
    torch.testing.assert_close(layer.weight.detach(), before, rtol=0.0, atol=1e-4)


@pytest.mark.gpu
@pytest.mark.parametrize(("mode", "where"), [(Mode.TRAIN, "forward"), (Mode.OPS, "product")])
def test_a_step_that_waits_for_the_device_is_refused_by_name(mode: Mode, where: str) -> None:
    program = bound("waiting", mode)
    with pytest.raises(Uncapturable, match=f"in {where} it waits for the device"):
        program.iterate()
