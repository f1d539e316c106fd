// Cross-entropy, and the log-probability and entropy of given tokens, computed directly from logits: the probabilities
// are never stored. The backward passes read the logits once and may write over them.
#include "tensor/cpu/kernels_cpu.h"
#include "tensor/cpu/rows.h"
#include "tensor/cpu/softmax_row.h"

namespace pg::cpu {
namespace {

// One value per row, f32 or f64: with any stride, so that a broadcast gradient (step 0) needs no copy.
template <class T>
struct PerRow {
  T* data;
  int64_t step;
  explicit PerRow(const View& v) : data(v.as<T>()), step(v.rank() == 1 ? v.strides[0] : 1) {}
  T& operator[](int64_t row) const { return data[row * step]; }
};

// With class weights w, smoothing s and V classes (torch.nn.functional.cross_entropy, reduction "none"):
//   loss = -(1 - s)·w[t]·log p[t] - s/V·Σ w[v]·log p[v]
template <class T>
struct Target {
  const T* weight;   // null: all 1
  double smoothing;  // s
  double spread;     // s/V
  double weights;    // Σ w[v]
  Target(const CrossEntropyArgs& args, int64_t classes)
      : weight(whole_row<T>(args.weight, 2)),
        smoothing(args.label_smoothing),
        spread(smoothing / static_cast<double>(classes)),
        weights(weight && smoothing != 0 ? sum_row(weight, classes) : static_cast<double>(classes)) {}
  double of(int32_t target) const { return (1 - smoothing) * (weight ? static_cast<double>(weight[target]) : 1.0); }
};

// The loss of a row whose logit of the target is `at`. With smoothing it reads the row.
template <class T>
T loss_of(const RowStats<T>& row, T at, int32_t id, const T* x, int64_t n, const Target<T>& target) {
  T loss = -row.log_prob(at) * static_cast<T>(target.of(id));
  if (target.smoothing != 0) {
    const T* w = target.weight;
    const double all = sum_vectors<T, 1>(n, [=](int64_t i, int64_t m) {
      const Vec<T> log_prob = load_lanes(x + i, m) - row.max - row.log_sum;
      return std::array{w ? load_lanes(w + i, m) * log_prob : log_prob};
    })[0];
    loss -= static_cast<T>(target.spread * all);
  }
  return loss;
}

// to = beta·to + d·(((1 - s)·w[t] + s/V·Σ w)·p - s/V·w - (1 - s)·w[t]·[v = t]) with p = e^(x - max) / sum; exp_at(i, m)
// returns e^(x - max).
template <class T, class F>
void write_row_gradient(T* to, int64_t n, T beta, T d, T sum, int32_t id, const Target<T>& target, F exp_at) {
  const T *w = target.weight, at_target = static_cast<T>(target.of(id)), spread = static_cast<T>(target.spread);
  const T factor = static_cast<T>((target.of(id) + target.spread * target.weights) / static_cast<double>(sum));
  write_gradient(to, n, beta, [=](int64_t i, int64_t m) {
    Vec<T> g = exp_at(i, m) * factor;
    if (spread != 0) g -= (w ? load_lanes(w + i, m) : Vec<T>(T(1))) * spread;
    return g * d;
  });
  to[id] -= at_target * d;
}

template <class T>
void write_zeros(T* to, int64_t n, T beta) {
  write_gradient(to, n, beta, [](int64_t, int64_t) { return Vec<T>(T(0)); });
}

}  // namespace

void cross_entropy(const View& loss, const View& stats, const View& logits, const View& targets,
                   const CrossEntropyArgs& args) {
  visit_floating(logits.dtype, "cross_entropy", [&]<class T>(std::type_identity<T>) {
    const InRows<T> rows(logits, 0);
    const PerRow<T> losses(loss);
    const KeptStats<T> kept(stats);
    const PerRow<const int32_t> ids(targets);
    const int64_t n = rows.size;
    const Target<T> target(args, n);
    parallel_for(rows.count, row_grain(n, kCostlyGrain), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        losses[r] = kept.max(r) = kept.sum(r) = 0;
        const int32_t id = ids[r];
        if (id == args.ignore_index) continue;
        const T* x = rows[r];
        const RowStats<T> row = row_stats<false>(x, n);
        kept.keep(r, row);
        losses[r] = loss_of(row, x[id], id, x, n, target);
      }
    });
  });
}

void cross_entropy_backward(const View& dlogits, const View& dloss, const View& logits, const View& stats,
                            const View& targets, const CrossEntropyArgs& args, double beta) {
  visit_floating(logits.dtype, "cross_entropy_backward", [&]<class T>(std::type_identity<T>) {
    const InRows<T> rows(logits, 0);
    const OutRows<T> grads(dlogits, 1);
    const PerRow<const T> dlosses(dloss);
    const KeptStats<const T> kept(stats);
    const PerRow<const int32_t> ids(targets);
    const int64_t n = rows.size;
    const Target<T> target(args, n);
    const T b = static_cast<T>(beta);
    parallel_for(rows.count, row_grain(n, kCostlyGrain), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const auto to = grads.row(r, b != 0);
        const int32_t id = ids[r];
        if (id == args.ignore_index) {
          write_zeros<T>(to, n, b);
          continue;
        }
        const T *x = rows[r], top = kept.max(r);
        write_row_gradient<T>(to, n, b, dlosses[r], kept.sum(r), id, target,
                              [=](int64_t i, int64_t m) { return exp_flushed(load_lanes(x + i, m) - top); });
      }
    });
  });
}

// Without smoothing the row holds e^(x - max) between the two passes, so that each is computed once.
void cross_entropy_with_gradient(const View& loss, const View& logits, const View& dloss, const View& targets,
                                 const CrossEntropyArgs& args) {
  visit_floating(logits.dtype, "cross_entropy_with_gradient", [&]<class T>(std::type_identity<T>) {
    const OutRows<T> rows(logits, 0);
    const PerRow<T> losses(loss);
    const PerRow<const T> dlosses(dloss);
    const PerRow<const int32_t> ids(targets);
    const int64_t n = rows.size;
    const Target<T> target(args, n);
    parallel_for(rows.count, row_grain(n, kCostlyGrain), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const int32_t id = ids[r];
        const bool ignored = id == args.ignore_index;
        const auto held = rows.row(r, !ignored);
        T* x = held;
        if (ignored) {
          losses[r] = 0;
          write_zeros<T>(x, n, 0);
          continue;
        }
        const T at = x[id];
        if (target.smoothing == 0) {
          const RowStats<T> row =
              row_stats<false>(x, n, [x](int64_t i, int64_t m, Vec<T> e) { store_lanes(x + i, e, m); });
          losses[r] = loss_of(row, at, id, x, n, target);
          write_row_gradient<T>(x, n, 0, dlosses[r], static_cast<T>(row.sum), id, target,
                                [x](int64_t i, int64_t m) { return load_lanes(x + i, m); });
        } else {
          const RowStats<T> row = row_stats<false>(x, n);
          losses[r] = loss_of(row, at, id, x, n, target);
          write_row_gradient<T>(x, n, 0, dlosses[r], static_cast<T>(row.sum), id, target,
                                [=](int64_t i, int64_t m) { return exp_flushed(load_lanes(x + i, m) - row.max); });
        }
      }
    });
  });
}

void rescale_rows(const View& x, const View& now, const View& before) {
  visit_floating(x.dtype, "rescale_rows", [&]<class T>(std::type_identity<T>) {
    const OutRows<T> rows(x, 0);
    const PerRow<const T> nows(now), befores(before);
    const int64_t n = rows.size;
    parallel_for(rows.count, row_grain(n, kGrain), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        if (nows[r] == befores[r]) continue;
        const T factor = nows[r] / befores[r];
        const auto held = rows.row(r, true);
        T* to = held;
        for_vectors<T>(n, [=](int64_t i, int64_t m) { store_lanes(to + i, load_lanes(to + i, m) * factor, m); });
      }
    });
  });
}

void token_log_prob(const View& log_prob, const View& entropy, const View& stats, const View& logits, const View& ids) {
  visit_floating(logits.dtype, "token_log_prob", [&]<class T>(std::type_identity<T>) {
    const InRows<T> rows(logits, 0);
    const PerRow<T> log_probs(log_prob), entropies(entropy);
    const KeptStats<T> kept(stats);
    const PerRow<const int32_t> tokens(ids);
    const int64_t n = rows.size;
    parallel_for(rows.count, row_grain(n, kCostlyGrain), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const T* x = rows[r];
        const RowStats<T> row = row_stats<true>(x, n);
        log_probs[r] = row.log_prob(x[tokens[r]]);
        entropies[r] = static_cast<T>(std::log(row.sum) - row.mean_shifted);
        kept.keep(r, row);
      }
    });
  });
}

// dlogits = dlog_prob·([v = id] - p) - dentropy·p·(log p + entropy)
void token_log_prob_backward(const View& dlogits, const View& dlog_prob, const View& dentropy, const View& logits,
                             const View& stats, const View& entropy, const View& ids, double beta) {
  visit_floating(logits.dtype, "token_log_prob_backward", [&]<class T>(std::type_identity<T>) {
    const InRows<T> rows(logits, 0);
    const OutRows<T> grads(dlogits, 1);
    const PerRow<const T> dlog_probs(dlog_prob), dentropies(dentropy), entropies(entropy);
    const KeptStats<const T> kept(stats);
    const PerRow<const int32_t> tokens(ids);
    const int64_t n = rows.size;
    const T b = static_cast<T>(beta);
    parallel_for(rows.count, row_grain(n, kCostlyGrain), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const T* x = rows[r];
        const auto grad = grads.row(r, b != 0);
        T* to = grad;
        const T top = kept.max(r);
        const double inverse = 1 / static_cast<double>(kept.sum(r));
        const T d = dlog_prob ? dlog_probs[r] : T(0);
        if (dentropy) {
          // log p + entropy = (x - max) - (log Σ - entropy)
          const T mean_shifted = static_cast<T>(-std::log(inverse) - static_cast<double>(entropies[r]));
          const T at_mean = static_cast<T>(-static_cast<double>(d) * inverse);
          const T slope = static_cast<T>(-static_cast<double>(dentropies[r]) * inverse);
          const T none = static_cast<T>(0 * inverse);  // NaN in a row with a NaN
          write_gradient(to, n, b, [=](int64_t i, int64_t m) {
            const Vec<T> shifted = load_lanes(x + i, m) - top, e = exp_flushed(shifted);
            return select(e == T(0), none, e * (Vec<T>(at_mean) + (shifted - mean_shifted) * slope));
          });
        } else {
          const T factor = static_cast<T>(-static_cast<double>(d) * inverse);
          write_gradient(to, n, b,
                         [=](int64_t i, int64_t m) { return exp_flushed(load_lanes(x + i, m) - top) * factor; });
        }
        to[tokens[r]] += d;
      }
    });
  });
}

}  // namespace pg::cpu
