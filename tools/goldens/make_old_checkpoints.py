"""Checkpoints as older commits of this repository wrote them, and what their models compute.

    python3 tools/goldens/make_old_checkpoints.py    # writes tests/goldens/checkpoints

The layout of each follows the writer at its commit (nn/files/checkpoint.cpp, nn/train/trainer.cpp, tools/pg), which was read, not
run: the names and the order of the tensors, the metadata, the JSON of the model. The weights are made up. The logits
are computed here, in double precision, from the weights by their names: a reader that takes a tensor for another one,
or transposes it, gives others. Needs only Python.
"""

import hashlib
import json
import math
import pathlib
import struct

OUT = pathlib.Path(__file__).resolve().parents[2] / "tests" / "goldens" / "checkpoints"


def f32(x):
    return struct.unpack("<f", struct.pack("<f", x))[0]


def values(name, shape, scale):
    """Made-up numbers that depend on the name."""
    start = int(hashlib.sha256(name.encode()).hexdigest()[:6], 16)
    return [f32(scale * math.sin(start + 1.7 * i)) for i in range(math.prod(shape))]


def save(commit, tensors, state):
    """As save_safetensors wrote files before they had a checksum: f32 only, by name, the header padded to 8 bytes."""
    path = OUT / commit / "checkpoint.safetensors"
    header, data = {"__metadata__": {"format": "pt", "policygrad": sorted_dump(state)}}, b""
    for name in sorted(tensors):
        shape, numbers = tensors[name]
        raw = struct.pack(f"<{len(numbers)}f", *numbers)
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def dump(object):
    return json.dumps(object, separators=(",", ":"))


def sorted_dump(object):
    return json.dumps(object, separators=(",", ":"), sort_keys=True)


# ---- the models


def shapes_gpt2(c):
    n, v = c["n_embd"], c["vocab_size"]
    shapes = {"wte.weight": [v, n], "wpe.weight": [c["block_size"], n]}
    for i in range(c["n_layer"]):
        h = f"h.{i}."
        for norm in ("ln_1", "ln_2"):
            shapes |= {h + norm + ".weight": [n], h + norm + ".bias": [n]}
        for linear, out, into in (
            ("attn.c_attn", 3 * n, n),
            ("attn.c_proj", n, n),
            ("mlp.c_fc", 4 * n, n),
            ("mlp.c_proj", n, 4 * n),
        ):
            shapes |= {h + linear + ".weight": [out, into], h + linear + ".bias": [out]}
    return shapes | {"ln_f.weight": [n], "ln_f.bias": [n]}


def shapes_llama(c):
    n, v, d = c["n_embd"], c["vocab_size"], c["n_embd"] // c["n_head"]
    kv, hidden = c["n_kv_head"] * d, c["n_hidden"]
    shapes = {"wte.weight": [v, n], "lm_head.weight": [v, n], "ln_f.weight": [n]}
    for i in range(c["n_layer"]):
        h = f"h.{i}."
        shapes |= {h + "ln_1.weight": [n], h + "ln_2.weight": [n], h + "attn.c_attn.weight": [n + 2 * kv, n]}
        shapes |= {h + "attn.c_proj.weight": [n, n], h + "mlp.c_gate.weight": [hidden, n]}
        shapes |= {h + "mlp.c_fc.weight": [hidden, n], h + "mlp.c_proj.weight": [n, hidden]}
    return shapes


def weights(shapes, part=""):
    result = {}
    for name, shape in shapes.items():
        result[name] = (shape, values(part + name, shape, 0.5))
        if ".ln_" in "." + name and name.endswith("weight"):
            result[name] = (shape, [f32(1 + x / 2) for x in result[name][1]])
    return result


def linear(w, name, x):
    (out, into), numbers = w[name + ".weight"]
    bias = w[name + ".bias"][1] if name + ".bias" in w else [0] * out
    return [bias[o] + sum(numbers[o * into + i] * x[i] for i in range(into)) for o in range(out)]


def rows(w, name):
    (_, width), numbers = w[name]
    return lambda i: numbers[i * width : (i + 1) * width]


def layer_norm(w, name, x):
    mean = sum(x) / len(x)
    scale = 1 / math.sqrt(sum((a - mean) ** 2 for a in x) / len(x) + 1e-5)
    return [(a - mean) * scale * g + b for a, g, b in zip(x, w[name + ".weight"][1], w[name + ".bias"][1])]


def rms_norm(w, name, x, eps):
    scale = 1 / math.sqrt(sum(a * a for a in x) / len(x) + eps)
    return [a * scale * g for a, g in zip(x, w[name + ".weight"][1])]


def attention(q, k, v):
    """q, k, v: by position, by head, a list of numbers; position t sees 0 to t. The heads' results, joined."""
    result = []
    for t in range(len(q)):
        joined = []
        for head in range(len(q[t])):
            kv = head * len(k[t]) // len(q[t])
            scale = 1 / math.sqrt(len(q[t][head]))
            scores = [scale * sum(a * b for a, b in zip(q[t][head], k[s][kv])) for s in range(t + 1)]
            top = max(scores)
            e = [math.exp(s - top) for s in scores]
            d = len(v[0][kv])
            joined += [sum(e[s] * v[s][kv][i] for s in range(t + 1)) / sum(e) for i in range(d)]
        result.append(joined)
    return result


def heads(x, count):
    d = len(x) // count
    return [x[i * d : (i + 1) * d] for i in range(count)]


def gelu(x):
    return 0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def add(a, b):
    return [x + y for x, y in zip(a, b)]


def logits_gpt2(c, w, ids):
    n = c["n_embd"]
    x = [add(rows(w, "wte.weight")(id), rows(w, "wpe.weight")(t)) for t, id in enumerate(ids)]
    for i in range(c["n_layer"]):
        h = f"h.{i}."
        qkv = [linear(w, h + "attn.c_attn", layer_norm(w, h + "ln_1", row)) for row in x]
        parts = [[heads(row[p * n : (p + 1) * n], c["n_head"]) for row in qkv] for p in range(3)]
        x = [add(row, linear(w, h + "attn.c_proj", y)) for row, y in zip(x, attention(*parts))]
        hidden = [[gelu(a) for a in linear(w, h + "mlp.c_fc", layer_norm(w, h + "ln_2", row))] for row in x]
        x = [add(row, linear(w, h + "mlp.c_proj", y)) for row, y in zip(x, hidden)]
    last = layer_norm(w, "ln_f", x[-1])
    return [sum(a * b for a, b in zip(rows(w, "wte.weight")(id), last)) for id in range(c["vocab_size"])]


def rotated(x, t, base):
    half = len(x) // 2
    angles = [t * base ** (-2 * j / len(x)) for j in range(half)]
    first = [x[j] * math.cos(a) - x[j + half] * math.sin(a) for j, a in enumerate(angles)]
    return first + [x[j + half] * math.cos(a) + x[j] * math.sin(a) for j, a in enumerate(angles)]


def logits_llama(c, w, ids):
    n, d, eps = c["n_embd"], c["n_embd"] // c["n_head"], c["norm_eps"]
    kv = c["n_kv_head"] * d
    x = [rows(w, "wte.weight")(id) for id in ids]
    for i in range(c["n_layer"]):
        h = f"h.{i}."
        qkv = [linear(w, h + "attn.c_attn", rms_norm(w, h + "ln_1", row, eps)) for row in x]
        q = [[rotated(y, t, c["rope_base"]) for y in heads(r[:n], c["n_head"])] for t, r in enumerate(qkv)]
        k = [[rotated(y, t, c["rope_base"]) for y in heads(r[n : n + kv], c["n_kv_head"])] for t, r in enumerate(qkv)]
        v = [heads(r[n + kv :], c["n_kv_head"]) for r in qkv]
        x = [add(row, linear(w, h + "attn.c_proj", y)) for row, y in zip(x, attention(q, k, v))]
        for t, row in enumerate(x):
            y = rms_norm(w, h + "ln_2", row, eps)
            gate, up = linear(w, h + "mlp.c_gate", y), linear(w, h + "mlp.c_fc", y)
            gated = [g / (1 + math.exp(-g)) * u for g, u in zip(gate, up)]
            x[t] = add(row, linear(w, h + "mlp.c_proj", gated))
    return linear(w, "lm_head", rms_norm(w, "ln_f", x[-1], eps))


def with_optimizer(tensors, prefix=""):
    result = {prefix + name: tensor for name, tensor in tensors.items()}
    for kind in ("m", "v"):
        for name, (shape, numbers) in tensors.items():
            result[f"{prefix}optim.{kind}.{name}"] = (shape, [f32(abs(x) / 8) for x in numbers])
    return result


# ---- the checkpoints


def train_of_the_first_day():
    """c852392, pg train: the steps of the optimizer are a number, and the model has no in_proj_std."""
    c = dict(vocab_size=5, block_size=6, n_layer=1, n_head=2, n_embd=4, dropout=0.0, bias=True, dtype="f32")
    w = weights(shapes_gpt2(c))
    tokenizer = sorted_dump({"type": "char", "characters": " abcd"})
    texts = {"corpus": "text", "corpus_sha256": "0" * 64, "model": dump(c), "tokenizer": tokenizer}
    state = {"step": 7, "texts": texts, "generators": {"data": ["1", "56"], "dropout": ["1", "400"]}}
    state |= {"optimizer_steps": 7}
    save("c852392", with_optimizer(w), state)
    return logits_gpt2(c, w, [1, 2, 0, 4])


def rl_with_a_reference():
    """562e0ec, pg rl --task sort --length 3 with a reference: parts; the task's options are in config.yaml alone."""
    c = dict(vocab_size=16, block_size=8, n_layer=1, n_head=1, n_embd=4, dropout=0.0, bias=True, in_proj_std=0.5)
    c |= {"dtype": "f32"}
    w = weights(shapes_gpt2(c))
    tensors = with_optimizer(w)
    tensors |= {"part.reference." + name: tensor for name, tensor in weights(shapes_gpt2(c), "reference").items()}
    texts = {"task": "sort", "model": dump(c), "baseline_sum": "0", "baseline_weight": "0", "kl_beta": "0.05"}
    texts |= {"kl_tokens": "96", "reward_std": "0.25"}
    state = {"step": 2, "texts": texts, "generators": {"order": ["3", "4"], "problems": ["1", "64"]}}
    state |= {"optimizer_steps": {"": 2, "reference": -1}}
    save("562e0ec", tensors, state)
    (OUT / "562e0ec" / "config.yaml").write_text("task: sort\nlength: 3\n")
    return logits_gpt2(c, w, [3, 1, 2, 11])


def train_of_the_llama_family():
    """aa698fe, pg train with rotary positions, RMS norms, SwiGLU and its own head."""
    c = dict(vocab_size=5, block_size=6, n_layer=2, n_head=2, n_embd=8, dropout=0.0, bias=False, in_proj_std=0.25)
    c |= dict(dtype="f32", n_kv_head=1, n_hidden=12, norm="rms", norm_eps=1e-06, positions="rope", rope_base=5000.0)
    c |= dict(mlp="swiglu", tied=False)
    w = weights(shapes_llama(c))
    tokenizer = sorted_dump({"type": "char", "characters": " abcd"})
    texts = {"best_step": "4", "best_val_loss": "1.25", "corpus": "text", "corpus_sha256": "0" * 64, "kind": "train"}
    texts |= {"model": dump(c), "tokenizer": tokenizer}
    state = {"step": 6, "texts": texts, "generators": {"data": ["1", "48"], "dropout": ["1", "0"]}}
    state |= {"optimizer_steps": {"": 6}}
    save("aa698fe", with_optimizer(w), state)
    return logits_llama(c, w, [1, 2, 0, 4])


def main():
    expected = {
        "c852392": {"ids": [1, 2, 0, 4], "logits": train_of_the_first_day()},
        "562e0ec": {"ids": [3, 1, 2, 11], "logits": rl_with_a_reference()},
        "aa698fe": {"ids": [1, 2, 0, 4], "logits": train_of_the_llama_family()},
    }
    (OUT / "expected.json").write_text(json.dumps(expected, indent=1) + "\n")


if __name__ == "__main__":
    main()
