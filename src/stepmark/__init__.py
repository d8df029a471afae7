"""Training-step benchmarks you can believe.

Names are imported when they are first used, so that `import stepmark` imports neither torch nor NumPy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from stepmark.version import VERSION

if TYPE_CHECKING:
    from stepmark.authoring.expectation import Expect
    from stepmark.authoring.inputs import Input, ones, rand, randint, randn, zeros
    from stepmark.authoring.needs import Needs
    from stepmark.authoring.point import Point
    from stepmark.authoring.suite import Suite
    from stepmark.authoring.work import register_work
    from stepmark.authoring.workload import Ops, Step
    from stepmark.comparing import ComparisonResult, compare
    from stepmark.errors import StepmarkError, Unsupported
    from stepmark.library import run
    from stepmark.result import Result

__version__ = VERSION

__all__ = [
    "ComparisonResult",
    "Expect",
    "Input",
    "Needs",
    "Ops",
    "Point",
    "Result",
    "Step",
    "StepmarkError",
    "Suite",
    "Unsupported",
    "__version__",
    "compare",
    "ones",
    "rand",
    "randint",
    "randn",
    "register_work",
    "run",
    "zeros",
]

_HOME = {
    "Expect": "authoring.expectation",
    "Input": "authoring.inputs",
    "ones": "authoring.inputs",
    "rand": "authoring.inputs",
    "randint": "authoring.inputs",
    "randn": "authoring.inputs",
    "zeros": "authoring.inputs",
    "Needs": "authoring.needs",
    "Point": "authoring.point",
    "Suite": "authoring.suite",
    "register_work": "authoring.work",
    "Ops": "authoring.workload",
    "Step": "authoring.workload",
    "StepmarkError": "errors",
    "Unsupported": "errors",
    "Result": "result",
    "run": "library",
    "ComparisonResult": "comparing",
    "compare": "comparing",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'stepmark' has no attribute '{name}'")
    value = getattr(import_module(f"stepmark.{_HOME[name]}"), name)
    globals()[name] = value
    return value
