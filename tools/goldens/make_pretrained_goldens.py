#!/usr/bin/env python3
"""Writes small models with random weights, made and computed by transformers, to tests/goldens/pretrained.

    pip install torch transformers safetensors
    python3 tools/goldens/make_pretrained_goldens.py [--out tests/goldens/pretrained]

For each model type a folder as save_pretrained() leaves it (config.json, model.safetensors in f32), and
expected.safetensors with what the same weights give in float64:
  ids i32 [B, T], targets i32 [B, T]    logits [B, T, V], loss [1]
  grad.NAME        the gradient of the mean cross-entropy, by the names of model.safetensors
  after.NAME       the parameters after one step of torch.optim.AdamW, which decays the matrices only
  greedy i32 [64]  the tokens that follow ids[0, :4], each the most probable one
The two largest logits of each greedy step differ by more than 1e-3, so that rounding does not change the choice.
"""

import argparse
import json
import pathlib

import torch
import transformers
from safetensors.torch import save_file

B, T, V = 2, 12, 61
LR, BETAS, EPS, DECAY = 1e-2, (0.9, 0.95), 1e-4, 0.1  # eps: the gradient of a key bias is rounding noise in GPT-2
LLAMA = dict(vocab_size=V, hidden_size=24, intermediate_size=40, num_hidden_layers=2, num_attention_heads=4,
             num_key_value_heads=2, max_position_embeddings=96, initializer_range=0.25, bos_token_id=None,
             eos_token_id=None, pad_token_id=None, attn_implementation="eager")
SCALING = dict(rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
               original_max_position_embeddings=32, rope_theta=500.0)
MODELS = {
    "gpt2": transformers.GPT2Config(vocab_size=V, n_positions=96, n_embd=24, n_layer=2, n_head=3, resid_pdrop=0,
                                    embd_pdrop=0, attn_pdrop=0, initializer_range=0.25, bos_token_id=None,
                                    eos_token_id=None, attn_implementation="eager"),
    "llama": transformers.LlamaConfig(**LLAMA, rms_norm_eps=1e-5, tie_word_embeddings=False, head_dim=8,
                                      rope_parameters=SCALING),
    "qwen2": transformers.Qwen2Config(**LLAMA, rms_norm_eps=1e-6, tie_word_embeddings=True,
                                      rope_parameters=dict(rope_type="default", rope_theta=1e6)),
    "qwen3": transformers.Qwen3Config(**LLAMA, rms_norm_eps=1e-6, tie_word_embeddings=True, head_dim=10,
                                      rope_parameters=dict(rope_type="default", rope_theta=1e4)),
}


def make(name, config, folder):
    torch.manual_seed(list(MODELS).index(name) + 1)
    model = transformers.AutoModelForCausalLM.from_config(config)
    with torch.no_grad():  # norms and biases other than 1 and 0
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter.add_(0.3 * torch.randn_like(parameter))
    model.save_pretrained(folder)
    for extra in folder.glob("generation_config.json"):
        extra.unlink()
    stored = [n for n, _ in model.named_parameters()]
    model = model.double().eval()
    ids, targets = torch.randint(0, V, (B, T)), torch.randint(0, V, (B, T))
    out = {"ids": ids.int(), "targets": targets.int()}
    logits = model(ids).logits
    loss = torch.nn.functional.cross_entropy(logits.reshape(-1, V), targets.reshape(-1))
    loss.backward()
    out |= {"logits": logits, "loss": loss.reshape(1)}
    out |= {"grad." + n: p.grad.float() for n, p in model.named_parameters()}

    tokens = ids[0, :4].tolist()
    with torch.no_grad():
        for _ in range(64):
            last = model(torch.tensor([tokens])).logits[0, -1]
            best = last.topk(2).values
            assert best[0] - best[1] > 1e-3, f"{name}: a near tie; take another seed"
            tokens.append(int(last.argmax()))
    out["greedy"] = torch.tensor(tokens[4:]).int()

    groups = [dict(params=[p for p in model.parameters() if p.dim() >= 2], weight_decay=DECAY),
              dict(params=[p for p in model.parameters() if p.dim() < 2], weight_decay=0.0)]
    torch.optim.AdamW(groups, lr=LR, betas=BETAS, eps=EPS).step()
    out |= {"after." + n: p.detach().float() for n, p in model.named_parameters()}
    attributes = dict(lr=LR, betas=BETAS, eps=EPS, weight_decay=DECAY, parameters=stored,
                      torch=torch.__version__, transformers=transformers.__version__)
    save_file({k: v.detach().contiguous() for k, v in out.items()}, folder / "expected.safetensors",
              metadata={"attributes": json.dumps(attributes)})
    print(name, sum(p.numel() for p in model.parameters()), "parameters, loss", loss.item())


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", default="tests/goldens/pretrained")
    to = pathlib.Path(parser.parse_args().out)
    for model_type, model_config in MODELS.items():
        make(model_type, model_config, to / model_type)
