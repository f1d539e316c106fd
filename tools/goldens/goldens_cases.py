"""Golden cases, first half: arithmetic, functions of one input, choices, reductions, matrix products.

A variant is a short word for what is special: odd sizes, broadcast, empty, strided, extreme, ties ...
"""

from goldens_registry import BOTH, INF, case, mask, nonzero

# --- arithmetic with broadcasting ---------------------------------------------------------------------------------
for op in ("add", "sub", "mul", "div"):
    case(op, "odd", lambda r: [r.normal(3, 33), nonzero(r, 3, 33)], BOTH)
    case(op, "broadcast", lambda r: [r.normal(3, 1, 7), nonzero(r, 17, 1)])
    case(op, "row", lambda r: [r.normal(17, 7), nonzero(r, 7)])
    case(op, "scalar", lambda r: [r.normal(5, 3), nonzero(r)])
    case(op, "one", lambda r: [r.normal(1), nonzero(r, 1, 1)])
    case(op, "empty", lambda r: [r.normal(0, 3), nonzero(r, 3)])
    case(op, "transposed", lambda r: [r.normal(7, 5), nonzero(r, 7, 5)], layout={"in.0": "transposed"})
    case(op, "strided", lambda r: [r.normal(7, 5), nonzero(r, 7, 5)], layout={"in.0": "strided", "in.1": "transposed"})
    case(op, "extreme", lambda r: [r.normal(33, std=1e4), nonzero(r, 33) * 1e-4], BOTH)
case("mul", "expanded", lambda r: [r.normal(7), r.normal(3, 7)], layout={"in.0": "expanded"})
case("add", "inf", lambda r: [r.values([INF, -INF, 1.0, -2.0]), r.values([1.0, -1.0, INF, -INF])])
case("div", "by_inf", lambda r: [r.normal(4), r.values([INF, -INF, 1.0, 2.0])])

case("affine", "odd", lambda r: [r.normal(3, 17)], BOTH, scale=-2.5, shift=0.75)
case("affine", "transposed", lambda r: [r.normal(5, 7)], scale=3.0, shift=0.0, layout={"in.0": "transposed"})

case("pow", "odd", lambda r: [r.uniform(0.2, 3, 7, 17), r.normal(7, 17)], BOTH)
case("pow", "broadcast", lambda r: [r.uniform(0.2, 3, 3, 1), r.normal(1, 7)])
case("pow", "zero_base", lambda r: [r.values([0.0, 0.0, 0.0, 0.0, 2.0]), r.values([0.0, 1.0, 2.0, 3.5, 0.0])])
for exponent in (2, 3, -1, -2, 0, 1):
    case("pow_scalar", f"n{exponent}".replace("-", "m"), lambda r: [nonzero(r, 3, 7)], exponent=float(exponent))
case("pow_scalar", "half", lambda r: [r.uniform(0.1, 9, 3, 7)], BOTH, exponent=0.5)
case("pow_scalar", "m1p5", lambda r: [r.uniform(0.1, 9, 3, 7)], exponent=-1.5)
case("pow_scalar", "square_at_zero", lambda r: [r.values([0.0, -1.0, 3.0])], exponent=2.0)

# --- one input, element by element --------------------------------------------------------------------------------
anywhere = lambda *s: lambda r: [r.normal(*s, std=2.0)]
positive = lambda *s: lambda r: [r.uniform(0.05, 20, *s)]
above_minus_one = lambda *s: lambda r: [r.uniform(-0.9, 9, *s)]
UNARY = {
    "neg": anywhere, "exp": anywhere, "log": positive, "log1p": above_minus_one, "expm1": anywhere, "sqrt": positive,
    "rsqrt": positive, "reciprocal": positive, "abs": anywhere, "sin": anywhere, "cos": anywhere, "tanh": anywhere,
    "sigmoid": anywhere, "softplus": anywhere, "relu": anywhere, "silu": anywhere,
}
for op, draw in UNARY.items():
    case(op, "odd", draw(3, 33), BOTH)
for op in ("exp", "tanh", "silu", "sqrt"):
    case(op, "empty", UNARY[op](3, 0))
    case(op, "transposed", UNARY[op](5, 7), layout={"in.0": "transposed"})
for op in ("sigmoid", "softplus", "relu", "log"):
    case(op, "strided", UNARY[op](3, 5), layout={"in.0": "strided"})
case("exp", "extreme", lambda r: [r.values([-INF, -1e4, -745.5, -700.0, -30.0, 0.0, 1e-12, 30.0])])
case("exp", "large", lambda r: [r.values([-80.0, -20.0, 1.0, 40.0, 80.0])], BOTH)
case("log", "extreme", lambda r: [r.values([0.0, 1e-300, 1e-8, 1.0, 1e4, 1e300])])
case("log1p", "tiny", lambda r: [r.uniform(-1e-9, 1e-9, 17)], BOTH)
case("expm1", "tiny", lambda r: [r.uniform(-1e-9, 1e-9, 17)], BOTH)
case("expm1", "extreme", lambda r: [r.values([-INF, -1e4, -50.0, 50.0])])
case("sqrt", "extreme", lambda r: [r.values([1e-300, 1e-8, 1e4, 1e12])])
case("rsqrt", "extreme", lambda r: [r.values([1e-8, 1.0, 1e4, 1e12])])
case("reciprocal", "signs", lambda r: [r.values([-1e4, -1e-4, 1e-4, 1e4, 3.0])])
case("abs", "zero", lambda r: [r.values([-2.0, 0.0, 3.0])])
case("sin", "large", lambda r: [r.uniform(-1e4, 1e4, 17)], BOTH)
case("cos", "large", lambda r: [r.uniform(-1e4, 1e4, 17)], BOTH)
# With two ordinary values: alone, the vanishing gradients of the others are nothing but rounding in f32.
saturated = lambda r: [r.values([-INF, -1e4, -50.0, -9.5, -0.5, 1.0, 9.5, 50.0, 1e4, INF])]
case("tanh", "extreme", saturated, BOTH)
case("sigmoid", "extreme", saturated, BOTH)
case("sigmoid", "left_tail", lambda r: [r.uniform(-80, -20, 17)], BOTH)
case("tanh", "tiny", lambda r: [r.uniform(-1e-9, 1e-9, 17)])
# Not between 20 and 35, where PyTorch's softplus switches to x and is wrong by up to 2e-9.
case("softplus", "extreme", lambda r: [r.values([-1e4, -100.0, -19.0, 0.0, 19.0, 40.0, 1e4, INF])], BOTH)
case("softplus", "left_tail", lambda r: [r.uniform(-80, -20, 17)], BOTH)
case("relu", "zero", lambda r: [r.values([-INF, -1e4, -1.0, 0.0, 1.0, 1e4, INF])], BOTH)
case("silu", "extreme", lambda r: [r.values([-1e4, -100.0, -30.0, 0.0, 30.0, 1e4])], BOTH)
for approximate in ("tanh", "none"):
    case("gelu", approximate, anywhere(3, 33), BOTH, approximate=approximate)
    case("gelu", f"{approximate}_extreme", lambda r: [r.values([-1e4, -30.0, -5.0, 0.0, 5.0, 30.0, 1e4])], BOTH,
         approximate=approximate)
    case("gelu", f"{approximate}_transposed", anywhere(3, 5), approximate=approximate, layout={"in.0": "transposed"})
case("gelu", "none_left_tail", lambda r: [r.uniform(-9, -4, 17)], approximate="none")

# --- choices ------------------------------------------------------------------------------------------------------
case("clamp", "both", anywhere(7, 17), BOTH, min=-1.0, max=1.5)
case("clamp", "min", anywhere(7, 3), min=0.25)
case("clamp", "max", anywhere(7, 3), max=0.25)
case("clamp", "border", lambda r: [r.values([-INF, -1.0, -0.5, 1.0, 1.5, INF])], min=-1.0, max=1.0)
for op in ("minimum", "maximum"):
    case(op, "odd", lambda r: [r.normal(7, 17), r.normal(7, 17)], BOTH)
    case(op, "broadcast", lambda r: [r.normal(3, 1), r.normal(7)])
    case(op, "ties", lambda r: [r.values([1.0, 2.0, -3.0, INF, 0.0]), r.values([1.0, 1.0, -3.0, INF, 5.0])])
case("where", "odd", lambda r: [r.bits(7, 17), r.normal(7, 17), r.normal(7, 17)], BOTH)
case("where", "broadcast", lambda r: [r.bits(7, 1), r.normal(3, 1, 1), r.normal(5)])
case("where", "strided", lambda r: [r.bits(7, 3), r.normal(7, 3), r.normal(7, 3)],
     layout={"in.0": "transposed", "in.1": "transposed", "in.2": "strided"})
case("where", "inf", lambda r: [mask([1, 0, 1, 0]), r.normal(4), r.values([-INF] * 4)])
for op in ("eq", "ne", "lt", "le", "gt", "ge"):
    case(op, "ties", lambda r: [r.values([[1, 2, 3], [INF, -INF, 0]]), r.values([[1, 3, 2], [INF, INF, 0]])])
    case(op, "broadcast", lambda r: [r.values([[1.0], [2.0], [3.0]]), r.values([1.0, 2.0, 3.0, 4.0])], ("f32",))

# --- reductions ---------------------------------------------------------------------------------------------------
for op in ("sum", "mean", "amax", "logsumexp", "var"):
    case(op, "all", lambda r: [r.normal(7, 17, mean=1.0)], BOTH)
    case(op, "last", lambda r: [r.normal(5, 33)], BOTH, dim=[-1])
    case(op, "first_keep", lambda r: [r.normal(17, 3)], dim=[0], keepdim=True)
    case(op, "outer", lambda r: [r.normal(3, 5, 7)], dim=[0, 2])
    case(op, "middle", lambda r: [r.normal(3, 5, 7)], dim=[1], keepdim=False)
    case(op, "transposed", lambda r: [r.normal(5, 7)], dim=[1], layout={"in.0": "transposed"})
for op in ("sum", "mean", "amax", "logsumexp"):
    case(op, "no_rows", lambda r: [r.normal(0, 3)], dim=[1])
    case(op, "one", lambda r: [r.normal(1, 1)], dim=[1])
case("sum", "empty", lambda r: [r.normal(3, 0)], dim=[1])
case("sum", "long", lambda r: [r.normal(1027, mean=1.0)], ("f32",))
case("sum", "expanded", lambda r: [r.normal(5)], dim=[0], layout={"in.0": "expanded"})
case("mean", "strided", lambda r: [r.normal(3, 5)], dim=[0, 1], layout={"in.0": "strided"})
case("amax", "ties", lambda r: [r.values([[1, 3, 3, 0], [2, 2, 2, 2], [INF, -INF, 0, 1]])], dim=[1])
case("amax", "ties_all", lambda r: [r.values([[5, 1], [5, 5]])])
case("logsumexp", "extreme", lambda r: [r.values([[1e4, 1e4, -1e4], [-1e4, -1e4, -INF], [0.0, -INF, -INF]])], dim=[1])
case("var", "population", lambda r: [r.normal(3, 7)], BOTH, dim=[1], correction=0)
case("var", "one", lambda r: [r.normal(3, 1)], dim=[1], correction=0, zero=("grad.0",))
case("var", "far_mean", lambda r: [r.normal(3, 33, mean=1e4)], dim=[1])
case("cumsum", "last", lambda r: [r.normal(3, 17)], BOTH, dim=-1)
case("cumsum", "first", lambda r: [r.normal(7, 3)], dim=0)
case("cumsum", "middle_transposed", lambda r: [r.normal(2, 5, 3)], dim=1, layout={"in.0": "transposed"})
case("cumsum", "empty", lambda r: [r.normal(3, 0)], dim=1)
case("argmax", "last", lambda r: [r.normal(7, 17)], BOTH, dim=-1)
case("argmax", "first", lambda r: [r.normal(7, 5)], dim=0)
case("argmax", "ties", lambda r: [r.values([[1, 3, 3], [2, 2, 2], [-INF, -INF, -1e4], [0, INF, INF]])], dim=1)

# --- matrix products ----------------------------------------------------------------------------------------------
case("matmul", "odd", lambda r: [r.normal(5, 33), r.normal(33, 17)], BOTH)
case("matmul", "square", lambda r: [r.normal(13, 13), r.normal(13, 13)])
case("matmul", "one", lambda r: [r.normal(1, 1), r.normal(1, 1)])
case("matmul", "row", lambda r: [r.normal(1, 33), r.normal(33, 7)])
case("matmul", "column", lambda r: [r.normal(7, 33), r.normal(33, 1)])
case("matmul", "outer", lambda r: [r.normal(17, 1), r.normal(1, 7)])
for variant, a, b in (("at", "transposed", None), ("bt", None, "transposed"), ("atbt", "transposed", "transposed")):
    layout = {k: v for k, v in (("in.0", a), ("in.1", b)) if v}
    case("matmul", variant, lambda r: [r.normal(5, 17), r.normal(17, 7)], BOTH, layout=layout)
    case("matmul", f"batch_{variant}", lambda r: [r.normal(3, 5, 7), r.normal(3, 7, 4)], layout=layout)
case("matmul", "strided", lambda r: [r.normal(5, 7), r.normal(7, 3)], layout={"in.0": "strided", "in.1": "strided"})
case("matmul", "batch", lambda r: [r.normal(3, 7, 17), r.normal(3, 17, 5)], BOTH)
case("matmul", "batch2", lambda r: [r.normal(2, 3, 5, 7), r.normal(2, 3, 7, 4)])
case("matmul", "broadcast_batch", lambda r: [r.normal(2, 1, 5, 7), r.normal(3, 7, 4)])
case("matmul", "batch_by_matrix", lambda r: [r.normal(3, 5, 7), r.normal(7, 4)])
case("matmul", "matrix_by_batch", lambda r: [r.normal(5, 7), r.normal(3, 7, 4)])
case("matmul", "expanded", lambda r: [r.normal(5, 7), r.normal(3, 7, 4)], layout={"in.0": "expanded"})
case("matmul", "no_rows", lambda r: [r.normal(0, 7), r.normal(7, 3)])
case("matmul", "no_inner", lambda r: [r.normal(5, 0), r.normal(0, 3)])
case("matmul", "no_batch", lambda r: [r.normal(0, 5, 7), r.normal(0, 7, 3)])
case("matmul", "extreme", lambda r: [r.normal(5, 7, std=1e4), r.normal(7, 3, std=1e-4)], BOTH)
for op in ("linear", "linear_gelu"):
    case(op, "bias", lambda r: [r.normal(7, 33), r.normal(17, 33, std=0.3), r.normal(17)], BOTH)
    case(op, "plain", lambda r: [r.normal(7, 5), r.normal(3, 5)])
    case(op, "batch", lambda r: [r.normal(2, 3, 5), r.normal(7, 5), r.normal(7)], BOTH)
    case(op, "one", lambda r: [r.normal(1, 1), r.normal(1, 1), r.normal(1)])
    case(op, "transposed", lambda r: [r.normal(5, 7), r.normal(3, 7), r.normal(3)],
         layout={"in.0": "transposed", "in.1": "transposed"})
    case(op, "no_rows", lambda r: [r.normal(0, 5), r.normal(3, 5), r.normal(3)])
case("linear_gelu", "extreme", lambda r: [r.normal(5, 7, std=100), r.normal(3, 7), r.normal(3)])
