"""The batch is built as (width, batch) where (batch, length) was meant: four tokens a sequence.

In print: an assignment's tokens had the shape (d_model, 4) instead of (4, context). Attention was four by
four in every table, and no model was measured at any context length.
"""

import torch
from torch import nn

import stepmark as sm

FINDING = "not-the-declared-work"
VARIANT = "block"

suite = sm.Suite("context", axes={"length": [32]}, modes=["forward"])
WIDTH, BATCH, CLASSES = 64, 4, 100


@suite.variant(baseline=True)
def block(c):
    layer = nn.TransformerEncoderLayer(WIDTH, 4, 4 * WIDTH, dropout=0.0, batch_first=True)
    tokens = torch.randint(CLASSES, (WIDTH, BATCH))
    return sm.Step(
        nn.Sequential(nn.Embedding(CLASSES, WIDTH), layer),
        inputs=tokens,
        expects=sm.Expect(output=(BATCH, c.length, WIDTH), tokens=BATCH * c.length),
    )
