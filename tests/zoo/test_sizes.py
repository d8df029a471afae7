"""The published sizes: counts to the last parameter, work, and memory that grows as it must."""

from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepmark.zoo import sizes
from stepmark.zoo.sizes import SIZES, TransformerConfig
from tests.support.properties import steady

counts = st.integers(1, 64)


@st.composite
def configs(draw: st.DrawFn) -> TransformerConfig:
    heads = draw(st.integers(1, 8))
    return TransformerConfig(
        vocab=draw(counts),
        d_model=heads * 2 * draw(st.integers(1, 16)),
        d_ff=draw(counts),
        layers=draw(st.integers(1, 12)),
        heads=heads,
        attention=draw(st.sampled_from(["sdpa", "naive"])),
        checkpoint=draw(st.booleans()),
    )


@pytest.mark.parametrize(
    ("name", "plain", "as_run", "multiplied"),
    [
        ("small", 128_625_408, 162_417_408, 120_926_208),
        ("medium", 423_183_360, 468_239_360, 412_893_184),
        ("large", 969_411_840, 1_025_731_840, 956_518_400),
        ("xl", 1_998_235_200, 2_068_635_200, 1_982_080_000),
        ("2.7B", 3_406_809_600, 3_519_449_600, 3_381_043_200),
        ("10B", 12_832_823_808, 13_035_575_808, 12_786_278_400),
    ],
)
def test_parameters_are_those_of_the_table(name: str, plain: int, as_run: int, multiplied: int) -> None:
    """With a vocabulary of 10,000 as in the handout, and of 32,000 as the published run had it."""
    assert SIZES[name].parameters() == plain
    assert replace(SIZES[name], vocab=32_000).parameters() == as_run
    assert SIZES[name].matmul_parameters() == multiplied


def test_sizes_have_the_heads_and_vocabulary_of_the_handout() -> None:
    assert [config.head_features for config in SIZES.values()] == [64, 64, 64, 64, 80, 128]
    assert {config.vocab for config in SIZES.values()} == {10_000}


@steady
@given(configs(), counts, counts)
def test_work_is_that_of_every_token_alone_and_of_every_pair(
    config: TransformerConfig, batch: int, context: int
) -> None:
    alone = 2 * config.matmul_parameters()
    pair = 4 * config.d_model * config.layers
    seen = sum(alone + pair * (position + 1) for position in range(context))
    assert config.forward_flops(batch, context) == batch * seen
    full = batch * context * (alone + pair * context)
    assert config.forward_flops(batch, context, causal=False) == full


@steady
@given(configs(), counts, counts, st.sampled_from([2, 4, 8]), st.booleans(), st.booleans())
def test_memory_grows_with_everything_that_is_kept(
    config: TransformerConfig, batch: int, context: int, width: int, training: bool, optimizer: bool
) -> None:
    def need(config: TransformerConfig, batch: int, context: int, width: int) -> int:
        return config.memory_bytes(batch, context, width, training=training, optimizer=optimizer)

    least = need(config, batch, context, width)
    assert least > config.parameters() * width
    assert need(config, batch + 1, context, width) >= least
    assert need(config, batch, context + 1, width) >= least
    assert need(config, batch, context, 2 * width) == 2 * least
    assert need(replace(config, attention="naive"), batch, context, width) >= least


@steady
@given(configs(), counts, counts)
def test_training_needs_more_than_inference_and_an_optimizer_two_moments_more(
    config: TransformerConfig, batch: int, context: int
) -> None:
    inference = config.memory_bytes(batch, context, 4, training=False, optimizer=False)
    plain = config.memory_bytes(batch, context, 4, training=True, optimizer=False)
    adam = config.memory_bytes(batch, context, 4, training=True, optimizer=True)
    assert inference < plain
    assert adam >= plain + 2 * 4 * config.parameters()


@steady
@given(configs(), counts, counts)
def test_checkpointing_keeps_the_input_of_every_layer_only(
    config: TransformerConfig, batch: int, context: int
) -> None:
    plain, thrifty = replace(config, checkpoint=False), replace(config, checkpoint=True)
    assert thrifty.saved_bytes(batch, context, 4) == 4 * batch * context * config.d_model * config.layers
    assert thrifty.saved_bytes(batch, context, 4) < plain.saved_bytes(batch, context, 4)


@pytest.mark.parametrize(("context", "mebibytes"), [(128, 5), (256, 10), (512, 20)])
def test_the_residual_stream_of_the_2_7b_is_as_large_as_the_handout_says(
    context: int, mebibytes: int
) -> None:
    thrifty = replace(SIZES["2.7B"], checkpoint=True)
    assert thrifty.saved_bytes(4, context, 4) == thrifty.layers * mebibytes * 2**20


def test_autocast_halves_what_products_keep_and_adds_copies_of_the_weights() -> None:
    config = SIZES["small"]
    plain, mixed = config.saved_bytes(4, 512, 4), config.saved_bytes(4, 512, 4, autocast_bytes=2)
    assert plain / 2 < mixed < plain
    inference = config.memory_bytes(1, 1, 4, training=False, optimizer=False, autocast_bytes=2)
    assert inference > 4 * config.parameters() + 2 * config.matmul_parameters()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"layers": 0}, "expected layers of at least 1, got 0"),
        ({"vocab": -1}, "expected vocab of at least 1, got -1"),
        ({"heads": 5}, "got d_model 768 and 5 heads"),
        ({"d_model": 36}, "an even number .* got d_model 36 and 12 heads"),
        ({"rope_theta": 0.0}, "positive rope_theta, got 0.0"),
        ({"attention": "flash"}, "expected attention 'sdpa' or 'naive', got 'flash'"),
    ],
)
def test_a_shape_that_cannot_be_is_told_so(wrong: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(SIZES["small"], **wrong)  # type: ignore[arg-type]


def test_predictions_need_no_torch() -> None:
    nodes = list(ast.walk(ast.parse(Path(sizes.__file__).read_text())))
    plain = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    named = {node.module for node in nodes if isinstance(node, ast.ImportFrom)}
    assert plain | named == {"__future__", "dataclasses", "typing"}
