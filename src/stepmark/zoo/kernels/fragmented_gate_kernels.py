# mypy: ignore-errors
"""Triton kernels of FragmentedLinear's gate: a row's scores and the two parts they make of it."""

import triton
import triton.language as tl


@triton.jit
def _tile(SIZE: tl.constexpr, FRAGMENTS: tl.constexpr, ALL_FRAGMENTS: tl.constexpr, ALL_SIZE: tl.constexpr):
    fragment = tl.arange(0, ALL_FRAGMENTS)
    within = tl.arange(0, ALL_SIZE)
    feature = fragment[:, None] * SIZE + within[None, :]
    return fragment, feature, (fragment < FRAGMENTS)[:, None] & (within < SIZE)[None, :]


@triton.jit
def gate_rows(
    x,
    selector,
    probability,
    own,
    rest,
    counts,
    slots,
    x_stride,
    SIZE: tl.constexpr,
    FRAGMENTS: tl.constexpr,
    ALL_FRAGMENTS: tl.constexpr,
    ALL_SIZE: tl.constexpr,
    HARD: tl.constexpr,
    KNOWN: tl.constexpr,
    GROUPED: tl.constexpr,
):
    """x p and x (1 - p), p the softmax of the scores, (rows, F); KNOWN, p is read. HARD: p is one for the
    first of the best fragments, whose number is kept instead, (rows). GROUPED: instead of x p the row is put
    into its fragment's list, one of (F, rows), whose lengths are counted."""
    row = tl.program_id(0).to(tl.int64)
    fragment, feature, inside = _tile(SIZE, FRAGMENTS, ALL_FRAGMENTS, ALL_SIZE)
    values = tl.load(x + row * x_stride + feature, inside, other=0.0).to(tl.float32)
    target = row * SIZE * FRAGMENTS + feature
    if not KNOWN:
        s = tl.load(selector + feature, inside, other=0.0).to(tl.float32)
        score = tl.sum(values * s, 1)
        score = tl.where(fragment < FRAGMENTS, score, float("-inf"))
    if HARD:
        if KNOWN:
            best = tl.load(probability + row)
        else:
            score = tl.where(score == score, score, float("inf"))
            _, best = tl.max(score, 0, return_indices=True, return_indices_tie_break_left=True)
            tl.store(probability + row, best)
        is_own = (fragment == best)[:, None]
        if GROUPED:
            slot = tl.atomic_add(counts + best, 1, sem="relaxed")
            tl.store(slots + best.to(tl.int64) * tl.num_programs(0) + slot, row.to(tl.int32))
        else:
            tl.store(own + target, tl.where(is_own, values, 0.0).to(own.dtype.element_ty), inside)
        tl.store(rest + target, tl.where(is_own, 0.0, values).to(rest.dtype.element_ty), inside)
    else:
        place = probability + row * FRAGMENTS + fragment
        if KNOWN:
            p = tl.load(place, fragment < FRAGMENTS, other=0.0)
        else:
            p = tl.exp(score - tl.max(score, 0))
            p = p / tl.sum(p, 0)
            tl.store(place, p, fragment < FRAGMENTS)
        tl.store(own + target, (values * p[:, None]).to(own.dtype.element_ty), inside)
        tl.store(rest + target, (values * (1.0 - p)[:, None]).to(rest.dtype.element_ty), inside)


@triton.jit
def gate_gradient(
    x,
    selector,
    probability,
    of_own,
    of_rest,
    of_score,
    of_x,
    x_stride,
    SIZE: tl.constexpr,
    FRAGMENTS: tl.constexpr,
    ALL_FRAGMENTS: tl.constexpr,
    ALL_SIZE: tl.constexpr,
    HARD: tl.constexpr,
    WITH_X: tl.constexpr,
):
    """From the gradients of x p and x (1 - p): those of the scores, and of x."""
    row = tl.program_id(0).to(tl.int64)
    fragment, feature, inside = _tile(SIZE, FRAGMENTS, ALL_FRAGMENTS, ALL_SIZE)
    place = row * FRAGMENTS + fragment
    target = row * SIZE * FRAGMENTS + feature
    a = tl.load(of_own + target, inside, other=0.0).to(tl.float32)
    u = tl.load(of_rest + target, inside, other=0.0).to(tl.float32)
    if HARD:
        is_own = (fragment == tl.load(probability + row))[:, None]
        tl.store(of_x + target, tl.where(is_own, a, u).to(of_x.dtype.element_ty), inside)
    else:
        p = tl.load(probability + place, fragment < FRAGMENTS, other=0.0)
        values = tl.load(x + row * x_stride + feature, inside, other=0.0).to(tl.float32)
        of_p = tl.sum((a - u) * values, 1)
        score = p * (of_p - tl.sum(p * of_p, 0))
        tl.store(of_score + place, score.to(of_score.dtype.element_ty), fragment < FRAGMENTS)
        if WITH_X:
            s = tl.load(selector + feature, inside, other=0.0).to(tl.float32)
            found = u + p[:, None] * (a - u) + score[:, None] * s
            tl.store(of_x + target, found.to(of_x.dtype.element_ty), inside)
