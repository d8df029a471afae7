"""The fused Adam step: odd sizes, unaligned views, dtypes and groups, against the readable one in float64."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from stepmark.zoo.adam import TOLERANCES, Adam, AdamW
from stepmark.zoo.kernels import adamw
from stepmark.zoo.kernels.adamw import Entry, FusedAdam, Settings

STEPS = 4
sizes = st.lists(st.tuples(st.integers(0, 150), st.integers(0, 3)), min_size=1, max_size=4)


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that few entries are many pieces."""
    monkeypatch.setattr(adamw, "PIECE", 32)


def entries_of(
    views: list[tuple[int, int]], parameters: torch.dtype, moments: torch.dtype, device: str
) -> list[Entry]:
    """Each of its own size, at its own offset from an aligned address; every other one in a second group."""
    generator = torch.Generator().manual_seed(0)
    found = []
    for index, (length, offset) in enumerate(views):
        drawn = torch.randn(length + offset, generator=generator).to(device, parameters)[offset:]
        found.append(
            Entry(
                drawn,
                torch.zeros_like(drawn),
                torch.zeros_like(drawn, dtype=moments),
                torch.zeros_like(drawn, dtype=moments),
                torch.zeros((), device=device),
                index % 2,
            )
        )
    return found


@settings(max_examples=12)
@given(
    sizes,
    st.sampled_from([(torch.float32, torch.float32), (torch.bfloat16, torch.float32), (torch.float16,) * 2]),
    st.booleans(),
    st.sampled_from([(0.9, 0.999), (0.0, 0.5)]),
)
def test_steps_against_float64(
    device: str,
    views: list[tuple[int, int]],
    dtypes: tuple[torch.dtype, torch.dtype],
    decoupled: bool,
    betas: tuple[float, float],
) -> None:
    entries = entries_of(views, *dtypes, device)
    groups = [Settings(0.01, betas, 1e-4, 0.1), Settings(0.03, betas, 1e-4, 0.0)]
    wide = [entry.parameter.double().requires_grad_() for entry in entries]
    right = (AdamW if decoupled else Adam)(
        [
            {"params": wide[index::2], "lr": group.lr, "weight_decay": group.decay}
            for index, group in enumerate(groups)
            if wide[index::2]
        ],
        betas=betas,
        eps=1e-4,
        backend="torch",
    )
    fused = FusedAdam(torch.device(device), decoupled=decoupled)
    fused.write(groups)
    launches = fused.prepare(entries, groups)
    for step in range(STEPS):
        generator = torch.Generator().manual_seed(step + 1)
        for entry, one in zip(entries, wide, strict=True):
            entry.gradient.copy_(torch.randn(entry.gradient.shape, generator=generator))
            one.grad = entry.gradient.double()
        right.step()
        fused.run(launches)
    for entry, one in zip(entries, wide, strict=True):
        assert float(entry.steps) == STEPS
        largest = float(one.detach().abs().max()) if one.numel() else 0.0
        torch.testing.assert_close(
            entry.parameter.double(), one.detach(), rtol=0.0, atol=TOLERANCES[dtypes[0]] * largest
        )


def test_one_launch_for_a_pair_of_dtypes(device: str) -> None:
    entries = entries_of([(20, 0), (30, 1)], torch.float32, torch.float32, device)
    entries += entries_of([(20, 0)], torch.bfloat16, torch.float32, device)
    groups = [Settings(0.01, (0.9, 0.99), 1e-8, 0.0)] * 2
    fused = FusedAdam(torch.device(device), decoupled=True)
    fused.write(groups)
    launches = fused.prepare(entries, groups)
    assert [len(launch.tensors) for launch in launches] == [1, 2]
    fused.run(launches)
    assert all(float(entry.steps) == 1 for entry in entries)
    assert all(int(launch.finished) == 0 for launch in launches), "ready for the next step"


@pytest.mark.parametrize("step", [1, 2, 100, 10_000, 10_000_000])
@pytest.mark.parametrize("beta", [0.9, 0.999, 0.9999999, 0.0])
def test_bias_corrections_are_accurate_at_every_step(device: str, step: int, beta: float) -> None:
    """With no gradient and a first moment of 1 the update is lr beta / (1 - beta^t) over eps."""
    entry = entries_of([(1, 0)], torch.float32, torch.float32, device)[0]
    entry.parameter.zero_()
    entry.gradient.zero_()
    entry.first.fill_(1.0)
    entry.steps.fill_(step - 1)
    groups = [Settings(1.0, (beta, 0.5), 1.0, 0.0)]
    fused = FusedAdam(torch.device(device), decoupled=True)
    fused.write(groups)
    fused.run(fused.prepare([entry], groups))
    corrected = beta / -math.expm1(step * math.log(beta)) if beta else 0.0
    assert float(entry.parameter) == pytest.approx(-corrected, rel=3e-6, abs=1e-30)


def test_settings_are_written_where_they_changed(device: str) -> None:
    fused = FusedAdam(torch.device(device), decoupled=True)
    fused.write([Settings(0.5, (0.9, 0.99), 1e-8, 0.25)])
    place = fused.settings.data_ptr()
    assert fused.settings[0, :2].tolist() == [0.5, 0.25]
    fused.write([Settings(0.125, (0.9, 0.99), 1e-8, 0.25)])
    assert fused.settings[0, 0] == 0.125
    assert fused.settings.data_ptr() == place, "a captured step reads them here"
