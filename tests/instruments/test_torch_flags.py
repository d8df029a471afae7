"""Torch's global flags, read and put back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from stepmark.instruments import torch_flags as flags_module
from stepmark.instruments.torch_clock import TorchInstrument
from stepmark.instruments.torch_flags import torch_flags
from stepmark.measure.instrument import Instrument


@pytest.fixture(autouse=True)
def flags_as_they_were() -> Iterator[None]:
    before = TorchInstrument().flags()
    yield
    TorchInstrument().restore(before)
    assert TorchInstrument().flags() == before


def set_benchmark() -> None:
    torch.backends.cudnn.benchmark = not torch.backends.cudnn.benchmark


CHANGES: dict[str, Callable[[], Any]] = {
    "grad_enabled": lambda: torch.set_grad_enabled(False),
    "default_dtype": lambda: torch.set_default_dtype(torch.float64),
    "num_threads": lambda: torch.set_num_threads(torch.get_num_threads() + 1),
    "float32_matmul_precision": lambda: torch.set_float32_matmul_precision("high"),
    "cudnn_allow_tf32": lambda: setattr(torch.backends.cudnn, "allow_tf32", False),
    "deterministic_algorithms": lambda: torch.use_deterministic_algorithms(True),
    "cudnn_benchmark": set_benchmark,
    "autocast_cpu": lambda: torch.set_autocast_enabled("cpu", True),
    "autocast_cuda": lambda: torch.set_autocast_enabled("cuda", True),
}


def test_every_flag_is_tried_here() -> None:
    assert set(CHANGES) == set(TorchInstrument().flags()) == set(flags_module._SETTERS)


@pytest.mark.parametrize("name", sorted(CHANGES))
def test_a_changed_flag_is_seen_and_put_back(name: str) -> None:
    instrument: Instrument = TorchInstrument()
    before = instrument.flags()
    CHANGES[name]()
    after = instrument.flags()
    assert {flag for flag in before if before[flag] != after[flag]} == {name}
    instrument.restore(before)
    assert instrument.flags() == before


one_by_one = pytest.mark.skipif(
    not hasattr(torch.backends.mkldnn, "matmul"), reason="before 2.9 torch has one word for all backends"
)
PRODUCTS: Any = (torch.backends.cuda.matmul, getattr(torch.backends.mkldnn, "matmul", None))
PRECISIONS = (("none", "ieee", "tf32"), ("none", "ieee", "tf32", "bf16"))


def set_products(precisions: tuple[str, ...]) -> None:
    torch.set_float32_matmul_precision("highest")
    for product, precision in zip(PRODUCTS, precisions, strict=True):
        product.fp32_precision = precision


@one_by_one
@given(
    before=st.tuples(*map(st.sampled_from, PRECISIONS)),
    changed=st.one_of(
        st.sampled_from(["highest", "high", "medium"]), st.tuples(*map(st.sampled_from, PRECISIONS))
    ),
)
def test_products_set_backend_by_backend_are_read_and_put_back(
    before: tuple[str, ...], changed: str | tuple[str, ...]
) -> None:
    instrument = TorchInstrument()
    set_products(before)
    flags = instrument.flags()
    computed = [product.fp32_precision.replace("none", "ieee") for product in PRODUCTS]
    if isinstance(changed, str):
        torch.set_float32_matmul_precision(changed)
    else:
        set_products(changed)
    instrument.restore(flags)
    assert instrument.flags() == flags
    assert [product.fp32_precision.replace("none", "ieee") for product in PRODUCTS] == computed


CUDNN: Any = torch.backends.cudnn
cudnn = st.one_of(st.booleans(), st.tuples(st.booleans(), *[st.sampled_from(["none", "ieee", "tf32"])] * 2))


def set_cudnn(wanted: bool | tuple[bool, str, str]) -> None:
    if isinstance(wanted, bool):
        CUDNN.allow_tf32 = wanted
    else:
        CUDNN.allow_tf32, CUDNN.conv.fp32_precision, CUDNN.rnn.fp32_precision = wanted


@one_by_one
@given(before=cudnn, changed=cudnn)
def test_convolutions_of_fewer_bits_are_put_back(
    before: bool | tuple[bool, str, str], changed: bool | tuple[bool, str, str]
) -> None:
    instrument = TorchInstrument()
    set_cudnn(before)
    flags = instrument.flags()
    computed = [each.fp32_precision == "tf32" for each in (CUDNN.conv, CUDNN.rnn)]
    set_cudnn(changed)
    instrument.restore(flags)
    assert instrument.flags() == flags
    assert [each.fp32_precision == "tf32" for each in (CUDNN.conv, CUDNN.rnn)] == computed


@one_by_one
@pytest.mark.parametrize(
    ("precisions", "flag"),
    [(("none", "none"), "highest"), (("tf32", "none"), "cuda tf32, mkldnn ieee")],
)
def test_a_product_of_fewer_bits_is_seen_whichever_way_it_was_asked_for(
    precisions: tuple[str, ...], flag: str
) -> None:
    set_products(precisions)
    assert torch_flags()["float32_matmul_precision"] == flag


def test_all_at_once() -> None:
    instrument = TorchInstrument()
    before = instrument.flags()
    for change in CHANGES.values():
        change()
    assert all(instrument.flags()[name] != value for name, value in before.items())
    instrument.restore(before)
    assert instrument.flags() == before


def test_flags_that_did_not_change_are_not_set_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Setting the number of threads, even to what it is, makes torch rebuild its pool."""
    monkeypatch.setattr(torch, "set_num_threads", lambda _: pytest.fail("touched"))
    TorchInstrument().restore(torch_flags())
