// Samples of operations that change shapes.
#include "tests/op_samples/op_samples.h"

namespace pg::samples {
namespace {

// Multiplies each element by a different weight, so that a gradient at a wrong position is detected.
Tensor weighted(const Tensor& x) {
  return x * reshape(Tensor::arange(x.numel(), x.dtype(), x.device()) * 0.125 + 1.0, x.shape());
}

void views(std::vector<OpSample>& out) {
  auto push = [&](Op op, const std::string& label, const Shape& shape, auto f) {
    out.push_back({op, label, normal({shape}), fn([f](In x) { return weighted(f(x[0])); })});
  };
  using T = const Tensor&;
  push(Op::reshape, "[4, 6] to [3, 8]", {4, 6}, [](T x) { return reshape(x, {3, 8}); });
  push(Op::reshape, "-1 is inferred", {4, 6}, [](T x) { return reshape(x, {2, -1, 3}); });
  push(Op::reshape, "to rank 0", {1, 1}, [](T x) { return reshape(x, Shape{}); });
  push(Op::reshape, "from rank 0", Shape{}, [](T x) { return reshape(x, {1, 1, 1}); });
  push(Op::reshape, "empty", {0, 6}, [](T x) { return reshape(x, {3, 0, 2}); });
  push(Op::reshape, "of a transpose copies", {4, 6}, [](T x) { return reshape(transpose(x), {8, 3}); });
  push(Op::reshape, "unsqueeze", {4, 6}, [](T x) { return unsqueeze(unsqueeze(x, 1), -1); });
  push(Op::reshape, "squeeze", {4, 1, 6}, [](T x) { return squeeze(x, 1); });
  push(Op::reshape, "used twice", {4, 6}, [](T x) { return reshape(x, {24}) * reshape(x * x, {24}); });
  push(Op::reshape, "contiguous of a transpose", {4, 6}, [](T x) { return contiguous(transpose(x)); });
  push(Op::transpose, "last two", {4, 6}, [](T x) { return transpose(x); });
  push(Op::transpose, "dims 0 and -1", {2, 3, 4}, [](T x) { return transpose(x, 0, -1); });
  push(Op::transpose, "a dim with itself", {2, 3}, [](T x) { return transpose(x, 1, 1); });
  push(Op::transpose, "empty", {0, 3}, [](T x) { return transpose(x); });
  push(Op::permute, "rank 4", {2, 3, 4, 5}, [](T x) { return permute(x, {2, 0, 3, 1}); });
  push(Op::permute, "negative dims", {2, 3, 4}, [](T x) { return permute(x, {-1, 0, 1}); });
  push(Op::permute, "rank 0", Shape{}, [](T x) { return permute(x, {}); });
  push(Op::slice, "rows 1 to 3", {5, 4}, [](T x) { return slice(x, 0, 1, 3); });
  push(Op::slice, "negative start and end", {5, 4}, [](T x) { return slice(x, -1, -3, -1); });
  push(Op::slice, "step 2", {7, 4}, [](T x) { return slice(x, 0, 1, 7, 2); });
  push(Op::slice, "end beyond the size", {5, 4}, [](T x) { return slice(x, 0, 3, 100); });
  push(Op::slice, "empty", {5, 4}, [](T x) { return slice(x, 0, 3, 3); });
  push(Op::slice, "overlapping slices add up", {7}, [](T x) { return slice(x, 0, 0, 5) * slice(x, 0, 2, 7); });
  push(Op::slice, "select", {5, 4}, [](T x) { return select(x, 0, -2); });
  push(Op::slice, "of a transpose", {5, 4}, [](T x) { return slice(transpose(x), 0, 1, 3); });
  push(Op::expand, "rows", {1, 4}, [](T x) { return expand(x, {3, 4}); });
  push(Op::expand, "new leading dims", {4}, [](T x) { return expand(x, {2, 3, 4}); });
  push(Op::expand, "-1 keeps a size", {3, 1}, [](T x) { return expand(x, {2, -1, 5}); });
  push(Op::expand, "rank 0", Shape{}, [](T x) { return expand(x, {2, 3}); });
  push(Op::expand, "to nothing", {1, 4}, [](T x) { return expand(x, {0, 4}); });
  push(Op::expand, "to itself", {3, 4}, [](T x) { return expand(x, {3, 4}); });
  // The gradient of a broadcast has strides 0 when it reaches the next backward.
  push(Op::expand, "then sum", {1, 4}, [](T x) { return sum(expand(x, {3, 4}) * expand(x, {3, 4}), {0}); });
  push(Op::transpose, "of an expand", {3, 1}, [](T x) { return transpose(expand(x, {3, 5})); });
}

// Concatenates the tensors as a sum of zero-padded tensors, which are products with parts of the identity matrix.
Tensor cat_rows_by_matmul(In xs) {
  int64_t rows = 0;
  for (const Tensor& x : xs) rows += x.size(0);
  Tensor result = Tensor::zeros({rows, xs[0].size(1)}, xs[0].dtype());
  const Tensor i = Tensor::arange(rows, xs[0].dtype());
  int64_t at = 0;
  for (const Tensor& x : xs) {
    const Tensor j = Tensor::arange(x.size(0), x.dtype()) + static_cast<double>(at);
    result = result + matmul(eq(unsqueeze(i, 1), j).to(x.dtype()), x);
    at += x.size(0);
  }
  return result;
}

void joins(std::vector<OpSample>& out) {
  const TensorFunction rows = fn([](In x) { return cat({x.begin(), x.end()}, 0); });
  const TensorFunction rows_twin = fn([](In x) { return cat_rows_by_matmul(x); });
  out.push_back({Op::cat, "two", normal({{2, 3}, {4, 3}}), rows, rows_twin});
  out.push_back({Op::cat, "one", normal({{2, 3}}), rows, rows_twin});
  out.push_back({Op::cat, "six", normal({{2, 3}, {1, 3}, {3, 3}, {1, 3}, {2, 3}, {1, 3}}), rows, rows_twin});
  out.push_back({Op::cat, "an empty one between", normal({{2, 3}, {0, 3}, {1, 3}}), rows, rows_twin});
  out.push_back({Op::cat, "last dim", normal({{2, 3, 1}, {2, 3, 4}}), fn([](In x) {
                   return cat({x[0], x[1]}, -1);
                 }),
                 fn([](In x) {
                   const Tensor a = reshape(x[0], {6, 1}), b = reshape(x[1], {6, 4});
                   const Tensor parts[] = {transpose(a), transpose(b)};
                   return reshape(transpose(cat_rows_by_matmul(parts)), {2, 3, 5});
                 })});
  out.push_back({Op::cat, "the same tensor three times", normal({{2, 3}}), fn([](In x) {
                   return weighted(cat({x[0], x[0], x[0]}, 1));
                 })});
  out.push_back({Op::cat, "of transposes", normal({{3, 2}, {3, 2}}), fn([](In x) {
                   return cat({transpose(x[0]), transpose(x[1])}, 0);
                 })});
  out.push_back({Op::cat,
                 "large",
                 normal({{301, 401}, {301, 300}}),
                 fn([](In x) {
                   return cat({x[0], x[1]}, 1);
                 }),
                 {},
                 {},
                 true});
  auto stacked = [](int dim) { return fn([dim](In x) { return stack({x.begin(), x.end()}, dim); }); };
  auto stacked_twin = [](int dim) {
    return fn([dim](In x) {
      std::vector<Tensor> parts;
      for (const Tensor& t : x) parts.push_back(unsqueeze(t, dim));
      return cat(parts, dim);
    });
  };
  out.push_back({Op::stack, "first dim", normal({{2, 3}, {2, 3}, {2, 3}}), stacked(0), stacked_twin(0)});
  out.push_back({Op::stack, "middle", normal({{2, 3}, {2, 3}}), stacked(1), stacked_twin(1)});
  out.push_back({Op::stack, "last dim", normal({{2, 3}, {2, 3}}), stacked(-1), stacked_twin(-1)});
  out.push_back(
      {Op::stack, "rank 0", normal({Shape{}, Shape{}, Shape{}, Shape{}, Shape{}}), stacked(0), stacked_twin(0)});
  out.push_back({Op::stack, "empty", normal({{0, 3}, {0, 3}}), stacked(0), stacked_twin(0)});
  out.push_back({Op::stack, "the same tensor twice", normal({{2, 3}}), fn([](In x) {
                   return weighted(stack({x[0], x[0]}, 0));
                 })});
}

}  // namespace

void shapes(std::vector<OpSample>& out) {
  views(out);
  joins(out);
}

}  // namespace pg::samples
