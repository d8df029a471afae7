"""The cache has one length for all calls and a place that moves: one shape, compiled once, in the warm-up."""

import torch

import stepmark as sm

suite = sm.Suite("decoding", axes={"width": [16]}, modes=["forward"])
LENGTH = 64


def attend(query, cache):
    return (query @ cache.T).softmax(dim=-1) @ cache


class Decoder:
    def __init__(self, attend, width):
        self.attend = attend
        self.cache = torch.randn(LENGTH, width)
        self.place = 0

    def __call__(self, query):
        self.cache[self.place] = query[0]
        self.place = (self.place + 1) % LENGTH
        return self.attend(query, self.cache)


@suite.variant(baseline=True)
def decoder(c):
    return sm.Step(Decoder(attend, c.width), inputs=sm.randn(1, c.width))


@suite.variant
def compiled_decoder(c):
    compiled = torch.compile(attend, dynamic=False, backend="eager")
    return sm.Step(Decoder(compiled, c.width), inputs=sm.randn(1, c.width))
