// Samples of gather, scatter, embedding and related operations.
#include "autograd/check/composed.h"
#include "tests/op_samples/op_samples.h"

namespace pg::samples {
namespace {

// y[i, j] = x[i, index[i, j]] along the last dim, computed as a product with one-hot rows.
Tensor gather_by_one_hot(const Tensor& x, const Tensor& index) {
  Tensor read = x;  // index may be smaller in the other dims
  for (int d = 0; d + 1 < x.rank(); ++d) read = slice(read, d, 0, index.size(d));
  return reshape(sum(unsqueeze(read, -2) * one_hot(index, x.size(-1), x.dtype()), {-1}), index.shape());
}
// Rows of x [N, C] selected by index [M].
Tensor rows_by_one_hot(const Tensor& x, const Tensor& index) { return matmul(one_hot(index, x.size(0), x.dtype()), x); }

void gather_samples(std::vector<OpSample>& out) {
  auto along = [](int dim) { return fn([dim](In x) { return gather(x[0], dim, x[1]); }); };
  const TensorFunction last_twin = fn([](In x) { return gather_by_one_hot(x[0], x[1]); });
  const Tensor repeated = ids({0, 0, 3, 1, 1, 1}, {2, 3});
  out.push_back(
      {Op::gather, "last dim, ids repeat", with_constants(normal({{2, 4}}), {repeated}), along(-1), last_twin});
  out.push_back({Op::gather, "first dim", with_constants(normal({{4, 3}}), {repeated}), along(0),
                 fn([](In x) { return transpose(gather_by_one_hot(transpose(x[0]), transpose(x[1]))); })});
  out.push_back(
      {Op::gather, "middle", with_constants(normal({{2, 4, 3}}), {random_ids(30, 4, 1).view_reshape({2, 5, 3})}),
       along(1),
       fn([](In x) { return transpose(gather_by_one_hot(transpose(x[0], 1, 2), transpose(x[1], 1, 2)), 1, 2); })});
  out.push_back({Op::gather, "fewer rows than x", with_constants(normal({{5, 4}}), {repeated}), along(1),
                 fn([](In x) { return gather_by_one_hot(slice(x[0], 0, 0, 2), x[1]); })});
  out.push_back({Op::gather, "empty index", with_constants(normal({{2, 4}}), {ids({}, {2, 0})}), along(1), last_twin});
  out.push_back({Op::gather, "one element", with_constants(normal({{1}}), {ids({0}, {1})}), along(0), last_twin});
  out.push_back({Op::gather,
                 "large",
                 with_constants(normal({{301, 401}}), {random_ids(301 * 700, 401, 2).view_reshape({301, 700})}),
                 along(1),
                 {},
                 {},
                 true});
}

void index_select_samples(std::vector<OpSample>& out) {
  auto along = [](int dim) { return fn([dim](In x) { return index_select(x[0], dim, x[1]); }); };
  const TensorFunction rows_twin = fn([](In x) { return rows_by_one_hot(x[0], x[1]); });
  const Tensor index = ids({3, 0, 3, 1, 3}, {5});
  out.push_back({Op::index_select, "rows, ids repeat", with_constants(normal({{4, 3}}), {index}), along(0), rows_twin});
  out.push_back({Op::index_select, "columns", with_constants(normal({{3, 4}}), {index}), along(-1),
                 fn([](In x) { return transpose(rows_by_one_hot(transpose(x[0]), x[1])); })});
  out.push_back({Op::index_select, "middle", with_constants(normal({{2, 4, 3}}), {index}), along(1), fn([](In x) {
                   return transpose(matmul(transpose(x[0], 1, 2), transpose(one_hot(x[1], 4, x[0].dtype()))), 1, 2);
                 })});
  out.push_back({Op::index_select, "nothing", with_constants(normal({{4, 3}}), {ids({}, {0})}), along(0), rows_twin});
  out.push_back({Op::index_select,
                 "large",
                 with_constants(normal({{401, 301}}), {random_ids(700, 401, 3)}),
                 along(0),
                 rows_twin,
                 {},
                 true});
}

void scatter_add_samples(std::vector<OpSample>& out) {
  auto along = [](int dim) { return fn([dim](In x) { return scatter_add(x[0], dim, x[2], x[1]); }); };
  // The transpose of gather: sums each source element times its one-hot row.
  const TensorFunction last_twin =
      fn([](In x) { return x[0] + sum(unsqueeze(x[1], -1) * one_hot(x[2], x[0].size(-1), x[0].dtype()), {-2}); });
  const Tensor index = ids({0, 0, 3, 1, 1, 1}, {2, 3});
  out.push_back({Op::scatter_add, "last dim, ids repeat", with_constants(normal({{2, 4}, {2, 3}}), {index}), along(-1),
                 last_twin});
  out.push_back(
      {Op::scatter_add, "first dim", with_constants(normal({{4, 3}, {2, 3}}), {index}), along(0), fn([](In x) {
         const Tensor hot = one_hot(transpose(x[2]), 4, x[0].dtype());
         return x[0] + transpose(sum(unsqueeze(transpose(x[1]), -1) * hot, {-2}));
       })});
  out.push_back({Op::scatter_add, "fewer rows than x", with_constants(normal({{3, 4}, {2, 3}}), {index}), along(1)});
  out.push_back({Op::scatter_add, "x is the source",
                 with_constants(normal({{2, 3}}), {ids({2, 0, 0, 1, 1, 2}, {2, 3})}),
                 fn([](In x) { return scatter_add(x[0], 1, x[1], x[0]); })});
  out.push_back(
      {Op::scatter_add, "empty", with_constants(normal({{2, 4}, {2, 0}}), {ids({}, {2, 0})}), along(1), last_twin});
  out.push_back(
      {Op::scatter_add,
       "large",
       with_constants(normal({{301, 401}, {301, 700}}), {random_ids(301 * 700, 401, 4).view_reshape({301, 700})}),
       along(1),
       {},
       {},
       true});
}

void embedding_samples(std::vector<OpSample>& out) {
  const TensorFunction call = fn([](In x) { return embedding(x[0], x[1]); });
  const TensorFunction twin = fn([](In x) { return composed::embedding(x[0], x[1]); });
  auto push = [&](const std::string& label, const Shape& weight, const Tensor& index, bool large = false) {
    out.push_back({Op::embedding, label, with_constants(normal({weight}), {index}), call, twin, {}, large});
  };
  push("[2, 3] ids that repeat", {5, 4}, ids({4, 0, 4, 4, 1, 0}, {2, 3}));
  push("one id", {5, 4}, ids({2}, Shape{}));
  push("width 1", {5, 1}, ids({2, 2, 3}, {3}));
  push("no ids", {5, 4}, ids({}, {0}));
  push("large", {301, 129}, random_ids(1200, 301, 5).view_reshape({30, 40}), true);
  push("large, few rows", {7, 257}, random_ids(1000, 7, 6), true);
  out.push_back({Op::embedding, "one weight twice", with_constants(normal({{5, 4}}), {ids({4, 0, 4}, {3})}),
                 fn([](In x) { return embedding(x[0], x[1]) * embedding(x[0], x[1]); }),
                 fn([](In x) { return pow(composed::embedding(x[0], x[1]), 2); })});
  // An output layer tied to the embedding: two gradients are added up in one buffer.
  out.push_back({Op::embedding, "weight tied to a linear", with_constants(normal({{5, 4}}), {ids({4, 0, 4}, {3})}),
                 fn([](In x) { return linear(embedding(x[0], x[1]), x[0]); }),
                 fn([](In x) { return composed::linear(composed::embedding(x[0], x[1]), x[0]); })});
}

}  // namespace

void indexing(std::vector<OpSample>& out) {
  gather_samples(out);
  index_select_samples(out);
  scatter_add_samples(out);
  embedding_samples(out);
}

}  // namespace pg::samples
