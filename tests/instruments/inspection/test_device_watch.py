"""The device watch: levels and peaks by phase; on an accelerator also work on other streams."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from stepmark.authoring.inputs import randn
from stepmark.authoring.suite import Variant
from stepmark.authoring.workload import Step
from stepmark.instruments.inspection.device_watch import DeviceWatch
from stepmark.instruments.inspection.storages import Storages
from stepmark.instruments.torch_binding import bind
from stepmark.records.case import Case, Cell, Mode
from stepmark.records.inspection import CreationKind, Inspection

on_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="torch sees no CUDA device here")


def test_phases_are_measured_from_the_start_of_the_iteration() -> None:
    storages = Storages()
    watch = DeviceWatch(torch.device("cpu"), storages)
    before = torch.ones(100)
    storages.numbers(before, birth=0)
    watch.begin_iteration()
    watch.begin_phase()
    kept = torch.ones(10)
    storages.numbers(kept, birth=0)
    storages.numbers(torch.ones(50), birth=0)
    watch.end_phase()
    assert (watch.peak, watch.live) == (240, 40)
    watch.begin_phase()
    watch.end_phase()
    assert (watch.peak, watch.live) == (40, 40)


def inspected_on_cuda(function: Any, mode: Mode = Mode.FORWARD) -> Inspection:
    step = Step(function, inputs=randn(512, 512))
    cell = Cell(suite="mine", device="cuda", mode=mode)
    variant = Variant(name="mine", build=lambda c: step, baseline=True)
    program = bind(variant, Case(variant="mine", cell=cell), seed=1)
    for _ in range(3):
        program.iterate()
    assert program.examine is not None
    found = program.examine()
    assert found.problem == ""
    return found


@on_cuda
def test_work_on_another_stream_is_seen_and_work_that_is_waited_for_is_not() -> None:
    make_stream: Any = torch.cuda.Stream
    stream, large = make_stream(), torch.randn(4096, 4096, device="cuda")

    def strays(x: Tensor) -> Tensor:
        with torch.cuda.stream(stream):
            torch.mm(large, large)
        return x * 2

    def waits(x: Tensor) -> Tensor:
        doubled = strays(x)
        torch.cuda.current_stream().wait_stream(stream)
        return doubled

    assert inspected_on_cuda(strays).foreign_streams
    assert not inspected_on_cuda(waits).foreign_streams
    assert not inspected_on_cuda(nn.Linear(512, 512)).foreign_streams


@on_cuda
def test_the_allocator_tells_the_memory_of_a_phase() -> None:
    found = inspected_on_cuda(nn.Linear(512, 512))
    assert found.phases[0].live_bytes == 512 * 512 * 4
    assert found.host_seconds is not None
    assert found.device_seconds is not None
    assert found.host_seconds <= found.device_seconds


@on_cuda
def test_a_copy_to_the_device_is_created_data() -> None:
    host = torch.randn(512, 512)
    (created,) = inspected_on_cuda(lambda x: x + host.cuda()).phases[0].created
    assert (created.kind, created.bytes) == (CreationKind.COPY, host.nbytes)


@on_cuda
def test_phases_tell_where_they_wait_and_what_they_took_from_the_device() -> None:
    def waits(x: Tensor) -> Tensor:
        return x * x.sum().item()

    found = inspected_on_cuda(waits)
    (place,) = found.phases[0].waits
    assert place.startswith("test_device_watch.py:")
    plain = inspected_on_cuda(lambda x: torch.cat([x] * 64))
    assert plain.phases[0].waits == ()
    assert plain.phases[0].peak_bytes >= 64 * 512 * 512 * 4
    assert plain.phases[0].reserved_bytes == 0, "the plain steps have taken it already"
