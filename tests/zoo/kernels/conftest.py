"""Where kernels run in tests: compiled on a GPU, as gpu tests; elsewhere in Triton's interpreter."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from stepmark.zoo.kernels import launch
from tests.zoo.kernels.stands_in import STREAM, StandsIn


def _let_numbers_be_indices() -> None:
    """Triton 3.6 interprets `range(tl.program_id(0), n)` by making an int of an array of one element, which
    NumPy 2.4 refuses."""
    from triton.runtime import interpreter

    patch_tensors = interpreter._patch_lang_tensor

    def patched(tensor: Any, scope: Any) -> None:
        patch_tensors(tensor, scope)
        scope.set_attr(tensor, "__index__", lambda self: int(self.handle.data.item()))

    interpreter._patch_lang_tensor = patched


def _let_bfloat16_be_multiplied() -> None:
    """Triton 3.6 interprets tl.dot of bfloat16 as a product of its bits, which NumPy holds as integers."""
    import numpy as np
    import triton.language as tl
    from triton.runtime import interpreter

    plain = interpreter.InterpreterBuilder.create_dot

    def widened(one: Any) -> Any:
        if one.dtype.scalar != tl.bfloat16:
            return one
        bits = one.data.astype(np.uint32) << 16
        return interpreter.TensorHandle(bits.view(np.float32), tl.float32)

    def create_dot(self: Any, left: Any, right: Any, *rest: Any) -> Any:
        return plain(self, widened(left), widened(right), *rest)

    interpreter.InterpreterBuilder.create_dot = create_dot


def _let_bfloat16_be_rounded() -> None:
    """Triton 3.6 interprets a cast to bfloat16 as cutting off bits; a GPU rounds to the nearest, to even."""
    import numpy as np
    import triton.language as tl
    from triton.runtime import interpreter

    plain = interpreter.InterpreterBuilder.cast_impl

    def cast_impl(self: Any, source: Any, target: Any) -> Any:
        kinds = source.dtype.scalar, target.scalar
        if kinds == (tl.bfloat16, tl.float32):
            wide = source.data.astype(np.uint32) << 16
            return interpreter.TensorHandle(wide.view(np.float32), tl.float32)
        if kinds == (tl.float32, tl.bfloat16):
            bits = source.data.view(np.uint32)
            rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
            half = np.where(np.isnan(source.data), 0x7FC0, rounded).astype(np.uint16)
            return interpreter.TensorHandle(half, tl.bfloat16)
        return plain(self, source, target)

    interpreter.InterpreterBuilder.cast_impl = cast_impl


def _let_launches_patch_once() -> None:
    """Triton 3.6 patches its language anew for every call of a function by a kernel, which is a fifth of the
    time of an interpreted kernel. What a launch has patched stays so until its end."""
    from types import ModuleType

    import triton.language as tl
    from triton.runtime import interpreter

    patch = interpreter._patch_lang
    patched: set[frozenset[str]] = set()
    languages: dict[Any, frozenset[str]] = {}

    def seen_by(function: Any) -> frozenset[str]:
        if function not in languages:
            modules = [value for value in function.__globals__.values() if isinstance(value, ModuleType)]
            languages[function] = frozenset(one.__name__ for one in modules if one in (tl, tl.core))
        return languages[function]

    class LaunchScope(interpreter._LangPatchScope):  # type: ignore[misc]
        def restore(self) -> None:
            super().restore()
            patched.clear()

    def patch_once(function: Any) -> Any:
        if seen_by(function) in patched:
            return None
        scope = patch(function)
        if not patched:
            launch = LaunchScope()
            launch._changes, scope = scope._changes, launch
        patched.add(seen_by(function))
        return scope

    interpreter._patch_lang = patch_once


HAS_GPU = torch.cuda.is_available()
if not HAS_GPU:
    _let_numbers_be_indices()
    _let_bfloat16_be_multiplied()
    _let_bfloat16_be_rounded()
    _let_launches_patch_once()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """`pytest -m gpu` compiles what is interpreted elsewhere."""
    here = Path(__file__).parent
    for item in items:
        if HAS_GPU and here in item.path.parents:
            item.add_marker(pytest.mark.gpu)


@pytest.fixture(scope="session")
def device() -> str:
    """Where tensors for kernels live."""
    return "cuda" if HAS_GPU else "cpu"


@pytest.fixture(autouse=True)
def own_choices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test measures stays in the test."""
    monkeypatch.setenv("STEPMARK_CHOICES", str(tmp_path / "choices.json"))


@pytest.fixture
def stands_in(monkeypatch: pytest.MonkeyPatch) -> StandsIn:
    """Two GPUs and a kernel, where there are none."""
    made = StandsIn()
    monkeypatch.setattr(launch, "_directly", lambda: True)
    monkeypatch.setattr(torch.cuda, "device", made.on_device)
    monkeypatch.setattr(torch._C, "_cuda_getDevice", lambda: made.current, raising=False)
    monkeypatch.setattr(torch._C, "_cuda_getCurrentRawStream", lambda _: STREAM, raising=False)
    return made
