"""Inspections as they are stored: older ones lack what came later."""

from __future__ import annotations

import msgspec

from stepmark.records.inspection import Inspection, OperatorUse, PhaseInspection


def test_a_phase_of_before_format_4_reads_as_without_operators() -> None:
    phase = PhaseInspection(phase="forward", operations=3, flops=1e6, traffic=1e5)
    plain = msgspec.to_builtins(Inspection(phases=(phase,)))
    del plain["phases"][0]["operators"]
    assert msgspec.convert(plain, Inspection) == Inspection(phases=(phase,))


def test_operators_come_back_as_they_were_stored() -> None:
    uses = (
        OperatorUse(name="aten.mm.default", calls=2, flops=1e9, traffic=3e6, seconds=1.5e-4),
        OperatorUse(name="others", calls=40),
    )
    inspection = Inspection(phases=(PhaseInspection(phase="forward", operators=uses),))
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(inspection), type=Inspection) == inspection
