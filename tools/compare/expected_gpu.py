"""What GPT-2 124M can be expected to reach on a GPU, from counts of bytes, operations and kernels. Prints Markdown.

    python3 tools/compare/expected_gpu.py [--kernels-per-token N] [--copy 3.02e12 --tensor 818e12]

Nothing is measured here: the rates below are published or measured ones for an H200 (in the call above those of an
H100), and the shares that a kernel reaches are assumptions that stand beside them. tools/bench_gpu.sh measures the same
rows on a card.
"""
import argparse

COPY = 4.3e12  # bytes/s of a copy, read and written
TENSOR = 788e12  # bf16 FLOP/s of a product 8192 x 8192 x 8192
NODE = 2.3e-6  # s from one kernel of a graph to the next that waits for it: 1.3 launch, 1.0 to empty and fill the card
GEMM = 0.80  # share of TENSOR that products with 768 rows or columns reach
ATTENTION = {"forward": 210e12, "backward": 170e12}  # FLOP/s of mma.sync, causal, heads of 64, T = 1024
STREAM = 0.85  # share of COPY that memory-bound kernels reach
KV = 0.80  # share of COPY that reading keys and values reaches

C, LAYERS, VOCABULARY, CONTEXT = 768, 12, 50304, 1024
BLOCKS = 12 * LAYERS * C * C  # weights of the matrix products in the blocks
HEAD = VOCABULARY * C
PARAMETERS = BLOCKS + LAYERS * 13 * C + HEAD + CONTEXT * C + 2 * C


def training(batch):
    """Rows (part, seconds, term) of a training step: bf16, f32 gradients and masters, AdamW."""
    tokens = batch * CONTEXT
    pairs = batch * C * CONTEXT * CONTEXT / 2  # heads x pairs of positions x head size
    flops = 4 * pairs * LAYERS
    layer = tokens * C  # elements of one activation of the residual stream
    # A norm that adds: two inputs read, sum and result written, 8 bytes per element; backward x, dy and the gradient of
    # the sum read, dx written, 8. The first norm adds nothing; the sum that the last one adds has no other reader.
    norms = LAYERS * layer * 2 * (8 + 8) + layer * (8 + 6 - 4)
    embedding = layer * (6 + 8)
    logits = tokens * VOCABULARY * 2
    return [
        ("matrix products", 6 * (BLOCKS + HEAD) * tokens / (GEMM * TENSOR), "tensor cores"),
        ("attention, forward", flops / ATTENTION["forward"], "tensor cores"),
        ("attention, backward", 2.5 * flops / ATTENTION["backward"], "tensor cores"),
        ("norms, sums, embedding", (norms + embedding) / (STREAM * COPY), "memory"),
        ("cross-entropy, logits read and written once", 2 * logits / (STREAM * COPY), "memory"),
        ("norm of the gradients and AdamW, 34 bytes a weight", 34 * PARAMETERS / (STREAM * COPY), "memory"),
        ("about 340 kernels, 26 of each layer", 340 * NODE, "launches"),
    ]


def decoding(rows, context, kernels):
    """Rows of one token for each of `rows` sequences with `context` tokens in the cache."""
    weights = 2 * (BLOCKS + HEAD)
    reading, computing = weights / (STREAM * COPY), 2 * (BLOCKS + HEAD) * rows / (GEMM * TENSOR)
    cache = rows * context * 2 * LAYERS * C * 2
    logits = 3 * rows * VOCABULARY * 2  # written, read by the choice and by its log-probability
    return [
        ("weights", reading, "memory") if reading > computing else ("matrix products", computing, "tensor cores"),
        ("keys and values", cache / (KV * COPY), "memory"),
        ("logits", logits / (STREAM * COPY), "memory"),
        (f"{kernels} kernels", kernels * NODE, "launches"),
    ]


def table(title, rows, tokens, goal):
    total = sum(seconds for _, seconds, _ in rows)
    unit, scale = ("ms", 1e3) if total > 10e-3 else ("µs", 1e6)
    print(f"**{title}**\n")
    print(f"| part | {unit} | bound by |\n|---|---|---|")
    for name, seconds, term in rows:
        print(f"| {name} | {seconds * scale:.{1 if scale == 1e3 else 0}f} | {term} |")
    most = max(rows, key=lambda row: row[1])
    print(f"| together | {total * scale:.{1 if scale == 1e3 else 0}f} | mostly: {most[0]} |\n")
    print(f"Expected {tokens / total / 1e3:.3g}k tokens/s; goal {goal}.\n")


def main():
    global COPY, TENSOR
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernels-per-token", type=int, help="of a decoding step (default: 65 for up to 8 rows, 90 for more)")
    parser.add_argument("--copy", type=float, default=COPY, help="bytes/s of a copy, read and written")
    parser.add_argument("--tensor", type=float, default=TENSOR, help="FLOP/s of a product of bf16, 8192 x 8192 x 8192")
    options = parser.parse_args()
    COPY, TENSOR, given = options.copy, options.tensor, options.kernels_per_token
    table("Training, 64 x 1024 tokens", training(64), 64 * CONTEXT, "600k")
    for rows, context, goal in (1, 512, "5k"), (64, 512, "110k"), (1024, 128, "400k"):
        kernels = given or (65 if rows <= 8 else 90)  # sums and norms are part of the products of a few rows
        table(f"Decoding, {rows} rows, {context} tokens in the cache", decoding(rows, context, kernels), rows, goal)


if __name__ == "__main__":
    main()
