"""Kernels compiled and tried in this process by Triton, or chosen by measurement in the zoo: a count of them.

Nothing of it is imported for the count: whoever is there already is asked to tell, once.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from typing import Any

_TELLERS = (
    ("triton.runtime.autotuner", "Autotuner", "_bench"),
    ("stepmark.zoo.kernels.dispatch", "", "measure"),
)
"""Module, class if any, and the function that tries a kernel, or several."""


class KernelTuning:
    """The count, from the moment each of them could first be asked."""

    def __init__(self, modules: dict[str, Any] | None = None) -> None:
        self._modules = sys.modules if modules is None else modules
        self._silent = {"triton.knobs", *(module for module, _, _ in _TELLERS)}
        self._number = 0

    def count(self) -> int:
        """Less than a microsecond."""
        if self._silent:
            self._ask()
        return self._number

    def _ask(self) -> None:
        for name in [name for name in self._silent if name in self._modules]:
            self._silent.discard(name)
            module = self._modules[name]
            if name == "triton.knobs":
                self._listen(module)
            for _, owner, verb in (teller for teller in _TELLERS if teller[0] == name):
                home = getattr(module, owner, None) if owner else module
                if hasattr(home, verb):
                    setattr(home, verb, self._counted(getattr(home, verb)))

    def _listen(self, knobs: Any) -> None:
        """Triton tells one listener of every kernel it compiles, or finds compiled on disk."""
        compilation: Any = getattr(knobs, "compilation", None)
        if not hasattr(compilation, "listener"):
            return
        before = compilation.listener

        def heard(*args: Any, **kwargs: Any) -> None:
            self._number += 1
            if before is not None:
                before(*args, **kwargs)

        compilation.listener = heard

    def _counted(self, tries: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(tries)
        def counted(*args: Any, **kwargs: Any) -> Any:
            self._number += 1
            return tries(*args, **kwargs)

        return counted


TUNING = KernelTuning()
"""One for a process: what was asked to tell once tells for good."""
