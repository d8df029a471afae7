"""Where kernels run in tests: compiled on a GPU, as gpu tests; elsewhere in Triton's interpreter."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch


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


HAS_GPU = torch.cuda.is_available()
if not HAS_GPU:
    _let_numbers_be_indices()
    _let_bfloat16_be_multiplied()


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
