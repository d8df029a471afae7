"""Where kernels run in tests: compiled on a GPU, as gpu tests; elsewhere in Triton's interpreter."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import torch

HAS_GPU = torch.cuda.is_available()
if not HAS_GPU:
    # Before any kernel's module is imported: that is when Triton decides.
    os.environ["TRITON_INTERPRET"] = "1"


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
