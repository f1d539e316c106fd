#!/usr/bin/env python3
"""Writes what transformers computes with SmolLM2-135M-Instruct to tests/goldens/pretrained/smollm2.json.

    pip install torch transformers gguf
    python3 tools/goldens/make_smollm2_goldens.py SmolLM2-135M-Instruct.Q4_1.gguf

The weights are those of the GGUF file, dequantised to float32 by gguf. The file holds
  texts: [{text, ids, log_probs}]   log-probabilities in nats of ids[1:], each given the ids before it
  chats: [{question, ids, answer}]  the token ids of the conversation, and the most probable answer, <|im_end|> included
The ids are those of the tokenizers library with the vocabulary of the file: each digit alone, then GPT-2's pattern.
"""

import json
import pathlib
import sys

import gguf
import numpy as np
import tokenizers
import torch
import transformers

TEXTS = [
    "The capital of France is Paris.", "Once upon a time, there was a little girl who lived in a village.",
    "def fibonacci(n):\n    if n < 2:\n        return n\n    return fibonacci(n - 1) + fibonacci(n - 2)\n",
    "17 + 25 = 42", "1234567890", "Water boils at 100 degrees Celsius at sea level.",
    "To be, or not to be, that is the question:\nWhether 'tis nobler in the mind to suffer",
    "La capitale de la France est Paris.", "Der schnelle braune Fuchs springt über den faulen Hund.",
    "東京は日本の首都です。", "안녕하세요, 세계!", "Привет, мир!", "x = 3.14159 * r ** 2", "    leading and trailing    ",
    "\n\n\n", "I don't know; we'll see what they've done.", "😀 emoji 🎉 test", "A" * 60,
    "SELECT name FROM users WHERE id = 7;", "Q: What is the largest planet?\nA: Jupiter is the largest planet.",
]
QUESTIONS = ["What is the capital of France?", "What is 17 + 25? Answer with a number only.",
             "Name three colors.", "Who wrote Romeo and Juliet?", "Translate 'good morning' to French."]
SYSTEM = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"
NAMES = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "attn_norm": "input_layernorm",
         "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj",
         "attn_output": "self_attn.o_proj", "ffn_norm": "post_attention_layernorm", "ffn_gate": "mlp.gate_proj",
         "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj"}


def load(path):
    reader = gguf.GGUFReader(path)
    config = transformers.LlamaConfig(
        vocab_size=49152, hidden_size=576, intermediate_size=1536, num_hidden_layers=30, num_attention_heads=9,
        num_key_value_heads=3, max_position_embeddings=8192, rms_norm_eps=1e-5, tie_word_embeddings=True,
        rope_parameters=dict(rope_type="default", rope_theta=100000.0))
    model, state = transformers.LlamaForCausalLM(config), {}
    for tensor in reader.tensors:
        values = gguf.dequantize(tensor.data, tensor.tensor_type).astype(np.float32)
        parts = tensor.name.split(".")
        if parts[0] == "blk":
            if parts[2] in ("attn_q", "attn_k"):  # stored for the rotation of neighbours
                heads = 9 if parts[2] == "attn_q" else 3
                values = values.reshape(heads, 32, 2, 576).swapaxes(1, 2).reshape(heads * 64, 576)
            name = f"model.layers.{parts[1]}.{NAMES[parts[2]]}.weight"
        else:
            name = NAMES[parts[0]] + ".weight"
        state[name] = torch.from_numpy(np.ascontiguousarray(values))
    print(model.load_state_dict(state, strict=False))
    model.tie_weights()

    field = {key: value.contents() for key, value in reader.fields.items() if key.startswith("tokenizer.ggml.")}
    tokens = field["tokenizer.ggml.tokens"]
    merges = [tuple(merge.split(" ")) for merge in field["tokenizer.ggml.merges"]]
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE({t: i for i, t in enumerate(tokens)}, merges))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Sequence([
        tokenizers.pre_tokenizers.Digits(individual_digits=True),
        tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)])
    tokenizer.add_special_tokens([t for t, kind in zip(tokens, field["tokenizer.ggml.token_type"]) if kind == 3])
    return model.eval(), tokenizer


def main():
    model, tokenizer = load(sys.argv[1])
    end = tokenizer.token_to_id("<|im_end|>")
    texts, chats = [], []
    with torch.no_grad():
        for text in TEXTS:
            ids = tokenizer.encode(text).ids
            log_probs = model(torch.tensor([ids])).logits[0].double().log_softmax(-1)
            texts.append(dict(text=text, ids=ids, log_probs=[round(float(log_probs[t, i]), 7)
                                                             for t, i in enumerate(ids[1:])]))
        for question in QUESTIONS:
            prompt = (f"<|im_start|>system\n{SYSTEM}<|im_end|>\n<|im_start|>user\n{question}<|im_end|>\n"
                      "<|im_start|>assistant\n")
            ids = tokenizer.encode(prompt).ids
            out = model.generate(torch.tensor([ids]), do_sample=False, max_new_tokens=48, eos_token_id=end,
                                 pad_token_id=end)[0].tolist()
            chats.append(dict(question=question, ids=ids, answer=out[len(ids):]))
            print(tokenizer.decode(out[len(ids):]))
    to = pathlib.Path("tests/goldens/pretrained/smollm2.json")
    to.write_text(json.dumps(dict(torch=torch.__version__, transformers=transformers.__version__, texts=texts,
                                  chats=chats), ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
