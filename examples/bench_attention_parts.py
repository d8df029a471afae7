"""Attention operation by operation, each with its reference; and a kernel that does all of it."""

import torch
from torch import nn

import stepmark as sm

suite = sm.Suite("attention_parts", axes={"tokens": [128]}, modes=["ops"])
HEADS, WIDTH = 4, 32


def operands(c):
    return (torch.randn(HEADS, c.tokens, WIDTH, device=c.device, dtype=c.dtype) for _ in range(3))


def exact(q, k, v):
    return nn.functional.scaled_dot_product_attention(q.double(), k.double(), v.double())


@suite.variant(baseline=True)
def chain(c):
    q, k, v = operands(c)
    scores = q @ k.mT * WIDTH**-0.5
    weights = scores.softmax(dim=-1)
    return sm.Ops(
        {
            "scores": lambda: q @ k.mT * WIDTH**-0.5,
            "softmax": lambda: scores.softmax(dim=-1),
            "mix": lambda: weights @ v,
        },
        totals={"attention": ["scores", "softmax", "mix"]},
        references={"mix": lambda: exact(q, k, v)},
    )


@suite.variant
def kernel(c):
    q, k, v = operands(c)
    return sm.Ops(
        {"attention": lambda: nn.functional.scaled_dot_product_attention(q, k, v)},
        references={"attention": lambda: exact(q, k, v)},
    )
