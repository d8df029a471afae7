"""Operations by their own time, on the host and by their kernels, and which of them are matrix products."""

from __future__ import annotations

import pytest
import torch

from stepmark.analysis.profile import summarize_profile
from stepmark.analysis.profile_products import MATRIX_PRODUCTS, is_product
from stepmark.records.profile import PhaseProfile, ProfileRecording
from tests.support.profiles import (
    BACKWARD,
    EVALUATE,
    FORWARD,
    NODE,
    Named,
    example,
    example_on_device,
    make_profile,
    make_trace,
)

US = 1e-6


def phases(recording: ProfileRecording) -> dict[str, PhaseProfile]:
    summary = summarize_profile(recording)
    assert summary is not None
    return {phase.phase: phase for phase in summary.phases}


def table(phase: PhaseProfile) -> list[tuple[str, float, float, float]]:
    return [
        (row.name, row.calls, round(row.self_seconds / US, 6), round(row.total_seconds / US, 6))
        for row in phase.operations
    ]


def test_operations_of_each_phase_the_longest_first() -> None:
    found = phases(example())
    assert table(found["forward"]) == [
        ("aten::addmm", 1, 40, 40),
        ("aten::linear", 1, 20, 60),
        ("aten::relu", 1, 15, 15),
    ]
    assert table(found["backward"]) == [("aten::mm", 2, 120, 120), (NODE, 1, 20, 140), (EVALUATE, 1, 10, 150)]
    assert [row.share for row in found["forward"].operations] == pytest.approx([0.4, 0.2, 0.15])


def test_shares_of_operations_and_gaps_make_the_phase() -> None:
    for phase in phases(example()).values():
        assert sum(row.share for row in phase.operations) + phase.idle.share == pytest.approx(1.0)


def test_the_share_of_matrix_products() -> None:
    found = phases(example())
    assert found["forward"].products_share == pytest.approx(0.6)
    assert found["backward"].products_share == pytest.approx(120 / 180)
    assert [row.is_product for row in found["backward"].operations] == [True, False, False]


def test_what_disturbs_one_iteration_of_three_is_not_the_operations() -> None:
    forward = [Named("forward", start, start + length) for start, length in ((0, 50), (100, 50), (200, 900))]
    calls = [Named("aten::mm", 10, 30), Named("aten::mm", 110, 130), Named("aten::mm", 210, 1050)]
    phase = phases(make_profile(make_trace(forward, calls)))["forward"]
    assert table(phase) == [("aten::mm", 1, 20, 20)]
    assert phase.seconds == pytest.approx(50 * US)
    assert phase.idle.gaps == 2
    assert phase.products_share == pytest.approx(0.4)


def test_what_runs_between_phases_belongs_to_none() -> None:
    trace = make_trace([FORWARD, BACKWARD], [Named("aten::zero_", 105, 115)])
    assert all(phase.operations == () for phase in phases(make_profile(trace)).values())


def test_another_thread_counts_along() -> None:
    trace = make_trace([FORWARD], [Named("aten::mm", 10, 90, 1)])
    assert phases(make_profile(trace))["forward"].products_share == pytest.approx(0.8)


def test_on_a_device_operations_have_the_time_of_their_kernels() -> None:
    found = phases(example_on_device())
    assert table(found["forward"]) == [
        ("aten::addmm", 1, 32, 32),
        ("handmade", 1, 4, 4),
        ("aten::linear", 1, 0, 32),
    ]
    assert table(found["backward"]) == [("aten::mm", 2, 140, 140), (NODE, 1, 0, 140), (EVALUATE, 1, 0, 140)]
    assert found["forward"].products_share == pytest.approx(0.32)


def test_gaps_on_the_host_and_between_kernels() -> None:
    forward = phases(example_on_device())["forward"]
    assert forward.device_idle is not None
    assert (forward.idle.gaps, forward.device_idle.gaps) == (3, 3)
    assert forward.idle.seconds == pytest.approx(25 * US)
    assert forward.device_idle.seconds == pytest.approx(64 * US)
    assert forward.device_idle.longest_seconds == pytest.approx(30 * US)


@pytest.mark.parametrize("name", sorted(MATRIX_PRODUCTS))
def test_the_list_names_operators_with_their_library(name: str) -> None:
    library, _, operator = name.partition("::")
    assert library
    assert operator


def test_most_of_the_list_exists_in_this_torch() -> None:
    """Some are of other devices and versions; a list of misspelt names would have none."""
    known = [name for name in MATRIX_PRODUCTS if name.startswith("aten::")]
    there = [name for name in known if hasattr(torch.ops.aten, name.removeprefix("aten::"))]
    assert len(there) > 0.9 * len(known), sorted(set(known) - set(there))


@pytest.mark.parametrize("name", ["aten::add", "aten::softmax", "mm", "aten::mm_extra", "AddmmBackward0"])
def test_what_is_no_product(name: str) -> None:
    assert not is_product(name)
