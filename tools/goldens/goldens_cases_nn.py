"""Golden cases, second half: shapes, indexing, losses, norms, attention, optimizers."""

from goldens_registry import BOTH, INF, case, ids, mask

# --- shapes -------------------------------------------------------------------------------------------------------
case("reshape", "odd", lambda r: [r.normal(3, 7, 5)], BOTH, shape=[7, 15])
case("reshape", "minus_one", lambda r: [r.normal(3, 7, 5)], shape=[5, -1])
case("reshape", "transposed", lambda r: [r.normal(5, 7)], shape=[35], layout={"in.0": "transposed"})
case("reshape", "scalar", lambda r: [r.normal(1, 1)], shape=[])
case("reshape", "empty", lambda r: [r.normal(3, 0)], shape=[0, 7])
case("transpose", "last", lambda r: [r.normal(3, 5, 7)], BOTH, dim0=-1, dim1=-2)
case("transpose", "ends", lambda r: [r.normal(3, 5, 7)], dim0=0, dim1=2)
case("transpose", "back", lambda r: [r.normal(5, 7)], dim0=0, dim1=1, layout={"in.0": "transposed"})
case("permute", "heads", lambda r: [r.normal(2, 3, 5, 7)], BOTH, dims=[0, 2, 1, 3])
case("permute", "turn", lambda r: [r.normal(3, 5, 7)], dims=[2, 0, 1])
case("slice", "middle", lambda r: [r.normal(3, 17)], BOTH, dim=1, start=3, end=11)
case("slice", "step", lambda r: [r.normal(3, 17)], dim=-1, start=1, end=16, step=4)
case("slice", "first", lambda r: [r.normal(7, 3, 5)], dim=0, start=2, end=7, step=2)
case("slice", "negative", lambda r: [r.normal(3, 17)], dim=1, start=-5, end=-1)
case("slice", "empty", lambda r: [r.normal(3, 5)], dim=1, start=2, end=2)
case("slice", "transposed", lambda r: [r.normal(5, 7)], dim=0, start=1, end=4, layout={"in.0": "transposed"})
case("select", "middle", lambda r: [r.normal(3, 5, 7)], BOTH, dim=1, index=2)
case("select", "negative", lambda r: [r.normal(5, 7)], dim=0, index=-1, layout={"in.0": "transposed"})
case("expand", "rows", lambda r: [r.normal(1, 7)], BOTH, shape=[5, 7])
case("expand", "new_axis", lambda r: [r.normal(3, 1)], shape=[2, 3, 5])
case("expand", "scalar", lambda r: [r.normal()], shape=[3, 5])
case("expand", "empty", lambda r: [r.normal(1, 3)], shape=[0, 3])
case("cat", "rows", lambda r: [r.normal(3, 5), r.normal(1, 5), r.normal(7, 5)], BOTH, dim=0)
case("cat", "last", lambda r: [r.normal(3, 5), r.normal(3, 2)], dim=-1)
case("cat", "middle", lambda r: [r.normal(2, 3, 5), r.normal(2, 1, 5)], dim=1, layout={"in.0": "transposed"})
case("cat", "with_empty", lambda r: [r.normal(3, 0), r.normal(3, 2)], dim=1)
case("cat", "single", lambda r: [r.normal(3, 2)], dim=0)
case("stack", "first", lambda r: [r.normal(3, 5), r.normal(3, 5), r.normal(3, 5)], BOTH, dim=0)
case("stack", "last", lambda r: [r.normal(3, 5), r.normal(3, 5)], dim=-1, layout={"in.1": "transposed"})
case("stack", "scalars", lambda r: [r.normal(), r.normal()], dim=0)

# --- indexing -----------------------------------------------------------------------------------------------------
case("gather", "last", lambda r: [r.normal(7, 17), r.ids(17, 7, 5)], BOTH, dim=-1)
case("gather", "first", lambda r: [r.normal(7, 5), r.ids(7, 3, 5)], dim=0)
case("gather", "one_per_row", lambda r: [r.normal(7, 33), r.ids(33, 7, 1)], dim=1)
case("gather", "repeated", lambda r: [r.normal(2, 3), ids([[1, 1, 1, 1], [2, 0, 2, 0]])], dim=1)
case("gather", "transposed", lambda r: [r.normal(5, 7), r.ids(7, 5, 3)], dim=1, layout={"in.0": "transposed"})
case("index_select", "rows", lambda r: [r.normal(7, 5), ids([6, 0, 3, 3, 1])], BOTH, dim=0)
case("index_select", "last", lambda r: [r.normal(2, 3, 7), ids([2, 2])], dim=-1)
case("index_select", "none", lambda r: [r.normal(7, 5), r.ids(7, 0)], dim=0)
case("index_select", "transposed", lambda r: [r.normal(5, 7), ids([4, 0, 4])], dim=0, layout={"in.0": "transposed"})
case("scatter_add", "last", lambda r: [r.normal(7, 5), r.ids(5, 7, 17), r.normal(7, 17)], BOTH, dim=-1)
case("scatter_add", "first", lambda r: [r.normal(3, 5), r.ids(3, 7, 5), r.normal(7, 5)], dim=0)
case("scatter_add", "collisions", lambda r: [r.normal(2, 3), ids([[1, 1, 1], [0, 2, 0]]), r.normal(2, 3)], dim=1)
case("scatter_add", "none", lambda r: [r.normal(3, 5), r.ids(5, 3, 0), r.normal(3, 0)], dim=1)
case("one_hot", "odd", lambda r: [r.ids(7, 3, 5)], ("f32",), num_classes=7)
case("one_hot", "one_class", lambda r: [r.ids(1, 3)], ("f32",), num_classes=1)
case("one_hot", "empty", lambda r: [r.ids(3, 0)], ("f32",), num_classes=3)
case("embedding", "odd", lambda r: [r.normal(17, 7), r.ids(17, 3, 5)], BOTH)
case("embedding", "repeated", lambda r: [r.normal(5, 3), ids([2, 2, 2, 0, 4, 2])], BOTH)
case("embedding", "one_row", lambda r: [r.normal(1, 7), ids([[0, 0, 0]])])
case("embedding", "none", lambda r: [r.normal(5, 3), r.ids(5, 0)])

# --- softmax and the losses on it ---------------------------------------------------------------------------------
for op in ("softmax", "log_softmax"):
    case(op, "odd", lambda r: [r.normal(7, 33, std=2)], BOTH, dim=-1)
    case(op, "first", lambda r: [r.normal(7, 3)], dim=0)
    case(op, "middle", lambda r: [r.normal(2, 5, 3)], dim=1)
    case(op, "one", lambda r: [r.normal(3, 1)], dim=1, zero=("grad.0",))
    case(op, "empty", lambda r: [r.normal(0, 5)], dim=1)
    case(op, "transposed", lambda r: [r.normal(5, 7)], dim=-1, layout={"in.0": "transposed"})
    case(op, "large", lambda r: [r.values([[1e4, 9999.0, 9998.5], [-1e4, -1e4, -9999.0], [80.0, -80.0, 79.0]])], BOTH,
         dim=1)
case("softmax", "masked", lambda r: [r.values([[0.5, -INF, 1.0, -INF], [-INF, -INF, -INF, 2.0], [1, 2, 3, -INF]])],
     BOTH, dim=-1)
case("log_softmax", "tail", lambda r: [r.values([[0.0, -30.0, -60.0, 50.0], [1.0, 1e4, 2.0, 3.0]])], dim=-1)

for reduction in ("mean", "sum", "none"):
    case("cross_entropy", reduction, lambda r: [r.normal(7, 17), r.ids(17, 7)], BOTH, reduction=reduction)
    case("cross_entropy", f"{reduction}_ignore", lambda r: [r.normal(7, 5), ids([0, -100, 4, 2, -100, 1, 3])],
         reduction=reduction, ignore_index=-100)
    case("cross_entropy", f"{reduction}_smooth", lambda r: [r.normal(7, 5), r.ids(5, 7)], reduction=reduction,
         label_smoothing=0.1)
    case("cross_entropy", f"{reduction}_weight", lambda r: [r.normal(7, 5), r.ids(5, 7), r.uniform(0.2, 3, 5)],
         reduction=reduction)
    case("cross_entropy", f"{reduction}_everything",
         lambda r: [r.normal(9, 5), ids([0, 1, 2, 3, 4, 3, 2, 3, 0]), r.uniform(0.2, 3, 5)], BOTH,
         reduction=reduction, ignore_index=3, label_smoothing=0.2)
case("cross_entropy", "all_ignored", lambda r: [r.normal(3, 5), ids([2, 2, 2])], reduction="sum", ignore_index=2)
case("cross_entropy", "one_class", lambda r: [r.normal(3, 1), ids([0, 0, 0])], reduction="sum",
     zero=("out.0", "grad.0"))
case("cross_entropy", "large", lambda r: [r.values([[1e4, 0, -1e4], [80, 90, 100], [-500, 3, 2]]), ids([1, 2, 0])],
     BOTH, reduction="mean")
case("cross_entropy", "masked", lambda r: [r.values([[1, -INF, 2], [0.5, 0.25, -INF]]), ids([0, 1])], reduction="mean")
case("cross_entropy", "transposed", lambda r: [r.normal(5, 7), r.ids(7, 5)], reduction="mean",
     layout={"in.0": "transposed"})
case("cross_entropy", "no_rows", lambda r: [r.normal(0, 5), r.ids(5, 0)], reduction="sum")

case("token_log_prob", "odd", lambda r: [r.normal(7, 33, std=2), r.ids(33, 7)], BOTH)
case("token_log_prob", "batch", lambda r: [r.normal(2, 3, 5), r.ids(5, 2, 3)])
case("token_log_prob", "large", lambda r: [r.values([[1e4, 9999.0, 9998.0], [-1e4, -1e4, -1e4]]), ids([2, 0])])
case("token_log_prob", "sure", lambda r: [r.values([[200.0, 0.0, -200.0], [0.0, 900.0, 0.0]]), ids([0, 1])])
case("token_log_prob", "transposed", lambda r: [r.normal(5, 7), r.ids(7, 5)], layout={"in.0": "transposed"})
case("token_log_prob", "empty", lambda r: [r.normal(0, 5), r.ids(5, 0)])

# --- norms --------------------------------------------------------------------------------------------------------
wb = lambda r, c: [r.normal(c, mean=1.0, std=0.3), r.normal(c)]
case("layer_norm", "odd", lambda r: [r.normal(7, 33, mean=0.5, std=2), *wb(r, 33)], BOTH, eps=1e-5)
case("layer_norm", "batch", lambda r: [r.normal(2, 3, 17), *wb(r, 17)], BOTH, eps=1e-5)
case("layer_norm", "plain", lambda r: [r.normal(5, 7)], BOTH, eps=1e-5)
case("layer_norm", "one", lambda r: [r.normal(3, 1), *wb(r, 1)], eps=1e-5, zero=("grad.0", "grad.1"))
case("layer_norm", "constant_row", lambda r: [r.values([[2.0] * 5, [1, 2, 3, 4, 5]]), *wb(r, 5)], eps=1e-5)
case("layer_norm", "far_mean", lambda r: [r.normal(5, 33, mean=1e3), *wb(r, 33)], eps=1e-5)
case("layer_norm", "tiny", lambda r: [r.normal(5, 7, std=1e-6), *wb(r, 7)], eps=1e-5)
case("layer_norm", "large_eps", lambda r: [r.normal(5, 7), *wb(r, 7)], eps=0.5)
case("layer_norm", "transposed", lambda r: [r.normal(5, 7), *wb(r, 7)], eps=1e-5, layout={"in.0": "transposed"})
case("layer_norm", "no_rows", lambda r: [r.normal(0, 7), *wb(r, 7)], eps=1e-5)
case("rms_norm", "odd", lambda r: [r.normal(7, 33, std=2), r.normal(33)], BOTH, eps=1e-6)
case("rms_norm", "plain", lambda r: [r.normal(2, 3, 7)], eps=1e-6)
case("rms_norm", "one", lambda r: [r.normal(3, 1), r.normal(1)], eps=0.1)
case("rms_norm", "extreme", lambda r: [r.normal(3, 7, std=1e4), r.normal(7)], eps=1e-6)
case("rms_norm", "zero_row", lambda r: [r.values([[0.0] * 3, [1, -2, 3]]), r.normal(3)], eps=1e-6)
case("rms_norm", "transposed", lambda r: [r.normal(5, 7), r.normal(7)], eps=1e-6, layout={"in.0": "transposed"})
case("add_layer_norm", "odd", lambda r: [r.normal(7, 33), r.normal(7, 33), *wb(r, 33)], BOTH, eps=1e-5)
case("add_layer_norm", "batch", lambda r: [r.normal(2, 3, 5), r.normal(2, 3, 5), *wb(r, 5)], eps=1e-5)
case("add_layer_norm", "transposed", lambda r: [r.normal(5, 7), r.normal(5, 7), *wb(r, 7)], eps=1e-5,
     layout={"in.1": "transposed"})

# --- attention and positions --------------------------------------------------------------------------------------
qkv = lambda b, h, t, d, g=None, s=None: lambda r: [
    r.normal(b, h, t, d), r.normal(b, g or h, s or t, d), r.normal(b, g or h, s or t, d)]
case("attention", "full", qkv(2, 3, 7, 5), BOTH, is_causal=False)
case("attention", "causal", qkv(2, 3, 7, 5), BOTH, is_causal=True)
case("attention", "causal_33", qkv(1, 1, 33, 8), BOTH, is_causal=True)
case("attention", "one_token", qkv(1, 2, 1, 3), is_causal=True)
case("attention", "cross", qkv(2, 1, 3, 5, s=7), is_causal=False)
case("attention", "causal_longer_keys", qkv(2, 2, 3, 5, s=7), BOTH, is_causal=True)
case("attention", "decode", qkv(3, 2, 1, 5, s=17), is_causal=True)
case("attention", "grouped", qkv(2, 6, 5, 3, g=2), BOTH, is_causal=True)
case("attention", "grouped_full", qkv(1, 4, 3, 5, g=2, s=7), is_causal=False)
case("attention", "multi_query", qkv(1, 3, 5, 7, g=1), is_causal=True)
case("attention", "scale", qkv(1, 2, 5, 3), is_causal=True, scale=0.3)
case("attention", "large_logits", lambda r: [r.normal(1, 2, 5, 7, std=4), r.normal(1, 2, 5, 7, std=4),
                                             r.normal(1, 2, 5, 7)], is_causal=True)
padded = lambda rows, *s, **k: lambda r: qkv(len(rows), *s, **k)(r) + [mask(rows)]
right, left = [[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], [[0, 0, 1, 1, 1], [1, 1, 1, 1, 1]]
case("attention", "padding", padded(right, 2, 5, 3), BOTH, is_causal=False)
case("attention", "padding_causal", padded(right, 2, 5, 3), is_causal=True)
case("attention", "padding_left", padded(left, 2, 5, 3), is_causal=False)
case("attention", "padding_left_causal", padded(left, 2, 5, 3), is_causal=True)
case("attention", "padding_grouped", padded([[1, 0, 1, 1, 0, 1, 1]], 4, 3, 5, g=2, s=7), is_causal=True)
case("attention", "transposed", qkv(1, 2, 5, 3), is_causal=True,
     layout={"in.0": "transposed", "in.1": "transposed", "in.2": "strided"})
case("attention", "no_batch", qkv(0, 2, 5, 3), is_causal=True)
case("attention_qkv", "causal", lambda r: [r.normal(2, 7, 3 * 12)], BOTH, heads=3, is_causal=True)
case("attention_qkv", "full", lambda r: [r.normal(1, 5, 3 * 6)], heads=2, is_causal=False)
case("attention_qkv", "transposed", lambda r: [r.normal(2, 3, 3 * 4)], heads=1, is_causal=True,
     layout={"in.0": "transposed"})
case("rope", "odd", lambda r: [r.normal(2, 3, 7, 6)], BOTH, base=10000.0)
case("rope", "positions", lambda r: [r.normal(3, 2, 5, 8), ids([17, 0, 1000])], BOTH, base=10000.0)
case("rope", "base", lambda r: [r.normal(1, 2, 5, 4), ids([3])], base=500000.0)
case("rope", "pair", lambda r: [r.normal(1, 1, 3, 2)], base=10000.0)
case("rope", "transposed", lambda r: [r.normal(1, 2, 5, 4)], base=10000.0, layout={"in.0": "transposed"})
case("dropout", "none", lambda r: [r.normal(7, 5)], p=0.0)
case("dropout", "all", lambda r: [r.normal(7, 5)], p=1.0)

# --- optimizers ---------------------------------------------------------------------------------------------------
steps = lambda *s: lambda r: [r.normal(*s), r.normal(10, *s)]
case("adamw", "matrix", steps(7, 5), BOTH, lr=1e-2, betas=[0.9, 0.95], eps=1e-8, weight_decay=0.1, steps=10)
case("adamw", "no_decay", steps(17), BOTH, lr=1e-3, betas=[0.9, 0.999], eps=1e-8, weight_decay=0.0, steps=10)
case("adamw", "large_eps", steps(3, 3), lr=1e-1, betas=[0.5, 0.9], eps=1e-2, weight_decay=0.5, steps=10)
case("adamw", "tiny_gradients", lambda r: [r.normal(5, 3), r.normal(10, 5, 3, std=1e-7)], lr=1e-2, betas=[0.9, 0.95],
     eps=1e-8, weight_decay=0.1, steps=10)
case("sgd", "plain", steps(7, 5), lr=0.1, momentum=0.0, weight_decay=0.0, nesterov=False)
case("sgd", "momentum", steps(7, 5), BOTH, lr=0.1, momentum=0.9, weight_decay=0.0, nesterov=False)
case("sgd", "decay", steps(7, 5), lr=0.1, momentum=0.9, weight_decay=0.01, nesterov=False)
case("sgd", "nesterov", steps(7, 5), lr=0.1, momentum=0.9, weight_decay=0.01, nesterov=True)
case("clip_grad_norm", "active", lambda r: [r.normal(7, 5)], BOTH, max_norm=1.0)
case("clip_grad_norm", "inactive", lambda r: [r.normal(7, 5, std=0.01)], max_norm=1.0)
case("clip_grad_norm", "zero", lambda r: [r.values([0.0, 0.0, 0.0])], max_norm=1.0)
