"""The log of operations: fingerprints, the autograd engine, mutation, memory that somebody unseen wrote."""

from __future__ import annotations

import ctypes
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from stepmark.authoring.inputs import randn
from stepmark.authoring.workload import Ops, Step
from stepmark.records.case import Mode
from tests.instruments.inspection.bound import inspected, phase
from tests.instruments.inspection.logged import logged, watched


def fingerprint(function: Any) -> str:
    return str(logged(function)[0].digest.hexdigest())


def test_the_same_operations_have_the_same_fingerprint() -> None:
    x, w, v = torch.ones(3, 4), torch.ones(5, 4), torch.randn(5, 4)
    assert fingerprint(lambda: functional.linear(x, w).relu()) == fingerprint(
        lambda: functional.relu(x @ v.t())
    )


def test_other_work_has_another_fingerprint() -> None:
    x, y, w = torch.ones(3, 4), torch.ones(3, 4), torch.ones(5, 4)
    prints = [
        fingerprint(lambda: x + y),
        fingerprint(lambda: x + x),
        fingerprint(lambda: x * y),
        fingerprint(lambda: x.double() + y),
        fingerprint(lambda: w + w),
        fingerprint(lambda: x.sum(0)),
        fingerprint(lambda: x.sum(1)),
        fingerprint(lambda: functional.gelu(x)),
        fingerprint(lambda: functional.gelu(x, approximate="tanh")),
        fingerprint(lambda: x.sum(1, dtype=torch.float64)),
    ]
    assert len(set(prints)) == len(prints)


@pytest.mark.filterwarnings("ignore:.*jit.script:DeprecationWarning")  # torch's own, in what jvp imports
def test_tensors_without_numbers_are_neither_copied_to_nor_worked_on() -> None:
    x, layer = torch.randn(8, 32), nn.Linear(32, 32)
    (log,) = logged(lambda: torch.func.jvp(layer, (x,), (x,)))  # learns a shape from tensors on "meta"
    assert log.copied == []
    (log,) = logged(lambda: layer.weight.to("meta") @ layer.weight.to("meta"))
    assert (log.calls, log.flops, log.traffic, log.copied) == (0, 0.0, 0.0, [])


def test_the_engine_is_told_apart_from_what_runs_around_it() -> None:
    w = torch.ones(4, 4, requires_grad=True)
    forward, backward = logged(lambda: (w @ w).sum(), lambda: torch.autograd.backward((w @ w).sum()))
    assert not any(one.inside_engine for one in forward.operations)
    inside = sum(one.flops for one in backward.operations if one.inside_engine)
    outside = sum(one.flops for one in backward.operations if not one.inside_engine)
    assert (outside, inside) == (2 * 64, 2 * 2 * 64)


def test_work_recomputed_by_a_checkpoint_is_the_backward_pass() -> None:
    from torch.utils.checkpoint import checkpoint

    layers = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 4))
    step = Step(
        lambda x: checkpoint(layers, x, use_reentrant=False), inputs=[torch.ones(2, 4, requires_grad=True)]
    )
    backward = phase(inspected(step), "backward")
    assert backward.forward_flops == 0
    # Two gradients of each layer, and the first layer again; nothing needs the second one's output.
    assert backward.backward_flops == 5 * 2 * 2 * 4 * 4


def test_only_tensors_that_were_there_before_are_mutated() -> None:
    x, others = torch.ones(4), [torch.ones(3), torch.ones(2)]
    assert len(logged(lambda: x.add_(1))[0].mutated) == 1
    assert len(logged(lambda: torch._foreach_mul_(others, 2))[0].mutated) == 2
    assert len(logged(lambda: torch.ones(4).add_(x).relu_())[0].mutated) == 0
    assert len(logged(lambda: x.data.zero_())[0].mutated) == 1


def fill_behind_the_back(tensor: Tensor) -> None:
    """As a kernel does that gets an address."""
    ctypes.memset(tensor.data_ptr(), 0, tensor.nbytes)


class Kernel(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        result = torch.empty_like(x)
        fill_behind_the_back(result)
        return result

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        result = torch.empty_like(gradients[0])
        fill_behind_the_back(result)
        return result


kernel: Any = Kernel.apply


def test_memory_that_nobody_wrote_tells_of_a_kernel() -> None:
    x = torch.ones(8)
    assert logged(lambda: kernel(x))[0].unseen
    assert logged(lambda: kernel(x) + 1)[0].unseen
    assert watched(lambda: kernel(x))[0].unseen


@pytest.mark.parametrize(
    "function",
    [
        lambda x: torch.empty_like(x).copy_(x),
        lambda x: torch.empty(8).normal_(),
        lambda x: torch.add(x, x, out=torch.empty(8)),
        lambda x: torch.zeros_like(torch.empty_like(x)),
        lambda x: torch.empty(0),
        lambda x: x.new_empty(4).zero_() + 1,
        lambda x: functional.dropout(x),
        lambda x: nn.LSTM(8, 4)(x.view(1, 1, 8))[0],
        lambda x: functional.batch_norm(x.view(2, 4), torch.zeros(4), torch.ones(4), training=True),
        lambda x: torch.tensor([1.0]) + x,
    ],
)
def test_torch_itself_is_never_taken_for_an_unseen_kernel(function: Any) -> None:
    log, _ = watched(lambda: function(torch.ones(8)))
    assert not log.unseen


@pytest.mark.parametrize(
    "hand_out",
    [lambda x: x.numpy(), lambda x: x.data_ptr(), lambda x: x.__array__(), lambda x: x.untyped_storage()],
)
def test_memory_handed_to_other_code_may_be_written(hand_out: Any) -> None:
    x = torch.ones(3)
    log, _ = watched(lambda: (hand_out(x), x + 1)[1])
    assert log.unseen


def test_an_operation_that_writes_what_was_there_behind_the_back_is_unseen() -> None:
    weights = torch.ones(64)
    values = [torch.full((64,), float(n)) for n in range(9)]
    addresses = [one.data_ptr() for one in values]
    own, turn = weights.data_ptr(), iter(addresses)
    hidden = inspected(
        Ops({"optimizer": lambda: (weights, ctypes.memmove(own, next(turn), 256))[1]}), Mode.OPS
    )
    assert phase(hidden, "optimizer").unseen
    idle = inspected(Ops({"optimizer": lambda: weights.shape}), Mode.OPS)
    assert not phase(idle, "optimizer").unseen


class Wrapper(Tensor):
    """A tensor around another one."""

    wrapped: Tensor

    @staticmethod
    def __new__(cls, inner: Tensor) -> Wrapper:
        made: Any = Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)
        made.wrapped = inner
        return made  # type: ignore[no-any-return]

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:  # type: ignore[override]
        return func(*(one.wrapped if isinstance(one, Wrapper) else one for one in args), **(kwargs or {}))


def test_operations_on_wrapped_tensors_are_seen_where_the_wrapper_calls_them() -> None:
    wrapped = Wrapper(torch.ones(3, 4))
    (log,) = logged(lambda: torch.mm(wrapped, torch.ones(4, 5)))
    assert log.flops == 2 * 3 * 4 * 5


def test_the_compiler_is_not_imported_to_look_at_operations() -> None:
    import subprocess
    import sys

    code = (
        "import sys, torch\n"
        "from tests.instruments.inspection.bound import inspected\n"
        "from stepmark.authoring.workload import Step\n"
        "from stepmark.authoring.inputs import randn\n"
        "inspected(Step(torch.nn.Linear(4, 4), inputs=randn(2, 4)))\n"
        "assert 'torch._dynamo' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_step_of_many_kinds_of_layers_is_seen_whole() -> None:
    module = nn.Sequential(
        nn.Conv1d(3, 4, 3), nn.BatchNorm1d(4), nn.Dropout(), nn.ReLU(inplace=True), nn.Flatten()
    )
    inspection = inspected(Step(module, inputs=randn(2, 3, 8), loss=torch.sum, optimizer=torch.optim.AdamW))
    assert not any(one.unseen or one.uncounted for one in inspection.phases)
    assert [one.phase for one in inspection.phases] == ["forward", "loss", "backward", "optimizer"]
