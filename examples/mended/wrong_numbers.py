"""The scores are divided by the root of the width, and the numbers agree with the reference."""

from torch import nn

import stepmark as sm

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
    return step(lambda q, k, v: (q @ k.mT / q.shape[-1] ** 0.5).softmax(dim=-1) @ v, c.tokens)
