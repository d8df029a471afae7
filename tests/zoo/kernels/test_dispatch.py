"""Dispatch: the fastest candidate wins, a doubtful one does not, and what was chosen is remembered."""

from __future__ import annotations

import contextlib
import json
import threading
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch

from stepmark.zoo.kernels import dispatch
from stepmark.zoo.kernels.dispatch import Choice, choices, choose, measure
from stepmark.zoo.kernels.undisturbed import waits_allowed


class Scripted:
    """Calls that take as long as the script says, on a clock that only they move."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        self.calls: list[str] = []
        monkeypatch.setattr(time, "perf_counter", lambda: self.now)

    def call(self, name: str, *seconds: float) -> dispatch.Call:
        turns: Iterator[float] = iter(seconds[:-1])

        def act() -> None:
            self.calls.append(name)
            self.now += next(turns, seconds[-1])

        return act


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Scripted]:
    monkeypatch.setattr(dispatch, "TABLES", tmp_path / "shipped")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    choices.cache_clear()
    yield Scripted(monkeypatch)
    choices.cache_clear()


def test_the_fastest_wins(scripted: Scripted) -> None:
    ways = {"torch": scripted.call("torch", 3e-3), "fast": scripted.call("fast", 1e-3)}
    assert measure(ways, default="torch") == Choice("fast", "fast")


def test_compiling_does_not_count(scripted: Scripted) -> None:
    ways = {"torch": scripted.call("torch", 3e-3), "fast": scripted.call("fast", 9.0, 1e-3)}
    assert measure(ways, default="torch").eager == "fast"


def test_what_is_hardly_faster_leaves_the_default(scripted: Scripted) -> None:
    ways = {"torch": scripted.call("torch", 1e-3), "as_fast": scripted.call("as_fast", 0.99e-3)}
    assert measure(ways, default="torch").eager == "torch"


def test_what_raises_is_out(scripted: Scripted) -> None:
    def fails() -> None:
        raise RuntimeError("out of shared memory")

    assert measure({"torch": scripted.call("torch", 1.0), "bad": fails}, default="torch").eager == "torch"
    assert measure({"good": scripted.call("good", 1.0), "torch": fails}, default="torch").eager == "good"
    with pytest.raises(RuntimeError, match="out of shared memory"):
        measure({"torch": fails}, default="torch")


def test_measuring_is_bounded(scripted: Scripted) -> None:
    ways = {"torch": scripted.call("torch", 0.3)} | {
        f"way{n}": scripted.call(f"way{n}", 0.3) for n in range(20)
    }
    begin = scripted.now
    measure(ways, default="torch")
    warming = 3 * len(ways) * 0.3
    assert scripted.now - begin - warming < 2 * dispatch.SECONDS_PER_CHOICE + dispatch.ROUNDS * 4 * 0.3


def test_a_choice_is_made_once_and_kept_for_the_next_process(scripted: Scripted) -> None:
    ways = {"torch": scripted.call("torch", 3e-3), "fast": scripted.call("fast", 1e-3)}
    assert choose("op/1", (64, "float32"), ways, default="torch") == "fast"
    spent = len(scripted.calls)
    assert choose("op/1", (64, "float32"), ways, default="torch") == "fast"
    choices.cache_clear()  # as in another process
    assert choose("op/1", (64, "float32"), ways, default="torch") == "fast"
    assert len(scripted.calls) == spent
    assert choose("op/1", (128, "float32"), ways, default="torch") == "fast"
    assert len(scripted.calls) > spent, "another key is another question"


def test_a_table_that_was_shipped_is_believed_on_its_own_device_only(
    scripted: Scripted, tmp_path: Path
) -> None:
    shipped = tmp_path / "shipped" / "here.json"
    shipped.parent.mkdir()
    ways = {"torch": scripted.call("torch", 1e-3), "fast": scripted.call("fast", 3e-3)}
    table = {"made_for": dispatch.made_for(), "choices": {"op/1|64": ["fast", "fast"]}}
    shipped.write_text(json.dumps(table))
    assert choose("op/1", (64,), ways, default="torch") == "fast"
    assert not scripted.calls
    choices.cache_clear()
    shipped.write_text(json.dumps(table | {"made_for": dispatch.made_for() | {"device": "another"}}))
    assert choose("op/1", (64,), ways, default="torch") == "torch"


@pytest.mark.parametrize("text", ["", "{", "[]", '{"made_for": 3}', '{"choices": {"a": 1}}'])
def test_a_broken_file_is_no_reason_to_fail(scripted: Scripted, text: str) -> None:
    dispatch.own_file().write_text(text)
    ways = {"torch": scripted.call("torch", 1e-3)}
    assert choose("op/1", (64,), ways, default="torch") == "torch"
    choices.cache_clear()
    assert list(choices()) == ["op/1|64"], "written anew"


def test_a_file_of_this_device_without_choices_is_no_reason_to_fail(scripted: Scripted) -> None:
    dispatch.own_file().write_text(json.dumps({"made_for": dispatch.made_for()}))
    assert choose("op/1", (64,), {"torch": scripted.call("torch", 1e-3)}, default="torch") == "torch"
    choices.cache_clear()
    assert list(choices()) == ["op/1|64"]


def test_threads_write_down_what_each_has_chosen(scripted: Scripted, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both would read what was there before either."""
    both_have_read = threading.Barrier(2)
    read = Path.read_text

    def read_text(self: Path) -> str:
        found = read(self)
        with contextlib.suppress(threading.BrokenBarrierError):
            both_have_read.wait(0.2)
        return found

    dispatch.own_file().write_text(json.dumps({"made_for": dispatch.made_for(), "choices": {}}))
    assert not choices()
    monkeypatch.setattr(Path, "read_text", read_text)
    ways = {"torch": scripted.call("torch", 1e-3)}
    threads = [
        threading.Thread(target=choose, args=(name, (), ways), kwargs={"default": "torch"})
        for name in ("one", "two")
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert {*json.loads(read(dispatch.own_file()))["choices"]} == {"one|", "two|"}


def test_a_choice_that_is_no_candidate_any_more_is_made_again(scripted: Scripted) -> None:
    choices()["op/1|64"] = Choice("gone", "gone")
    ways = {"torch": scripted.call("torch", 1e-3)}
    assert choose("op/1", (64,), ways, default="torch") == "torch"


def test_nothing_is_measured_while_a_graph_is_captured(
    scripted: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatch, "is_capturing", lambda: True)
    ways = {"torch": scripted.call("torch", 3e-3), "fast": scripted.call("fast", 1e-3)}
    assert choose("op/1", (64,), ways, default="torch") == "torch"
    assert not scripted.calls
    choices()["op/1|64"] = Choice(eager="torch", captured="fast")
    assert choose("op/1", (64,), ways, default="torch") == "fast", "the choice for graphs"


def test_a_rehearsal_takes_the_choice_for_graphs_and_may_measure(scripted: Scripted) -> None:
    ways = {"torch": scripted.call("torch", 3e-3), "fast": scripted.call("fast", 1e-3)}
    choices()["op/1|64"] = Choice(eager="torch", captured="fast")
    with dispatch.rehearsing():
        assert choose("op/1", (64,), ways, default="torch") == "fast"
        assert choose("op/1", (65,), ways, default="torch") == "fast"
        assert scripted.calls
    assert choose("op/1", (64,), ways, default="torch") == "torch"


def test_what_computes_something_else_is_out_however_fast(scripted: Scripted) -> None:
    right = torch.arange(6.0)

    def gives(name: str, seconds: float, result: object) -> dispatch.Call:
        act = scripted.call(name, seconds)
        return lambda: (act(), result)[1]

    ways = {
        "wrong": gives("wrong", 1e-4, -right),
        "nan": gives("nan", 1e-4, right / 0.0),
        "shorter": gives("shorter", 1e-4, right[:3]),
        "near": gives("near", 1e-3, (1.01 * right,)),
        "torch": gives("torch", 3e-3, right),
    }
    assert measure(ways, default="torch").eager == "near"


def test_a_default_that_is_not_finite_judges_nothing(scripted: Scripted) -> None:
    act = scripted.call("fast", 1e-3)
    slow = scripted.call("torch", 3e-3)
    ways = {
        "torch": lambda: (slow(), torch.tensor([torch.nan]))[1],
        "fast": lambda: (act(), torch.ones(1))[1],
    }
    assert measure(ways, default="torch").eager == "fast"


def test_what_autograd_costs_decides_for_python_and_kernels_for_graphs(scripted: Scripted) -> None:
    alone = {"torch": scripted.call("torch", 3e-4), "fast": scripted.call("fast", 1e-4)}
    trained = {"torch": scripted.call("torch, trained", 4e-4), "fast": scripted.call("fast, trained", 1e-3)}
    assert measure(alone, default="torch").eager == "fast"
    assert measure(alone, default="torch", through_autograd=trained) == Choice("torch", "fast")


def test_graphs_are_of_the_calls_without_autograd(
    scripted: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However long those through autograd take: that may be a wait for the host."""
    captured: list[str] = []

    def graphs(calls: Mapping[str, dispatch.Call]) -> dict[str, dispatch.Call]:
        captured.extend(calls)
        return {name: scripted.call(f"{name}, replayed", seconds) for name, seconds in replays.items()}

    monkeypatch.setattr(dispatch, "_graphs", graphs)
    long = 3 * dispatch.LONG
    alone = {"torch": scripted.call("torch", 1e-4), "fast": scripted.call("fast", long)}
    trained = {
        "torch": scripted.call("torch, trained", long),
        "fast": scripted.call("fast, trained", 2 * long),
    }
    replays = {"torch": 2e-4, "fast": 1e-4}
    assert measure(alone, default="torch", through_autograd=trained) == Choice("torch", "fast")
    assert captured == ["torch", "fast"]
    replays = {"fast": 1e-4}
    assert measure(alone, default="torch", through_autograd=trained).captured == "torch", "timed from Python"


def test_captured_is_what_can_be_and_nobody_hears_of_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    """torch ends a capture, and warns of an empty one, whatever was raised in it."""
    launched: list[str] = []
    begun: list[str] = []

    class Graph:
        def replay(self) -> None: ...

    @contextmanager
    def graph(_: Graph) -> Iterator[None]:
        launched.clear()
        begun.append("a capture")
        try:
            yield
        finally:
            if not launched:
                warnings.warn("The CUDA Graph is empty. This usually means that ...", stacklevel=1)

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "CUDAGraph", Graph)
    monkeypatch.setattr(torch.cuda, "graph", graph)
    monkeypatch.setattr(dispatch, "_wait", lambda: None)

    def refuses() -> None:
        raise RuntimeError("this waits for the device")

    def warns() -> None:
        launched.append("a kernel")
        warnings.warn("rounded down", stacklevel=1)

    calls: dict[str, dispatch.Call] = {
        "launches": lambda: launched.append("a kernel"),
        "warns": warns,
        "refuses": refuses,
        "long": dispatch.FromPython(lambda: launched.append("a long kernel")),
    }
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        assert set(dispatch._graphs(calls)) == {"launches", "warns"}
    assert {str(one.message) for one in heard} == {"rounded down"}
    assert len(begun) == 3


def test_candidates_that_write_one_tensor_are_held_against_the_defaults_result(scripted: Scripted) -> None:
    shared = torch.zeros(4)

    def writes(name: str, seconds: float, value: float) -> dispatch.Call:
        timed = scripted.call(name, seconds)

        def act() -> torch.Tensor:
            timed()
            return shared.fill_(value)

        return act

    ways = {"torch": writes("torch", 3e-3, 1.0), "wrong": writes("wrong", 1e-4, 5.0)}
    assert measure(ways, default="torch").eager == "torch"


def test_without_autograd_nothing_is_recorded_for_it(scripted: Scripted) -> None:
    weight = torch.ones(3, requires_grad=True)
    recorded: list[bool] = []

    def act() -> torch.Tensor:
        scripted.now += 1e-3
        recorded.append((2 * weight).requires_grad)
        return weight.detach()

    with torch.enable_grad():
        choose("plain/1", (3,), {"one": act}, default="one")
    assert recorded
    assert not any(recorded)


def test_what_is_wrong_through_autograd_is_out_there(scripted: Scripted) -> None:
    def gives(name: str, seconds: float, result: torch.Tensor) -> dispatch.Call:
        act = scripted.call(name, seconds)
        return lambda: (act(), result)[1]

    ones = torch.ones(3)
    alone = {"torch": gives("torch", 3e-4, ones), "fast": gives("fast", 1e-4, ones)}
    trained = {"torch": gives("torch", 3e-4, ones), "fast": gives("fast", 1e-4, -ones)}
    assert measure(alone, default="torch", through_autograd=trained) == Choice("torch", "fast")
    assert measure(trained, default="torch", through_autograd=alone) == Choice("fast", "torch")


def test_measuring_twice_is_bounded_as_well(scripted: Scripted) -> None:
    ways = {"torch": scripted.call("torch", 0.3)} | {
        f"way{n}": scripted.call(f"way{n}", 0.3) for n in range(20)
    }
    measure(ways, default="torch", through_autograd=ways)
    warming = 2 * 3 * len(ways) * 0.3
    assert scripted.now - warming < 2 * dispatch.SECONDS_PER_CHOICE + 2 * dispatch.ROUNDS * 4 * 0.3


def test_calls_through_autograd_find_gradients_switched_on(scripted: Scripted) -> None:
    found: list[bool] = []

    def trained(name: str, seconds: float) -> dispatch.Call:
        act = scripted.call(name, seconds)

        def call() -> None:
            found.append(torch.is_grad_enabled())
            act()

        return call

    alone = {"torch": scripted.call("torch", 3e-4), "fast": scripted.call("fast", 1e-4)}
    with torch.no_grad():
        name = choose(
            "op/1",
            (64,),
            alone,
            default="torch",
            through_autograd={"torch": trained("torch", 1e-4), "fast": trained("fast", 1e-3)},
        )
        assert not torch.is_grad_enabled()
    assert name == "torch"
    assert all(found)
    with dispatch.rehearsing():
        assert choose("op/1", (64,), alone, default="torch") == "fast"


@pytest.mark.parametrize(("before", "told"), [(0, []), (2, ["default", 2])])
def test_waits_that_are_refused_are_allowed_for_comparing(
    monkeypatch: pytest.MonkeyPatch, before: int, told: list[object]
) -> None:
    """And refused again, whatever happens."""
    modes: list[object] = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_sync_debug_mode", lambda: before)
    monkeypatch.setattr(torch.cuda, "set_sync_debug_mode", modes.append)

    def fails() -> None:
        with waits_allowed():
            assert modes == told[:1]
            raise RuntimeError("out of shared memory")

    with pytest.raises(RuntimeError, match="out of shared memory"):
        fails()
    assert modes == told
