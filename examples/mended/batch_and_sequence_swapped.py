"""The batch is (batch, length), and the output has the shape that the case declares."""

import torch
from torch import nn

import stepmark as sm

suite = sm.Suite("context", axes={"length": [32]}, modes=["forward"])
WIDTH, BATCH, CLASSES = 64, 4, 100


@suite.variant(baseline=True)
def block(c):
    layer = nn.TransformerEncoderLayer(WIDTH, 4, 4 * WIDTH, dropout=0.0, batch_first=True)
    tokens = torch.randint(CLASSES, (BATCH, c.length))
    return sm.Step(
        nn.Sequential(nn.Embedding(CLASSES, WIDTH), layer),
        inputs=tokens,
        expects=sm.Expect(output=(BATCH, c.length, WIDTH), tokens=BATCH * c.length),
    )
