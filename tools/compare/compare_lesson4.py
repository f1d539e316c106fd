#!/usr/bin/env python3
"""Lesson 4's recipe in PyTorch, for a loss and a time to set beside ./lesson4 --full.

    python3 tools/compare/compare_lesson4.py tinyshakespeare.txt --seeds 1337 1 2

The model, optimiser groups and schedule are those that nanoGPT publishes for a laptop (4 layers, 4 heads, width 128,
context 64, batch 12, 2000 steps, no dropout, no biases); with --in-proj-std 0.02 the first weights too. Two estimates of
the validation loss are printed: over the whole validation text, as the lesson does, and over 20 random batches, as
nanoGPT does; of the latter also the lowest of 100, for that is the luck a quoted number may hold.
"""
import argparse
import math
import time

import torch
from torch import nn
from torch_gpt import Config, Gpt, loss_of

CONTEXT, BATCH, STEPS, WARMUP = 64, 12, 2000, 100


def learning_rate(step):
    if step < WARMUP:
        return 1e-3 * (step + 1) / (WARMUP + 1)
    return 1e-4 + 0.5 * (1 + math.cos(math.pi * (step - WARMUP) / (STEPS - WARMUP))) * 9e-4


def batch(data, size):
    at = torch.randint(len(data) - CONTEXT, (size,))
    return (torch.stack([data[i : i + CONTEXT] for i in at]), torch.stack([data[i + 1 : i + CONTEXT + 1] for i in at]))


@torch.no_grad()
def whole(model, data):
    rows = (len(data) - 1) // CONTEXT
    x, y = data[: rows * CONTEXT].view(rows, CONTEXT), data[1 : rows * CONTEXT + 1].view(rows, CONTEXT)
    return sum(loss_of(model, a, b).item() * len(a) for a, b in zip(x.split(64), y.split(64))) / rows


@torch.no_grad()
def random_batches(model, data):
    return sum(loss_of(model, *batch(data, BATCH)).item() for _ in range(20)) / 20


def run(seed, train, val, vocab, bias, in_proj_std, compiled):
    torch.manual_seed(seed)
    plain = Gpt(Config(vocab=vocab, bias=bias, in_proj_std=in_proj_std))
    model = torch.compile(plain) if compiled else plain
    adamw = plain.adamw(1e-3, betas=(0.9, 0.99))
    start = time.perf_counter()
    for step in range(STEPS):
        for group in adamw.param_groups:
            group["lr"] = learning_rate(step)
        loss = loss_of(model, *batch(train, BATCH))
        adamw.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(plain.parameters(), 1.0)
        adamw.step()
    seconds = time.perf_counter() - start
    estimates = [random_batches(plain, val) for _ in range(100)]
    print(f"seed {seed}: validation loss {whole(plain, val):.4f} over the whole text; over 20 random batches "
          f"{sum(estimates) / 100:.4f} on average, {min(estimates):.4f} at the luckiest of 100; "
          f"{1e3 * seconds / STEPS:.1f} ms a step", flush=True)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("text")
    options.add_argument("--seeds", type=int, nargs="+", default=[1337])
    options.add_argument("--threads", type=int, default=torch.get_num_threads())
    options.add_argument("--in-proj-std", type=float, default=128**-0.5, help="deviation of the first qkv and up weights")
    options.add_argument("--bias", action="store_true", help="biases in linear layers and layer norms, as in GPT-2")
    options.add_argument("--compile", action="store_true", help="torch.compile the model")
    given = options.parse_args()
    torch.set_num_threads(given.threads)
    with open(given.text, encoding="utf-8") as file:
        text = file.read()
    ids = {c: i for i, c in enumerate(sorted(set(text)))}
    data = torch.tensor([ids[c] for c in text])
    split = int(0.9 * len(data))
    print(f"PyTorch {torch.__version__}, {torch.backends.cpu.get_cpu_capability()}, {given.threads} threads", flush=True)
    for seed in given.seeds:
        run(seed, data[:split], data[split:], len(ids), given.bias, given.in_proj_std, given.compile)


if __name__ == "__main__":
    main()
