"""A 2-layer GPT-2 in plain PyTorch: logits, loss, every gradient by name, and ten AdamW steps.

GPT-2's names; Linear weights are stored [out, in], as our modules hold them (the released files have [in, out]).
Weights are exact in float32, so one file serves both precisions: expected values are float64.

The gradient of the key third of c_attn.bias is zero by mathematics (a shift common to all scores of a query leaves the
softmax as it is); what arrives is rounding noise of about 1e-9 in float32. AdamW divides by sqrt(v) + eps, so with
eps 1e-8 that noise becomes a step of its own (1e-3 relative in c_attn.bias after ten steps, PyTorch against itself);
with eps 1e-5 it stays 1e-6. Every other gradient is far above eps. Run this file to see the table.
"""

import json
import math

import numpy as np
import torch
import torch.nn.functional as F

CONFIG = {"vocab_size": 65, "n_positions": 16, "n_embd": 32, "n_layer": 2, "n_head": 4, "layer_norm_epsilon": 1e-5}
OPTIMIZER = {"steps": 10, "lr": 1e-3, "betas": [0.9, 0.95], "eps": 1e-5, "weight_decay": 0.1, "max_norm": 1.0}
BATCH = 3


def make_weights(random):
    """Every bias and every layernorm weight is random too: a swapped pair or a lost bias changes the numbers."""
    c = CONFIG["n_embd"]

    def normal(*shape, mean=0.0, std=0.2):
        return torch.from_numpy(random.normal(mean, std, shape).astype(np.float32))

    w = {"wte.weight": normal(CONFIG["vocab_size"], c), "wpe.weight": normal(CONFIG["n_positions"], c)}

    def norm(name):
        w[f"{name}.weight"], w[f"{name}.bias"] = normal(c, mean=1.0), normal(c)

    def linear(name, n_in, n_out):
        w[f"{name}.weight"], w[f"{name}.bias"] = normal(n_out, n_in), normal(n_out)

    for i in range(CONFIG["n_layer"]):
        norm(f"h.{i}.ln_1")
        linear(f"h.{i}.attn.c_attn", c, 3 * c)
        linear(f"h.{i}.attn.c_proj", c, c)
        norm(f"h.{i}.ln_2")
        linear(f"h.{i}.mlp.c_fc", c, 4 * c)
        linear(f"h.{i}.mlp.c_proj", 4 * c, c)
    norm("ln_f")
    return w


def forward(w, ids):
    """ids [B,T] -> logits [B,T,V]. Pre-LN, tanh GELU, learned positions, output head tied to wte."""
    (b, t), c, heads = ids.shape, CONFIG["n_embd"], CONFIG["n_head"]
    linear = lambda x, name: F.linear(x, w[f"{name}.weight"], w[f"{name}.bias"])
    norm = lambda x, name: F.layer_norm(x, (c,), w[f"{name}.weight"], w[f"{name}.bias"], CONFIG["layer_norm_epsilon"])
    x = w["wte.weight"][ids] + w["wpe.weight"][:t]
    hidden_future = torch.ones(t, t, dtype=torch.bool).triu(1)
    for i in range(CONFIG["n_layer"]):
        qkv = linear(norm(x, f"h.{i}.ln_1"), f"h.{i}.attn.c_attn")
        q, k, v = (z.view(b, t, heads, c // heads).transpose(1, 2) for z in qkv.split(c, dim=-1))
        p = (q @ k.mT / math.sqrt(c // heads)).masked_fill(hidden_future, -math.inf).softmax(-1)
        x = x + linear((p @ v).transpose(1, 2).reshape(b, t, c), f"h.{i}.attn.c_proj")
        x = x + linear(F.gelu(linear(norm(x, f"h.{i}.ln_2"), f"h.{i}.mlp.c_fc"), approximate="tanh"),
                       f"h.{i}.mlp.c_proj")
    return norm(x, "ln_f") @ w["wte.weight"].T


def run(weights, ids, targets, dtype):
    """Tensors of ten training steps on one batch: logits, loss and grad.* are those of the first."""
    w = {name: x.to(dtype).requires_grad_() for name, x in weights.items()}
    groups = [{"params": [x for x in w.values() if x.dim() == 2], "weight_decay": OPTIMIZER["weight_decay"]},
              {"params": [x for x in w.values() if x.dim() < 2], "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, OPTIMIZER["lr"], tuple(OPTIMIZER["betas"]), OPTIMIZER["eps"])
    result, losses, norms = {}, [], []
    for step in range(OPTIMIZER["steps"]):
        optimizer.zero_grad()
        logits = forward(w, ids)
        loss = F.cross_entropy(logits.view(-1, logits.shape[-1]), targets.view(-1))
        loss.backward()
        if step == 0:
            result["logits"], result["loss"] = logits.detach(), loss.detach()
            result.update({f"grad.{name}": x.grad.clone() for name, x in w.items()})
        norms.append(torch.nn.utils.clip_grad_norm_(w.values(), OPTIMIZER["max_norm"]))
        losses.append(loss.detach())
        optimizer.step()
    result.update({f"step10.{name}": x.detach() for name, x in w.items()})
    return result | {"losses": torch.stack(losses), "grad_norms": torch.stack(norms)}


def inputs():
    random = np.random.Generator(np.random.PCG64(2))
    shape = (BATCH, CONFIG["n_positions"])
    ids, targets = (torch.from_numpy(random.integers(0, CONFIG["vocab_size"], shape)) for _ in range(2))
    return make_weights(random), ids, targets


def make_gpt2():
    """(tensors, metadata) of tests/goldens/gpt2/gpt2.safetensors."""
    weights, ids, targets = inputs()
    tensors = {**weights, "ids": ids.int(), "targets": targets.int(), **run(weights, ids, targets, torch.float64)}
    return tensors, {"op": "gpt2", "attributes": json.dumps(CONFIG | OPTIMIZER),
                     "torch": torch.__version__.split("+")[0]}


def compare_precisions():
    """How far PyTorch's own float32 run is from float64: what a float32 implementation can attain."""
    weights, ids, targets = inputs()
    exact, single = (run(weights, ids, targets, d) for d in (torch.float64, torch.float32))
    for name, x in exact.items():
        print(f"{((single[name].double() - x).norm() / x.norm()).item():9.2e}  {name}")


if __name__ == "__main__":
    compare_precisions()
