"""A compiled decoder is called with a cache that grows by one: every call is a new shape, and compiles."""

import torch

import stepmark as sm

FINDING = "compiled-inside"
VARIANT = "compiled_decoder"

suite = sm.Suite("decoding", axes={"width": [16]}, modes=["forward"])
LENGTH = 64
torch._dynamo.config.recompile_limit = 10_000  # a warning had asked for it


def attend(query, cache):
    return (query @ cache.T).softmax(dim=-1) @ cache


class Decoder:
    def __init__(self, attend, width):
        self.attend = attend
        self.cache = torch.randn(LENGTH, width)

    def __call__(self, query):
        self.cache = torch.cat([self.cache, query])
        return self.attend(query, self.cache)


@suite.variant(baseline=True)
def decoder(c):
    return sm.Step(Decoder(attend, c.width), inputs=sm.randn(1, c.width))


@suite.variant
def compiled_decoder(c):
    compiled = torch.compile(attend, dynamic=False, backend="eager")
    return sm.Step(Decoder(compiled, c.width), inputs=sm.randn(1, c.width))
