"""Settings of the software: the Python build, and the variables that change torch's speed."""

from __future__ import annotations

import sysconfig
from collections.abc import Mapping

from stepmark.records.machine import SoftwareFacts

SPEED_VARIABLES = (
    *("OMP_NUM_THREADS", "OMP_PROC_BIND", "OMP_PLACES", "OMP_WAIT_POLICY", "OMP_DYNAMIC", "OMP_SCHEDULE"),
    *("MKL_NUM_THREADS", "MKL_DYNAMIC", "MKL_CBWR", "MKL_ENABLE_INSTRUCTIONS", "OPENBLAS_NUM_THREADS"),
    *("KMP_AFFINITY", "KMP_BLOCKTIME", "GOMP_CPU_AFFINITY", "GOMP_SPINCOUNT"),
    *("ATEN_CPU_CAPABILITY", "ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA", "ONEDNN_DEFAULT_FPMATH_MODE"),
    *("CUDA_LAUNCH_BLOCKING", "CUDA_VISIBLE_DEVICES", "CUBLAS_WORKSPACE_CONFIG", "NVIDIA_TF32_OVERRIDE"),
    *("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_NO_CUDA_MEMORY_CACHING", "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE"),
    *("TORCHDYNAMO_DISABLE", "TORCH_COMPILE_DISABLE", "LD_PRELOAD", "MALLOC_ARENA_MAX"),
    *("PYTHONMALLOC", "PYTHONDEVMODE", "PYTHONTRACEMALLOC"),
)


def software_facts(environment: Mapping[str, str]) -> SoftwareFacts:
    """The variables in the order of the list above."""
    return SoftwareFacts(
        debug_python=bool(sysconfig.get_config_var("Py_DEBUG")),
        variables=tuple((name, environment[name]) for name in SPEED_VARIABLES if environment.get(name)),
    )
