// Views and their gradients, and the concatenation of tensors.
#include <numeric>

#include "autograd/op_util.h"

namespace pg {
namespace {
using namespace detail;

void check_defined(const Tensor& x, const char* op) { check(x.defined(), "{}: the tensor is undefined", op); }
}  // namespace

Tensor reshape(const Tensor& x, const Shape& shape) {
  check_defined(x, "reshape");
  return record(Op::reshape, reshaped(x.detach(), shape), {&x}, [from = x.shape()](const Tensor& dy, Grads& g) {
    if (g.wants(0)) g.pass(0, reshaped(dy, from));
  });
}

Tensor transpose(const Tensor& x, int dim0, int dim1) {
  check_defined(x, "transpose");
  return record(Op::transpose, x.view_transpose(dim0, dim1), {&x},
                [dim0, dim1](const Tensor& dy, Grads& g) { g.pass(0, dy.view_transpose(dim0, dim1)); });
}

Tensor permute(const Tensor& x, const std::vector<int>& dims) {
  check_defined(x, "permute");
  Tensor y = x.view_permute(dims);
  std::vector<int> inverse(dims.size());
  for (size_t i = 0; i < dims.size(); ++i) {
    inverse[static_cast<size_t>(normalize_dim(dims[i], x.rank(), "permute"))] = static_cast<int>(i);
  }
  return record(Op::permute, y, {&x}, [inverse](const Tensor& dy, Grads& g) { g.pass(0, dy.view_permute(inverse)); });
}

Tensor slice(const Tensor& x, int dim, int64_t start, int64_t end, int64_t step) {
  check_defined(x, "slice");
  Tensor y = x.view_slice(dim, start, end, step);
  return record(Op::slice, y, {&x}, [=](const Tensor& dy, Grads& g) {
    auto dx = g[0];
    if (!dx) return;
    if (dx.beta == 0) dx.into->fill(0);
    kernels_of(dy).accumulate(dx.into->view_slice(dim, start, end, step), dy, 1);
  });
}

Tensor select(const Tensor& x, int dim, int64_t index) {
  check_defined(x, "select");
  const int d = normalize_dim(dim, x.rank(), "select");
  const int64_t n = x.shape()[d];
  check(index >= -n && index < n, "select: index {} is out of range for size {}", index, n);
  const int64_t i = index < 0 ? index + n : index;
  return squeeze(slice(x, d, i, i + 1), d);
}

Tensor expand(const Tensor& x, const Shape& shape) {
  check_defined(x, "expand");
  return record(Op::expand, x.view_expand(shape), {&x}, [from = x.shape()](const Tensor& dy, Grads& g) {
    if (g.wants(0)) pass_summed(g, 0, dy, from);
  });
}

Tensor unsqueeze(const Tensor& x, int dim) {
  check_defined(x, "unsqueeze");
  Shape shape = x.shape();
  shape.insert(normalize_dim(dim, x.rank() + 1, "unsqueeze"), 1);
  return reshape(x, shape);
}

Tensor squeeze(const Tensor& x, int dim) {
  check_defined(x, "squeeze");
  Shape shape = x.shape();
  const int d = normalize_dim(dim, x.rank(), "squeeze");
  check(shape[d] == 1, "squeeze: dim {} of {} is not 1", d, shape);
  shape.erase(d);
  return reshape(x, shape);
}

Tensor contiguous(const Tensor& x) {
  check_defined(x, "contiguous");
  if (x.contiguous()) return x;
  return record(Op::reshape, x.clone(), {&x}, [](const Tensor& dy, Grads& g) { g.pass(0, dy); });
}

Tensor cat(const std::vector<Tensor>& xs, int dim) {
  check(!xs.empty(), "cat: no tensors");
  check_defined(xs[0], "cat");
  const int d = normalize_dim(dim, xs[0].rank(), "cat");
  Shape shape = xs[0].shape();
  shape[d] = 0;
  for (const Tensor& x : xs) {
    check_same_dtype(x, xs[0], "cat");
    Shape others = x.shape();
    check(x.rank() == shape.rank(), "cat: {} and {} differ in rank", xs[0].shape(), x.shape());
    others[d] = shape[d];
    check(others == shape, "cat: sizes differ outside dim {}: {} and {}", d, xs[0].shape(), x.shape());
    shape[d] += x.shape()[d];
  }
  Tensor y = Tensor::empty(shape, xs[0].dtype(), xs[0].device());
  std::vector<int64_t> starts;
  int64_t at = 0;
  for (const Tensor& x : xs) {
    starts.push_back(at);
    kernels_of(y).copy(y.view_slice(d, at, at + x.shape()[d]), x);
    at += x.shape()[d];
  }
  starts.push_back(at);
  return record(Op::cat, y, xs, [d, starts](const Tensor& dy, Grads& g) {
    for (size_t i = 0; i + 1 < starts.size(); ++i) {
      g.pass(static_cast<int>(i), dy.view_slice(d, starts[i], starts[i + 1]));
    }
  });
}

Tensor stack(const std::vector<Tensor>& xs, int dim) {
  check(!xs.empty(), "stack: no tensors");
  check_defined(xs[0], "stack");
  const int d = normalize_dim(dim, xs[0].rank() + 1, "stack");
  Shape shape = xs[0].shape();
  shape.insert(d, static_cast<int64_t>(xs.size()));
  Tensor y = Tensor::empty(shape, xs[0].dtype(), xs[0].device());
  for (size_t i = 0; i < xs.size(); ++i) {
    check_same_dtype(xs[i], xs[0], "stack");
    check(xs[i].shape() == xs[0].shape(), "stack: shapes differ: {} and {}", xs[0].shape(), xs[i].shape());
    kernels_of(y).copy(y.view_select(d, static_cast<int64_t>(i)), xs[i]);
  }
  return record(Op::stack, y, xs, [d](const Tensor& dy, Grads& g) {
    for (int64_t i = 0; i < dy.shape()[d]; ++i) g.pass(static_cast<int>(i), dy.view_select(d, i));
  });
}

}  // namespace pg
