"""Ways to write a step: every one correct, and every one unlike a module with a loss and an optimizer."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from benchmarks.audit import layers
from benchmarks.audit.layers import small_net
from stepmark.authoring.expectation import Expect
from stepmark.authoring.inputs import randint, randn
from stepmark.authoring.workload import Step

TOKENS, FEATURES, CLASSES = 24, layers.FEATURES, 20


def closure_over_a_module() -> Step:
    net = small_net()
    return Step(lambda x: net(x.contiguous()), inputs=randn(TOKENS, FEATURES))


def closure_in_training() -> Step:
    net = small_net()
    return Step(
        lambda x: net(x.contiguous()),
        inputs=randn(TOKENS, FEATURES, requires_grad=True),
        target=randn(TOKENS, FEATURES),
        loss=nn.functional.mse_loss,
    )


def sparse_embedding() -> Step:
    return Step(
        nn.Embedding(1000, FEATURES, sparse=True),
        inputs=randint(1000, TOKENS),
        optimizer=lambda p: torch.optim.SparseAdam(list(p)),
    )


def embedding_and_head() -> Step:
    table = nn.Embedding(CLASSES, FEATURES)
    head = nn.Linear(FEATURES, CLASSES, bias=False)
    head.weight = table.weight
    return Step(
        nn.Sequential(table, head),
        inputs=randint(CLASSES, TOKENS),
        target=randint(CLASSES, TOKENS),
        loss=nn.functional.cross_entropy,
        optimizer=torch.optim.AdamW,
        expects=Expect(parameters=CLASSES * FEATURES, output=(TOKENS, CLASSES), dtype="float32"),
    )


def bag_of_words() -> Step:
    return Step(
        nn.EmbeddingBag(100, FEATURES, sparse=True, mode="sum"),
        inputs=randint(100, TOKENS, 5),
        optimizer=lambda p: torch.optim.SGD(p, lr=0.1),
    )


def convolution() -> Step:
    return Step(
        nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1, bias=False),
            nn.BatchNorm2d(8),
            nn.ReLU(inplace=True),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Linear(8, CLASSES),
        ),
        inputs=randn(4, 3, 8, 8),
        target=randint(CLASSES, 4),
        loss=nn.functional.cross_entropy,
        optimizer=lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9),
    )


def recurrent() -> Step:
    return Step(
        nn.LSTM(FEATURES, FEATURES, batch_first=True),
        inputs=randn(2, 6, FEATURES),
        loss=lambda output: output[0].square().mean(),
        optimizer=torch.optim.Adam,
    )


def shared_input() -> Step:
    x = torch.randn(TOKENS, FEATURES, requires_grad=True)
    return Step(nn.Bilinear(FEATURES, FEATURES, 8), inputs=[x, x])


def scripted() -> Step:
    net = torch.nn.Sequential(nn.Linear(FEATURES, FEATURES), nn.ReLU())
    traced = torch.jit.trace(net, torch.randn(TOKENS, FEATURES))  # type: ignore[no-untyped-call]
    return Step(traced, inputs=randn(TOKENS, FEATURES), optimizer=torch.optim.SGD)


def optimizer_in_backward() -> Step:
    """Each parameter is updated as soon as its gradient is there, which is then dropped."""
    net = small_net()
    for parameter in net.parameters():
        optimizer = torch.optim.SGD([parameter], lr=1e-3)

        def update(_: Tensor, optimizer: torch.optim.Optimizer = optimizer) -> None:
            optimizer.step()
            optimizer.zero_grad()

        parameter.register_post_accumulate_grad_hook(update)  # type: ignore[no-untyped-call]
    return Step(net, inputs=randn(TOKENS, FEATURES))


def penalised_gradient() -> Step:
    """A backward pass inside the forward pass."""

    class WithSlope(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = small_net()

        def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
            output = self.net(x)
            (slope,) = torch.autograd.grad(output.sum(), x, create_graph=True)
            return output, slope

    def loss(both: tuple[Tensor, Tensor]) -> Tensor:
        return both[0].square().mean() + both[1].square().mean()

    return Step(
        WithSlope(),
        inputs=randn(TOKENS, FEATURES, requires_grad=True),
        loss=loss,
        optimizer=lambda p: torch.optim.SGD(p, lr=1e-3),
    )


def only_the_input_learns() -> Step:
    return Step(small_net().requires_grad_(False), inputs=randn(TOKENS, FEATURES, requires_grad=True))


def quantised_weights() -> Step:
    weight = torch.randint(-127, 127, (FEATURES, FEATURES), dtype=torch.int8)
    return Step(lambda x: x @ weight.float(), inputs=randn(TOKENS, FEATURES))


def growing_cache() -> Step:
    keys = torch.zeros(64, FEATURES)
    place = 0

    def decode(query: Tensor) -> Tensor:
        nonlocal place
        keys[place % 64] = query[0]
        place += 1
        return (query @ keys.T).softmax(dim=-1) @ keys

    return Step(decode, inputs=randn(1, FEATURES))


def wrapped_frozen_features() -> Step:
    """A frozen trunk without gradients and a head that learns: what linear probing does."""
    trunk, head = small_net().requires_grad_(False), nn.Linear(FEATURES, CLASSES)

    class Probe(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.trunk, self.head = trunk, head

        def forward(self, x: Tensor) -> Tensor:
            with torch.no_grad():
                features = self.trunk(x)
            out: Tensor = self.head(features)
            return out

    return Step(Probe(), inputs=randn(TOKENS, FEATURES), optimizer=torch.optim.SGD)


def compiled_step() -> Step:
    return Step(small_net(), inputs=randn(TOKENS, FEATURES), compile={"backend": "aot_eager"})


def compiled_elsewhere() -> Step:
    net = small_net()
    return Step(torch.compile(net, backend="aot_eager"), inputs=randn(TOKENS, FEATURES))


def counted_flops() -> Step:
    forward = 2 * TOKENS * FEATURES * 2 * FEATURES * 2
    return Step(
        small_net(),
        inputs=randn(TOKENS, FEATURES, requires_grad=True),
        expects=Expect(flops=3 * forward, tokens=TOKENS, output=(TOKENS, FEATURES)),
    )


def foreign_forward() -> Step:
    return Step(layers.Foreign(FEATURES, FEATURES, bias=False), inputs=randn(TOKENS, FEATURES))


STEPS: dict[str, tuple[Callable[[], Step], str]] = {
    "closure over a module": (closure_over_a_module, "forward"),
    "closure in training": (closure_in_training, "train"),
    "sparse embedding": (sparse_embedding, "train"),
    "embedding and tied head": (embedding_and_head, "train"),
    "bag of words": (bag_of_words, "train"),
    "convolution": (convolution, "train"),
    "convolution forward": (convolution, "forward"),
    "recurrent": (recurrent, "train"),
    "shared input": (shared_input, "train"),
    "traced": (scripted, "train"),
    "optimizer in backward": (optimizer_in_backward, "train"),
    "penalised gradient": (penalised_gradient, "train"),
    "only the input learns": (only_the_input_learns, "train"),
    "quantised weights": (quantised_weights, "forward"),
    "cache of a decoder": (growing_cache, "forward"),
    "frozen trunk": (wrapped_frozen_features, "train"),
    "compiled": (compiled_step, "train"),
    "compiled elsewhere": (compiled_elsewhere, "forward"),
    "counted flops": (counted_flops, "train"),
    "foreign kernel forward": (foreign_forward, "forward"),
    "foreign kernel training": (foreign_forward, "train"),
}
"""By name: how it is built, and in which mode."""
