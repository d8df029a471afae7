"""Projections: several in one product are the same maps, begun and kept as if they were apart."""

from __future__ import annotations

from math import sqrt

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from stepmark.zoo.projection import CUT, Projection, StackedProjection, name_parts
from tests.support.properties import steady
from tests.zoo.agreement import largest_error

NAMES = ("one", "two", "three", "four")


class Apart(nn.Module):
    def __init__(self, inputs: int, outputs: int, parts: int) -> None:
        super().__init__()
        for name in NAMES[:parts]:
            self.add_module(name, Projection(inputs, outputs, dtype=torch.float64))

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([part(x) for part in self.children()], dim=-1)


class Together(nn.Module):
    def __init__(self, inputs: int, outputs: int, parts: int) -> None:
        super().__init__()
        self.all = StackedProjection(inputs, outputs, NAMES[:parts], dtype=torch.float64)
        name_parts(self)

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.all(x)
        return result


sizes = st.integers(1, 6)


@settings(steady, max_examples=25)
@given(sizes, sizes, st.integers(1, 4))
def test_one_product_is_the_products_apart(inputs: int, outputs: int, parts: int) -> None:
    apart, together = Apart(inputs, outputs, parts), Together(inputs, outputs, parts)
    together.load_state_dict(apart.state_dict())
    x = torch.randn(3, inputs, dtype=torch.float64)
    assert largest_error(together(x), apart(x)) <= 1e-13
    back = Apart(inputs, outputs, parts)
    back.load_state_dict(together.state_dict())
    assert torch.equal(back(x), apart(x))


def test_the_state_dict_of_a_holder_inside_a_holder_names_the_parts() -> None:
    model = nn.Sequential(Together(2, 3, 2), nn.Linear(6, 1, dtype=torch.float64))
    assert [*model.state_dict()] == ["0.one.weight", "0.two.weight", "1.weight", "1.bias"]
    assert model.state_dict(keep_vars=True)["0.one.weight"].requires_grad
    state = {name: torch.ones_like(one) for name, one in model.state_dict().items()}
    model.load_state_dict(state, assign=True)
    assert bool((model.get_parameter("0.all.weight") == 1).all())
    assert [*state] == ["0.one.weight", "0.two.weight", "1.weight", "1.bias"], "the caller's own"


def test_a_part_that_is_missing_or_wrong_is_told() -> None:
    model = Together(2, 3, 2)
    with pytest.raises(RuntimeError, match=r"Missing key.*all\.weight"):
        model.load_state_dict({"one.weight": torch.zeros(3, 2)})
    with pytest.raises(RuntimeError, match="size mismatch"):
        model.load_state_dict({"one.weight": torch.zeros(4, 2), "two.weight": torch.zeros(3, 2)})


def test_every_part_begins_as_a_projection_of_its_own() -> None:
    torch.manual_seed(0)
    stacked, alone = StackedProjection(64, 160, NAMES[:3]), Projection(64, 160)
    deviation = sqrt(2 / 224)
    for part in (*stacked.weight.detach().chunk(3), alone.weight.detach()):
        assert float(part.abs().max()) <= CUT * deviation
        assert float(part.std()) == pytest.approx(0.9866 * deviation, rel=0.05)
    assert repr(stacked) == "StackedProjection(64 to one + two + three, 160 each)"
