"""What each golden op means, in PyTorch: f(inputs, **attributes) -> tensor or tuple of tensors.

Everything runs in float64. Index and mask inputs arrive as int32 and uint8, as they lie in the file.
"""

import math

import torch
import torch.nn.functional as F


def _reduce(f):
    """sum, mean, amax and logsumexp: without dim they reduce every axis."""

    def op(x, dim=None, keepdim=False):
        return f(x, tuple(range(x.dim())) if dim is None else tuple(dim), keepdim)

    return op


def _var(x, dim=None, correction=1, keepdim=False):
    return torch.var(x, dim=dim, correction=correction, keepdim=keepdim)


def _pow_scalar(x, exponent):
    return torch.pow(x, exponent)


def _slice(x, dim, start, end, step=1):
    index = [slice(None)] * x.dim()
    index[dim] = slice(start, end, step)
    return x[tuple(index)]


def _cross_entropy(logits, target, weight=None, reduction="mean", ignore_index=-100, label_smoothing=0.0):
    return F.cross_entropy(logits, target.long(), weight=None if weight is None else weight.detach(),
                           reduction=reduction, ignore_index=ignore_index, label_smoothing=label_smoothing)


def _token_log_prob(logits, ids):
    logp = F.log_softmax(logits, dim=-1)
    entropy = -(logp.exp() * logp).sum(-1)
    return logp.gather(-1, ids.long().unsqueeze(-1)).squeeze(-1), entropy


def _layer_norm(x, w=None, b=None, eps=1e-5):
    return F.layer_norm(x, x.shape[-1:], w, b, eps)


def _rms_norm(x, w=None, eps=1e-6):
    return F.rms_norm(x, x.shape[-1:], w, eps)


def _add_layer_norm(x, residual, w, b, eps=1e-5):
    s = x + residual
    return s, F.layer_norm(s, s.shape[-1:], w, b, eps)


def _attention(q, k, v, mask=None, is_causal=False, scale=None):
    """q [B,H,T,D], k and v [B,Hkv,S,D], mask [B,S] (1 = attend). Query t sees keys <= t + S - T when causal."""
    t, s = q.shape[-2], k.shape[-2]
    visible = torch.ones(q.shape[0], 1, t, s, dtype=torch.bool)
    if is_causal:
        visible = visible.tril(s - t)
    if mask is not None:
        visible = visible & mask.bool()[:, None, None, :]
    fused = F.scaled_dot_product_attention(q, k, v, attn_mask=visible, scale=scale, enable_gqa=True)
    # The same thing spelled out guards against a change of meaning in the fused call.
    group = q.shape[1] // k.shape[1]
    kk, vv = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
    score = q @ kk.mT * (scale if scale is not None else 1 / math.sqrt(q.shape[-1]))
    p = score.masked_fill(~visible, -math.inf).softmax(-1).nan_to_num(0.0)  # a query that sees nothing gives 0
    torch.testing.assert_close(fused, p @ vv, rtol=1e-12, atol=1e-12)
    return fused


def _attention_qkv(qkv, heads, is_causal):
    """Packed [B,T,3*H*D] -> [B,T,H*D]."""
    b, t, width = qkv.shape
    q, k, v = (z.view(b, t, heads, -1).transpose(1, 2) for z in qkv.split(width // 3, dim=-1))
    return _attention(q, k, v, is_causal=is_causal).transpose(1, 2).reshape(b, t, width // 3)


def _rope(x, positions=None, base=10000.0):
    """Half-split rotary embedding of x [B,H,T,D]: pair (j, j + D/2) of query t turns by
    (positions[b] + t) * base^(-2j/D)."""
    b, _, t, d = x.shape
    first = torch.zeros(b) if positions is None else positions
    position = first.to(x.dtype)[:, None, None, None] + torch.arange(t, dtype=x.dtype)[:, None]
    angle = position * base ** (-2.0 * torch.arange(d // 2, dtype=x.dtype) / d)
    a, b = x[..., : d // 2], x[..., d // 2 :]
    return torch.cat([a * angle.cos() - b * angle.sin(), b * angle.cos() + a * angle.sin()], dim=-1)


def _optimize(make, p, grads):
    p = p.detach().clone().requires_grad_()
    optimizer = make([p])
    for g in grads.detach():
        p.grad = g.clone()
        optimizer.step()
    return p.detach()


def _adamw(p, grads, lr, betas, eps, weight_decay, steps):
    assert grads.shape[0] == steps
    return _optimize(lambda ps: torch.optim.AdamW(ps, lr, tuple(betas), eps, weight_decay), p, grads)


def _sgd(p, grads, lr, momentum, weight_decay, nesterov):
    return _optimize(lambda ps: torch.optim.SGD(ps, lr, momentum, 0, weight_decay, nesterov), p, grads)


def _clip_grad_norm(grad, max_norm):
    p = torch.zeros_like(grad, requires_grad=True)
    p.grad = grad.detach().clone()
    norm = torch.nn.utils.clip_grad_norm_([p], max_norm)
    return p.grad, norm


OPS = {
    "add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": torch.div, "pow": torch.pow,
    "pow_scalar": _pow_scalar,
    "affine": lambda x, scale, shift: x * scale + shift,
    "neg": torch.neg, "exp": torch.exp, "log": torch.log, "log1p": torch.log1p,
    "expm1": torch.expm1, "sqrt": torch.sqrt, "rsqrt": torch.rsqrt, "reciprocal": torch.reciprocal,
    "abs": torch.abs, "sin": torch.sin, "cos": torch.cos, "tanh": torch.tanh, "sigmoid": torch.sigmoid,
    "softplus": F.softplus, "relu": torch.relu, "silu": F.silu,
    "gelu": lambda x, approximate: F.gelu(x, approximate=approximate),
    "clamp": lambda x, min=None, max=None: torch.clamp(x, min, max),
    "minimum": torch.minimum, "maximum": torch.maximum,
    "where": lambda c, a, b: torch.where(c.bool(), a, b),
    "eq": torch.eq, "ne": torch.ne, "lt": torch.lt, "le": torch.le, "gt": torch.gt, "ge": torch.ge,
    "sum": _reduce(torch.sum), "mean": _reduce(torch.mean), "amax": _reduce(torch.amax),
    "logsumexp": _reduce(torch.logsumexp), "var": _var,
    "cumsum": lambda x, dim: torch.cumsum(x, dim), "argmax": lambda x, dim: torch.argmax(x, dim),
    "matmul": torch.matmul, "linear": lambda x, w, b=None: F.linear(x, w, b),
    "linear_gelu": lambda x, w, b=None: F.gelu(F.linear(x, w, b), approximate="tanh"),
    "reshape": lambda x, shape: x.reshape(shape),
    "transpose": lambda x, dim0, dim1: x.transpose(dim0, dim1),
    "permute": lambda x, dims: x.permute(dims), "slice": _slice,
    "select": lambda x, dim, index: x.select(dim, index),
    "expand": lambda x, shape: x.expand(shape),
    "cat": lambda *xs, dim: torch.cat(xs, dim), "stack": lambda *xs, dim: torch.stack(xs, dim),
    "gather": lambda x, index, dim: torch.gather(x, dim, index.long()),
    "index_select": lambda x, index, dim: torch.index_select(x, dim, index.long()),
    "scatter_add": lambda x, index, src, dim: torch.scatter_add(x, dim, index.long(), src),
    "one_hot": lambda ids, num_classes: F.one_hot(ids.long(), num_classes).float(),
    "embedding": lambda w, ids: F.embedding(ids.long(), w),
    "softmax": lambda x, dim: torch.softmax(x, dim), "log_softmax": lambda x, dim: torch.log_softmax(x, dim),
    "cross_entropy": _cross_entropy, "token_log_prob": _token_log_prob,
    "layer_norm": _layer_norm, "rms_norm": _rms_norm, "add_layer_norm": _add_layer_norm,
    "attention": _attention, "attention_qkv": _attention_qkv, "rope": _rope,
    "dropout": lambda x, p: F.dropout(x, p, training=True),
    "adamw": _adamw, "sgd": _sgd, "clip_grad_norm": _clip_grad_norm,
}

# Results that carry no gradient.
NOT_DIFFERENTIABLE = {"eq", "ne", "lt", "le", "gt", "ge", "argmax", "one_hot", "adamw", "sgd", "clip_grad_norm"}

# Float inputs that PyTorch does not differentiate: (op, input number).
CONSTANT_INPUTS = {("cross_entropy", 2)}
