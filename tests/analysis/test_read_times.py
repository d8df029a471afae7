"""Samples as an array of phase by launch by round."""

from __future__ import annotations

import numpy as np
import pytest

from stepmark.analysis.times import REMAINDER, read_times
from stepmark.records.sample import Layout
from tests.support.trials import FORWARD, OPS, TRAIN, make_lane

SECONDS = {
    "forward": [1e-3, 2e-3],
    "loss": [1e-4, 1e-4],
    "backward": [3e-3, 4e-3],
    "optimizer": [5e-4, 5e-4],
    "step": [5e-3, 6.5e-3],
}


def test_phases_in_the_order_of_the_layout_then_the_remainder() -> None:
    times = read_times({0: make_lane("mine", SECONDS)}, TRAIN)
    assert times.phases == (*TRAIN.phases, REMAINDER)
    assert times.seconds.shape == (6, 1, 2)
    assert times.rows(("forward",)).ravel().tolist() == pytest.approx([1e-3, 2e-3])


def test_remainder_is_what_the_phases_do_not_explain() -> None:
    times = read_times({0: make_lane("mine", SECONDS)}, TRAIN)
    assert times.rows((REMAINDER,)).ravel().tolist() == pytest.approx([4e-4, -1e-4])


def test_totals_are_sums_of_phases_block_by_block() -> None:
    seconds = {"quantize": [1e-3, 2e-3], "matmul": [4e-3, 4e-3], "dequantize": [3e-3, 1e-3]}
    times = read_times({0: make_lane("mine", seconds, layout=OPS)}, OPS)
    assert times.phases == ("total", "overhead", "quantize", "matmul", "dequantize")
    assert times.rows(("total", "overhead")).tolist() == [
        [pytest.approx([8e-3, 7e-3])],
        [pytest.approx([4e-3, 3e-3])],
    ]


def test_a_whole_without_parts_has_no_remainder() -> None:
    layout = Layout(phases=("step",), primary="step", whole="step")
    assert read_times({0: make_lane("mine", {"step": [1.0]}, layout=layout)}, layout).phases == ("step",)


def test_iterations_are_divided_out_launch_by_launch() -> None:
    lanes = {
        number: make_lane("mine", {"forward": [1e-3]}, layout=FORWARD, iterations=iterations)
        for number, iterations in enumerate((1, 7, 1000))
    }
    assert read_times(lanes, FORWARD).seconds.ravel().tolist() == pytest.approx([1e-3] * 3)


def test_a_block_stands_in_the_column_of_its_round() -> None:
    lanes = {
        2: make_lane("mine", {"forward": [1.0, 2.0, 3.0]}, layout=FORWARD),
        5: make_lane("mine", {"forward": [4.0]}, layout=FORWARD, rounds=[1]),
    }
    times = read_times(lanes, FORWARD)
    assert times.launches == (2, 5)
    np.testing.assert_allclose(times.seconds[0], [[1.0, 2.0, 3.0], [np.nan, 4.0, np.nan]])


def test_a_phase_without_samples_is_left_out() -> None:
    seconds = {phase: values for phase, values in SECONDS.items() if phase != "loss"}
    times = read_times({0: make_lane("mine", seconds)}, TRAIN)
    assert times.phases == ("forward", "backward", "optimizer", "step")


def test_rounds_and_blocks_must_agree() -> None:
    with pytest.raises(ValueError, match="do not match its rounds"):
        make_lane("mine", {"forward": [1.0, 2.0]}, layout=FORWARD, rounds=[0, 1, 2])
