"""Operators: what the schema of one tells about every call of it, looked up once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import torch

from stepmark.instruments.inspection.work import has_formula

_SILENT = frozenset({"profiler", "prim"})
"""Namespaces that move no tensor's numbers."""
_PLAIN = frozenset({"aten", "prims"})
"""Namespaces whose operators without a formula do no matrix product."""
_UNCOUNTED = (
    "linalg_",
    "_linalg",
    "fft_",
    "_fft",
    "cholesky",
    "_cholesky",
    "triangular_solve",
    "lu_",
    "_lu",
    "geqrf",
    "ormqr",
    "_sparse_semi_structured",
    "_cslt",
    "_weight_int",
    "fbgemm",
    "_dyn_quant",
    "quantized",
    "_wrapped",
    "_native_multi_head_attention",
    "_transform_bias_rescale_qkv",
    "_transformer_encoder",
    "miopen",
    "xnnpack",
    "_euclidean_dist",
    "_trilinear",
    "conv_tbc",
)
"""Beginnings of names of torch's operators that do matrix work nobody here counts."""
_NO_PRODUCTS = ("linalg_vector_norm", "linalg_cross", "linalg_vecdot", "linalg_diagonal")
"""Exceptions of these: they go over their numbers once."""
_UNWRITTEN = frozenset(
    {"empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "empty_permuted", "resize_"}
)
_OVERWRITE = frozenset(
    {
        "copy_", "fill_", "zero_", "normal_", "uniform_", "bernoulli_", "random_", "exponential_",
        "geometric_", "cauchy_", "log_normal_", "eye", "_foreach_copy_", "_foreach_zero_",
    }
)  # fmt: skip
"""What they write does not depend on what was there."""
_SHAPES_ONLY = frozenset(
    {
        "empty_like", "zeros_like", "ones_like", "full_like", "rand_like", "randn_like", "randint_like",
        "new_empty", "new_zeros", "new_ones", "new_full", "new_empty_strided", "_efficientzerotensor",
    }
)  # fmt: skip
"""Of their arguments they take shape and dtype, no numbers."""
_PICKS = frozenset(
    {
        "embedding", "index", "index_select", "gather", "take", "_embedding_bag", "grid_sampler_2d",
        "_embedding_bag_forward_only", "nll_loss_forward", "nll_loss_backward", "nll_loss2d_forward",
        "nll_loss2d_backward", "index_put",
        "index_put_", "_index_put_impl_", "index_add", "index_add_", "scatter", "scatter_", "scatter_add",
        "scatter_add_", "index_copy_", "index_copy", "index_fill_", "scatter_reduce_", "scatter_reduce",
        "_unsafe_index", "_unsafe_index_put", "masked_select", "take_along_dim", "put_",
        "embedding_renorm_", "searchsorted", "bucketize", "sparse_mask", "_coalesce", "unfold_backward",
    }
)  # fmt: skip
"""They touch a part of what they are given: how much, the smallest tensors involved tell."""


@dataclass(frozen=True, kw_only=True)
class Operator:
    """An overload."""

    name: str
    silent: bool
    view: bool
    """Moves nothing: its results lie in the memory of its arguments."""
    written: frozenset[int | str]
    """Arguments it writes, by position and by name."""
    overwrites: bool
    picks: bool
    shapes_only: bool
    unwritten: bool
    """Its result is memory with nothing in it."""
    lifts: bool
    """Its argument was made out of Python's data a moment ago."""
    opaque: bool
    """Its matrix work is not known."""
    composite: bool
    """It is made of others, which can be looked at instead."""


@cache
def operator(overload: Any) -> Operator:
    schema = overload._schema
    base = overload.overloadpacket.__name__
    namespace = overload.namespace
    written = _written(schema)
    counted = has_formula(overload)
    plain = base.startswith(_NO_PRODUCTS) or not base.startswith(_UNCOUNTED)
    view = not written and bool(schema.returns) and all(_aliases(one) for one in schema.returns)
    return Operator(
        name=f"{namespace}.{base}.{overload._overloadname}",
        silent=namespace in _SILENT,
        view=view and base not in ("_to_copy", "contiguous"),
        written=written,
        overwrites=base in _OVERWRITE or "out" in written,
        picks=base in _PICKS,
        shapes_only=base in _SHAPES_ONLY,
        unwritten=base in _UNWRITTEN,
        lifts=base == "lift_fresh",
        opaque=not counted and not (namespace in _PLAIN and plain) and namespace not in _SILENT,
        composite=not counted and _is_composite(overload),
    )


def makes_nothing(overload: Any) -> bool:
    """Whether its results lie in memory that was there before."""
    what = operator(overload)
    return what.view or bool(what.written)


def _aliases(returned: Any) -> bool:
    return returned.alias_info is not None and not returned.alias_info.is_write


def _written(schema: Any) -> frozenset[int | str]:
    found: set[int | str] = set()
    for position, argument in enumerate(schema.arguments):
        if argument.alias_info is not None and argument.alias_info.is_write:
            found.add(argument.name)
            if not argument.kwarg_only:
                found.add(position)
    return frozenset(found)


def _is_composite(overload: Any) -> bool:
    return bool(torch._C._dispatch_has_kernel_for_dispatch_key(overload.name(), "CompositeImplicitAutograd"))
