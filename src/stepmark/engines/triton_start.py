"""What Triton works out once in every process, worked out before processes are forked.

Triton names the kernels that it keeps on disk by a hash of its own installation, several hundred megabytes
that every process reads before its first kernel. The server reads them once, after the first worker that had
to; a run without kernels never does.
"""

from __future__ import annotations

import importlib
import sys

HASH = "triton.runtime.cache"
WORK_OUT = f"{__name__}:work_out"
"""As the server is asked for it."""


def is_worked_out() -> bool:
    """Whether this process has asked for the hash."""
    asked = getattr(getattr(sys.modules.get(HASH), "triton_key", None), "cache_info", None)
    return asked is not None and asked().currsize > 0


def work_out() -> None:
    importlib.import_module(HASH).triton_key()
