"""The backward watch: which graphs the passes of two iterations traverse, and what they find and leave.

A token in the metadata of each node lives as long as the node does: it tells a graph that is traversed again,
and graphs that nobody dropped, without keeping any of them alive.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

import torch

from stepmark.instruments.inspection.graph import ACCUMULATE, leaves_among, nodes_behind
from stepmark.instruments.inspection.subject import tensors_in
from stepmark.records.inspection import GradientFacts

_KEY = "stepmark"
_ENGINE = "_engine_run_backward"
"""Through which torch.autograd.backward and torch.autograd.grad both go."""


class _Token:
    """Stands in a node's metadata."""

    def __init__(self, iteration: int) -> None:
        self.iteration = iteration


class BackwardWatch:
    """Looks on for as many iterations as are begun."""

    def __init__(self, parameters: Mapping[str, torch.Tensor]) -> None:
        self._trainable = {name: one for name, one in parameters.items() if one.requires_grad}
        self._iteration = 0
        self._depth = 0
        self._ends: list[weakref.ref[_Token]] = []
        self._arrived: set[str] = set()
        self._looked_at: set[str] = set()
        self._not_zero: set[str] = set()
        self._begin()

    def _begin(self) -> None:
        self.passes = 0
        self._leaves: dict[int, bool] = {}
        self._reached: dict[int, weakref.ref[torch.Tensor]] = {}
        self._same_graph = False

    @contextmanager
    def iteration(self, *, arrivals: bool = False) -> Iterator[None]:
        """One iteration under the watch; `arrivals` notes gradients on their way, with a hook a parameter."""
        self._iteration += 1
        self._begin()
        engine = getattr(torch.autograd, _ENGINE)
        with ExitStack() as stack:
            for name, parameter in self._trainable.items() if arrivals else ():
                register: Callable[..., Any] = parameter.register_hook
                stack.callback(register(self._noting(name)).remove)
            setattr(torch.autograd, _ENGINE, self._around(engine))
            stack.callback(setattr, torch.autograd, _ENGINE, engine)
            yield

    def look_at_gradients(self) -> None:
        """After a phase: an optimizer may use gradients up, drop them or clear them in the next one."""
        if not self.passes:
            return
        for name, parameter in self._trainable.items():
            gradient = parameter.grad
            if gradient is None:
                continue
            self._arrived.add(name)
            self._looked_at.add(name)
            if name not in self._not_zero and not is_zero(gradient):
                self._not_zero.add(name)

    def reached(self) -> list[torch.Tensor]:
        """What the last iteration's passes gave gradients to and that lives on."""
        return [leaf for end in self._reached.values() if (leaf := end()) is not None]

    def facts(self) -> GradientFacts:
        """Of the last iteration."""
        return GradientFacts(
            trainable=len(self._trainable),
            without=tuple(name for name in self._trainable if name not in self._arrived),
            zero=tuple(name for name in self._trainable if name in self._looked_at - self._not_zero),
            passes=self.passes,
            leaves=len(self._leaves),
            present_before=sum(self._leaves.values()),
            same_graph=self._same_graph,
            graphs_alive=sum(end() is not None for end in self._ends),
        )

    def _noting(self, name: str) -> Callable[[torch.Tensor], None]:
        def note(gradient: torch.Tensor | None) -> None:
            if gradient is not None:
                self._arrived.add(name)

        return note

    def _around(self, engine: Callable[..., Any]) -> Callable[..., Any]:
        def run(outputs: Any, *args: Any, **kwargs: Any) -> Any:
            outermost = self._depth == 0
            if outermost:
                self._note_pass(outputs, args, accumulates=bool(kwargs.get("accumulate_grad")))
            self._depth += 1
            try:
                return engine(outputs, *args, **kwargs)
            finally:
                self._depth -= 1

        return run

    def _note_pass(self, outputs: Any, args: tuple[Any, ...], *, accumulates: bool) -> None:
        roots = list(tensors_in(outputs))
        nodes = nodes_behind(roots)
        self.passes += 1
        if accumulates:
            wanted = list(tensors_in(args[3])) if len(args) > 3 else []
            for leaf in wanted or leaves_among(nodes):
                self._leaves.setdefault(id(leaf), leaf.grad is not None and not is_zero(leaf.grad))
                self._reached.setdefault(id(leaf), weakref.ref(leaf))
        ends = {root.grad_fn for root in roots}
        for node in nodes:
            if type(node).__name__ != ACCUMULATE:
                self._stamp(node, end=node in ends)

    def _stamp(self, node: Any, *, end: bool) -> None:
        found = node.metadata.get(_KEY)
        if found is not None:
            self._same_graph |= found.iteration != self._iteration
            return
        token = _Token(self._iteration)
        node.metadata[_KEY] = token
        if end:
            self._ends.append(weakref.ref(token))


def is_zero(tensor: torch.Tensor) -> bool:
    values = tensor.detach()
    if values.layout is torch.sparse_coo:
        values = values._values()
    return not bool(values.count_nonzero())
