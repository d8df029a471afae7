"""Repeats: forward passes run again, to see whether the output follows the inputs and nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import torch

from stepmark.instruments.inspection.snapshot import RandomState
from stepmark.instruments.inspection.storages import unrepeated
from stepmark.instruments.inspection.subject import Subject, tensors_in

_SIGN = 119.0
"""A number that no output is full of by itself."""


def is_repeatable(subject: Subject) -> bool | None:
    """Whether two passes with the same inputs gave the same output, bit for bit."""
    first = _outputs(subject)
    return _same(first, _outputs(subject)) if first else None


def depends_on_inputs(
    subject: Subject, taint: bool | None, *, unseen: bool, idle: bool = False
) -> bool | None:
    """Whether the output depends on the inputs.

    The log of operations says so or not; "not" is believed only where a pass with other inputs gives the same
    output, and where nobody unseen can have written it. Where the pass was `idle`, no operation at all, the
    log knows nothing: there the output must be memory that a pass leaves as it finds it.
    """
    if subject.forward is None or (taint is not False and not idle):
        return taint
    random = RandomState(subject.device)
    output = _outputs(subject)
    if not output:
        return None
    random.restore()
    with _other_inputs(subject):
        changed = _outputs(subject)
    random.restore()
    if not _same(output, changed):
        return True
    marked = _marked(subject)
    if idle:
        return not all(same_place and not written for same_place, written in marked)
    return None if unseen or any(same_place and written for same_place, written in marked) else False


def _outputs(subject: Subject) -> list[torch.Tensor]:
    assert subject.forward is not None
    with subject.context(), torch.no_grad():
        return [tensor.detach().clone() for tensor in tensors_in(subject.forward())]


def _same(one: list[torch.Tensor], other: list[torch.Tensor]) -> bool:
    return len(one) == len(other) and all(map(_equal, one, other))


def _equal(one: torch.Tensor, other: torch.Tensor) -> bool:
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    if one.layout is not torch.strided:
        one, other = one.to_dense(), other.to_dense()
    if torch.equal(one, other):
        return True
    return bool(((one == other) | (one.isnan() & other.isnan())).all())


@contextmanager
def _other_inputs(subject: Subject) -> Iterator[None]:
    """Other numbers in the inputs; whole numbers change places, so that they stay in their range."""
    inputs = _written([one for value in subject.inputs for one in tensors_in(value)])
    kept = [one.clone() for one in inputs]
    try:
        for one, values in zip(inputs, kept, strict=True):
            turned = values.flatten().flip(0).view(values.shape)
            floats = values.dtype.is_floating_point or values.dtype.is_complex
            one.copy_(turned * -0.75 + 0.3125 if floats else turned)
        yield
    finally:
        for one, values in zip(inputs, kept, strict=True):
            one.copy_(values)


def _written(tensors: Iterable[torch.Tensor]) -> list[torch.Tensor]:
    """Their numbers, to be written past autograd."""
    return [unrepeated(one.data) for one in tensors if one.layout is torch.strided]


def _marked(subject: Subject) -> list[tuple[bool, bool]]:
    """Fill the output's memory and pass once more: by tensor, whether it is in the same place, and whether
    it has other numbers than those filled in."""
    assert subject.forward is not None
    with subject.context(), torch.no_grad():
        outputs = _written(tensors_in(subject.forward()))
        places = [one.data_ptr() for one in outputs]
        kept = [one.clone() for one in outputs]
        try:
            for one in outputs:
                one.fill_(_SIGN if one.dtype is not torch.bool else True)
            signed = [one.clone() for one in outputs]
            again = _written(tensors_in(subject.forward()))
            return [
                (new.data_ptr() == place, not _equal(new, sign))
                for new, place, sign in zip(again, places, signed, strict=False)
            ]
        finally:
            for one, values in zip(outputs, kept, strict=True):
                one.copy_(values)
