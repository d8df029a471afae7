"""The compiler: counted from where the watch begins, set aside while instruments look on."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from stepmark.authoring.inputs import randn
from stepmark.authoring.workload import Step
from stepmark.instruments.inspection.compiler import CompilerWatch, set_aside
from stepmark.records.case import Mode
from tests.instruments.inspection.bound import inspected, phase, stepped

EAGER = {"backend": "eager"}


@pytest.fixture(autouse=True)
def fresh() -> None:
    """Other tests of the process have compiled, and torch stops at so many modules."""
    torch._dynamo.reset()


def broken(x: Tensor) -> Tensor:
    y = x * 2
    torch._dynamo.graph_break()
    return y + 1


def test_a_declared_compilation_is_counted_and_looked_at_as_it_was_written() -> None:
    found = inspected(Step(nn.Linear(4, 4), inputs=randn(2, 4), compile=EAGER))
    plain = inspected(Step(nn.Linear(4, 4), inputs=randn(2, 4)))
    assert found.eager
    assert found.compiler.frames > 0
    assert found.compiler.breaks == 0
    assert phase(found, "forward").flops == phase(plain, "forward").flops
    assert not plain.eager
    assert plain.compiler.frames == 0


def test_a_module_that_was_compiled_before_is_found_out() -> None:
    compiled: Any = torch.compile(nn.Linear(4, 4), backend="eager")
    assert inspected(Step(compiled, inputs=randn(2, 4)), Mode.FORWARD).eager
    function = torch.compile(torch.tanh, backend="eager")
    assert inspected(Step(lambda x: function(x), inputs=randn(2, 4)), Mode.FORWARD).eager


def test_breaks_are_counted_with_their_reasons() -> None:
    found = inspected(Step(broken, inputs=randn(4), compile=EAGER), Mode.FORWARD).compiler
    assert found.breaks == 1
    assert "graph_break" in found.reasons[0]
    assert found.frames == 2


def test_looking_compiles_nothing() -> None:
    program = stepped(Step(nn.Linear(4, 4), inputs=randn(2, 4), compile=EAGER))
    watch = CompilerWatch()
    assert program.examine is not None
    assert program.examine().problem == ""
    program.iterate()
    assert watch.facts().frames == 0


def test_a_compiler_that_is_turned_off_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not CompilerWatch().facts().disabled
    monkeypatch.setenv("TORCH_COMPILE_DISABLE", "1")
    assert CompilerWatch().facts().disabled


def test_a_stance_that_is_set_aside_comes_back() -> None:
    with set_aside():
        assert CompilerWatch().facts().disabled
    assert not CompilerWatch().facts().disabled


def test_asking_does_not_import_the_compiler() -> None:
    code = (
        "import sys\n"
        "from stepmark.instruments.inspection.compiler import CompilerWatch, set_aside\n"
        "with set_aside():\n    assert CompilerWatch().facts().frames == 0\n"
        "assert 'torch._dynamo' not in sys.modules\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
