// Calls that must fail. The message names the operation, the received arguments and, if known, a fix.
#include <cmath>
#include <limits>

#include "tests/op_samples/op_samples.h"

namespace pg::samples {
namespace {

Tensor z(const Shape& shape, DType dtype = f32) { return Tensor::zeros(shape, dtype); }

void elementwise_errors(std::vector<OpError>& out) {
  struct Binary {
    Op op;
    Tensor (*call)(const Tensor&, const Tensor&);
  };
  for (const Binary& b : {Binary{Op::add, add},
                          {Op::sub, sub},
                          {Op::mul, mul},
                          {Op::div, div},
                          {Op::pow, [](const Tensor&a, const Tensor&b) { return pow(a, b); }},
                          {Op::minimum, minimum},
                          {Op::maximum, maximum},
                          {Op::swiglu, swiglu}}) {
    out.push_back({b.op,
                   "shapes that do not broadcast",
                   [b] {
                     b.call(z({3, 4}), z({3, 5}));
                   },
                   {name_of(b.op), "[3, 4]", "[3, 5]", "4 vs 5"}});
    out.push_back({b.op, "two dtypes", [b] { b.call(z({3}), z({3}, f64)); }, {name_of(b.op), "f32", "f64", "cast"}});
    out.push_back(
        {b.op, "integers", [b] { b.call(z({3}, i32), z({3}, i32)); }, {name_of(b.op), "i32", "f32, f64 or bf16"}});
    out.push_back({b.op, "undefined", [b] { b.call(z({3}), Tensor{}); }, {name_of(b.op), "undefined"}});
  }
  struct Unary {
    Op op;
    Tensor (*call)(const Tensor&);
  };
  using T = const Tensor&;
  for (const Unary& u : {Unary{Op::neg, neg},
                         {Op::abs, abs},
                         {Op::exp, exp},
                         {Op::expm1, expm1},
                         {Op::log, log},
                         {Op::log1p, log1p},
                         {Op::sqrt, sqrt},
                         {Op::rsqrt, rsqrt},
                         {Op::reciprocal, reciprocal},
                         {Op::sin, sin},
                         {Op::cos, cos},
                         {Op::tanh, tanh},
                         {Op::sigmoid, sigmoid},
                         {Op::softplus, softplus},
                         {Op::relu, relu},
                         {Op::gelu, [](T x) { return gelu(x); }},
                         {Op::silu, silu},
                         {Op::affine, [](T x) { return x + 1; }},
                         {Op::pow_scalar, [](T x) { return pow(x, 2); }}}) {
    out.push_back({u.op, "integers", [u] { u.call(z({3}, i32)); }, {name_of(u.op), "i32", "f32, f64 or bf16"}});
    out.push_back({u.op, "bytes", [u] { u.call(z({3}, u8)); }, {name_of(u.op), "u8", "to(f32)"}});
    out.push_back({u.op, "undefined", [u] { u.call(Tensor{}); }, {name_of(u.op), "undefined"}});
  }
  out.push_back({Op::clamp, "min above max", [] { clamp(z({3}), 2, 1); }, {"clamp", "2", "1"}});
  out.push_back({Op::clamp, "integers", [] { clamp(z({3}, i32), 1, 2); }, {"clamp", "i32"}});
  out.push_back({Op::cast, "undefined", [] { cast(Tensor{}, f64); }, {"cast", "undefined"}});
  out.push_back({Op::where, "condition of floats", [] { where(z({3}), z({3}), z({3})); }, {"where", "u8", "f32"}});
  out.push_back({Op::where, "no condition", [] { where({}, z({3}), z({3})); }, {"where", "condition", "undefined"}});
  out.push_back({Op::where, "shapes", [] { where(z({3}, u8), z({3}), z({4})); }, {"where", "[3]", "[4]"}});
  out.push_back({Op::where, "dtypes", [] { where(z({3}, u8), z({3}), z({3}, f64)); }, {"where", "f32", "f64"}});
}

void reduction_errors(std::vector<OpError>& out) {
  struct Reduction {
    Op op;
    Tensor (*call)(const Tensor&, const std::vector<int>&);
  };
  using T = const Tensor&;
  using D = const std::vector<int>&;
  for (const Reduction& r : {Reduction{Op::sum, [](T x, D d) { return sum(x, d); }},
                             {Op::mean, [](T x, D d) { return mean(x, d); }},
                             {Op::amax, [](T x, D d) { return amax(x, d); }},
                             {Op::logsumexp, [](T x, D d) { return logsumexp(x, d); }},
                             {Op::var, [](T x, D d) { return var(x, d); }}}) {
    out.push_back({r.op,
                   "dim out of range",
                   [r] {
                     r.call(z({3, 4}), {2});
                   },
                   {name_of(r.op), "dim 2", "2 dimensions"}});
    out.push_back({r.op, "a dim twice", [r] { r.call(z({3, 4}), {1, -1}); }, {name_of(r.op), "dim 1", "twice"}});
    out.push_back({r.op, "integers", [r] { r.call(z({3, 4}, i32), {}); }, {name_of(r.op), "i32"}});
  }
  out.push_back({Op::amax, "nothing", [] { amax(z({3, 0}), {1}); }, {"amax", "[3, 0]"}});
  out.push_back({Op::var, "negative correction", [] { var(z({3}), {}, -1); }, {"var", "correction", "-1"}});
  out.push_back({Op::sum, "a dim of a scalar twice", [] { sum(z(Shape{}), {0, -1}); }, {"sum", "dim 0", "twice"}});
  out.push_back({Op::mean, "dim 1 of a scalar", [] { mean(z(Shape{}), {1}); }, {"mean", "dim 1"}});
  out.push_back({Op::cumsum, "dim out of range", [] { cumsum(z({3}), 1); }, {"cumsum", "dim 1", "1 dimensions"}});
}

void product_errors(std::vector<OpError>& out) {
  out.push_back({Op::matmul,
                 "b not transposed",
                 [] {
                   matmul(z({256, 768}), z({700, 768}));
                 },
                 {"matmul", "[256, 768]", "[700, 768]", "768 vs 700", "transpose(b)"}});
  out.push_back({Op::matmul,
                 "inner sizes",
                 [] {
                   matmul(z({2, 3}), z({4, 5}));
                 },
                 {"matmul", "[2, 3]", "[4, 5]", "3 vs 4"}});
  out.push_back({Op::matmul, "a vector", [] { matmul(z({2, 3}), z({3})); }, {"matmul", "[2, 3]", "[3]", "unsqueeze"}});
  out.push_back({Op::matmul, "batches", [] { matmul(z({2, 3, 4}), z({5, 4, 3})); }, {"matmul", "2 vs 5"}});
  out.push_back({Op::matmul, "dtypes", [] { matmul(z({2, 3}), z({3, 2}, f64)); }, {"matmul", "f32", "f64"}});
  struct Linear {
    Op op;
    Tensor (*call)(const Tensor&, const Tensor&, const Tensor&);
  };
  for (const Linear& l : {Linear{Op::linear, linear}, {Op::linear_gelu, linear_gelu}}) {
    out.push_back({l.op,
                   "weight transposed",
                   [l] {
                     l.call(z({2, 3}), z({3, 5}), {});
                   },
                   {name_of(l.op), "[2, 3]", "[3, 5]", "[N, K]"}});
    out.push_back({l.op, "bias", [l] { l.call(z({2, 3}), z({5, 3}), z({3})); }, {name_of(l.op), "bias", "[5]", "[3]"}});
    out.push_back({l.op, "dtypes", [l] { l.call(z({2, 3}, f64), z({5, 3}), {}); }, {name_of(l.op), "f64", "f32"}});
  }
  out.push_back({Op::mlp_gelu,
                 "first weight",
                 [] {
                   mlp_gelu(z({2, 3}), z({3, 5}), {}, z({3, 5}), {});
                 },
                 {"mlp_gelu", "[2, 3]", "[3, 5]", "[N, K]"}});
  out.push_back({Op::mlp_gelu,
                 "second weight",
                 [] {
                   mlp_gelu(z({2, 3}), z({5, 3}), {}, z({5, 3}), {});
                 },
                 {"mlp_gelu", "[2, 5]", "[5, 3]", "[N, K]"}});
  out.push_back({Op::mlp_gelu,
                 "second bias",
                 [] {
                   mlp_gelu(z({2, 3}), z({5, 3}), z({5}), z({4, 5}), z({5}));
                 },
                 {"mlp_gelu", "bias", "[4]", "[5]"}});
}

void shape_errors(std::vector<OpError>& out) {
  out.push_back({Op::reshape,
                 "another size",
                 [] {
                   reshape(z({3, 4}), {5, 2});
                 },
                 {"reshape", "[3, 4]", "12", "[5, 2]"}});
  out.push_back({Op::reshape, "two -1", [] { reshape(z({3, 4}), {-1, -1}); }, {"reshape", "-1"}});
  out.push_back({Op::reshape,
                 "-1 does not divide",
                 [] {
                   reshape(z({3, 4}), {5, -1});
                 },
                 {"reshape", "[3, 4]", "[5, -1]"}});
  out.push_back({Op::reshape, "squeeze of 4", [] { squeeze(z({3, 4}), 1); }, {"squeeze", "dim 1", "[3, 4]"}});
  out.push_back({Op::transpose, "dim", [] { transpose(z({3, 4}), 0, 2); }, {"transpose", "dim 2"}});
  out.push_back({Op::permute, "too few dims", [] { permute(z({3, 4}), {0}); }, {"permute", "1 dims", "[3, 4]"}});
  out.push_back({Op::permute, "a dim twice", [] { permute(z({3, 4}), {0, 0}); }, {"permute", "dim 0", "twice"}});
  out.push_back({Op::slice, "step 0", [] { slice(z({3}), 0, 0, 3, 0); }, {"slice", "step", "0"}});
  out.push_back({Op::slice, "dim", [] { slice(z({3}), 1, 0, 3); }, {"slice", "dim 1"}});
  out.push_back({Op::slice, "select outside", [] { select(z({3}), 0, 3); }, {"select", "index 3", "3"}});
  out.push_back({Op::expand,
                 "a size that is not 1",
                 [] {
                   expand(z({3, 4}), {3, 8});
                 },
                 {"expand", "[3, 4]", "[3, 8]", "4 vs 8"}});
  out.push_back({Op::expand, "fewer dims", [] { expand(z({3, 4}), {4}); }, {"expand", "[3, 4]", "[4]"}});
  out.push_back({Op::cat, "nothing", [] { cat({}); }, {"cat", "no tensors"}});
  out.push_back({Op::cat, "sizes", [] { cat({z({2, 3}), z({2, 4})}, 0); }, {"cat", "[2, 3]", "[2, 4]"}});
  out.push_back({Op::cat, "ranks", [] { cat({z({2, 3}), z({2})}, 0); }, {"cat", "[2, 3]", "[2]", "rank"}});
  out.push_back({Op::cat, "dtypes", [] { cat({z({2}), z({2}, f64)}, 0); }, {"cat", "f32", "f64"}});
  out.push_back({Op::stack, "nothing", [] { stack({}); }, {"stack", "no tensors"}});
  out.push_back({Op::stack, "shapes", [] { stack({z({2, 3}), z({2, 4})}, 0); }, {"stack", "[2, 3]", "[2, 4]"}});
}

void index_errors(std::vector<OpError>& out) {
  const Tensor far = ids({0, 5, 1}, {3});
  out.push_back({Op::gather, "-1 classes", [] { one_hot(ids({0, 1}, {2}), -1); }, {"one_hot", "classes", "-1"}});
  out.push_back({Op::index_select,
                 "two indices into a scalar",
                 [] {
                   index_select(z(Shape{}), 0, ids({0, 0}, {2}));
                 },
                 {"index_select", "rank 0", "2"}});
  out.push_back(
      {Op::gather, "id too large", [=] { gather(z({5}), 0, far); }, {"gather", "id 5", "position 1", "[0, 5)"}});
  out.push_back({Op::gather, "ids of floats", [] { gather(z({5}), 0, z({3})); }, {"gather", "i32", "f32"}});
  out.push_back({Op::gather, "rank", [] { gather(z({5, 2}), 0, ids({1}, {1})); }, {"gather", "[1]", "[5, 2]"}});
  out.push_back({Op::gather,
                 "more rows than x",
                 [] {
                   gather(z({1, 3}), 1, ids({0, 0}, {2, 1}));
                 },
                 {"gather", "[2, 1]", "[1, 3]"}});
  out.push_back({Op::index_select,
                 "negative id",
                 [] { index_select(z({5}), 0, ids({-1}, {1})); },
                 {"index_select", "id -1", "[0, 5)"}});
  out.push_back({Op::index_select,
                 "2-d index",
                 [] {
                   index_select(z({5}), 0, ids({1}, {1, 1}));
                 },
                 {"index_select", "1-d", "[1, 1]"}});
  out.push_back({Op::scatter_add,
                 "shapes",
                 [] {
                   scatter_add(z({5}), 0, ids({1, 2}, {2}), z({3}));
                 },
                 {"scatter_add", "[2]", "[3]"}});
  out.push_back({Op::scatter_add,
                 "id too large",
                 [=] { scatter_add(z({5}), 0, far, z({3})); },
                 {"scatter_add", "id 5", "[0, 5)"}});
  out.push_back({Op::embedding,
                 "id too large",
                 [=] {
                   embedding(z({5, 2}), far);
                 },
                 {"embedding", "id 5", "position 1", "[0, 5)"}});
  out.push_back(
      {Op::embedding, "weight of rank 1", [=] { embedding(z({5}), ids({1}, {1})); }, {"embedding", "[V, C]", "[5]"}});
}

void row_errors(std::vector<OpError>& out) {
  out.push_back({Op::softmax, "dim", [] { softmax(z({3, 4}), 2); }, {"softmax", "dim 2"}});
  out.push_back({Op::softmax, "dim 1 of rank 0", [] { softmax(z(Shape{}), 1); }, {"softmax", "dim 1"}});
  out.push_back({Op::log_softmax, "dim", [] { log_softmax(z({3, 4}), -3); }, {"log_softmax", "dim -3"}});
  const Tensor five = ids({0, 5, 1}, {3});
  CrossEntropyOptions smooth, weight;
  smooth.label_smoothing = 1.5;
  weight.weight = z({4});
  out.push_back({Op::cross_entropy,
                 "target too large",
                 [=] {
                   cross_entropy(z({3, 5}), five);
                 },
                 {"cross_entropy", "id 5", "position 1", "[0, 5)"}});
  out.push_back({Op::cross_entropy,
                 "shapes",
                 [=] {
                   cross_entropy(z({4, 9}), five);
                 },
                 {"cross_entropy", "[4, 9]", "[3]"}});
  out.push_back({Op::cross_entropy,
                 "smoothing",
                 [=] {
                   cross_entropy(z({3, 9}), five, smooth);
                 },
                 {"cross_entropy", "label_smoothing", "1.5"}});
  out.push_back({Op::cross_entropy,
                 "weight",
                 [=] {
                   cross_entropy(z({3, 9}), five, weight);
                 },
                 {"cross_entropy", "weight", "[9]", "[4]"}});
  out.push_back({Op::cross_entropy,
                 "shape of upstream",
                 [=] {
                   cross_entropy(z({3, 9}), five, {.upstream = Tensor::ones({3})});
                 },
                 {"cross_entropy", "upstream", "f32 []", "f32 [3]"}});
  out.push_back({Op::cross_entropy,
                 "dtype of upstream",
                 [=] {
                   cross_entropy(z({3, 9}), five, {.reduction = Reduction::none, .upstream = Tensor::ones({3}, f64)});
                 },
                 {"cross_entropy", "upstream", "f32 [3]", "f64 [3]"}});
  out.push_back({Op::token_log_prob,
                 "id too large",
                 [=] {
                   token_log_prob(z({3, 5}), five);
                 },
                 {"token_log_prob", "id 5"}});
  out.push_back({Op::token_log_prob,
                 "shapes",
                 [=] {
                   token_log_prob(z({2, 3, 5}), five);
                 },
                 {"token_log_prob", "[2, 3, 5]", "[3]"}});
  out.push_back({Op::layer_norm,
                 "weight",
                 [] {
                   layer_norm(z({3, 4}), z({3}));
                 },
                 {"layer_norm", "weight", "[4]", "[3]"}});
  out.push_back({Op::layer_norm,
                 "bias",
                 [] {
                   layer_norm(z({3, 4}), {}, z({5}));
                 },
                 {"layer_norm", "bias", "[4]", "[5]"}});
  out.push_back({Op::layer_norm, "rank 0", [] { layer_norm(z(Shape{})); }, {"layer_norm", "[..., C]", "rank 0"}});
  out.push_back({Op::layer_norm,
                 "negative eps",
                 [] {
                   layer_norm(z({3, 4}), {}, {}, -1);
                 },
                 {"layer_norm", "eps", "-1"}});
  out.push_back({Op::rms_norm, "eps is NaN", [] { rms_norm(z({3, 4}), {}, NAN); }, {"rms_norm", "eps", "nan"}});
  out.push_back({Op::add_layer_norm,
                 "shapes",
                 [] {
                   add_layer_norm(z({3, 4}), z({4}));
                 },
                 {"add_layer_norm", "[3, 4]", "[4]"}});
  out.push_back({Op::rms_norm, "weight", [] { rms_norm(z({3, 4}), z({3})); }, {"rms_norm", "weight", "[4]", "[3]"}});
  out.push_back({Op::add_rms_norm,
                 "residual",
                 [] {
                   add_rms_norm(z({3, 4}), z({4}));
                 },
                 {"add_rms_norm", "[3, 4]", "[4]"}});
}

void attention_errors(std::vector<OpError>& out) {
  auto refuse = [&](const std::string& label, const Shape& q, const Shape& k, AttentionOptions o,
                    std::vector<std::string> words) {
    words.push_back("attention");
    out.push_back({Op::attention, label, [=] { pg::attention(z(q), z(k), z(k), o); }, words});
  };
  refuse("rank", {2, 3, 4}, {2, 3, 4}, {}, {"[2, 3, 4]", "[B, H, T, D]"});
  refuse("head sizes", {1, 2, 3, 4}, {1, 2, 3, 5}, {}, {"[1, 2, 3, 4]", "[1, 2, 3, 5]"});
  refuse("heads that do not divide", {1, 3, 4, 5}, {1, 2, 4, 5}, {}, {"3 query heads", "2 key heads"});
  refuse("more causal queries than keys", {1, 1, 4, 5}, {1, 1, 3, 5}, {}, {"4 queries", "3 keys"});
  AttentionOptions mask, length, too_long;
  mask.key_mask = z({1, 4}, u8);
  refuse("mask shape", {1, 1, 3, 5}, {1, 1, 3, 5}, mask, {"key_mask", "[1, 3]", "[1, 4]"});
  mask.key_mask = z({1, 3});
  refuse("mask of floats", {1, 1, 3, 5}, {1, 1, 3, 5}, mask, {"key_mask", "u8", "f32"});
  length.kv_len = ids({2}, {1});
  refuse("fewer keys in use than queries", {1, 1, 3, 5}, {1, 1, 8, 5}, length, {"3 queries", "2"});
  too_long.kv_len = ids({9}, {1});
  refuse("more keys in use than there are", {1, 1, 3, 5}, {1, 1, 8, 5}, too_long, {"kv_len", "9"});
  out.push_back({Op::attention,
                 "packed width",
                 [] {
                   attention_qkv(z({1, 2, 10}), 2);
                 },
                 {"attention_qkv", "[1, 2, 10]", "2"}});
  out.push_back({Op::dropout,
                 "p",
                 [] {
                   Generator g;
                   dropout(z({3}), 1.5, true, g);
                 },
                 {"dropout", "1.5", "[0, 1]"}});
  out.push_back({Op::attention,
                 "a number of heads beyond 32 bits",
                 [] {
                   attention_qkv(z({1, 2, 12}), std::numeric_limits<int>::max());
                 },
                 {"attention_qkv", "[1, 2, 12]", "2147483647"}});
  for (double base : {0.0, -3.0, double{NAN}, HUGE_VAL}) {
    out.push_back({Op::rope, "base", [base] { rope(z({1, 1, 2, 4}), base); }, {"rope", "base above 0"}});
  }
  for (const auto& [factor, low] : {std::pair{0.0, 1.0}, {-1.0, 1.0}, {double{NAN}, 1.0}, {8.0, 4.0}}) {
    Rope options;
    options.factor = factor;
    options.low_freq_factor = low;
    out.push_back({Op::rope, "factor", [options] { rope(z({1, 1, 2, 4}), options); }, {"rope", "factor above 0", "4"}});
  }
  out.push_back({Op::rope, "odd size", [] { rope(z({1, 1, 2, 3})); }, {"rope", "[1, 1, 2, 3]", "even"}});
  out.push_back({Op::rope,
                 "positions",
                 [] {
                   rope(z({1, 1, 2, 4}), 10000, ids({0, 1}, {2}));
                 },
                 {"rope", "positions", "[1]", "[2]"}});
}

}  // namespace

void errors(std::vector<OpError>& out) {
  elementwise_errors(out);
  reduction_errors(out);
  product_errors(out);
  shape_errors(out);
  index_errors(out);
  row_errors(out);
  attention_errors(out);
}

}  // namespace pg::samples
