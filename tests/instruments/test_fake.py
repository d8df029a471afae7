"""The scripted instrument itself."""

from __future__ import annotations

import pytest

from stepmark.instruments.fake import FakeDevice, FakeInstrument
from stepmark.measure.instrument import Instrument


def test_it_is_an_instrument() -> None:
    instrument: Instrument = FakeInstrument()
    assert instrument.nanoseconds([instrument.mark()]) == [0]


def test_time_passes_only_when_told() -> None:
    fake = FakeInstrument()
    assert [fake.mark(), fake.mark(), fake.now()] == [0, 0, 0.0]
    fake.advance(1_500_000_000)
    assert fake.mark() == 1_500_000_000
    assert fake.now() == pytest.approx(1.5)


def test_a_reading_may_cost_something() -> None:
    fake = FakeInstrument(reading=7)
    assert [fake.mark(), fake.mark(), fake.mark()] == [7, 14, 21]


def test_flags_are_a_copy_and_can_be_put_back() -> None:
    fake = FakeInstrument()
    before = fake.flags()
    fake.settings["grad"] = "False"
    assert before == {"grad": "True"}
    fake.restore(before)
    assert fake.flags() == before
    assert fake.settings is not before


def test_a_step_takes_its_scripted_times() -> None:
    fake = FakeInstrument()
    times = iter([5, 6])
    program = fake.step({"forward": lambda: next(times), "backward": 30}, prepare=200)
    assert program.layout.phases == ("step", "forward", "backward")
    assert (program.layout.whole, program.layout.primary) == ("step", "step")
    program.iterate()
    program.iterate()
    assert fake.time == 5 + 6 + 2 * (30 + 200)


def test_operations_take_theirs() -> None:
    fake = FakeInstrument()
    program = fake.operations({"quantize": 3, "matmul": lambda: 4})
    assert program.layout.phases == ("quantize", "matmul")
    assert (program.layout.whole, program.layout.primary, program.prepare) == (None, "quantize", None)
    program.iterate()
    assert fake.time == 7


def test_a_device_works_in_line_after_the_host_has_asked() -> None:
    device = FakeDevice(latency=5)
    instrument: Instrument = device
    assert instrument.queues
    device.begin()
    program = device.operations({"call": (10, 100)})
    program.iterate()
    program.iterate()
    mark = device.mark()
    assert device.host_nanoseconds([mark]) == [20]
    assert device.nanoseconds([mark]) == [10 + 200], "the first began 10 after the block, one latency aside"
    assert device.time == device.free == 5 + 210
