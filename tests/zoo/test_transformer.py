"""The transformer: every size to the last parameter, numbers against the loops, and its modes."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import sqrt

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch._dynamo.testing import CompileCounter
from torch.utils.flop_counter import FlopCounterMode

from stepmark.zoo.losses import cross_entropy
from stepmark.zoo.projection import CUT, Projection
from stepmark.zoo.sizes import SIZES, Attention, TransformerConfig
from stepmark.zoo.transformer import TOLERANCES, TransformerLM
from stepmark.zoo.transformer_reference import transformer_reference
from tests.support.properties import steady
from tests.support.tensors import peak_bytes, saved_storages
from tests.zoo.agreement import largest_error

TINY = TransformerConfig(vocab=23, d_model=16, d_ff=24, layers=2, heads=2, context=12)
MODES = [
    replace(TINY, attention=attention, checkpoint=checkpoint, fused=fused)
    for fused in (False, True)
    for attention in ("sdpa", "naive")
    for checkpoint in (False, True)
]

SAME = 1e-6
"""The same operations on the same numbers: a product may differ in its last bit with where operands lie."""


@pytest.fixture(autouse=True, scope="module")
def _one_thread() -> Iterator[None]:
    """Tensors this small gain nothing from threads, and on a busy machine they wait for each other."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(autouse=True)
def _fresh_compiler() -> None:
    """Torch gives up compiling a function after eight versions of it."""
    torch._dynamo.reset()


def mode(config: TransformerConfig) -> str:
    return config.attention + " checkpoint" * config.checkpoint + " fused" * config.fused


PLAIN = list(zip(MODES[:4], (False, True, True, False), strict=True))
"""Both attentions with and without checkpointing, each with and without autocast."""
FUSED = list(zip(MODES[4:6], (True, False), strict=True))


def mode_and_width(value: TransformerConfig | bool) -> str:
    return mode(value) if isinstance(value, TransformerConfig) else "autocast" if value else "float32"


plain_modes = pytest.mark.parametrize(("config", "autocast"), PLAIN, ids=mode_and_width)
mixed = pytest.mark.parametrize(("config", "autocast"), [*PLAIN, *FUSED], ids=mode_and_width)


def model_of(config: TransformerConfig, *, dtype: torch.dtype = torch.float32) -> TransformerLM:
    torch.manual_seed(0)
    return TransformerLM(config, dtype=dtype)


def tokens_of(config: TransformerConfig, batch: int, length: int, *, seed: int = 0) -> Tensor:
    return torch.randint(config.vocab, (batch, length), generator=torch.Generator().manual_seed(seed))


def gradients(model: torch.nn.Module, tokens: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
    """Logits, and every parameter's gradient of the loss of predicting the tokens backwards."""
    model.zero_grad()
    logits = model(tokens)
    cross_entropy(logits, tokens.flip(1)).backward()  # type: ignore[no-untyped-call]
    found = {name: parameter.grad for name, parameter in model.named_parameters()}
    assert None not in found.values()
    return logits, taken_apart({name: grad.clone() for name, grad in found.items() if grad is not None})


def taken_apart(gradients: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """By the names of the state dict: stacked weights are several there."""
    parts = {"qkv": ("query", "key", "value"), "w13": ("w1", "w3")}
    found: dict[str, Tensor] = {}
    for name, gradient in gradients.items():
        stem, _, last = name.removesuffix(".weight").rpartition(".")
        names = [f"{stem}.{part}.weight" for part in parts[last]] if last in parts else [name]
        found |= dict(zip(names, gradient.chunk(len(names)), strict=True))
    return found


def exact_gradients(
    model: TransformerLM, tokens: Tensor, config: TransformerConfig
) -> tuple[Tensor, dict[str, Tensor]]:
    """The same by the reference, in float64 on the very weights of the model."""
    weights = {name: w.double().requires_grad_() for name, w in model.state_dict().items()}
    logits = transformer_reference(weights, tokens, config)
    found = torch.autograd.grad(cross_entropy(logits, tokens.flip(1)), list(weights.values()))
    return logits, dict(zip(weights, found, strict=True))


def assert_within(seen: Mapping[str, Tensor], exact: Mapping[str, Tensor], tolerance: float) -> None:
    assert seen.keys() == exact.keys()
    wrong = {name: largest_error(seen[name], exact[name]) for name in seen}
    assert max(wrong.values()) <= tolerance, wrong


@pytest.mark.parametrize("vocab", [10_000, 32_000])
@pytest.mark.parametrize("name", SIZES)
def test_every_size_has_the_parameters_that_it_says(name: str, vocab: int) -> None:
    config = replace(SIZES[name], vocab=vocab)
    model = TransformerLM(config, device="meta")
    assert sum(parameter.numel() for parameter in model.parameters()) == config.parameters()
    fused = TransformerLM(replace(config, fused=True), device="meta")
    assert sum(parameter.numel() for parameter in fused.parameters()) == config.parameters()
    matrices = sum(m.weight.numel() for m in model.modules() if isinstance(m, Projection))
    assert matrices == config.matmul_parameters()


@pytest.mark.parametrize("config", MODES, ids=mode)
@pytest.mark.parametrize("dtype", TOLERANCES, ids=str)
def test_logits_and_all_gradients_stay_within_the_tolerance_of_the_dtype(
    config: TransformerConfig, dtype: torch.dtype
) -> None:
    model, tokens = model_of(config, dtype=dtype), tokens_of(config, 2, 7)
    logits, seen = gradients(model, tokens)
    exact_logits, exact = exact_gradients(model, tokens, config)
    assert logits.dtype == dtype
    assert largest_error(logits, exact_logits) <= TOLERANCES[dtype]
    assert_within(seen, exact, TOLERANCES[dtype])


@settings(steady, max_examples=15)
@given(st.data())
def test_any_shape_agrees_with_the_loops(data: st.DataObject) -> None:
    heads = data.draw(st.integers(1, 3))
    config = TransformerConfig(
        vocab=data.draw(st.integers(2, 11)),
        d_model=heads * 2 * data.draw(st.integers(1, 3)),
        d_ff=data.draw(st.integers(1, 9)),
        layers=data.draw(st.integers(1, 2)),
        heads=heads,
        context=5,
        rope_theta=data.draw(st.sampled_from([10.0, 10_000.0])),
        attention=data.draw(st.sampled_from(["sdpa", "naive"])),
        checkpoint=data.draw(st.booleans()),
        fused=data.draw(st.booleans()),
    )
    model = model_of(config, dtype=torch.float64)
    tokens = tokens_of(config, data.draw(st.integers(1, 3)), data.draw(st.integers(1, 5)))
    exact = transformer_reference(model.state_dict(), tokens, config)
    torch.testing.assert_close(model(tokens), exact, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("attention", ["sdpa", "naive"])
def test_later_tokens_change_no_earlier_logits(attention: Attention) -> None:
    model = model_of(replace(TINY, attention=attention), dtype=torch.float64)
    tokens = tokens_of(TINY, 2, 9)
    changed = tokens.clone()
    changed[:, 5:] = (changed[:, 5:] + 1) % TINY.vocab
    one, other = model(tokens), model(changed)
    torch.testing.assert_close(one[:, :5], other[:, :5], rtol=1e-12, atol=1e-12)
    assert (one[:, 5:] - other[:, 5:]).abs().min(dim=-1).values.max() > 0


def test_matrices_begin_at_unit_gain_and_nothing_beyond_three_deviations() -> None:
    """A normal cut at three deviations has 0.9866 of its deviation."""
    model = model_of(replace(TINY, vocab=500, d_model=64, d_ff=160))
    for name, parameter in model.named_parameters():
        if "norm" in name:
            assert bool((parameter == 1).all())
            continue
        fan = sum(parameter.shape)
        deviation = 1.0 if name.startswith("embedding") else sqrt(2 / fan)
        assert float(parameter.detach().abs().max()) <= CUT * deviation
        assert float(parameter.detach().std()) == pytest.approx(0.9866 * deviation, rel=0.05)


@pytest.mark.parametrize("attention", ["sdpa", "naive"])
def test_checkpointing_computes_layers_twice_keeps_less_and_changes_nothing(attention: Attention) -> None:
    plain = model_of(replace(TINY, attention=attention))
    thrifty = model_of(replace(TINY, attention=attention, checkpoint=True))
    tokens = tokens_of(TINY, 2, 8)
    calls: list[int] = []
    for block in thrifty.blocks:
        block.attention_norm.register_forward_hook(lambda *_: calls.append(1))  # type: ignore[union-attr]
    with saved_storages() as all_of_it:
        plain_logits, plain_gradients = gradients(plain, tokens)
    with saved_storages() as kept:
        logits, found = gradients(thrifty, tokens)
    assert len(calls) == 2 * TINY.layers
    assert sum(one.nbytes() for one in kept.values()) < sum(one.nbytes() for one in all_of_it.values())
    assert largest_error(logits, plain_logits) <= SAME
    assert_within(found, plain_gradients, SAME)
    with torch.no_grad():
        thrifty(tokens)
    assert len(calls) == 3 * TINY.layers


@pytest.mark.parametrize("config", MODES, ids=mode)
def test_autocast_gives_narrow_logits_and_wide_gradients(config: TransformerConfig) -> None:
    model, tokens = model_of(config), tokens_of(config, 2, 7)
    exact_logits, exact = gradients(model, tokens)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        logits, seen = gradients(model, tokens)
    assert logits.dtype == torch.bfloat16
    assert {gradient.dtype for gradient in seen.values()} == {torch.float32}
    assert largest_error(logits, exact_logits) <= TOLERANCES[torch.bfloat16]
    assert_within(seen, exact, TOLERANCES[torch.bfloat16])


@mixed
def test_compiled_it_computes_the_same(config: TransformerConfig, autocast: bool) -> None:
    model, tokens = model_of(config), tokens_of(config, 2, 7)
    compiled = copy.deepcopy(model)
    compiled.compile(backend="eager")
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=autocast):
        exact_logits, exact = gradients(model, tokens)
        logits, seen = gradients(compiled, tokens)
    assert largest_error(logits, exact_logits) <= SAME
    assert_within(seen, exact, SAME)


def test_it_compiles_without_a_break() -> None:
    model, tokens = model_of(TINY), tokens_of(TINY, 2, 7)
    compiled = torch.compile(model, backend="eager", fullgraph=True)
    assert largest_error(compiled(tokens), model(tokens)) <= SAME


@pytest.mark.parametrize("config", MODES[:2], ids=mode)
def test_copies_are_the_same_model(config: TransformerConfig) -> None:
    model, tokens = model_of(config), tokens_of(config, 2, 7)
    torch.manual_seed(1)
    filled = TransformerLM(config, device="meta").to_empty(device="cpu")
    filled.load_state_dict(model.state_dict())
    for twin in (copy.deepcopy(model), pickle.loads(pickle.dumps(model)), filled):
        assert largest_error(twin(tokens), model(tokens)) <= SAME
        assert twin.config == config


def test_fused_layers_have_the_same_state() -> None:
    plain, fused = model_of(TINY), model_of(replace(TINY, fused=True))
    assert len(list(fused.parameters())) == len(list(plain.parameters())) - 3 * TINY.layers
    state = plain.state_dict()
    assert {name: one.shape for name, one in fused.state_dict().items()} == {
        name: one.shape for name, one in state.items()
    }
    torch.manual_seed(1)
    other = TransformerLM(replace(TINY, fused=True))
    tokens = tokens_of(TINY, 2, 7)
    for twin in (other, copy.deepcopy(other), pickle.loads(pickle.dumps(other))):
        twin.load_state_dict(state)
        assert largest_error(twin(tokens), plain(tokens)) <= SAME
    plain.load_state_dict(other.state_dict())
    del state["blocks.0.attention.key.weight"]
    with pytest.raises(RuntimeError, match=r"Missing key.*blocks\.0\.attention\.qkv"):
        other.load_state_dict(state)


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor")  # of dynamo's, at a layer's input
def test_layers_compile_once_for_all() -> None:
    config = replace(TINY, layers=3, fused=True)
    model, tokens = model_of(config), tokens_of(config, 2, 7)
    exact_logits, exact = gradients(model, tokens)
    counter = CompileCounter()
    model.compile_layers(backend=counter)
    logits, seen = gradients(model, tokens)
    assert counter.frame_count == 1
    assert largest_error(logits, exact_logits) <= SAME
    assert_within(seen, exact, SAME)


@pytest.mark.parametrize("config", [replace(TINY, attention="naive"), replace(TINY, layers=3, d_ff=40)])
def test_the_work_is_what_the_config_says(config: TransformerConfig) -> None:
    """Torch counts the products that it runs; the masked half of the scores is computed as well."""
    model = TransformerLM(replace(config, attention="naive"))
    with FlopCounterMode(display=False) as counter:
        model(tokens_of(config, 3, 10))
    assert counter.get_total_flops() == config.forward_flops(3, 10, causal=False)


@pytest.mark.parametrize("attention", ["sdpa", "naive"])
def test_autograd_keeps_about_what_the_config_says(attention: Attention) -> None:
    config = TransformerConfig(
        vocab=8, d_model=64, d_ff=256, layers=6, heads=4, context=64, attention=attention
    )
    model = model_of(config)
    own = {parameter.untyped_storage().data_ptr() for parameter in model.parameters()}
    with saved_storages() as kept:
        logits = model(tokens_of(config, 4, 64))
    saved = sum(storage.nbytes() for address, storage in kept.items() if address not in own)
    assert logits.requires_grad
    assert saved == pytest.approx(config.saved_bytes(4, 64, 4), rel=0.15)


@plain_modes
def test_a_step_needs_about_the_memory_that_the_config_says(
    config: TransformerConfig, autocast: bool
) -> None:
    """Too little would let a case run into the wall; too much would skip one that fits."""
    config = replace(config, vocab=150, d_model=32, d_ff=128, layers=4, context=64)
    model, tokens = model_of(config), tokens_of(config, 4, 64)
    optimizer = torch.optim.AdamW(model.parameters(), foreach=True)

    def train(*, optimize: bool) -> None:
        model.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=autocast):
            loss = cross_entropy(model(tokens), tokens)
        loss.backward()  # type: ignore[no-untyped-call]
        if optimize:
            optimizer.step()

    def infer() -> None:
        with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16, enabled=autocast):
            model(tokens)

    weights = 4 * config.parameters()
    seen = [weights + peak_bytes(infer), weights + peak_bytes(lambda: train(optimize=False))]
    train(optimize=True)
    model.zero_grad()
    seen.append(3 * weights + peak_bytes(lambda: train(optimize=True)))
    need = [
        config.memory_bytes(
            4, 64, 4, training=training, optimizer=moments, autocast_bytes=2 if autocast else None
        )
        for training, moments in [(False, False), (True, False), (True, True)]
    ]
    for there, said in zip(seen, need, strict=True):
        assert 0.75 * said < there < 1.15 * said


def test_wrong_tokens_are_told() -> None:
    model = model_of(TINY)
    tokens = tokens_of(TINY, 2, 7)
    with pytest.raises(ValueError, match=r"expected tokens of dtype torch\.int64, got torch\.int32"):
        model(tokens.int())
    with pytest.raises(ValueError, match=r"expected tokens of shape \(batch, sequence\), got \(7,\)"):
        model(tokens[0])
    with pytest.raises(ValueError, match=r"1 to 12 tokens \(the context\), got 13"):
        model(tokens_of(TINY, 2, 13))
    with pytest.raises(ValueError, match="got 0"):
        model(tokens[:, :0])
    with pytest.raises(IndexError):
        model(tokens + TINY.vocab)
