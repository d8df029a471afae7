"""Compiled lanes of one process: all of them are compiled."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest
import torch
from torch import nn

from stepmark.authoring.inputs import randn
from stepmark.authoring.workload import Step
from stepmark.instruments import compiling
from stepmark.instruments.inspection.compiler import CompilerWatch
from tests.instruments.inspection.bound import stepped

LANES = 20
LIMITS = ("cache_size_limit", "accumulated_cache_size_limit")


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As in a process that has compiled nothing."""
    from torch._dynamo import config

    torch._dynamo.reset()
    monkeypatch.setattr(compiling, "_room", {})
    with config.patch({limit: getattr(config, limit) for limit in LIMITS}):
        yield
    torch._dynamo.reset()


def graphs_of(width: int) -> int:
    watch = CompilerWatch()
    stepped(Step(nn.Linear(4, width), inputs=randn(2, 4), compile={"backend": "eager"})).iterate()
    return watch.facts().frames


def test_every_lane_of_many_is_compiled() -> None:
    assert [graphs_of(4 + lane) for lane in range(LANES)] == [1] * LANES


def test_torchs_second_limit_ends_none_of_them() -> None:
    """256 in torch, which would take some hundred lanes; here fewer than there are lanes."""
    from torch._dynamo import config

    with config.patch(accumulated_cache_size_limit=LANES // 2):
        assert [graphs_of(4 + lane) for lane in range(LANES)] == [1] * LANES


def test_so_is_one_that_compiles_by_itself() -> None:
    def lane(width: int) -> int:
        watch = CompilerWatch()
        compiled = torch.compile(nn.Linear(4, width), backend="eager")
        stepped(Step(compiled, inputs=randn(2, 4))).iterate()
        return watch.facts().frames

    assert [lane(4 + number) for number in range(LANES)] == [1] * LANES


def test_without_the_compiler_nothing_is_imported_for_it() -> None:
    script = "from stepmark.instruments.compiling import make_room; make_room(); import sys\n"
    script += "assert 'torch._dynamo' not in sys.modules"
    subprocess.run([sys.executable, "-c", script], check=True)


def test_a_case_alone_has_what_torch_allows() -> None:
    from torch._dynamo import config

    before = [getattr(config, limit) for limit in LIMITS]
    graphs_of(4)
    assert [getattr(config, limit) for limit in LIMITS] == before
    graphs_of(5)
    assert [getattr(config, limit) for limit in LIMITS] == [2 * allowed for allowed in before]


def test_what_a_bench_file_allows_itself_is_not_taken_back() -> None:
    from torch._dynamo import config

    graphs_of(4)
    with config.patch(cache_size_limit=10_000):
        graphs_of(5)
        assert config.cache_size_limit >= 10_000
