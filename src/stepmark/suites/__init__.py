"""The suites that come with stepmark: `stepmark run NAME`."""

BUILTIN = {
    "demo": "a dense layer, its twin, a low-rank one and a normed one: what verdicts look like, in a minute",
    "fragmented": "FragmentedLinear against nn.Linear over features, batch and fragments",
    "switchback": "SwitchBack int8 linears, operation by operation and as layers",
    "transformer": "language models forward and backward: attention, precision, compilation, checkpointing",
    "lora": "LoRA layers: forward, gradients, training steps, ranks, lazy against eager",
    "operations": "softmax and norms: chains of operations against kernels",
    "optimizer": "AdamW steps: readable, plain, over lists, fused",
    "precision": "mixed precision in a block of layers, and accumulators",
}
"""Name and one line about each; the suite itself is the module of that name, imported in workers only."""
