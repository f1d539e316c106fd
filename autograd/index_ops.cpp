// Reading and writing by index. On the CPU every id is checked before a kernel reads it.
#include "autograd/op_util.h"

namespace pg {
namespace {

using namespace detail;

void pass_scattered(Grads& g, int i, const Shape& shape, const Tensor& index, const Tensor& dy, int dim) {
  write_sums(g, i, shape, [&](const Tensor& into, double beta) {
    if (beta == 0) into.fill(0);
    kernels_of(dy).scatter_add(at_least_1d(into), at_least_1d(index), at_least_1d(dy), dim);
  });
}

// Sizes of index may not exceed x's outside `dim`. Rank 0 counts as [1].
void check_index_shape(const Tensor& x, const Tensor& index, int dim, const char* op) {
  bool fits = std::max(index.rank(), 1) == std::max(x.rank(), 1);
  for (int i = 0; fits && i < x.rank(); ++i) fits = i == dim || index.shape()[i] <= x.shape()[i];
  check(fits, "{}: index {} does not fit {} outside dim {}", op, index.shape(), x.shape(), dim);
}

}  // namespace

Tensor gather(const Tensor& x, int dim, const Tensor& index) {
  check_floating(x, "gather");
  const int d = dim_along(x, dim, "gather");
  check_ids(index, at_least_1d(x).shape()[d], "gather");
  check_device(x, index, "gather");
  check_index_shape(x, index, d, "gather");
  Tensor y = Tensor::empty(index.shape(), x.dtype(), x.device());
  kernels_of(x).gather(at_least_1d(y), at_least_1d(x), at_least_1d(index), d);
  return record(Op::gather, y, {&x},
                [d, ids = SavedIds(index, taped({&x})), shape = x.shape()](const Tensor& dy, Grads& g) {
                  pass_scattered(g, 0, shape, ids.get(Op::gather), dy, d);
                });
}

Tensor index_select(const Tensor& x, int dim, const Tensor& index) {
  check_floating(x, "index_select");
  const int d = dim_along(x, dim, "index_select");
  check_ids(index, at_least_1d(x).shape()[d], "index_select");
  check_device(x, index, "index_select");
  check(index.rank() == 1, "index_select: index must be 1-d, got {}", index.shape());
  check(x.rank() > 0 || index.size(0) == 1, "index_select: a tensor of rank 0 takes one index, got {}", index.size(0));
  Shape shape = at_least_1d(x).shape(), column = Dims::filled(shape.rank(), 1);
  shape[d] = column[d] = index.size(0);
  const auto everywhere = [column, shape](const Tensor& ids) { return ids.view_reshape(column).view_expand(shape); };
  Tensor y = Tensor::empty(x.rank() == 0 ? x.shape() : shape, x.dtype(), x.device());
  kernels_of(x).gather(at_least_1d(y), at_least_1d(x), everywhere(index), d);
  return record(Op::index_select, y, {&x},
                [d, everywhere, ids = SavedIds(index, taped({&x})), from = x.shape()](const Tensor& dy, Grads& g) {
                  pass_scattered(g, 0, from, everywhere(ids.get(Op::index_select)), dy, d);
                });
}

Tensor scatter_add(const Tensor& x, int dim, const Tensor& index, const Tensor& source) {
  check_same_dtype(x, source, "scatter_add");
  check_floating(x, "scatter_add");
  const int d = dim_along(x, dim, "scatter_add");
  check_ids(index, at_least_1d(x).shape()[d], "scatter_add");
  check_device(x, index, "scatter_add");
  check_index_shape(x, index, d, "scatter_add");
  check(index.shape() == source.shape(), "scatter_add: index {} and source {} differ in shape", index.shape(),
        source.shape());
  const Tensor sum = x.dtype() == bf16 ? x.to(f32) : x.clone();
  kernels_of(x).scatter_add(at_least_1d(sum), at_least_1d(index), at_least_1d(source), d);
  Tensor y = sum.to(x.dtype());
  return record(Op::scatter_add, y, {&x, &source},
                [d, ids = SavedIds(index, taped({&x, &source}))](const Tensor& dy, Grads& g) {
                  g.pass(0, dy);
                  if (!g.wants(1)) return;
                  const Tensor& index = ids.get(Op::scatter_add);
                  const Tensor d_source = Tensor::empty(index.shape(), dy.dtype(), dy.device());
                  kernels_of(dy).gather(at_least_1d(d_source), at_least_1d(dy), at_least_1d(index), d);
                  g.pass(1, d_source);
                });
}

Tensor one_hot(const Tensor& ids, int64_t num_classes, DType dtype) {
  check(num_classes >= 0, "one_hot: expected 0 or more classes, got {}", num_classes);
  check_ids(ids, num_classes, "one_hot");
  Shape shape = ids.shape();
  shape.push_back(num_classes);
  const Tensor classes = Tensor::arange(num_classes, f64, ids.device());
  const Tensor wanted = unsqueeze(ids.to(f64), ids.rank());
  return eq(wanted.view_expand(shape), classes.view_expand(shape)).to(dtype);
}

Tensor embedding(const Tensor& weight, const Tensor& ids) {
  check_floating(weight, "embedding");
  check(weight.rank() == 2, "embedding: weight must be [V, C], got {}", weight.shape());
  check_ids(ids, weight.size(0), "embedding");
  check_device(weight, ids, "embedding");
  Shape shape = ids.shape();
  shape.push_back(weight.size(1));
  Tensor y = Tensor::empty(shape, weight.dtype(), weight.device());
  const Tensor flat_ids = packed(ids).view_reshape({ids.numel()});
  const Shape flat{ids.numel(), weight.size(1)};
  kernels_of(weight).embedding(y.view_reshape(flat), packed(weight), flat_ids);
  return record(Op::embedding, y, {&weight},
                [ids = SavedIds(ids, taped({&weight})), flat, shape = weight.shape()](const Tensor& dy, Grads& g) {
                  const Tensor flat_ids = ids.get(Op::embedding).view_reshape({flat[0]});
                  write_sums(g, 0, shape, [&](const Tensor& into, double beta) {
                    kernels_of(dy).embedding_backward(into, packed(reshaped(dy, flat)), flat_ids, beta);
                  });
                });
}

}  // namespace pg
