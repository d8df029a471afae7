"""What differs between two runs, what that means, and which runs are replications of each other."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from stepmark.analysis.run_facts import code_is_known, differences, replicates, run_facts
from stepmark.errors import UsageError
from stepmark.records.card import CardFacts
from stepmark.records.comparison import MUST_AGREE, Aspect, Difference, Standing, aspects_allowed
from stepmark.records.environment import Environment, RepositoryFacts
from stepmark.records.run import Run
from stepmark.records.settings import Settings
from stepmark.records.source import ExpressionSource, FileSource, PickledSource, Source
from tests.support.recordings import make_run

RUN = make_run()
HOST, TORCH = RUN.environment.host, RUN.environment.torch


def elsewhere(**changes: object) -> Run:
    return replace(RUN, environment=replace(RUN.environment, **changes))


def between(other: Run, *allow: Aspect) -> tuple[Difference, ...]:
    return differences(run_facts(RUN), run_facts(other), allow=allow)


@pytest.mark.parametrize(
    ("other", "aspect"),
    [
        (elsewhere(host=replace(HOST, hostname="other")), Aspect.MACHINE),
        (elsewhere(host=replace(HOST, cpu_model="Other CPU")), Aspect.PROCESSOR),
        (elsewhere(host=replace(HOST, logical_cores=64)), Aspect.PROCESSOR),
        (elsewhere(host=replace(HOST, governor="powersave")), Aspect.SYSTEM),
        (elsewhere(host=replace(HOST, python="3.13.1")), Aspect.PYTHON),
        (elsewhere(torch=replace(TORCH, version="2.12.0")), Aspect.TORCH),
        (elsewhere(torch=replace(TORCH, build="another BLAS")), Aspect.TORCH),
        (elsewhere(torch=replace(TORCH, interop_threads=2)), Aspect.THREADS),
        (elsewhere(torch=replace(TORCH, flags=(("float32_matmul_precision", "high"),))), Aspect.FLAGS),
        (elsewhere(stepmark="0.2.0"), Aspect.STEPMARK),
        (elsewhere(variables=(("OMP_PROC_BIND", "true"),)), Aspect.VARIABLES),
        (elsewhere(repository=RepositoryFacts(commit="1" * 40, dirty=False)), Aspect.CODE),
        (replace(RUN, settings=Settings(threads=2)), Aspect.THREADS),
        (replace(RUN, settings=Settings(block_seconds=0.5)), Aspect.SETTINGS),
    ],
)
def test_every_fact_has_its_aspect(other: Run, aspect: Aspect) -> None:
    (found,) = between(other)
    assert found.aspect is aspect
    assert found.standing is (Standing.REFUSED if aspect in MUST_AGREE else Standing.NAMED)
    (allowed,) = between(other, *MUST_AGREE)
    assert allowed.standing is (Standing.ALLOWED if aspect in MUST_AGREE else Standing.NAMED)


def test_what_does_not_change_a_level_is_no_difference() -> None:
    longer = Settings(seed=7, launches=500, budget=10.0, timeout=1.0)
    assert between(replace(RUN, id="another", started=0.0, settings=longer)) == ()


def test_a_cards_driver_and_settings_are_named_on_an_accelerator_only() -> None:
    def on(device: str, driver: str) -> Run:
        torch = replace(TORCH, cards=(CardFacts(name="H200", driver=driver, ecc=True),))
        cases = tuple(replace(case, cell=replace(case.cell, device=device)) for case in RUN.cases)
        return replace(elsewhere(torch=torch), cases=cases)

    (found,) = differences(run_facts(on("cuda", "570")), run_facts(on("cuda", "580")), allow=())
    assert (found.aspect, found.what, found.standing) == (Aspect.SYSTEM, "driver", Standing.NAMED)
    assert differences(run_facts(on("cpu", "570")), run_facts(on("cpu", "580")), allow=()) == ()


def test_a_variable_that_is_gone_is_named() -> None:
    (found,) = differences(
        run_facts(elsewhere(variables=(("OMP_PROC_BIND", "true"),))), run_facts(RUN), allow=()
    )
    assert (found.what, found.baseline, found.candidate) == ("OMP_PROC_BIND", "true", "not set")


def at(commit: str, *, dirty: bool = False) -> Environment:
    return replace(RUN.environment, repository=RepositoryFacts(commit=commit, dirty=dirty))


FILE = FileSource(path="/x/bench_mine.py")


@pytest.mark.parametrize(
    ("source", "environment", "known"),
    [
        (RUN.sources[0], RUN.environment, True),
        (FILE, RUN.environment, False),
        (FILE, at("1" * 40), True),
        (FILE, at("1" * 40, dirty=True), False),
        (ExpressionSource(expressions=("torch.nn.ReLU()",), inputs=("8",)), RUN.environment, True),
        (ExpressionSource(expressions=("mine.ReLU()",), inputs=("8",)), RUN.environment, False),
        (PickledSource(payload=b"x"), RUN.environment, False),
    ],
)
def test_code_is_known_or_it_is_not(source: Source, environment: Environment, known: bool) -> None:
    assert code_is_known(replace(RUN, sources=(source,), environment=environment)) is known


def test_replications_share_the_conditions_not_the_code() -> None:
    """How far levels wander is learnt from other commits, too, but not from other machines."""
    committed = replace(RUN, sources=(FILE,), environment=at("1" * 40))
    assert replicates(replace(committed, environment=at("2" * 40)), [committed])
    assert not replicates(replace(committed, environment=at("2" * 40, dirty=True)), [committed])
    assert not replicates(elsewhere(host=replace(HOST, hostname="other")), [committed])


def test_allowing_by_name() -> None:
    assert aspects_allowed(["work", "threads"]) == (Aspect.THREADS, Aspect.WORK)
    assert set(aspects_allowed(["all"])) == MUST_AGREE
    with pytest.raises(UsageError, match="'torch' may differ anyway"):
        aspects_allowed(["torch"])
    with pytest.raises(UsageError, match="'colour' is nothing"):
        aspects_allowed(["colour"])
