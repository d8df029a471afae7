"""What each operator of a phase adds up to: whole sums, the largest kept, no moment counted twice."""

from __future__ import annotations

import time
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from stepmark.authoring.inputs import randn
from stepmark.authoring.workload import Step
from stepmark.instruments.inspection.operator_uses import MOST_KEPT, Use, used_operators
from stepmark.records.inspection import OTHERS, PhaseInspection
from tests.instruments.inspection.bound import inspected, phase
from tests.instruments.inspection.logged import logged

USES = st.dictionaries(
    st.from_regex(r"aten\.[a-z_]{1,6}\.default", fullmatch=True),
    st.builds(
        Use,
        calls=st.integers(1, 1000),
        flops=st.integers(0, 10**12).map(float),
        traffic=st.integers(0, 10**12).map(float),
        nanoseconds=st.integers(0, 10**9),
    ),
    max_size=3 * MOST_KEPT,
)


@given(uses=USES, timed=st.booleans())
def test_whatever_is_kept_the_sums_are_whole(uses: dict[str, Use], timed: bool) -> None:
    told = used_operators(uses, timed=timed)
    assert len(told) <= MOST_KEPT + 1
    assert len({one.name for one in told}) == len(told)
    for name in ("calls", "flops", "traffic"):
        assert sum(getattr(one, name) for one in told) == sum(getattr(one, name) for one in uses.values())
    if timed:
        seconds = sum(one.seconds or 0.0 for one in told)
        assert seconds == pytest.approx(sum(one.nanoseconds for one in uses.values()) * 1e-9)
    else:
        assert all(one.seconds is None for one in told)


@given(uses=USES)
def test_the_longest_come_first_and_the_others_last(uses: dict[str, Use]) -> None:
    told = used_operators(uses, timed=True)
    own = [one for one in told if one.name != OTHERS]
    assert [one.seconds for one in own] == sorted((one.seconds or 0.0 for one in own), reverse=True)
    assert OTHERS not in [one.name for one in told[:-1]]
    assert (told != () and told[-1].name == OTHERS) == (len(uses) > MOST_KEPT + 1)


def test_much_work_is_kept_however_short_it_took() -> None:
    uses = {f"aten.small{number}.default": Use(calls=1, nanoseconds=1000) for number in range(50)}
    uses |= {"aten.mm.default": Use(calls=1, flops=8.0), "aten.copy.default": Use(calls=1, traffic=8.0)}
    for timed in (True, False):
        names = [one.name for one in used_operators(uses, timed=timed)]
        assert {"aten.mm.default", "aten.copy.default"} <= set(names)


def check_sums(seen: PhaseInspection) -> None:
    assert sum(one.calls for one in seen.operators) == seen.operations
    assert sum(one.flops for one in seen.operators) == seen.flops
    assert sum(one.traffic for one in seen.operators) == seen.traffic


@pytest.mark.parametrize(
    "module",
    [
        nn.Linear(8, 4),
        nn.Sequential(nn.Linear(8, 8), nn.LayerNorm(8), nn.GELU(), nn.Dropout(0.5), nn.Linear(8, 2)),
        nn.TransformerEncoderLayer(8, 2, dim_feedforward=16, batch_first=True),
    ],
)
def test_operators_of_a_step_add_up_to_its_phases(module: nn.Module) -> None:
    inspection = inspected(Step(module, inputs=randn(2, 3, 8), loss=torch.sum, optimizer=torch.optim.AdamW))
    for seen in inspection.phases:
        assert seen.operators
        check_sums(seen)
        assert all(one.seconds is not None and one.seconds > 0 for one in seen.operators)
    names = {one.name for one in phase(inspection, "forward").operators}
    assert {"aten.addmm.default", "aten.t.default"} <= names


def total(uses: dict[str, Use]) -> float:
    return sum(one.nanoseconds for one in uses.values()) * 1e-9


def test_an_operator_made_of_others_is_not_there_beside_them() -> None:
    x, w = torch.ones(64, 64), torch.ones(64, 64)
    with torch.inference_mode():
        begin = time.perf_counter()
        (log,) = logged(lambda: torch.matmul(x, w))
        wall = time.perf_counter() - begin
    assert set(log.uses) == {"aten.mm.default"}
    assert total(log.uses) <= wall


@torch.library.custom_op("stepmark_tests::slow_square", mutates_args=())
def slow_square(x: Tensor) -> Tensor:
    time.sleep(0.01)
    return x * x


def test_an_operator_that_hides_others_has_their_time_alone() -> None:
    begin = time.perf_counter()
    (log,) = logged(lambda: slow_square(torch.ones(4)) + 1)
    wall = time.perf_counter() - begin
    assert {name: use.calls for name, use in log.uses.items()} == {
        "aten.ones.default": 1,
        "stepmark_tests.slow_square.default": 1,
        "aten.add.Tensor": 1,
    }
    assert log.uses["stepmark_tests.slow_square.default"].nanoseconds >= 10_000_000
    assert total(log.uses) <= wall


def backward_of(function: Any) -> Any:
    return lambda: function().sum().backward()


def test_time_inside_operators_is_less_than_the_phase_took() -> None:
    from torch.utils.checkpoint import checkpoint

    layers = nn.Sequential(nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 16))
    x = torch.ones(4, 16, requires_grad=True)
    for reentrant in (True, False):
        begin = time.perf_counter()
        (log,) = logged(backward_of(lambda how=reentrant: checkpoint(layers, x, use_reentrant=how)))
        assert 0 < total(log.uses) <= time.perf_counter() - begin
        assert sum(use.calls for use in log.uses.values()) == log.calls
