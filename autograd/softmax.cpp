// Softmax of rows of scores, and the losses computed from it.
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

}  // namespace

Tensor softmax(const Tensor& x, int dim) { return softmax_dim(Op::softmax, x, dim, false); }
Tensor log_softmax(const Tensor& x, int dim) { return softmax_dim(Op::log_softmax, x, dim, true); }

Tensor cross_entropy(const Tensor& logits, const Tensor& targets, const CrossEntropyOptions& options) {
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
  const Tensor x = rows(logits), weight = packed(options.weight);
  const Tensor ids = packed(targets).view_reshape({x.size(0)});
  const Tensor loss = Tensor::empty({x.size(0)}, sum_type(x.dtype()), x.device()), stats = row_stats(x);
  kernels_of(x).cross_entropy(loss, stats, x, ids, {options.ignore_index, options.label_smoothing, weight});
  Tensor each =
      record(Op::cross_entropy, loss.view_reshape(targets.shape()), {&logits}, {&x, &weight},
             [x, saved = SavedIds(ids, taped({&logits})), stats, weight, shape = logits.shape(),
              ignore = options.ignore_index, smoothing = options.label_smoothing](const Tensor& dy, Grads& g) {
               const Tensor d = packed(reshaped(dy, {x.size(0)}));
               const Tensor& ids = saved.get(Op::cross_entropy);
               write_over(g, 0, x, shape, [&](const Tensor& into, double beta) {
                 kernels_of(dy).cross_entropy_backward(into, d, x, stats, ids, {ignore, smoothing, weight}, beta);
               });
             });
  switch (options.reduction) {
    case Reduction::none:
      return each;
    case Reduction::sum:
      return sum(each);
    case Reduction::mean:
      break;
  }
  return sum(each) / target_weight(ids, options, each.dtype());
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
