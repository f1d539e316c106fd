"""What a model of links and memory expects of training a GPT on many GPUs. It measures nothing.

    python3 tools/compare/scale.py [--params 124M,1.5B,7B] [--gpus 8..1024] [--zero auto]

It prints, for each model and number of GPUs, tokens per second of all GPUs, the time of a step, how much of it a GPU
waits for gradients and weights beside no computing, the memory of a GPU, the share of the step that computes, and what
binds it. Every number of the hardware and of the step is an option (--help). The defaults are H100 in nodes of 8:
NVLink at the bandwidth that NCCL's rings reach, and a 400 Gb/s adapter for each GPU.

Time: 6 FLOP per parameter and token (8 with --checkpoint-blocks), and AdamW with 30 bytes of memory traffic per
parameter of the GPU's shard, at 3 TB/s. A message of S bytes takes α + S/β seconds (Hockney 1994), so a reduce-scatter
or an all-gather in a ring of n GPUs takes (n - 1)·α + (n - 1)/n·S/β: first inside the nodes, then among GPUs of equal
place in all nodes, each with its part. An all-reduce takes twice as long. Backward hides the sending beside it, except
for the last piece, which is the embedding. Links have no other traffic.
Memory: 18 bytes per parameter (bf16 weights, f32 gradients, f32 masters and two moments), which the stages of ZeRO
share out (Rajbhandari et al. 2020), and activations in bf16 (Korthikanti et al. 2022).
"""
import argparse
import math
import types

VOCABULARY = 50257
WEIGHTS, GRADIENTS, OPTIMIZER = 2, 4, 12  # bytes per parameter
# Layers and width of GPT-2 in its four sizes, then of Llama's 7, 13 and 70 billions.
KNOWN = [(12, 768), (24, 1024), (36, 1280), (48, 1600), (32, 4096), (40, 5120), (80, 8192)]


def parameters_of(layers, width):
    """12·L·d² of the blocks, and the embedding."""
    return 12 * layers * width * width + VOCABULARY * width


def shape_of(parameters):
    """(layers, width) of a GPT with this many parameters: those of the nearest known model, both times one factor."""
    layers, width = min(KNOWN, key=lambda known: abs(math.log(parameters_of(*known) / parameters)))
    low, high = 0.0, 100.0
    for _ in range(100):  # bisection
        factor = (low + high) / 2
        low, high = (factor, high) if parameters_of(layers * factor, width * factor) < parameters else (low, factor)
    return layers * low, width * low


def ring_seconds(alpha, beta, size, gpus):
    """Seconds of a reduce-scatter or an all-gather of `size` bytes in one ring; alpha in µs, beta in GB/s."""
    return (gpus - 1) * alpha * 1e-6 + (gpus - 1) / gpus * size / (beta * 1e9)


def scatter_seconds(o, size, gpus):
    """Seconds of the same in the nodes and then among them."""
    inner = min(gpus, o.per_node)
    return (ring_seconds(o.node_latency, o.node_bandwidth, size, inner)
            + ring_seconds(o.network_latency, o.network_bandwidth, size / inner, math.ceil(gpus / inner)))


def step_of(o, parameters, gpus, zero):
    """The step of one GPU: seconds, bytes, tokens per second of all GPUs, and what binds it."""
    layers, width = shape_of(parameters)
    tokens, flops = o.batch * o.context, o.tflops * 1e12
    forward = 2 * parameters * tokens / flops
    backward = (3 if o.checkpoint_blocks else 2) * forward
    compute = o.accumulate * (forward + backward)
    update = 30 * parameters / (gpus if zero >= 1 else 1) / 3e12

    sends = []  # seconds of a collective, of its last piece, and of the computing beside it
    embedding = min(1.0, VOCABULARY * width / parameters)
    reduce, last, gather = (scatter_seconds(o, size, gpus) for size in (
        GRADIENTS * parameters, embedding * GRADIENTS * parameters, WEIGHTS * parameters))
    if gpus > 1 and zero == 0:
        sends = [(2 * reduce, 2 * last, backward)]
    elif gpus > 1 and zero < 3:
        # From stage 2 on no GPU can keep all gradients, so each micro-batch is reduced. Weights follow the update.
        sends = [(reduce, last, backward)] * (1 if zero == 1 else o.accumulate) + [(gather, gather, 0)]
    elif gpus > 1:  # weights are gathered block by block, in forward and again in backward
        block = (1 - embedding) / layers
        sends = [(gather, block * gather, forward), (gather + reduce, last, backward)] * o.accumulate
    waits = sum(max(seconds - beside, piece) if o.overlap else seconds for seconds, piece, beside in sends)

    shares = zip((WEIGHTS, GRADIENTS, OPTIMIZER), (3, 2, 1))
    state = parameters * sum(size / gpus if zero >= stage else size for size, stage in shares)
    block = 34 * width * tokens  # bytes of a block's activations; attention keeps no T × T
    kept = 2 * layers * width * tokens + block if o.checkpoint_blocks else layers * block
    memory = state + kept + 4 * VOCABULARY * tokens  # with the logits and their gradient
    bound = max((compute, "compute"), (waits, "network"), (update, "optimizer"), key=lambda part: part[0])[1]
    seconds = compute + waits + update
    return types.SimpleNamespace(
        seconds=seconds, waits=waits, memory=memory, efficiency=compute / seconds,
        rate=gpus * o.accumulate * tokens / seconds, bound="memory" if memory > o.memory * 1e9 else bound)


def parameter_counts(text):
    """[("124M", 124e6), ("1.5B", 1.5e9)] of "124M,1.5B"."""
    units = {"M": 1e6, "B": 1e9}
    counts = [(part, float(part[:-1]) * units[part[-1]] if part[-1:] in units else float(part))
              for part in text.split(",")]
    if not all(1e6 <= number <= 1e14 for _, number in counts):
        raise argparse.ArgumentTypeError(f"expected numbers from 1M to 100000B, got {text}")
    return counts


def gpu_counts(text):
    """[8, 16, 64] of "8,16,64", and [8, 16, 32, 64] of "8..64"."""
    counts = []
    for part in text.split(","):
        first, last = map(int, part.split("..") if ".." in part else (part, part))
        if not 1 <= first <= last:
            raise argparse.ArgumentTypeError(f"expected numbers such as 8,64 or 8..1024, got {text}")
        while first <= last:
            counts.append(first)
            first *= 2
    return counts


def options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0],
                                     formatter_class=argparse.ArgumentDefaultsHelpFormatter)

    def add(name, default, text, **kind):
        parser.add_argument("--" + name, default=default, help=text, **(kind or {"type": type(default)}))

    switch = argparse.BooleanOptionalAction
    add("params", "124M,1.5B,7B", "numbers of parameters: 124M,1.5B", type=parameter_counts)
    add("gpus", "8..1024", "numbers of GPUs: 8,64, or 8..1024 in powers of two", type=gpu_counts)
    add("zero", "auto", "ZeRO stage; auto: the lowest that fits", choices=["auto", "0", "1", "2", "3"])
    add("batch", 8, "sequences in a micro-batch of one GPU")
    add("context", 1024, "tokens of a sequence")
    add("accumulate", 1, "micro-batches of one GPU in a step")
    add("overlap", True, "gradients are sent while backward computes", action=switch)
    add("checkpoint-blocks", False, "activations of blocks are computed again in backward", action=switch)
    add("per-node", 8, "GPUs of a node")
    add("tflops", 400.0, "10^12 operations per second that a GPU reaches in training")
    add("memory", 80.0, "GB of a GPU")
    add("node-bandwidth", 370.0, "GB/s of a GPU inside its node, as NCCL's rings reach it")
    add("node-latency", 5.0, "µs of a message there")
    add("network-bandwidth", 48.0, "GB/s of a GPU between nodes")
    add("network-latency", 10.0, "µs of a message there")
    o = parser.parse_args()
    for name, value in vars(o).items():
        if type(value) in (int, float) and not (0 < value < math.inf or (value == 0 and name.endswith("latency"))):
            parser.error(f"--{name.replace('_', '-')} is out of range: {value}")
    return o


def main():
    o = options()
    print(f"A model, not a measurement: {o.tflops:g} TFLOP/s and {o.memory:g} GB a GPU, {o.node_bandwidth:g} GB/s in a "
          f"node of {o.per_node}, {o.network_bandwidth:g} GB/s between nodes.\n"
          f"A step of a GPU: {o.accumulate} micro-batch{'' if o.accumulate == 1 else 'es'} of {o.batch} sequences of "
          f"{o.context} tokens{'; gradients are sent during backward' if o.overlap else ''}.\n"
          "Waits: for gradients and weights, beside no computing. Efficiency: the share of the step that computes.\n")
    print("  params   GPUs  ZeRO     tokens/s    step, ms waits, ms  GB a GPU efficiency    bound by")
    for name, parameters in o.params:
        for gpus in o.gpus:
            for zero in range(4) if o.zero == "auto" else [int(o.zero)]:
                s = step_of(o, parameters, gpus, zero)
                if s.bound != "memory":
                    break
            print(f"{name:>8} {gpus:>6} {zero:>5} {s.rate:>12.0f} {1e3 * s.seconds:>11.1f} {1e3 * s.waits:>9.1f} "
                  f"{s.memory / 1e9:>9.1f} {100 * s.efficiency:>8.1f} % {s.bound:>11}")


if __name__ == "__main__":
    main()
