#!/usr/bin/env python3
"""Writes small models with latent attention, computed by transformers, to tests/goldens/latent_attention.

    pip install torch transformers safetensors
    python3 tools/goldens/make_latent_attention_goldens.py [--out tests/goldens/latent_attention]

The models are dense DeepseekV3ForCausalLM with random weights, with a query latent (deepseek.safetensors) and without
one (deepseek_no_q_latent.safetensors). Each file holds, under the names of nn/transformer.h:
  NAME             the weights in f32
  ids i32 [B, T], targets i32 [B, T]    logits [B, T, V], loss [1], in f64
  grad.NAME        the gradient of the mean cross-entropy
  greedy i32 [48]  the tokens that follow ids[0, :4], each the most probable one
The two largest logits of each greedy step differ by more than 1e-3, so that rounding does not change the choice.

transformers rotates neighbouring channels (2i, 2i + 1), the engine channels i and i + d_r/2. The rows of the weights
that are rotated are stored in the engine's order, which changes no value. kv_b_proj has for each head the rows of W_uk
and then those of W_uv; the engine has two matrices.
"""

import argparse
import json
import pathlib

import torch
import transformers
from safetensors.torch import save_file

B, T, V = 2, 11, 31
H, D_C, D_N, D_R, D_V = 3, 10, 5, 6, 7
SIZES = dict(vocab_size=V, hidden_size=24, intermediate_size=16, num_hidden_layers=2, first_k_dense_replace=2,
             num_attention_heads=H, num_key_value_heads=H, kv_lora_rank=D_C, qk_nope_head_dim=D_N, qk_rope_head_dim=D_R,
             v_head_dim=D_V, max_position_embeddings=64, rms_norm_eps=1e-6, initializer_range=0.25, num_mtp_layers=0,
             rope_parameters=dict(rope_type="default", rope_theta=500.0), tie_word_embeddings=False,
             bos_token_id=None, eos_token_id=None, pad_token_id=None, attn_implementation="eager")
MODELS = {"deepseek": dict(q_lora_rank=14), "deepseek_no_q_latent": dict(q_lora_rank=None)}

BLOCK = {"input_layernorm": "ln_1", "post_attention_layernorm": "ln_2", "mlp.gate_proj": "mlp.c_gate",
         "mlp.up_proj": "mlp.c_fc", "mlp.down_proj": "mlp.c_proj", "self_attn.q_proj": "attn.q_up",
         "self_attn.q_a_proj": "attn.q_down", "self_attn.q_a_layernorm": "attn.q_norm",
         "self_attn.q_b_proj": "attn.q_up", "self_attn.kv_a_proj_with_mqa": "attn.kv_down",
         "self_attn.kv_a_layernorm": "attn.kv_norm", "self_attn.o_proj": "attn.c_proj"}
OUTER = {"model.embed_tokens": "wte", "model.norm": "ln_f", "lm_head": "lm_head"}
HALVES = list(range(0, D_R, 2)) + list(range(1, D_R, 2))  # the channels of a rotated part in the engine's order


def ours(name, x):
    """A parameter of transformers, or its gradient, as {name: tensor} of the engine."""
    module, suffix = name.rsplit(".", 1)
    if module in OUTER:
        return {f"{OUTER[module]}.{suffix}": x}
    _, _, layer, module = module.split(".", 3)
    if module == "self_attn.kv_b_proj":
        heads = x.reshape(H, D_N + D_V, D_C)
        return {f"h.{layer}.attn.k_up.{suffix}": heads[:, :D_N].reshape(H * D_N, D_C),
                f"h.{layer}.attn.v_up.{suffix}": heads[:, D_N:].reshape(H * D_V, D_C)}
    if BLOCK[module] == "attn.q_up":
        heads = x.reshape(H, D_N + D_R, -1)
        x = torch.cat([heads[:, :D_N], heads[:, D_N:][:, HALVES]], 1).reshape(x.shape)
    if BLOCK[module] == "attn.kv_down":
        x = torch.cat([x[:D_C], x[D_C:][HALVES]])
    return {f"h.{layer}.{BLOCK[module]}.{suffix}": x}


def make(name, sizes, out):
    torch.manual_seed(list(MODELS).index(name) + 1)
    model = transformers.DeepseekV3ForCausalLM(transformers.DeepseekV3Config(**SIZES, **sizes))
    with torch.no_grad():  # norms other than 1
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter.add_(0.3 * torch.randn_like(parameter))
    model = model.double().eval()
    ids, targets = torch.randint(0, V, (B, T)), torch.randint(0, V, (B, T))
    logits = model(ids).logits
    loss = torch.nn.functional.cross_entropy(logits.reshape(-1, V), targets.reshape(-1))
    loss.backward()
    tensors = {"ids": ids.int(), "targets": targets.int(), "logits": logits, "loss": loss.reshape(1)}
    for stored, parameter in model.named_parameters():
        tensors |= {k: v.float() for k, v in ours(stored, parameter).items()}
        tensors |= {"grad." + k: v.float() for k, v in ours(stored, parameter.grad).items()}

    tokens = ids[0, :4].tolist()
    with torch.no_grad():
        for _ in range(48):
            last = model(torch.tensor([tokens])).logits[0, -1]
            best = last.topk(2).values
            assert best[0] - best[1] > 1e-3, f"{name}: a near tie; take another seed"
            tokens.append(int(last.argmax()))
    tensors["greedy"] = torch.tensor(tokens[4:]).int()
    attributes = dict(SIZES, **sizes, torch=torch.__version__, transformers=transformers.__version__)
    out.mkdir(parents=True, exist_ok=True)
    save_file({k: v.detach().contiguous().clone() for k, v in tensors.items()}, out / f"{name}.safetensors",
              metadata={"attributes": json.dumps(attributes)})
    print(name, sum(p.numel() for p in model.parameters()), "parameters, loss", loss.item())


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", default="tests/goldens/latent_attention")
    to = pathlib.Path(parser.parse_args().out)
    for model_name, model_sizes in MODELS.items():
        make(model_name, model_sizes, to)
