"""An attention kernel forgets to divide by the root of the head's width: fast, and wrong."""

from torch import nn

import stepmark as sm

FINDING = "wrong-numbers"
VARIANT = "mine"

suite = sm.Suite("attention", axes={"tokens": [64]}, modes=["forward"])
attention = nn.functional.scaled_dot_product_attention


def step(function, tokens):
    shape = (2, 4, tokens, 32)
    return sm.Step(
        function,
        inputs=[sm.randn(*shape), sm.randn(*shape), sm.randn(*shape)],
        reference=lambda _, q, k, v: attention(q, k, v),
    )


@suite.variant(baseline=True)
def torchs(c):
    return step(attention, c.tokens)


@suite.variant
def mine(c):
    return step(lambda q, k, v: (q @ k.mT).softmax(dim=-1) @ v, c.tokens)
