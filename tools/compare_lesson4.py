#!/usr/bin/env python3
"""Lesson 4's recipe in PyTorch, for a loss and a time to set beside ./lesson4 --full.

    python3 tools/compare_lesson4.py tinyshakespeare.txt --seeds 1337 1 2

The model, optimiser groups and schedule are those that nanoGPT publishes for a laptop (4 layers, 4 heads, width 128,
context 64, batch 12, 2000 steps, no dropout, no biases); with --in-proj-std 0.02 the first weights too. Two estimates of
the validation loss are printed: over the whole validation text, as the lesson does, and over 20 random batches, as
nanoGPT does; of the latter also the lowest of 100, for that is the luck a quoted number may hold.
"""
import argparse
import math
import time

import torch
import torch.nn.functional as F
from torch import nn

LAYERS, HEADS, WIDTH, CONTEXT, BATCH, STEPS, WARMUP = 4, 4, 128, 64, 12, 2000, 100


class Block(nn.Module):
    def __init__(self, bias):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(WIDTH, bias=bias), nn.LayerNorm(WIDTH, bias=bias)
        self.qkv, self.proj = nn.Linear(WIDTH, 3 * WIDTH, bias=bias), nn.Linear(WIDTH, WIDTH, bias=bias)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH, bias=bias), nn.Linear(4 * WIDTH, WIDTH, bias=bias)

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = (z.view(b, t, HEADS, -1).transpose(1, 2) for z in self.qkv(self.ln1(x)).split(WIDTH, dim=2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(y.transpose(1, 2).reshape(b, t, WIDTH))
        return x + self.down(F.gelu(self.up(self.ln2(x))))


class Gpt(nn.Module):
    def __init__(self, vocab, bias, in_proj_std):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocab, WIDTH), nn.Embedding(CONTEXT, WIDTH)
        self.blocks = nn.ModuleList(Block(bias) for _ in range(LAYERS))
        self.ln = nn.LayerNorm(WIDTH, bias=bias)
        for name, p in self.named_parameters():
            if p.dim() == 2:
                std = in_proj_std if name.startswith("blocks.") else 0.02
                residual = name.endswith(("proj.weight", "down.weight"))
                nn.init.normal_(p, std=std / math.sqrt(2 * LAYERS) if residual else std)
            elif name.endswith("bias"):
                nn.init.zeros_(p)

    def forward(self, x):
        h = self.wte(x) + self.wpe.weight[: x.shape[1]]
        for block in self.blocks:
            h = block(h)
        return F.linear(self.ln(h), self.wte.weight)


def learning_rate(step):
    if step < WARMUP:
        return 1e-3 * (step + 1) / (WARMUP + 1)
    return 1e-4 + 0.5 * (1 + math.cos(math.pi * (step - WARMUP) / (STEPS - WARMUP))) * 9e-4


def batch(data, size):
    at = torch.randint(len(data) - CONTEXT, (size,))
    return (torch.stack([data[i : i + CONTEXT] for i in at]), torch.stack([data[i + 1 : i + CONTEXT + 1] for i in at]))


def loss_of(model, x, y):
    return F.cross_entropy(model(x).flatten(0, 1), y.flatten())


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
    plain = Gpt(vocab, bias, in_proj_std)
    model = torch.compile(plain) if compiled else plain
    matrices = [p for p in plain.parameters() if p.dim() >= 2]
    rest = [p for p in plain.parameters() if p.dim() < 2]
    groups = [{"params": matrices, "weight_decay": 0.1}, {"params": rest, "weight_decay": 0.0}]
    adamw = torch.optim.AdamW(groups, lr=1e-3, betas=(0.9, 0.99), fused=True)
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
    options.add_argument("--in-proj-std", type=float, default=WIDTH**-0.5, help="deviation of the first qkv and up weights")
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
