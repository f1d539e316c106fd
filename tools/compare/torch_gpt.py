"""GPT-2 in PyTorch, written for speed: the rival of the scripts compare_*.py."""
import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn


@dataclass
class Config:
    vocab: int = 65
    layers: int = 4
    heads: int = 4
    width: int = 128
    context: int = 64
    bias: bool = True
    in_proj_std: float = 0.02


class Block(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.heads = c.heads
        self.ln1, self.ln2 = nn.LayerNorm(c.width, bias=c.bias), nn.LayerNorm(c.width, bias=c.bias)
        self.qkv, self.proj = nn.Linear(c.width, 3 * c.width, bias=c.bias), nn.Linear(c.width, c.width, bias=c.bias)
        self.up, self.down = nn.Linear(c.width, 4 * c.width, bias=c.bias), nn.Linear(4 * c.width, c.width, bias=c.bias)

    def forward(self, x, cache=None, start=0):
        b, t, width = x.shape
        q, k, v = (z.view(b, t, self.heads, -1).transpose(1, 2) for z in self.qkv(self.ln1(x)).split(width, dim=2))
        if cache is None:
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:  # [2, B, H, room, D]; a prompt begins at 0, afterwards one token at a time
            cache[0][:, :, start : start + t], cache[1][:, :, start : start + t] = k, v
            k, v = cache[0][:, :, : start + t], cache[1][:, :, : start + t]
            y = F.scaled_dot_product_attention(q, k, v, is_causal=t > 1)
        x = x + self.proj(y.transpose(1, 2).reshape(b, t, width))
        return x + self.down(F.gelu(self.up(self.ln2(x)), approximate="tanh"))


class Gpt(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.config = c
        self.wte, self.wpe = nn.Embedding(c.vocab, c.width), nn.Embedding(c.context, c.width)
        self.blocks = nn.ModuleList(Block(c) for _ in range(c.layers))
        self.ln = nn.LayerNorm(c.width, bias=c.bias)
        for name, p in self.named_parameters():
            if p.dim() == 2:
                std = c.in_proj_std if name.endswith(("qkv.weight", "up.weight")) else 0.02
                writer = name.endswith(("proj.weight", "down.weight"))
                nn.init.normal_(p, std=std / math.sqrt(2 * c.layers) if writer else std)
            elif name.endswith("bias"):
                nn.init.zeros_(p)

    def forward(self, ids, caches=None, start=0):
        h = self.wte(ids) + self.wpe.weight[start : start + ids.shape[1]]
        for i, block in enumerate(self.blocks):
            h = block(h, caches[i] if caches else None, start)
        if caches:
            h = h[:, -1:]  # only the last position is sampled from
        return F.linear(self.ln(h), self.wte.weight)

    def pg_weights(self):
        """The weights under the names that policygrad's Transformer and GPT-2's own files have."""
        names = {"ln1": "ln_1", "ln2": "ln_2", "qkv": "attn.c_attn", "proj": "attn.c_proj", "up": "mlp.c_fc",
                 "down": "mlp.c_proj", "ln": "ln_f", "blocks": "h"}
        return {".".join(names.get(part, part) for part in name.split(".")): w.detach()
                for name, w in self.named_parameters()}

    def to_transformers(self):
        """transformers' GPT-2 with these weights, in f32."""
        from transformers import GPT2Config, GPT2LMHeadModel

        c = self.config
        theirs = GPT2LMHeadModel(GPT2Config(
            vocab_size=c.vocab, n_positions=c.context, n_embd=c.width, n_layer=c.layers, n_head=c.heads,
            bos_token_id=None, eos_token_id=None, pad_token_id=0, attn_implementation="sdpa")).eval()
        # They hold the weights of linear layers as [in, out], as GPT-2's files do.
        weights = {f"transformer.{name}": w.t() if w.dim() == 2 and name.startswith("h.") else w
                   for name, w in self.pg_weights().items()}
        theirs.load_state_dict(weights | {"lm_head.weight": self.wte.weight})
        return theirs

    def adamw(self, lr, betas=(0.9, 0.999), weight_decay=0.1):
        return adamw_of(self, lr, betas, weight_decay)


def adamw_of(model, lr, betas=(0.9, 0.999), weight_decay=0.1):
    matrices = [p for p in model.parameters() if p.dim() >= 2]
    rest = [p for p in model.parameters() if p.dim() < 2]
    groups = [{"params": matrices, "weight_decay": weight_decay}, {"params": rest, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=lr, betas=betas, fused=True)


def loss_of(model, x, y):
    return F.cross_entropy(model(x).flatten(0, 1), y.flatten())
