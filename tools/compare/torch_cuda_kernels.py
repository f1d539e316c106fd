"""The kernels of `pg bench --device cuda` in PyTorch: an entry of pg's table says which, its label the sizes. Each is
written in the ways that could be fastest; the best counts.
"""
import contextlib
import re
import statistics
import time

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"  # the CPU only to try this file
BF16 = torch.bfloat16


def stamp():
    if DEVICE == "cpu":
        return time.perf_counter()
    event = torch.cuda.Event(enable_timing=True)
    event.record()
    return event


def seconds_between(begin, end):
    if DEVICE == "cpu":
        return end - begin
    end.synchronize()
    return begin.elapsed_time(end) / 1e3


def time_cold(f, repeat):
    """As pg's: single calls, each behind a pass over other memory that empties the second-level cache."""
    other = torch.empty(2**28 if DEVICE == "cuda" else 1, dtype=torch.uint8, device=DEVICE)
    f()
    f()
    pairs = []
    for _ in range(repeat):
        other.zero_()
        begin = stamp()
        f()
        pairs.append((begin, stamp()))
    return statistics.median(seconds_between(*pair) for pair in pairs)


def normal(*shape, dtype=BF16):
    return torch.randn(*shape, device=DEVICE, dtype=dtype)


def gemm(name, sizes, what):
    m, n, k = sizes
    x, w = normal(m, k), normal(n, k)
    bias = normal(n) if name == "gemm" and n < 50000 else None
    if what == "forward":
        return {"linear": lambda: F.linear(x, w, bias)}
    if what == "forward, gelu":
        def both():
            before = F.linear(x, w, bias)
            return before, F.gelu(before, approximate="tanh")
        return {"linear and gelu": both, "compiled": torch.compile(both)}
    dy = normal(m, n)
    if what == "dx":
        return {"mm": lambda: torch.mm(dy, w)}
    return {"mm to bf16": lambda: torch.mm(dy.t(), x),
            "mm to f32": lambda: torch.mm(dy.t(), x, out_dtype=torch.float32)}


def elementwise(sizes, what):
    x = normal(*sizes)
    dy, y = normal(*sizes), torch.empty_like(x)
    gelu = {"gelu": lambda: F.gelu(x, approximate="tanh")}
    return {
        "copy": {"copy_": lambda: y.copy_(x)},
        "add": {"add": lambda: torch.add(x, dy, out=y)},
        "gelu": gelu | {"compiled": torch.compile(gelu["gelu"])},
        "gelu backward": {"gelu_backward": lambda: torch.ops.aten.gelu_backward(dy, x, approximate="tanh")},
        "to f32": {"float": x.float},
    }[what]


def norm(sizes, what):
    width = sizes[-1]
    x, residual, w, b = normal(*sizes), normal(*sizes), normal(width), normal(width)

    def forward():
        total = x + residual
        return (total, *torch.native_layer_norm(total, (width,), w, b, 1e-5))

    _, _, mean, rstd = forward()

    def backward():
        return torch.ops.aten.native_layer_norm_backward(residual, x, (width,), mean, rstd, w, b, (True, True, True))

    return {
        "layer_norm": {"add and layer_norm": forward, "compiled": torch.compile(forward)},
        "layer_norm backward": {"native": backward, "compiled": torch.compile(backward)},
        "bias gradient": {"sum": lambda: x.sum(0), "sum in f32": lambda: x.sum(0, dtype=torch.float32)},
    }[what]


def over_logits(sizes, what):
    rows, vocab = sizes
    logits, ids = normal(rows, vocab), torch.randint(vocab, (rows,), device=DEVICE)
    lse = torch.logsumexp(logits.float(), 1)

    def loss():
        return F.cross_entropy(logits.float(), ids)

    def gradient():
        p = (logits.float() - lse[:, None]).exp()
        hit = torch.arange(vocab, device=DEVICE) == ids[:, None]
        return (torch.where(hit, p - 1, p) / rows).to(BF16)

    def with_gradient():
        wide = logits.float()
        log_p = wide - torch.logsumexp(wide, 1)[:, None]
        hit = torch.arange(vocab, device=DEVICE) == ids[:, None]
        p = log_p.exp()
        return -torch.where(hit, log_p, 0).sum(1), (torch.where(hit, p - 1, p) / rows).to(BF16)

    return {
        "softmax": {"softmax": lambda: F.softmax(logits, 1)},
        "cross_entropy": {"in bf16": lambda: F.cross_entropy(logits, ids), "compiled": torch.compile(loss)},
        "cross_entropy backward": {"compiled": torch.compile(gradient)},
        "cross_entropy with gradient": {"compiled": torch.compile(with_gradient)},
    }[what]


def embedding(sizes, what):
    tokens, vocab, width = sizes
    ids = torch.randint(vocab, (tokens,), device=DEVICE)
    if what == "embedding":
        w = normal(vocab, width)
        return {"embedding": lambda: F.embedding(ids, w)}
    dy = normal(tokens, width)
    return {"dense backward": lambda: torch.ops.aten.embedding_dense_backward(dy, ids, vocab, -1, False)}


def optimizer(what, parameters=124_475_904 if DEVICE == "cuda" else 1000):
    p = normal(parameters, dtype=torch.float32).requires_grad_()
    p.grad = torch.full_like(p, 1e-3)
    if what == "gradient norm":
        return {"vector_norm": lambda: torch.linalg.vector_norm(p.grad)}
    rounded, adamw = torch.empty_like(p, dtype=BF16), torch.optim.AdamW([p], fused=True)

    def step():
        adamw.step()
        rounded.copy_(p.detach())

    return {"fused, and a copy to bf16": step}


def only(backend):
    return sdpa_kernel([backend]) if DEVICE == "cuda" else contextlib.nullcontext()


ATTENTION = {"cuDNN": SDPBackend.CUDNN_ATTENTION, "flash": SDPBackend.FLASH_ATTENTION}


def attention(sizes, what):
    rows, heads, length, size = sizes
    qkv = normal(rows, length, 3, heads, size)
    q, k, v = (qkv[:, :, i].transpose(1, 2).requires_grad_(what == "backward") for i in range(3))
    dout = normal(rows, length, heads, size).transpose(1, 2)

    def ways(backend):
        def forward():
            with only(backend):
                return F.scaled_dot_product_attention(q, k, v, is_causal=True)
        if what == "forward":
            return forward
        out = []

        def backward():
            if not out:
                out.append(forward())
            return torch.autograd.grad(out[0], (q, k, v), dout, retain_graph=True)
        return backward

    return {name: ways(backend) for name, backend in ATTENTION.items()}


def decode_attention(sizes, what):
    rows, heads, context, size = sizes
    q, k, v = normal(rows, heads, 1, size), normal(rows, heads, context, size), normal(rows, heads, context, size)

    def way(backend):
        def one():
            with only(backend):
                return F.scaled_dot_product_attention(q, k, v)
        return one

    backends = ATTENTION | {"efficient": SDPBackend.EFFICIENT_ATTENTION, "math": SDPBackend.MATH}
    return {name: way(backend) for name, backend in backends.items()}


def ways_of(name, label, what):
    sizes = [int(number) for number in re.findall(r"\d+", label)]
    if name in ("gemm", "decode-gemm"):
        return gemm(name, sizes, what)
    if name == "attention":
        return attention(sizes, what)
    if name == "decode-attention":
        return decode_attention(sizes, what)
    groups = {"elementwise": ("copy", "add", "gelu", "gelu backward", "to f32"),
              "norm": ("layer_norm", "layer_norm backward", "bias gradient"),
              "logits": ("softmax", "cross_entropy", "cross_entropy backward", "cross_entropy with gradient"),
              "embedding": ("embedding", "embedding backward"), "optimizer": ("adamw", "gradient norm")}
    group = next(g for g, members in groups.items() if what in members)
    if group == "optimizer":
        return optimizer(what)
    return {"elementwise": elementwise, "norm": norm, "logits": over_logits, "embedding": embedding}[group](sizes, what)


def time_entry(entry, repeat):
    """The fastest way: its seconds and name, or why there is none."""
    best, problem = None, "no way"
    try:
        ways = ways_of(entry["name"], entry["label"], entry["what"])
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}".splitlines()[0][:200]}
    for how, f in ways.items():
        try:
            with torch.no_grad() if entry["what"] != "backward" else contextlib.nullcontext():
                seconds = time_cold(f, repeat)
        except Exception as error:  # not every way exists everywhere
            problem = f"{how}: {type(error).__name__}: {error}".splitlines()[0][:200]
            continue
        if best is None or seconds < best[0]:
            best = seconds, how
    return {"seconds": best[0], "how": best[1]} if best else {"error": problem}
