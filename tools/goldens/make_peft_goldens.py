#!/usr/bin/env python3
"""Writes adapters made and computed by peft, for models of tests/goldens/pretrained, to tests/goldens/peft.

    pip install torch transformers safetensors peft
    python3 tools/goldens/make_peft_goldens.py [--models tests/goldens/pretrained] [--out tests/goldens/peft]

For each row of ADAPTERS a folder as PeftModel.save_pretrained() leaves it (adapter_config.json,
adapter_model.safetensors), and expected.safetensors with what base model and adapters give in float64:
  ids i32 [B, T], targets i32 [B, T]    logits [B, T, V], merged [B, T, V] after merge_and_unload(), loss [1]
  grad.NAME  the gradients of A and B of the mean cross-entropy, by the names of adapter_model.safetensors

    python3 tools/goldens/make_peft_goldens.py --compare FOLDER

loads FOLDER/MODEL, which save_peft() wrote, on the same base models and prints the largest difference between the
logits and those of expected.safetensors.
"""

import argparse
import json
import pathlib

import peft
import torch
import transformers
from safetensors.torch import load_file, save_file

B, T = 2, 7
# Folder: the base model, and the options of LoraConfig.
ADAPTERS = {
    "llama": ("llama", dict(r=3, lora_alpha=5,
                            target_modules=["q_proj", "v_proj", "o_proj", "gate_proj", "down_proj"])),
    "gpt2": ("gpt2", dict(r=2, lora_alpha=7, target_modules=["c_attn", "c_proj"], use_rslora=True,
                          fan_in_fan_out=True)),
    # Not the same in every block.
    "llama_full_names": ("llama", dict(
        r=3, lora_alpha=5, target_modules=["model.layers.1.self_attn.v_proj", "model.layers.0.mlp.down_proj",
                                           "model.layers.1.mlp.gate_proj", "model.layers.0.self_attn.q_proj"],
        rank_pattern={"model.layers.1.self_attn.v_proj": 2, "down_proj": 4},
        alpha_pattern={r"layers\.0\..*": 9, "^layers.1": 100, "gate_proj": 2.5, "v_proj|gate_proj": 6},
        use_rslora=True)),
    "llama_layers": ("llama", dict(
        r=2, lora_alpha=3, target_modules=["q_proj", "k_proj", "o_proj"], layers_to_transform=[1],
        layers_pattern="layers", rank_pattern={"(q|k)_proj": 4},
        alpha_pattern={"^model.layers.1.self_attn.o_proj": 11, "o_proj": 1})),
    "llama_regex": ("llama", dict(r=2, lora_alpha=3, target_modules=r".*\.(0\.mlp\.up|1\.self_attn\.q)_proj")),
    "gpt2_exclude": ("gpt2", dict(r=2, lora_alpha=7, target_modules="all-linear", fan_in_fan_out=True,
                                  exclude_modules=["transformer.h.0.mlp.c_fc"], rank_pattern={"attn.c_proj": 1})),
}


def base_model(folder):
    return transformers.AutoModelForCausalLM.from_pretrained(folder, attn_implementation="eager").double()


def make(name, base, folder):
    torch.manual_seed(1 + list(ADAPTERS).index(name))
    options = ADAPTERS[name][1] | dict(task_type="CAUSAL_LM")
    if isinstance(options["target_modules"], list):
        options["target_modules"].sort()
    model = peft.get_peft_model(base_model(base), peft.LoraConfig(**options)).float()
    with torch.no_grad():
        for key, parameter in model.named_parameters():
            if "lora_B" in key:
                parameter.copy_(0.3 * torch.randn_like(parameter))
    model.peft_config["default"].base_model_name_or_path = f"tests/goldens/pretrained/{ADAPTERS[name][0]}"
    model.save_pretrained(folder)
    for extra in folder.glob("README.md"):
        extra.unlink()
    vocabulary = model.get_base_model().config.vocab_size
    ids, targets = torch.randint(0, vocabulary, (B, T)), torch.randint(0, vocabulary, (B, T))
    # As PEFT reads it: the file has the patterns in the order of their keys.
    model = peft.PeftModel.from_pretrained(base_model(base), folder, is_trainable=True).double().eval()
    logits = model(ids).logits
    loss = torch.nn.functional.cross_entropy(logits.reshape(-1, vocabulary), targets.reshape(-1))
    loss.backward()
    out = {"ids": ids.int(), "targets": targets.int(), "logits": logits, "loss": loss.reshape(1)}
    for key, parameter in model.named_parameters():
        if parameter.grad is not None:
            out["grad." + key.replace(".default", "")] = parameter.grad
    stored = load_file(folder / "adapter_model.safetensors")
    assert {"grad." + key for key in stored} == {key for key in out if key.startswith("grad.")}
    with torch.no_grad():
        out["merged"] = model.merge_and_unload()(ids).logits
    attributes = dict(peft=peft.__version__, torch=torch.__version__, transformers=transformers.__version__)
    save_file({k: v.detach().contiguous() for k, v in out.items()}, folder / "expected.safetensors",
              metadata={"attributes": json.dumps(attributes)})
    print(name, sum(t.numel() for t in stored.values()), "adapter parameters, loss", loss.item())


def compare(base, folder, expected):
    model = peft.PeftModel.from_pretrained(base_model(base), folder).double().eval()
    want = load_file(expected / "expected.safetensors")
    with torch.no_grad():
        got = model(want["ids"].long()).logits
    print(folder, "largest difference of the logits:", (got - want["logits"]).abs().max().item())


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--models", default="tests/goldens/pretrained")
    parser.add_argument("--out", default="tests/goldens/peft")
    parser.add_argument("--compare", help="a folder with adapters of save_peft()")
    args = parser.parse_args()
    for model_name in ADAPTERS:
        base_folder, golden = pathlib.Path(args.models) / ADAPTERS[model_name][0], pathlib.Path(args.out) / model_name
        if args.compare:
            compare(base_folder, pathlib.Path(args.compare) / model_name, golden)
        else:
            make(model_name, base_folder, golden)
