# mypy: ignore-errors
"""LoRA's kernels: a wide product and a thin one beside it, forwards and backwards.

Forward    y  = x W^T + c + s B    s = scale x A
Backward   dx = g W + h A^T        h = scale g B^T    dA = x^T h    dB = s^T g
Both are out = z M + thin Q + bias with thin = scale z P: z (T, K), M (K, N), P (K, R), Q (R, N). Forwards P
and Q are A (K, R) and B (R, N) as they lie and M is W (N, K) transposed; backwards P and Q are B (R, K) and
A (N, R) transposed and M is W (K, N). W, A, B, out and thin are contiguous, z in its rows.
Ranks are padded to BR >= 16, which matrix units ask for, by masked loads; R is a constant, so that rows of A
are known to be aligned and are loaded ahead. Sums are in float32; thin is rounded to z's dtype once. No
atomics: the same input gives the same bits.
"""

import triton
import triton.language as tl


@triton.jit
def _thin_and_wide(
    z, m, p, rows, columns, T, K, N, R, stride_z,
    FORWARD: tl.constexpr, WIDE: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
    BR: tl.constexpr, EVEN_K: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """z P of the rows and z M of the tile, in one pass over z."""
    depth = tl.arange(0, BK)
    ranks = tl.arange(0, BR)
    z_at = z + rows.to(tl.int64)[:, None] * stride_z + depth[None, :]
    if FORWARD:
        p_at, p_step = p + depth[:, None] * R + ranks[None, :], BK * R
        m_at, m_step = m + depth[:, None] + columns.to(tl.int64)[None, :] * K, BK
    else:
        p_at, p_step = p + depth[:, None] + ranks.to(tl.int64)[None, :] * K, BK
        m_at, m_step = m + depth.to(tl.int64)[:, None] * N + columns[None, :], tl.cast(N, tl.int64) * BK
    in_rows, in_columns, in_ranks = (rows < T)[:, None], (columns < N)[None, :], (ranks < R)[None, :]
    thin = tl.zeros((BM, BR), dtype=tl.float32)
    wide = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        z_in, p_in, m_in = in_rows, in_ranks, in_columns
        if not EVEN_K:
            in_depth = depth < K - k
            z_in, p_in, m_in = (
                in_rows & in_depth[None, :],
                in_ranks & in_depth[:, None],
                in_columns & in_depth[:, None],
            )
        z_tile = tl.load(z_at, mask=z_in, other=0.0)
        p_tile = tl.load(p_at, mask=p_in, other=0.0)
        thin = tl.dot(z_tile, p_tile, thin, input_precision=PRECISION)
        if WIDE:
            m_tile = tl.load(m_at, mask=m_in, other=0.0)
            wide = tl.dot(z_tile, m_tile, wide, input_precision=PRECISION)
        z_at += BK
        p_at += p_step
        m_at += m_step
    return thin, wide


@triton.jit
def _q_of(q, columns, N, first, R, FORWARD: tl.constexpr, BR: tl.constexpr):
    """BR of its ranks, from the first."""
    ranks = first + tl.arange(0, BR)
    if FORWARD:
        at = q + ranks.to(tl.int64)[:, None] * N + columns[None, :]
    else:
        at = q + ranks[:, None] + columns.to(tl.int64)[None, :] * R
    return tl.load(at, mask=(ranks < R)[:, None] & (columns < N)[None, :], other=0.0)


@triton.jit
def _spread(
    thin, wide, q, bias, columns, N, R,
    FORWARD: tl.constexpr, BIAS: tl.constexpr, BR: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """wide + thin Q + bias, of one tile."""
    wide = tl.dot(thin, _q_of(q, columns, N, 0, R, FORWARD, BR), wide, input_precision=PRECISION)
    if BIAS:
        wide += tl.load(bias + columns, mask=columns < N, other=0.0).to(tl.float32)[None, :]
    return wide


@triton.jit
def _store(out, tile, rows, columns, T, N):
    at = out + rows.to(tl.int64)[:, None] * N + columns[None, :]
    tl.store(at, tile.to(out.dtype.element_ty), mask=(rows < T)[:, None] & (columns < N)[None, :])


@triton.jit
def _thin_of(thin, rows, T, first, R, BR: tl.constexpr):
    ranks = first + tl.arange(0, BR)
    within = (rows < T)[:, None] & (ranks < R)[None, :]
    at = thin + rows.to(tl.int64)[:, None] * R + ranks[None, :]
    return tl.load(at, mask=within, other=0.0)


@triton.jit
def whole_kernel(
    z, m, p, q, bias, out, thin_out, T, K, N, stride_z, scale,
    R: tl.constexpr, FORWARD: tl.constexpr, WIDE: tl.constexpr, BIAS: tl.constexpr, BM: tl.constexpr,
    BN: tl.constexpr, BK: tl.constexpr, BR: tl.constexpr, EVEN_K: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """All of out in one launch. Every tile computes the thin product of its rows again, which costs BR / BN
    of the wide one and saves a launch and a pass over z."""
    rows = tl.program_id(1) * BM + tl.arange(0, BM)
    columns = tl.program_id(0) * BN + tl.arange(0, BN)
    thin, wide = _thin_and_wide(
        z, m, p, rows, columns, T, K, N, R, stride_z, FORWARD, WIDE, BM, BN, BK, BR, EVEN_K, PRECISION
    )
    thin = (thin * scale).to(z.dtype.element_ty)
    if tl.program_id(0) == 0:
        _store(thin_out, thin, rows, tl.arange(0, BR), T, R)
    wide = _spread(thin, wide, q, bias, columns, N, R, FORWARD, BIAS, BR, PRECISION)
    _store(out, wide, rows, columns, T, N)


@triton.jit
def thin_kernel(
    z, p, thin_out, T, K, stride_z, scale,
    R: tl.constexpr, FORWARD: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
    BR: tl.constexpr, EVEN_K: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """thin of a block of rows."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    thin, _ = _thin_and_wide(
        z, z, p, rows, tl.arange(0, BN), T, K, BN, R, stride_z,
        FORWARD, False, BM, BN, BK, BR, EVEN_K, PRECISION,
    )  # fmt: skip
    _store(thin_out, thin * scale, rows, tl.arange(0, BR), T, R)


@triton.jit
def spread_kernel(
    thin, q, bias, out, T, N,
    R: tl.constexpr, FORWARD: tl.constexpr, BIAS: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
    BR: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """out = thin Q + bias, onto which a wide product may add."""
    rows = tl.program_id(1) * BM + tl.arange(0, BM)
    columns = tl.program_id(0) * BN + tl.arange(0, BN)
    thin_tile = _thin_of(thin, rows, T, 0, R, BR)
    wide = tl.zeros((BM, BN), dtype=tl.float32)
    wide = _spread(thin_tile, wide, q, bias, columns, N, R, FORWARD, BIAS, BR, PRECISION)
    _store(out, wide, rows, columns, T, N)


@triton.jit
def rows_kernel(
    z, p, q, out, thin_out, T, K, N, stride_z, scale,
    R: tl.constexpr, FORWARD: tl.constexpr, ADD: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
    BK: tl.constexpr, BR: tl.constexpr, EVEN_K: tl.constexpr, STAGES: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """thin of a block of rows, then out = thin Q of all their columns, or out plus that: one launch, and out
    is read where the wide product has just left it."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    thin, _ = _thin_and_wide(
        z, z, p, rows, tl.arange(0, BN), T, K, N, R, stride_z,
        FORWARD, False, BM, BN, BK, BR, EVEN_K, PRECISION,
    )  # fmt: skip
    thin = (thin * scale).to(z.dtype.element_ty)
    _store(thin_out, thin, rows, tl.arange(0, BR), T, R)
    for first in tl.range(0, N, BN, num_stages=STAGES):
        columns = first + tl.arange(0, BN)
        wide = tl.zeros((BM, BN), dtype=tl.float32)
        if ADD:
            at = out + rows.to(tl.int64)[:, None] * N + columns[None, :]
            wide = tl.load(at, mask=(rows < T)[:, None] & (columns < N)[None, :], other=0.0).to(tl.float32)
        wide = tl.dot(thin, _q_of(q, columns, N, 0, R, FORWARD, BR), wide, input_precision=PRECISION)
        _store(out, wide, rows, columns, T, N)


@triton.jit
def fused_kernel(
    z_rows, m_tiles, out_tiles, thin, q, bias, T, K, N,
    R: tl.constexpr, FORWARD: tl.constexpr, BIAS: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
    BK: tl.constexpr, BR: tl.constexpr, GROUP: tl.constexpr, PROGRAMS: tl.constexpr,
):  # fmt: skip
    """out for many rows, given thin: its product is a last step of the wide one's sum. z, M and out go by
    descriptors (TMA). PROGRAMS take tiles in turn, GROUP rows of tiles together for the L2; one loop goes
    over the steps of all of a program's tiles, so that the next is loaded while this one is written."""
    tiles_m, tiles_n = tl.cdiv(T, BM), tl.cdiv(N, BN)
    steps = tl.cdiv(K, BK)
    own_tiles = tl.cdiv(tiles_m * tiles_n - tl.program_id(0), PROGRAMS)
    tile = tl.program_id(0) - PROGRAMS
    step, row, column = -1, 0, 0
    wide = tl.zeros((BM, BN), dtype=tl.float32)
    for _ in range(steps * own_tiles):
        step = tl.where(step == steps - 1, 0, step + 1)
        if step == 0:
            tile += PROGRAMS
            group = tile // (GROUP * tiles_n)
            height = min(tiles_m - group * GROUP, GROUP)
            within = tile % (GROUP * tiles_n)
            row, column = (group * GROUP + within % height) * BM, (within // height) * BN
        z_tile = z_rows.load([row, step * BK])
        if FORWARD:
            wide = tl.dot(z_tile, m_tiles.load([column, step * BK]).T, wide)
        else:
            wide = tl.dot(z_tile, m_tiles.load([step * BK, column]), wide)
        if step == steps - 1:
            rows, columns = row + tl.arange(0, BM), column + tl.arange(0, BN)
            for first in tl.static_range(0, BR, 16):
                thin_tile = _thin_of(thin, rows, T, first, R, 16)
                wide = tl.dot(thin_tile, _q_of(q, columns, N, first, R, FORWARD, 16), wide)
            if BIAS:
                wide += tl.load(bias + columns, mask=columns < N, other=0.0).to(tl.float32)[None, :]
            out_tiles.store([row, column], wide.to(out_tiles.dtype))
            wide = tl.zeros((BM, BN), dtype=tl.float32)
