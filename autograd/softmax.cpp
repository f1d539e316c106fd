// Softmax of rows of scores, and the losses computed from it.
#include <cmath>
#include <vector>

#include "autograd/op_util.h"

namespace pg {
namespace {

using namespace detail;

Tensor softmax_last(Op op, const Tensor& x, bool log) {
  const Tensor x2 = rows(at_least_1d(x));
  const Tensor y2 = empty_like(x2);
  kernels_of(x).softmax(y2, x2, log);
  return record(op, y2.view_reshape(x.shape()), {&x}, {&y2}, [y2, log](const Tensor& dy, Grads& g) {
    auto dx = g[0];
    if (dx) kernels_of(dy).softmax_backward(dx.into->view_reshape(y2.shape()), rows(at_least_1d(dy)), y2, log, dx.beta);
  });
}

int64_t elements_after(const Tensor& x, int d) {
  int64_t n = 1;
  for (int i = d + 1; i < x.rank(); ++i) n *= x.size(i);
  return n;
}

// Whether the CPU's kernels read the rows along dim d where they are, as columns: of matrices that fit in a cache and
// have at least a vector of columns. Rows copied by a transposition get the same bits.
bool as_columns(const Tensor& x, int d) {
  constexpr int64_t fewest = 16, cached = int64_t{1} << 20;
  const int64_t n = elements_after(x, d);
  return x.device().on_host() && n >= fewest && n * x.size(d) <= cached && x.strides()[d] != 1;
}

// Row-major x as [A, R, C], C along dim d and R the dims after it.
Tensor columns(const Tensor& x, int d) {
  int64_t before = 1;
  for (int i = 0; i < d; ++i) before *= x.size(i);
  return x.view_reshape({before, x.size(d), elements_after(x, d)}).view_transpose(1, 2);
}

Tensor softmax_columns(Op op, const Tensor& x, int d, bool log) {
  const Tensor from = packed(x), y = empty_like(from);
  kernels_of(x).softmax(columns(y, d), columns(from, d), log);
  return record(op, y, {&x}, {&y}, [y, d, log](const Tensor& dy, Grads& g) {
    auto dx = g[0];
    if (!dx) return;
    kernels_of(dy).softmax_backward(columns(*dx.into, d), columns(packed(dy), d), columns(y, d), log, dx.beta);
  });
}

Tensor softmax_dim(Op op, const Tensor& x, int dim, bool log) {
  check_floating(x, name_of(op));
  const int d = dim_along(x, dim, name_of(op));
  if (d >= x.rank() - 1) return softmax_last(op, x, log);
  if (as_columns(x, d)) return softmax_columns(op, x, d, log);
  return transpose(softmax_last(op, transpose(x, d, -1), log), d, -1);
}

// Memory for the maximum and Σ e^(x - maximum) of each row of x [R, V].
Tensor row_stats(const Tensor& x) { return Tensor::empty({x.size(0), 2}, sum_type(x.dtype()), x.device()); }

// The divisor of Reduction::mean: the number of targets that are not ignored, each counted with its class weight. It is
// a tensor, so that the host does not wait for a device.
Tensor target_weight(const Tensor& targets, const CrossEntropyOptions& options, DType dtype) {
  NoGrad guard;
  const Tensor counted = ne(targets, Tensor::scalar(options.ignore_index, i32, targets.device()));
  if (!options.weight.defined()) return sum(counted.to(dtype));
  const Tensor ids = where(counted, targets, zeros_like(targets));  // an ignored target reads class 0
  return sum(index_select(options.weight.to(dtype), 0, ids) * counted.to(dtype));
}

// ---- CrossEntropyOptions::upstream

void check_upstream(const Tensor& logits, const Tensor& upstream, const Shape& shape) {
  check_device(logits, upstream, "cross_entropy");
  check(upstream.shape() == shape && upstream.dtype() == sum_type(logits.dtype()),
        "cross_entropy: upstream must be {} {}, as the result is, got {} {}", sum_type(logits.dtype()), shape,
        upstream.dtype(), upstream.shape());
}

// Whether nothing but `logits` can see the memory of `x`, which is `logits` or a copy of it.
bool holds_alone(const Tensor& x, const Tensor& logits) {
  return x.storage()->ref_count == (x.storage() == logits.storage() ? 2 : 1);
}

// The gradient of each row's loss, [rows], from that of the result, computed as the backward of the reduction does.
Tensor upstream_of_rows(const Tensor& upstream, const Tensor& divisor, int64_t rows) {
  NoGrad guard;
  const Tensor d = (divisor.defined() ? upstream / divisor : upstream).detach();
  return d.rank() == 0 ? d.view_expand({rows}) : reshaped(d, {rows});
}

// On the host, which can read both without waiting for a device: Error if now[r]/before[r] is needed and undefined.
void check_quotient(const Tensor& now, const Tensor& before) {
  if (!now.device().on_host()) return;
  const std::vector<double> a = now.to_vector(), b = before.to_vector();
  for (size_t r = 0; r < a.size(); ++r) {
    check(a[r] == b[r] || std::isnan(a[r]) || (b[r] != 0 && std::isfinite(b[r])),
          "backward of cross_entropy: the gradient of row {} is {}, and CrossEntropyOptions::upstream gave {}, from "
          "which it cannot be computed; leave upstream undefined",
          r, a[r], b[r]);
  }
}

}  // namespace

Tensor softmax(const Tensor& x, int dim) { return softmax_dim(Op::softmax, x, dim, false); }
Tensor log_softmax(const Tensor& x, int dim) { return softmax_dim(Op::log_softmax, x, dim, true); }

Tensor cross_entropy(Tensor logits, const Tensor& targets, const CrossEntropyOptions& options) {
  check_floating(logits, "cross_entropy");
  check(targets.defined(), "cross_entropy: the targets are undefined");
  check(
      logits.rank() >= 1 && targets.rank() == logits.rank() - 1 && targets.numel() * logits.size(-1) == logits.numel(),
      "cross_entropy: expected logits [..., V] and targets [...], got {} and {}", logits.shape(), targets.shape());
  const int64_t v = logits.size(-1);
  check_ids(targets, v, "cross_entropy", &options.ignore_index);
  check_device(logits, targets, "cross_entropy");
  check(options.label_smoothing >= 0 && options.label_smoothing <= 1,
        "cross_entropy: label_smoothing {} is not in [0, 1]", options.label_smoothing);
  if (options.weight.defined()) {
    check_same_dtype(logits, options.weight, "cross_entropy");
    check(options.weight.shape() == Shape{v}, "cross_entropy: weight must be [{}], got {}", v, options.weight.shape());
  }
  const bool reduces = options.reduction != Reduction::none;
  if (options.upstream.defined()) check_upstream(logits, options.upstream, reduces ? Shape{} : targets.shape());
  const Tensor x = rows(logits), weight = packed(options.weight);
  const Tensor ids = packed(targets).view_reshape({x.size(0)});
  const Tensor loss = Tensor::empty({x.size(0)}, sum_type(x.dtype()), x.device());
  const CrossEntropyArgs args{options.ignore_index, options.label_smoothing, weight};
  const Tensor divisor = options.reduction == Reduction::mean ? target_weight(ids, options, loss.dtype()) : Tensor{};
  Tensor each;
  if (options.upstream.defined() && taped({&logits}) && holds_alone(x, logits)) {
    const Tensor dloss = upstream_of_rows(options.upstream, divisor, x.size(0));
    kernels_of(x).cross_entropy_with_gradient(loss, x, dloss, ids, args);
    each = record(Op::cross_entropy, loss.view_reshape(targets.shape()), {&logits}, {&dloss},
                  [dx = x, dloss, shape = logits.shape()](const Tensor& dy, Grads& g) {
                    const Tensor now = reshaped(dy, dloss.shape());
                    check_quotient(now, dloss);
                    kernels_of(dx).rescale_rows(dx, now, dloss);
                    g.pass(0, dx.view_reshape(shape));
                  });
  } else {
    const Tensor stats = row_stats(x);
    kernels_of(x).cross_entropy(loss, stats, x, ids, args);
    each = record(Op::cross_entropy, loss.view_reshape(targets.shape()), {&logits}, {&x, &weight},
                  [x, saved = SavedIds(ids, taped({&logits})), stats, weight, shape = logits.shape(),
                   ignore = options.ignore_index, smoothing = options.label_smoothing](const Tensor& dy, Grads& g) {
                    const Tensor d = reshaped(dy, {x.size(0)});
                    const Tensor& ids = saved.get(Op::cross_entropy);
                    write_over(g, 0, x, shape, [&](const Tensor& into, double beta) {
                      kernels_of(dy).cross_entropy_backward(into, d, x, stats, ids, {ignore, smoothing, weight}, beta);
                    });
                  });
  }
  if (!reduces) return each;
  return divisor.defined() ? sum(each) / divisor : sum(each);
}

std::pair<Tensor, Tensor> token_log_prob(const Tensor& logits, const Tensor& ids) {
  check_floating(logits, "token_log_prob");
  check(ids.defined(), "token_log_prob: the ids are undefined");
  check(logits.rank() >= 1 && ids.rank() == logits.rank() - 1 && ids.numel() * logits.size(-1) == logits.numel(),
        "token_log_prob: expected logits [..., V] and ids [...], got {} and {}", logits.shape(), ids.shape());
  check_ids(ids, logits.size(-1), "token_log_prob");
  check_device(logits, ids, "token_log_prob");
  const Tensor x = rows(logits);
  const Tensor flat_ids = packed(ids).view_reshape({x.size(0)});
  const Tensor log_prob = Tensor::empty({x.size(0)}, sum_type(x.dtype()), x.device());
  const Tensor entropy = empty_like(log_prob), stats = row_stats(x);
  kernels_of(x).token_log_prob(log_prob, entropy, stats, x, flat_ids);
  return record2(Op::token_log_prob, log_prob.view_reshape(ids.shape()), entropy.view_reshape(ids.shape()), {&logits},
                 {&x, &entropy},
                 [x, ids = SavedIds(flat_ids, taped({&logits})), stats, entropy, shape = logits.shape()](
                     const Tensor& d_log_prob, Grads& g) {
                   const auto flat = [&](const Tensor& d) {
                     return d.defined() ? packed(reshaped(d, {x.size(0)})) : d;
                   };
                   const Tensor dl = flat(d_log_prob), de = flat(g.output(1));
                   const Tensor& flat_ids = ids.get(Op::token_log_prob);
                   write_over(g, 0, x, shape, [&](const Tensor& into, double beta) {
                     kernels_of(x).token_log_prob_backward(into, dl, de, x, stats, entropy, flat_ids, beta);
                   });
                 });
}

}  // namespace pg
