"""The snapshot: whatever lies behind a step's tensors is put back, however they show it."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from stepmark.authoring.inputs import randn
from stepmark.authoring.workload import Step
from stepmark.instruments.inspection.snapshot import Snapshot
from stepmark.instruments.inspection.subject import Subject
from stepmark.records.case import Mode
from stepmark.records.sample import Layout
from tests.instruments.inspection.bound import stepped

LAYOUT = Layout(phases=("forward",), primary="forward")
dimensions = st.lists(st.tuples(st.integers(0, 3), st.integers(1, 4), st.booleans()), min_size=1, max_size=4)


@given(dimensions, st.booleans(), st.integers(0, 99))
def test_tensors_are_put_back_however_they_show_their_memory(
    dimensions: list[tuple[int, int, bool]], turned: bool, seed: int
) -> None:
    generator = torch.Generator().manual_seed(seed)
    base = torch.randn([1 if repeated else size for size, _, repeated in dimensions], generator=generator)
    shown = base.expand([times if repeated else size for size, times, repeated in dimensions])
    shown = shown.transpose(0, -1) if turned else shown
    before = shown.clone()
    subject = Subject(layout=LAYOUT, calls=(lambda: None,), device=torch.device("cpu"), inputs=(shown,))
    snapshot = Snapshot(subject)
    base.fill_(7.0)
    snapshot.restore()
    assert torch.equal(shown, before)


class Masked(nn.Module):
    """Has a buffer that shows one row many times."""

    mask: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(8, 8)
        self.register_buffer("mask", torch.ones(1, 8).expand(4, 8))

    def forward(self, x: Tensor) -> Tensor:
        masked: Tensor = self.layer(x) * self.mask
        return masked


@pytest.mark.parametrize("mode", [Mode.TRAIN, Mode.FORWARD])
@pytest.mark.parametrize("expanded", [False, True])
def test_a_step_with_expanded_tensors_is_inspected_and_checked(mode: Mode, expanded: bool) -> None:
    x = torch.randn(1, 8).expand(4, 8)
    step = Step(
        Masked(), inputs=x if expanded else randn(4, 8), reference=lambda twin, x: twin.layer(x) * twin.mask
    )
    program = stepped(step, mode)
    assert program.examine is not None
    assert program.verify is not None
    assert program.examine().problem == ""
    assert all(check.error <= check.tolerance for check in program.verify())


def test_an_output_that_follows_no_input_is_seen_where_both_are_expanded() -> None:
    x, constant = torch.randn(1, 8).expand(4, 8), torch.randn(1, 8).expand(4, 8)
    program = stepped(Step(lambda _: constant, inputs=x), Mode.FORWARD)
    assert program.examine is not None
    seen = program.examine()
    assert (seen.problem, seen.depends) == ("", False)
