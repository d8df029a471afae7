"""A language model is timed forward and backward in a loop; nobody clears the gradients.

In print: a course assignment's benchmark had neither an optimizer nor a zero_grad. From the second step on,
backward read and wrote every gradient once more than training does.
"""

import torch
from torch import nn

import stepmark as sm

FINDING = "gradients-accumulate"
VARIANT = "block"

suite = sm.Suite("assignment", axes={"features": [64]}, modes=["ops"])
CLASSES = 100


@suite.variant(baseline=True)
def block(c):
    layer = nn.TransformerEncoderLayer(c.features, 4, 4 * c.features, dropout=0.0, batch_first=True)
    head = nn.Linear(c.features, CLASSES)
    x = torch.randn(4, 16, c.features)
    y = torch.randint(CLASSES, (4 * 16,))

    def forward():
        return head(layer(x)).flatten(0, 1)

    def forward_and_backward():
        nn.functional.cross_entropy(forward(), y).backward()

    return sm.Ops({"forward": forward, "forward and backward": forward_and_backward})
