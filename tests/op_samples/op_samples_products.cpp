// Samples of matrix products.
#include "autograd/check/composed.h"
#include "tests/op_samples/op_samples.h"

namespace pg::samples {
namespace {

Tensor matmul_by_sums(const Tensor& a, const Tensor& b) { return sum(unsqueeze(a, -1) * unsqueeze(b, -3), {-2}); }

void matmul_samples(std::vector<OpSample>& out) {
  const TensorFunction call = fn([](In x) { return matmul(x[0], x[1]); });
  const TensorFunction twin = fn([](In x) { return matmul_by_sums(x[0], x[1]); });
  const std::vector<std::pair<std::string, std::vector<Shape>>> shapes = {
      {"[5, 7]·[7, 3]", {{5, 7}, {7, 3}}},
      {"one by one", {{1, 1}, {1, 1}}},
      {"one row", {{1, 7}, {7, 5}}},
      {"one column", {{6, 7}, {7, 1}}},
      {"inner size 1", {{4, 1}, {1, 5}}},
      {"odd sizes", {{13, 17}, {17, 33}}},
      {"no rows", {{0, 3}, {3, 4}}},
      {"no columns", {{2, 3}, {3, 0}}},
      {"batched", {{2, 3, 4, 5}, {2, 3, 5, 3}}},
      {"one matrix for the batch", {{3, 4, 5}, {5, 2}}},
      {"matrix times batch", {{4, 5}, {3, 5, 2}}},
      {"batch broadcast on both sides", {{2, 1, 3, 4}, {3, 4, 2}}},
      {"empty batch", {{0, 3, 4}, {4, 2}}}};
  for (const auto& [label, shape] : shapes) out.push_back({Op::matmul, label, normal(shape), call, twin});
  out.push_back({Op::matmul, "inner size 0 gives 0", normal({{2, 0}, {0, 3}}), call});
  const TensorFunction call_t0 = fn([](In x) { return matmul(transpose(x[0]), x[1]); });
  out.push_back({Op::matmul, "aᵀ·b", normal({{7, 5}, {7, 3}}), call_t0,
                 fn([](In x) { return matmul_by_sums(transpose(x[0]), x[1]); })});
  out.push_back({Op::matmul, "a·bᵀ", normal({{5, 7}, {3, 7}}), fn([](In x) { return matmul(x[0], transpose(x[1])); }),
                 fn([](In x) { return matmul_by_sums(x[0], transpose(x[1])); })});
  out.push_back({Op::matmul, "aᵀ·bᵀ", normal({{7, 5}, {3, 7}}),
                 fn([](In x) { return matmul(transpose(x[0]), transpose(x[1])); }),
                 fn([](In x) { return matmul_by_sums(transpose(x[0]), transpose(x[1])); })});
  out.push_back({Op::matmul, "heads by strides", normal({{2, 4, 3, 5}, {2, 4, 3, 5}}),
                 fn([](In x) { return matmul(transpose(x[0], 1, 2), transpose(transpose(x[1], 1, 2))); }), fn([](In x) {
                   return matmul_by_sums(permute(x[0], {0, 2, 1, 3}), permute(x[1], {0, 2, 3, 1}));
                 })});
  out.push_back({Op::matmul, "every second row and column", normal({{6, 8}, {8, 6}}),
                 fn([](In x) { return matmul(slice(x[0], 1, 0, 8, 2), slice(x[1], 0, 1, 8, 2)); }),
                 fn([](In x) { return matmul_by_sums(slice(x[0], 1, 0, 8, 2), slice(x[1], 0, 1, 8, 2)); })});
  out.push_back({Op::matmul, "x·xᵀ", normal({{4, 6}}), fn([](In x) { return matmul(x[0], transpose(x[0])); }),
                 fn([](In x) { return matmul_by_sums(x[0], transpose(x[0])); })});
  out.push_back({Op::matmul, "x·x·x", normal({{5, 5}}), fn([](In x) { return matmul(matmul(x[0], x[0]), x[0]); }),
                 fn([](In x) { return matmul_by_sums(x[0], matmul_by_sums(x[0], x[0])); })});
  out.push_back({Op::matmul, "large", normal({{203, 301}, {301, 257}}), call, {}, {}, true, 2.0 * 203 * 301 * 257});
  out.push_back(
      {Op::matmul, "large aᵀ·b", normal({{301, 203}, {301, 257}}), call_t0, {}, {}, true, 2.0 * 203 * 301 * 257});
  out.push_back(
      {Op::matmul, "large batch", normal({{6, 70, 65}, {6, 65, 90}}), call, {}, {}, true, 2.0 * 6 * 70 * 65 * 90});
  out.push_back({Op::matmul,
                 "large, long inner size",
                 normal({{9, 2500}, {2500, 11}}),
                 call,
                 twin,
                 {},
                 true,
                 2.0 * 9 * 2500 * 11});
}

void linear_samples(std::vector<OpSample>& out, Op op, Tensor (*f)(const Tensor&, const Tensor&, const Tensor&),
                    Tensor (*g)(const Tensor&, const Tensor&, const Tensor&)) {
  const TensorFunction with = fn([f](In x) { return f(x[0], x[1], x[2]); });
  const TensorFunction with_twin = fn([g](In x) { return g(x[0], x[1], x[2]); });
  const TensorFunction without = fn([f](In x) { return f(x[0], x[1], {}); });
  const TensorFunction without_twin = fn([g](In x) { return g(x[0], x[1], {}); });
  auto push = [&](const std::string& label, const Shape& x, const Shape& w, bool large = false) {
    const double flops = 2.0 * static_cast<double>(numel(x)) * static_cast<double>(w[0]);
    out.push_back({op, label, normal({x, w, {w[0]}}), with, with_twin, {}, large, flops});
    out.push_back({op, label + ", no bias", normal({x, w}), without, without_twin, {}, large, flops});
  };
  push("[5, 7]", {5, 7}, {3, 7});
  push("[2, 3, 7]", {2, 3, 7}, {4, 7});
  push("rank 1", {7}, {4, 7});
  push("one element", {1, 1}, {1, 1});
  push("no rows", {0, 7}, {4, 7});
  push("odd sizes", {19, 13}, {35, 13});
  push("large", {203, 129}, {385, 129}, true);
  push("large, one row", {1, 512}, {1024, 512}, true);
  const Inputs square = normal({{6, 6}, {6}});
  out.push_back({op, "x is its own weight", square, fn([f](In x) { return f(x[0], x[0], x[1]); }),
                 fn([g](In x) { return g(x[0], x[0], x[1]); })});
  out.push_back({op, "transposed x and weight", normal({{7, 5}, {7, 3}, {3}}),
                 fn([f](In x) { return f(transpose(x[0]), transpose(x[1]), x[2]); }),
                 fn([g](In x) { return g(transpose(x[0]), transpose(x[1]), x[2]); })});
  out.push_back({op, "one weight twice", normal({{5, 6}, {6, 6}, {6}}),
                 fn([f](In x) { return f(f(x[0], x[1], x[2]), x[1], x[2]); }),
                 fn([g](In x) { return g(g(x[0], x[1], x[2]), x[1], x[2]); })});
}

void mlp_gelu_samples(std::vector<OpSample>& out) {
  const TensorFunction both = fn([](In x) { return mlp_gelu(x[0], x[1], x[2], x[3], x[4]); });
  const TensorFunction both_twin = fn([](In x) { return composed::mlp_gelu(x[0], x[1], x[2], x[3], x[4]); });
  auto push = [&](const std::string& label, const Shape& x, int64_t hidden, int64_t n, bool large = false) {
    const Shape w1{hidden, x.back()}, w2{n, hidden};
    const double flops =
        2.0 * static_cast<double>(numel(x)) * static_cast<double>(hidden) * (1 + double(n) / double(x.back()));
    out.push_back({Op::mlp_gelu, label, normal({x, w1, {hidden}, w2, {n}}), both, both_twin, {}, large, flops});
    out.push_back({Op::mlp_gelu,
                   label + ", no bias",
                   normal({x, w1, w2}),
                   fn([](In x) { return mlp_gelu(x[0], x[1], {}, x[2], {}); }),
                   fn([](In x) { return composed::mlp_gelu(x[0], x[1], {}, x[2], {}); }),
                   {},
                   large,
                   flops});
  };
  push("[5, 7]", {5, 7}, 8, 3);
  push("[2, 3, 7]", {2, 3, 7}, 12, 7);
  push("rank 1", {7}, 4, 7);
  push("one element", {1, 1}, 1, 1);
  push("no rows", {0, 7}, 4, 7);
  push("odd sizes", {19, 13}, 35, 11);
  push("large", {203, 129}, 513, 129, true);
  const Inputs five = normal({{4, 6}, {6, 6}, {6}, {6, 6}, {6}});
  for (int i = 0; i < 5; ++i) {  // some inputs need no gradient
    out.push_back({Op::mlp_gelu, "input " + std::to_string(i) + " is constant", five, both, both_twin, {i}});
  }
  out.push_back({Op::mlp_gelu, "only the last bias is trained", five, both, both_twin, {0, 1, 2, 3}});
  out.push_back({Op::mlp_gelu, "x is every weight", normal({{6, 6}, {6}}),
                 fn([](In x) { return mlp_gelu(x[0], x[0], x[1], x[0], x[1]); }),
                 fn([](In x) { return composed::mlp_gelu(x[0], x[0], x[1], x[0], x[1]); })});
  out.push_back(
      {Op::mlp_gelu, "transposed x and weights", normal({{7, 5}, {7, 4}, {4}, {4, 3}, {3}}),
       fn([](In x) { return mlp_gelu(transpose(x[0]), transpose(x[1]), x[2], transpose(x[3]), x[4]); }),
       fn([](In x) { return composed::mlp_gelu(transpose(x[0]), transpose(x[1]), x[2], transpose(x[3]), x[4]); })});
}

}  // namespace

void products(std::vector<OpSample>& out) {
  matmul_samples(out);
  linear_samples(out, Op::linear, linear, composed::linear);
  linear_samples(out, Op::linear_gelu, linear_gelu, composed::linear_gelu);
  mlp_gelu_samples(out);
}

}  // namespace pg::samples
