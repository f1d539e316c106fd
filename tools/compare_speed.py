#!/usr/bin/env python3
"""Steps of PyTorch on the CPU beside those of `pg bench`, in turns: A B A B.

    python3 tools/compare_speed.py [--only lesson4] [--rounds 3] [--compile] [--threads 2] [--pg ./pg]

PyTorch runs eager, with --compile also compiled; fused AdamW, scaled dot product attention, a preallocated KV cache,
inputs made beforehand. Each line shows the median of the rounds. Variables that hold a BLAS back are unset first.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time

HELD_BACK = ("OPENBLAS_CORETYPE", "MKL_ENABLE_INSTRUCTIONS", "MKL_DEBUG_CPU_TYPE", "ONEDNN_MAX_CPU_ISA",
             "DNNL_MAX_CPU_ISA", "ATEN_CPU_CAPABILITY", "NVPL_BLAS_DEBUG_CPU_TYPE")
if any(name in os.environ for name in HELD_BACK):
    os.execve(sys.executable, [sys.executable, *sys.argv], {k: v for k, v in os.environ.items() if k not in HELD_BACK})

import torch
import torch.nn.functional as F
from torch import nn
from torch_gpt import Config, Gpt, loss_of

SMALL = Config()
MIDDLE = Config(layers=6, heads=6, width=384, context=256)


def large(context):
    return Config(vocab=50257, layers=12, heads=12, width=768, context=context)


def timed(f, seconds=2.0):
    f()
    f()
    times = []
    while sum(times) < seconds and len(times) < 20000:
        start = time.perf_counter()
        f()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def train(config, rows, compiled):
    plain = Gpt(config)
    model = torch.compile(plain) if compiled else plain
    adamw = plain.adamw(1e-3)
    x, y = torch.randint(config.vocab, (2, rows, config.context))

    def step():
        adamw.zero_grad(set_to_none=True)
        loss_of(model, x, y).backward()
        nn.utils.clip_grad_norm_(plain.parameters(), 1.0)
        adamw.step()

    return timed(step)


def mlp(rows, update, compiled):
    plain = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 2))
    model = torch.compile(plain) if compiled else plain
    x, y = torch.randn(rows, 4), torch.randint(2, (rows,))
    if not update:
        with torch.inference_mode():
            return timed(lambda: model(x), 0.5)
    adam = torch.optim.Adam(plain.parameters(), lr=1e-3, fused=True)

    def step():
        adam.zero_grad(set_to_none=True)
        F.cross_entropy(model(x), y).backward()
        adam.step()

    return timed(step, 0.5)


@torch.inference_mode()
def decode(compiled):
    del compiled
    config, prompt, tokens = large(128), 64, 32
    model = Gpt(config).eval()
    caches = [torch.zeros(2, 1, config.heads, config.context, config.width // config.heads) for _ in model.blocks]

    def run():
        start = time.perf_counter()
        ids = model(torch.full((1, prompt), 11), caches).argmax(-1)
        first = time.perf_counter()
        for i in range(tokens):
            probabilities = F.softmax(model(ids, caches, prompt + i)[:, -1], dim=-1)
            ids = torch.multinomial(probabilities, 1)
        return first - start, time.perf_counter() - first

    run()
    return statistics.median(run()[1] for _ in range(3)) / tokens


def adamw(compiled):
    del compiled
    p = torch.zeros(124439808, requires_grad=True)
    p.grad = torch.ones_like(p)
    optimizer = torch.optim.AdamW([p], fused=True)
    return timed(optimizer.step)


# name: PyTorch's time of a step in seconds, the filter of `pg bench`, which of its lines
CASES = {
    "lesson4": (lambda c: train(SMALL, 12, c), "train lesson 4", "step"),
    "384": (lambda c: train(MIDDLE, 4, c), "384 wide, 4 x 256", "step"),
    "124M-64": (lambda c: train(large(64), 4, c), "124M, 4 x 64", "step"),
    "124M-256": (lambda c: train(large(256), 4, c), "124M, 4 x 256", "step"),
    "mlp-update": (lambda c: mlp(32, True, c), "mlp", "update"),
    "mlp-act": (lambda c: mlp(1, False, c), "mlp", "logits"),
    "adamw": (adamw, "124M parameters", "step"),
    "decode": (decode, "decode 124M", "token"),
}


def ours(pg, filter_, what, threads):
    command = [pg, "bench", "--large", "--json", "--filter", filter_, "--threads", str(threads), "--repeat", "5"]
    entries = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["entries"]
    return next(e["seconds"] for e in entries if e["what"] == what)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--only", choices=CASES, nargs="+", default=list(CASES))
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--threads", type=int, default=os.cpu_count())
    options.add_argument("--compile", action="store_true", help="also torch.compile")
    options.add_argument("--pg", default="./pg")
    given = options.parse_args()
    torch.set_num_threads(given.threads)
    print(f"PyTorch {torch.__version__}, kernels for {torch.backends.cpu.get_cpu_capability()}, {given.threads} threads")
    for name in given.only:
        torch_step, filter_, what = CASES[name]
        rivals = {"eager": []} | ({"compiled": []} if given.compile else {})
        mine = []
        for _ in range(given.rounds):
            for kind, times in rivals.items():
                times.append(torch_step(kind == "compiled"))
            mine.append(ours(given.pg, filter_, what, given.threads))
        own = statistics.median(mine)
        line = f"{name:<11} policygrad {own * 1e3:10.4f} ms"
        for kind, times in rivals.items():
            rival = statistics.median(times)
            line += f"   PyTorch {kind} {rival * 1e3:10.4f} ms, {rival / own:5.2f} x"
        print(line, flush=True)


if __name__ == "__main__":
    main()
