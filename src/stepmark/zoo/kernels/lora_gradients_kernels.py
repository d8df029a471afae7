# mypy: ignore-errors
"""LoRA's kernels for gradients: strips of x and g, read once; or all gradients of few rows in one launch.

Formulas, shapes and rounding stand in lora_kernels.py.
"""

import triton
import triton.language as tl

from stepmark.zoo.kernels.lora_kernels import _spread, _store, _thin_and_wide, _thin_of


@triton.jit
def _strip(
    z, thin, out, tile, first, last, F, R, stride_z,
    RANK_FIRST: tl.constexpr, BT: tl.constexpr, BF: tl.constexpr, BR: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """z^T thin for the features of one tile: a strip of z, read once.

    The sum is kept as thin^T z where strips are narrow: transposed, z would not be loaded ahead."""
    features = tile * BF + tl.arange(0, BF)
    total = tl.zeros((BF, BR) if BF >= 64 else (BR, BF), dtype=tl.float32)
    for begin in range(first, last, BT):
        rows = begin + tl.arange(0, BT)
        z_at = z + rows.to(tl.int64)[:, None] * stride_z + features[None, :]
        z_tile = tl.load(z_at, mask=(rows < last)[:, None] & (features < F)[None, :], other=0.0)
        thin_tile = _thin_of(thin, rows, last, 0, R, BR)
        if BF >= 64:
            total = tl.dot(tl.trans(z_tile), thin_tile, total, input_precision=PRECISION)
        else:
            total = tl.dot(tl.trans(thin_tile), z_tile, total, input_precision=PRECISION)
    if BF < 64:
        total = tl.trans(total)
    _store_factor(out, total, features, F, R, RANK_FIRST, BR)


@triton.jit
def _store_factor(out, total, features, F, R, RANK_FIRST: tl.constexpr, BR: tl.constexpr):
    """out is (F, R), or (R, F) rank first."""
    ranks = tl.arange(0, BR)
    if RANK_FIRST:
        at = out + features[:, None] + ranks.to(tl.int64)[None, :] * F
    else:
        at = out + features.to(tl.int64)[:, None] * R + ranks[None, :]
    tl.store(at, total.to(out.dtype.element_ty), mask=(features < F)[:, None] & (ranks < R)[None, :])


@triton.jit
def _sum(
    parts, out, tile, F, R: tl.constexpr, SPLITS: tl.constexpr, RANK_FIRST: tl.constexpr,
    BF: tl.constexpr, BR: tl.constexpr,
):  # fmt: skip
    features = tile * BF + tl.arange(0, BF)
    ranks = tl.arange(0, BR)
    within = (features < F)[:, None] & (ranks < R)[None, :]
    total = tl.zeros((BF, BR), dtype=tl.float32)
    for split in range(SPLITS):
        at = parts + (tl.cast(split, tl.int64) * F + features)[:, None] * R + ranks[None, :]
        total += tl.load(at, mask=within, other=0.0)
    _store_factor(out, total, features, F, R, RANK_FIRST, BR)


@triton.jit
def gradients_kernel(
    x, h, da, g, s, db, T, inputs, outputs, stride_x, stride_g,
    R: tl.constexpr, SPLITS: tl.constexpr, BT: tl.constexpr, BF: tl.constexpr, BR: tl.constexpr,
    PRECISION: tl.constexpr,
):  # fmt: skip
    """dA = x^T h by strips of x in the first programs, dB = s^T g by strips of g in the others. Split, rows
    are shared by SPLITS programs, and da and db are (SPLITS, features, R) of float32, to be summed."""
    tile, split = tl.program_id(0), tl.program_id(1)
    tiles_of_x = tl.cdiv(inputs, BF)
    first = split * tl.cdiv(tl.cdiv(T, SPLITS), BT) * BT
    last = min(T, first + tl.cdiv(tl.cdiv(T, SPLITS), BT) * BT)
    if tile < tiles_of_x:
        to = da + split.to(tl.int64) * inputs * R
        _strip(x, h, to, tile, first, last, inputs, R, stride_x, False, BT, BF, BR, PRECISION)
    else:
        to, of_g = db + split.to(tl.int64) * outputs * R, tile - tiles_of_x
        _strip(g, s, to, of_g, first, last, outputs, R, stride_g, SPLITS == 1, BT, BF, BR, PRECISION)


@triton.jit
def sum_kernel(
    da_parts, db_parts, da, db, inputs, outputs,
    R: tl.constexpr, SPLITS: tl.constexpr, BF: tl.constexpr, BR: tl.constexpr,
):  # fmt: skip
    """The sums of gradients_kernel's splits, in their order."""
    tile, tiles_of_x = tl.program_id(0), tl.cdiv(inputs, BF)
    if tile < tiles_of_x:
        _sum(da_parts, da, tile, inputs, R, SPLITS, False, BF, BR)
    else:
        _sum(db_parts, db, tile - tiles_of_x, outputs, R, SPLITS, True, BF, BR)


@triton.jit
def backward_kernel(
    g, w, x, s, a, b, dx, da, db, T, inputs, outputs, stride_x, stride_g, scale,
    R: tl.constexpr, WIDE: tl.constexpr, DX: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
    BK: tl.constexpr, BR: tl.constexpr, EVEN_K: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """All gradients of at most BM rows in one launch: dx and dA by features in, dB by features out."""
    tile = tl.program_id(0)
    tiles_of_x = tl.cdiv(inputs, BN)
    if tile < tiles_of_x:
        rows, ranks = tl.arange(0, BM), tl.arange(0, BR)
        columns = tile * BN + tl.arange(0, BN)
        h, wide = _thin_and_wide(
            g, w, b, rows, columns, T, outputs, inputs, R, stride_g,
            False, WIDE and DX, BM, BN, BK, BR, EVEN_K, PRECISION,
        )  # fmt: skip
        h = (h * scale).to(g.dtype.element_ty)
        if DX:
            wide = _spread(h, wide, a, a, columns, inputs, R, False, False, BR, PRECISION)
            _store(dx, wide, rows, columns, T, inputs)
        x_in = (rows < T)[:, None] & (columns < inputs)[None, :]
        x_tile = tl.load(x + rows.to(tl.int64)[:, None] * stride_x + columns[None, :], mask=x_in, other=0.0)
        total = tl.dot(tl.trans(x_tile), h, input_precision=PRECISION)
        _store(da, total, columns, ranks, inputs, R)
    else:
        of_g = tile - tiles_of_x
        _strip(g, s, db, of_g, 0, T, outputs, R, stride_g, True, BM, BN, BR, PRECISION)
