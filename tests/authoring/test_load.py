"""Suites from their sources."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from stepmark.authoring.load import check, load, suites_of
from stepmark.authoring.suite import Suite
from stepmark.authoring.workload import Step
from stepmark.errors import BenchFileError, UsageError
from stepmark.measure.failures import user_traceback
from stepmark.records.source import BuiltinSource, ExpressionSource, FileSource, PickledSource

TWO = """
import stepmark as sm
linear, conv = sm.Suite("linear"), sm.Suite("conv")
again = linear
"""


@pytest.fixture(autouse=True)
def fresh_imports() -> Iterator[None]:
    """What a bench file puts on the import path and among the modules goes with its test."""
    path, modules = sys.path.copy(), set(sys.modules)
    yield
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        if name.startswith(("bench_", "helper_")):
            del sys.modules[name]


def bench(folder: Path, text: str, name: str = "bench_it.py") -> FileSource:
    (folder / name).write_text(text)
    return FileSource(path=str(folder / name))


def from_here(error: BaseException) -> BaseException:
    """As a worker sees it: the test's own frame is gone, and `load` comes first."""
    assert error.__traceback__ is not None
    return error.with_traceback(error.__traceback__.tb_next)


def names(*suites: Suite) -> list[str]:
    return [suite.name for suite in suites]


def test_every_suite_of_a_file_once_in_the_order_of_definition(tmp_path: Path) -> None:
    assert names(*load(bench(tmp_path, TWO))) == ["linear", "conv"]


def test_one_suite_of_a_file(tmp_path: Path) -> None:
    source = bench(tmp_path, TWO)
    assert names(*load(FileSource(path=source.path, suite="conv"))) == ["conv"]


def test_a_suite_the_file_does_not_have(tmp_path: Path) -> None:
    path = bench(tmp_path, TWO).path
    with pytest.raises(UsageError, match=r"bench_it\.py has no suite 'linaer'") as caught:
        load(FileSource(path=path, suite="linaer"))
    assert caught.value.remedy == "did you mean linear?"
    with pytest.raises(UsageError) as caught:
        load(FileSource(path=path, suite="zzz"))
    assert caught.value.remedy == "it has: linear, conv"


def test_a_file_without_a_suite(tmp_path: Path) -> None:
    with pytest.raises(BenchFileError, match=r"bench_it\.py defines no suite") as caught:
        load(bench(tmp_path, "x = 1\n"))
    assert "stepmark.Suite(" in caught.value.remedy


def test_a_file_that_is_no_python(tmp_path: Path) -> None:
    with pytest.raises(BenchFileError, match=r"notes\.txt is not a Python file"):
        load(bench(tmp_path, "x = 1\n", "notes.txt"))


def test_a_failing_import_is_the_files_own(tmp_path: Path) -> None:
    source = bench(tmp_path, "def helper():\n    return missing\n\nhelper()\n")
    with pytest.raises(NameError, match="missing") as caught:
        load(source)
    shown = user_traceback(from_here(caught.value))
    assert "return missing" in shown
    assert "load.py" not in shown
    assert "importlib" not in shown


def test_a_syntax_error_shows_the_line_and_nothing_of_ours(tmp_path: Path) -> None:
    with pytest.raises(SyntaxError) as caught:
        load(bench(tmp_path, "import stepmark\nsuite = stepmark.Suite('a'\n"))
    shown = user_traceback(from_here(caught.value))
    assert "suite = stepmark.Suite('a'" in shown
    assert 'bench_it.py", line 2' in shown
    assert "load.py" not in shown


def test_a_module_beside_the_bench_file_can_be_imported(tmp_path: Path) -> None:
    (tmp_path / "helper_beside.py").write_text("NAME = 'helped'\n")
    source = bench(tmp_path, "import helper_beside, stepmark\nsuite = stepmark.Suite(helper_beside.NAME)\n")
    assert names(*load(source)) == ["helped"]


def test_a_bench_file_is_a_module_of_its_own_name(tmp_path: Path) -> None:
    """Dataclasses and pickling look a class's module up by name."""
    text = (
        "from __future__ import annotations\nimport dataclasses, stepmark\n"
        "@dataclasses.dataclass\nclass Size:\n    width: int\n"
        "suite = stepmark.Suite(f'{__name__}_{Size(3).width}')\n"
    )
    assert names(*load(bench(tmp_path, text))) == ["bench_it_3"]


def test_two_files_of_one_name_do_not_mix(tmp_path: Path) -> None:
    sources = []
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        sources.append(bench(tmp_path / folder, f"import stepmark\nsuite = stepmark.Suite('{folder}')\n"))
    assert [names(*load(source)) for source in (*sources, sources[0])] == [["one"], ["two"], ["one"]]


def test_the_built_in_demo() -> None:
    suites = load(BuiltinSource(name="demo"))
    assert names(*suites) == ["demo"]
    check(suites)


def test_expressions() -> None:
    source = ExpressionSource(expressions=("torch.nn.ReLU()", "torch.nn.GELU()"), inputs=("4x4",))
    (suite,) = load(source)
    assert list(suite.variants) == ["ReLU()", "GELU()"]


def test_a_pickled_suite_with_its_import_path(tmp_path: Path) -> None:
    (tmp_path / "helper_pickled.py").write_text("NAME = 'sent'\n")
    suite = Suite("sent")
    (loaded,) = load(PickledSource(payload=pickle.dumps(suite), path=(str(tmp_path),)))
    assert loaded.name == "sent"
    assert sys.path[0] == str(tmp_path)


def test_the_import_path_keeps_its_order_and_has_each_once(tmp_path: Path) -> None:
    path = (str(tmp_path / "a"), str(tmp_path / "b"), str(tmp_path / "there"))
    sys.path.append(path[-1])
    for _ in range(2):
        load(PickledSource(payload=pickle.dumps(Suite("sent")), path=path))
    assert sys.path[:2] == list(path[:2])
    assert [sys.path.count(directory) for directory in path] == [1, 1, 1]


def test_suites_of_a_module_are_found_by_type() -> None:
    import stepmark.suites.demo

    assert names(*suites_of(stepmark.suites.demo)) == ["demo"]


def suite_with(name: str = "mine", variants: int = 2, *, baseline: bool = True) -> Suite:
    suite = Suite(name)
    for number in range(variants):
        suite.variant(name=f"v{number}", baseline=baseline and number == 0)(lambda c: Step(lambda: None))
    return suite


def test_suites_that_can_be_judged_pass() -> None:
    check([suite_with("a"), suite_with("b"), suite_with("lone", 1, baseline=False)])


def test_two_suites_of_one_name() -> None:
    with pytest.raises(UsageError, match="two suites are named 'a'"):
        check([suite_with("a"), suite_with("a")])


def test_no_variants() -> None:
    with pytest.raises(UsageError, match="suite 'a' has no variants"):
        check([suite_with("a", 0)])


def test_no_baseline() -> None:
    with pytest.raises(UsageError, match="suite 'a' has no baseline") as caught:
        check([suite_with("a", baseline=False)])
    assert "'v0'" in caught.value.remedy


def test_a_preset_of_a_variant_that_is_not_there() -> None:
    suite = Suite("mine", presets={"quick": {"variant": ["thin"]}})
    suite.variant(name="dense")(lambda c: Step(lambda: None))
    with pytest.raises(
        UsageError, match="preset 'quick' of suite 'mine' names unknown variants: thin"
    ) as caught:
        check([suite])
    assert caught.value.remedy == "the variants are: dense"
