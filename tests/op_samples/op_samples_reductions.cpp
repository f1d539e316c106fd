// Samples of reductions.
#include <algorithm>
#include <tuple>

#include "autograd/check/composed.h"
#include "tests/op_samples/op_samples.h"

namespace pg::samples {
namespace {

struct Case {
  std::string label;
  Shape shape;
  std::vector<int> dims;
  bool keepdim = false;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {{"all", {4, 7}, {}},
                                        {"all, kept", {4, 7}, {}, true},
                                        {"rows", {4, 7}, {-1}},
                                        {"rows, kept", {4, 7}, {1}, true},
                                        {"columns", {4, 7}, {0}},
                                        {"middle", {3, 4, 5}, {1}},
                                        {"outer two", {3, 4, 5}, {0, 1}},
                                        {"first and last", {3, 4, 5}, {0, -1}, true},
                                        {"dims out of order", {2, 3, 4, 2}, {3, 1}},
                                        {"size 1", {3, 1, 4}, {1}},
                                        {"one element", {1}, {0}},
                                        {"rank 0", Shape{}, {}},
                                        {"no rows", {0, 5}, {1}}};
  return all;
}

using Reduction = Tensor (*)(const Tensor&, const ReduceDims&, bool);

void add(std::vector<OpSample>& out, Op op, Inputs (*inputs)(std::vector<Shape>), Reduction call, Reduction twin) {
  auto push = [&](const Case& c, bool large) {
    auto bind = [&](Reduction f) {
      return fn([f, dims = c.dims, keep = c.keepdim](In x) { return f(x[0], dims, keep); });
    };
    out.push_back({op, c.label, inputs({c.shape}), bind(call), twin ? bind(twin) : TensorFunction{}, {}, large});
  };
  for (const Case& c : cases()) push(c, false);
  push({"large all", {301, 701}, {}}, true);
  push({"large rows", {301, 701}, {1}}, true);
  push({"large columns", {301, 701}, {0}}, true);
  push({"large middle", {30, 70, 101}, {1}}, true);
}

// Computes sums as a product with ones: another summation order and another kernel.
Tensor sum_by_matmul(const Tensor& x, const ReduceDims& reduce, bool keepdim) {
  const std::vector<int>& dims = reduce;
  const int rank = std::max(x.rank(), 1);  // a scalar has dims 0 and -1
  std::vector<bool> reduced(static_cast<size_t>(rank), dims.empty());
  for (int d : dims) reduced[static_cast<size_t>(normalize_dim(d, rank, "sum"))] = true;
  std::vector<int> order;
  Shape result, kept;
  int64_t rows = 1, columns = 1;
  for (int d = 0; d < x.rank(); ++d) {
    kept.push_back(reduced[d] ? 1 : x.size(d));
    if (reduced[d]) continue;
    order.push_back(d);
    result.push_back(x.size(d));
    rows *= x.size(d);
  }
  for (int d = 0; d < x.rank(); ++d) {
    if (!reduced[d]) continue;
    order.push_back(d);
    columns *= x.size(d);
  }
  const Tensor table = reshape(permute(x, order), {rows, columns});
  return reshape(matmul(table, Tensor::ones({columns, 1}, x.dtype())), keepdim ? kept : result);
}

Tensor unbiased_var(const Tensor& x, const ReduceDims& dims, bool keepdim) { return var(x, dims, 1, keepdim); }
Tensor biased_var(const Tensor& x, const ReduceDims& dims, bool keepdim) { return var(x, dims, 0, keepdim); }
Tensor biased_var_twin(const Tensor& x, const ReduceDims& dims, bool keepdim) {
  return composed::var(x, dims, 0, keepdim);
}

void cumsum_samples(std::vector<OpSample>& out) {
  // y = x·U, where U is the upper triangular matrix of ones.
  auto twin = [](int dim) {
    return fn([dim](In x) {
      const Tensor moved = transpose(x[0], dim, -1);
      const int64_t n = moved.size(-1);
      const Tensor i = Tensor::arange(n, x[0].dtype());
      const Tensor upper = le(unsqueeze(i, 1), i).to(x[0].dtype());
      const Tensor rows = reshape(moved, {moved.numel() / std::max<int64_t>(n, 1), n});
      return transpose(reshape(matmul(rows, upper), moved.shape()), dim, -1);
    });
  };
  for (const auto& [label, shape, dim] : std::vector<std::tuple<std::string, Shape, int>>{{"rows", {4, 7}, -1},
                                                                                          {"columns", {4, 7}, 0},
                                                                                          {"middle", {3, 4, 5}, 1},
                                                                                          {"one element", {1}, 0},
                                                                                          {"no rows", {0, 5}, 1}}) {
    out.push_back({Op::cumsum, label, normal({shape}), fn([dim = dim](In x) { return cumsum(x[0], dim); }), twin(dim)});
  }
  out.push_back({Op::cumsum, "empty dim", normal({{3, 0}}), fn([](In x) { return cumsum(x[0], 1); })});
  out.push_back(
      {Op::cumsum, "large rows", normal({{301, 701}}), fn([](In x) { return cumsum(x[0], 1); }), twin(1), {}, true});
  out.push_back(
      {Op::cumsum, "large columns", normal({{301, 701}}), fn([](In x) { return cumsum(x[0], 0); }), twin(0), {}, true});
}

}  // namespace

void reductions(std::vector<OpSample>& out) {
  add(out, Op::sum, normal, sum, sum_by_matmul);
  add(out, Op::mean, normal, mean, composed::mean);
  add(out, Op::amax, distinct, amax, nullptr);
  add(out, Op::logsumexp, normal, logsumexp, composed::logsumexp);
  add(out, Op::var, normal, biased_var, biased_var_twin);
  out.push_back({Op::var, "unbiased rows", normal({{4, 7}}), fn([](In x) { return unbiased_var(x[0], {-1}, false); }),
                 fn([](In x) { return composed::var(x[0], {-1}, 1, false); })});
  out.push_back({Op::var, "unbiased all, kept", normal({{3, 4, 5}}),
                 fn([](In x) { return unbiased_var(x[0], {}, true); }),
                 fn([](In x) { return composed::var(x[0], {}, 1, true); })});
  out.push_back({Op::var, "far from zero", uniform({{4, 7}}, 30, 31),
                 fn([](In x) { return biased_var(x[0], {-1}, false); }),
                 fn([](In x) { return composed::var(x[0] - 30.5, {-1}, 0, false); })});
  out.push_back({Op::sum, "empty dim gives 0", normal({{3, 0}}), fn([](In x) { return sum(x[0], {1}); })});
  out.push_back({Op::sum, "of everything empty", normal({{0, 2}}), fn([](In x) { return sum(x[0]); })});
  cumsum_samples(out);
}

}  // namespace pg::samples
