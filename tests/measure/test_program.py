"""Programs: what one iteration does, checked when it is made."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from stepmark.measure.program import Program
from stepmark.records.sample import Layout

STEP = Layout(phases=("step", "forward", "backward"), primary="step", whole="step")
OPERATIONS = Layout(phases=("quantize", "matmul"), primary="matmul")


def logging(log: list[str], word: str) -> Callable[[], None]:
    return lambda: log.append(word)


def test_an_iteration_is_prepare_and_the_calls_in_order_inside_the_context() -> None:
    log: list[str] = []

    @contextmanager
    def context() -> Iterator[None]:
        log.append("enter")
        yield
        log.append("leave")

    program = Program(
        layout=STEP,
        calls=(logging(log, "forward"), logging(log, "backward")),
        prepare=logging(log, "prepare"),
        context=context,
    )
    program.iterate()
    program.iterate()
    assert log == ["enter", "prepare", "forward", "backward", "leave"] * 2


def test_without_a_whole_there_is_nothing_to_prepare() -> None:
    log: list[str] = []
    Program(layout=OPERATIONS, calls=(logging(log, "quantize"), logging(log, "matmul"))).iterate()
    assert log == ["quantize", "matmul"]


@pytest.mark.parametrize("num_calls", [0, 1, 3])
def test_there_is_one_call_per_phase_but_for_the_whole(num_calls: int) -> None:
    with pytest.raises(ValueError, match=f"{num_calls} calls for phases"):
        Program(layout=STEP, calls=(print,) * num_calls, prepare=print)


def test_a_whole_and_a_prepare_come_together() -> None:
    with pytest.raises(ValueError, match="a program with a whole has a prepare"):
        Program(layout=STEP, calls=(print, print))
    with pytest.raises(ValueError, match="a program with a whole has a prepare"):
        Program(layout=OPERATIONS, calls=(print, print), prepare=print)
