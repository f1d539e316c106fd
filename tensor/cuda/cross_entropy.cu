// Cross-entropy, and the log-probability and entropy of given tokens, directly from logits: the probabilities are never
// stored. The backward passes read the logits once and may overwrite them. Target ids are not checked on the host: a
// row whose id is out of range gives NaN.
#include "tensor/cuda/base/kernels_cuda.h"
#include "tensor/cuda/base/shared_row.h"

namespace pg::cuda {
namespace {

template <class T>
inline constexpr T kNaN = std::numeric_limits<T>::quiet_NaN();

__device__ __forceinline__ bool is_column(int32_t id, int64_t n) { return id >= 0 && id < n; }

// With class weights w, smoothing s and V classes (torch.nn.functional.cross_entropy, reduction "none"):
//   loss = -(1 - s)·w[t]·log p[t] - s/V·Σ w[v]·log p[v]
template <class S, class T>
struct Target {
  const S* weight;  // null: all 1
  T kept;           // 1 - s
  T spread;         // s/V
  int32_t ignore_index;
  __device__ __forceinline__ T of(int32_t id) const { return weight ? kept * load<T>(weight + id) : kept; }
};
template <class S, class T>
Target<stored_t<S>, T> target_of(const CrossEntropyArgs& args, int64_t classes) {
  return {data_of<S>(args.weight), static_cast<T>(1 - args.label_smoothing),
          static_cast<T>(args.label_smoothing / static_cast<double>(classes)), args.ignore_index};
}

// The loss of the row x of n logits whose logit of the target is `at`. All threads of the group must call it together.
template <class Group, class T, class S>
__device__ __forceinline__ T loss_of(const RowStats<T>& stats, T at, int32_t id, const S* x, int64_t n,
                                     const Target<S, T>& target) {
  constexpr int N = kChunk<S>;
  T all = 0;  // Σ w·log p
  if (target.spread != 0) {
    for_chunks<Group, N>(n, [&](int64_t i) {
      T v[N], w[N];
      load_chunk(v, x, i, n, stats.max);
      for (int j = 0; j < N; ++j) w[j] = i + j < n;
      if (target.weight) load_chunk(w, target.weight, i, n, T(0));
      for (int j = 0; j < N; ++j) all += w[j] * stats.log_prob(v[j]);
    });
    all = Group::sum(all);
  }
  return is_column(id, n) ? -stats.log_prob(at) * target.of(id) - target.spread * all : kNaN<T>;
}

// The logit of the target, 0 without one.
template <class T, class S>
__device__ __forceinline__ T target_logit(const S* x, int32_t id, int64_t n) {
  return is_column(id, n) ? load<T>(x + id) : T(0);
}

template <class Group, class T, class S>
__global__ void cross_entropy_kernel(RowShape shape, Rows<T> loss, KeptStats<T> kept, Rows<S> logits,
                                     Rows<const int32_t> ids, Target<S, T> target) {
  for (int64_t r = Group::first_row(); r < shape.count; r += Group::row_step()) {
    const int32_t id = *ids[r];
    const bool first = Group::rank() == 0;
    if (id == target.ignore_index) {
      if (first) {
        *loss[r] = 0;
        kept.keep(r, 0, 0);
      }
      continue;
    }
    const S* x = logits[r];
    const RowStats<T> stats = row_stats<Group, false, T>(x, shape.size);
    const T value = loss_of<Group>(stats, target_logit<T>(x, id, shape.size), id, x, shape.size, target);
    if (first) {
      kept.keep(r, stats.max, stats.sum);
      *loss[r] = value;
    }
  }
}

// to = beta·to + d·((1 - s)·w[t]·(p - [v = t]) + s/V·(p·Σ w - w)) with p = e^(x - max) / sum. Calls
// used(i, integral_constant<int, K>) after elements [i, i + K).
template <class Group, class T, class R, class S, class F>
__device__ __forceinline__ void write_row_gradient(R* to, const S* x, int64_t n, T max, T sum, T d, int32_t id,
                                                   const Target<S, T>& target, T beta, F used) {
  constexpr int N = kChunk<S>;
  const S* w = target.weight;
  const bool valid = is_column(id, n);
  const T top = valid ? max : kNaN<T>, inverse = 1 / sum;
  const T at_target = valid ? target.of(id) * d : T(0), spread = target.spread * d;
  T weights = static_cast<T>(n);  // Σ w
  if (w && target.spread != 0) {
    weights = 0;
    for_chunks<Group, N>(n, [&](int64_t i) {
      T v[N];
      load_chunk(v, w, i, n, T(0));
      for (int j = 0; j < N; ++j) weights += v[j];
    });
    weights = Group::sum(weights);
  }
  const int64_t head = unaligned_head<N>(n, x, to, w);
  const auto write = [&](auto plain) {  // plain: without smoothing and beta
    for_loaded<Group, T>(x, n, head, [&]<int K>(int64_t i, T(&p)[K]) {
      T g[K];
      for (int j = 0; j < K; ++j) {
        p[j] = exp_of<S>(p[j] - top) * inverse;
        g[j] = p[j] * at_target;
      }
      if (const int64_t at = id - i; at >= 0 && at < K) {
        for (int j = 0; j < K; ++j) {
          if (j == at) g[j] = (p[j] - T(1)) * at_target;
        }
      }
      if constexpr (decltype(plain)::value) {
        device_store(to + i, g);
      } else {
        if (target.spread != 0) {
          T weight[K];
          for (int j = 0; j < K; ++j) weight[j] = 1;
          if (w) vector_load(weight, w + i);
          for (int j = 0; j < K; ++j) g[j] += (p[j] * weights - weight[j]) * spread;
        }
        write_gradient(to + i, g, beta);
      }
      used(i, std::integral_constant<int, K>{});
    });
  };
  if (target.spread == 0 && beta == 0) {
    write(std::true_type{});
  } else {
    write(std::false_type{});
  }
}

// The gradient of an ignored row: to = beta·to.
template <class Group, class T, class R, class S>
__device__ __forceinline__ void write_zeros(R* to, const S* x, int64_t n, T beta) {
  constexpr int N = kChunk<S>;
  for_vectors<Group, N>(n, unaligned_head<N>(n, x, to), [&](int64_t i, auto lanes) {
    T g[decltype(lanes)::value] = {};
    write_gradient(to + i, g, beta);
  });
}

template <class Group, class T, class R, class S>
__global__ void cross_entropy_backward_kernel(RowShape shape, Rows<R> dlogits, Rows<const T> dloss, Rows<S> logits,
                                              KeptStats<const T> kept, Rows<const int32_t> ids, Target<S, T> target,
                                              T beta) {
  for (int64_t r = Group::first_row(); r < shape.count; r += Group::row_step()) {
    const S* x = logits[r];
    const int32_t id = *ids[r];
    if (id == target.ignore_index) {
      write_zeros<Group>(dlogits[r], x, shape.size, beta);
    } else {
      write_row_gradient<Group>(dlogits[r], x, shape.size, kept.max(r), kept.sum(r), *dloss[r], id, target, beta,
                                [](int64_t, auto) {});
    }
  }
}

// Returns the loss of the row x and writes its gradient to `to`, which may be x. `used`: of write_row_gradient.
template <class Group, class T, class S, class F>
__device__ __forceinline__ T loss_with_gradient(S* to, const S* x, int64_t n, T d, int32_t id,
                                                const Target<S, T>& target, F used) {
  const RowStats<T> stats = row_stats<Group, false, T>(x, n);
  const T value = loss_of<Group>(stats, target_logit<T>(x, id, n), id, x, n, target);
  Group::sync();  // every thread has read the row before one writes to it
  write_row_gradient<Group>(to, x, n, stats.max, stats.sum, d, id, target, T(0), used);
  return value;
}

// Both of the above: the second pass over a row reads from the cache what the first has read from memory.
template <class Group, class T, class S>
__global__ void with_gradient_kernel(RowShape shape, Rows<T> loss, Rows<S> logits, Rows<const T> dloss,
                                     Rows<const int32_t> ids, Target<S, T> target) {
  for (int64_t r = Group::first_row(); r < shape.count; r += Group::row_step()) {
    S* x = logits[r];
    const int32_t id = *ids[r];
    T value = 0;
    if (id == target.ignore_index) {
      write_zeros<Group>(x, x, shape.size, T(0));
    } else {
      value = loss_with_gradient<Group, T, S>(x, x, shape.size, *dloss[r], id, target, [](int64_t, auto) {});
    }
    if (Group::rank() == 0) *loss[r] = value;
  }
}

// with_gradient_kernel with rows and weights that begin at multiples of 16 bytes. The rows in shared memory are those
// that are not ignored.
template <class Group, class T, class S>
__global__ void with_gradient_shared_kernel(RowShape shape, Rows<T> loss, Rows<S> logits, Rows<const T> dloss,
                                            Rows<const int32_t> ids, Target<S, T> target) {
  if constexpr (kTensorCores) {
    const auto not_ignored = [&](int64_t r) {  // the first such row of this block from r on
      while (r < shape.count && *ids[r] == target.ignore_index) r += Group::row_step();
      return r;
    };
    const auto row_at = [&](int64_t r) -> const S* { return r < shape.count ? logits[r] : nullptr; };
    SharedRow<Group, S> row(shape.size);
    int64_t next = not_ignored(Group::first_row());
    row.begin(row_at(next));
    for (int64_t r = Group::first_row(); r < shape.count; r += Group::row_step()) {
      S* to = logits[r];
      T value = 0;
      if (r < next) {
        write_zeros<Group>(to, to, shape.size, T(0));
      } else {
        const T d = *dloss[r];
        const int32_t id = *ids[r];
        next = not_ignored(r + Group::row_step());
        const S* x = row.wait(row_at(next));
        value = loss_with_gradient<Group, T, S>(to, x, shape.size, d, id, target,
                                                [&](int64_t i, auto lanes) { row.replace(i, lanes); });
      }
      if (Group::rank() == 0) *loss[r] = value;
    }
  }
}

// The blocks of with_gradient_kernel: so few that the rows they work on, which take 24 MiB, stay in the second level of
// the cache (50 MB on an H100), but at least two for each of its 132 multiprocessors.
template <class Group>
unsigned blocks_in_cache(const RowShape& shape, size_t element) {
  const size_t block = static_cast<size_t>(shape.size) * element * Group::kRows;
  return std::min(Group::blocks(shape.count),
                  std::max(264u, static_cast<unsigned>((24u << 20) / std::max<size_t>(block, 1))));
}

template <class Group, class T, class S>
__global__ void rescale_rows_kernel(RowShape shape, Rows<S> x, Rows<const T> now, Rows<const T> before) {
  constexpr int N = kChunk<S>;
  for (int64_t r = Group::first_row(); r < shape.count; r += Group::row_step()) {
    const T to = *now[r], from = *before[r];
    if (to == from) continue;
    S* row = x[r];
    const T factor = to / from;
    for_loaded<Group, T>(row, shape.size, unaligned_head<N>(shape.size, row), [&]<int K>(int64_t i, T(&v)[K]) {
      for (int j = 0; j < K; ++j) v[j] *= factor;
      device_store(row + i, v);
    });
  }
}

template <class Group, class T, class S>
__global__ void token_log_prob_kernel(RowShape shape, Rows<T> log_prob, Rows<T> entropy, KeptStats<T> kept,
                                      Rows<S> logits, Rows<const int32_t> ids) {
  wait_for_earlier_kernels();
  for (int64_t r = Group::first_row(); r < shape.count; r += Group::row_step()) {
    const S* x = logits[r];
    const RowStats<T> stats = row_stats<Group, true, T>(x, shape.size);
    if (Group::rank() == 0) {
      const int32_t id = *ids[r];
      *log_prob[r] = is_column(id, shape.size) ? stats.log_prob(load<T>(x + id)) : kNaN<T>;
      *entropy[r] = stats.log_sum - stats.mean_shifted;
      kept.keep(r, stats.max, stats.sum);
    }
  }
}

// dlogits = beta·dlogits + dlog_prob·([v = id] - p) - dentropy·p·(log p + entropy)
template <class Group, class T, class R, class S>
__global__ void token_log_prob_backward_kernel(RowShape shape, Rows<R> dlogits, Rows<const T> dlog_prob,
                                               Rows<const T> dentropy, Rows<S> logits, KeptStats<const T> kept,
                                               Rows<const T> entropy, Rows<const int32_t> ids, T beta) {
  constexpr int N = kChunk<S>;
  for (int64_t r = Group::first_row(); r < shape.count; r += Group::row_step()) {
    const S* x = logits[r];
    R* to = dlogits[r];
    const int32_t id = *ids[r];
    const T top = is_column(id, shape.size) ? kept.max(r) : kNaN<T>, inverse = 1 / kept.sum(r);
    const T d = dlog_prob.data ? *dlog_prob[r] : T(0);
    const T dh = dentropy.data ? *dentropy[r] : T(0);
    // log p + entropy = (x - max) - (log Σ - entropy)
    const T mean_shifted = dentropy.data ? ::log(kept.sum(r)) - *entropy[r] : T(0);
    for_loaded<Group, T>(x, shape.size, unaligned_head<N>(shape.size, x, to), [&]<int K>(int64_t i, T(&g)[K]) {
      const int at = static_cast<int>(id - i);
      for (int j = 0; j < K; ++j) {
        const T shifted = g[j] - top, p = exp_of<S>(shifted) * inverse;
        const T share = p == 0 ? T(0) : p * (d + (shifted - mean_shifted) * dh);  // -inf·0 would be NaN
        g[j] = (j == at ? d : T(0)) - share;
      }
      write_gradient(to + i, g, beta);
    });
  }
}

}  // namespace

void cross_entropy(const View& loss, const View& stats, const View& logits, const View& targets,
                   const CrossEntropyArgs& args) {
  visit_stored(logits.dtype, "cross_entropy", [&]<class S, class T>(std::type_identity<S>, std::type_identity<T>) {
    const RowShape shape(logits);
    visit_thread_group(shape, [&]<class Group>(Group) {
      launch(cross_entropy_kernel<Group, T, stored_t<S>>, Group::blocks(shape.count), kThreads, 0, stream(), shape,
             values_of<T>(loss), KeptStats<T>{stats.as<T>()}, rows_of<S>(logits), values_of<const int32_t>(targets),
             target_of<S, T>(args, shape.size));
    });
  });
}

void cross_entropy_backward(const View& dlogits, const View& dloss, const View& logits, const View& stats,
                            const View& targets, const CrossEntropyArgs& args, double beta) {
  visit_result(dlogits, logits, "cross_entropy_backward",
               [&]<class R, class S, class T>(std::type_identity<R>, std::type_identity<S>, std::type_identity<T>) {
                 const RowShape shape(logits);
                 visit_thread_group(shape, [&]<class Group>(Group) {
                   launch(cross_entropy_backward_kernel<Group, T, stored_t<R>, stored_t<S>>, Group::blocks(shape.count),
                          kThreads, 0, stream(), shape, rows_of<R>(dlogits), values_of<const T>(dloss),
                          rows_of<S>(logits), KeptStats<const T>{stats.as<const T>()},
                          values_of<const int32_t>(targets), target_of<S, T>(args, shape.size), beta);
                 });
               });
}

void cross_entropy_with_gradient(const View& loss, const View& logits, const View& dloss, const View& targets,
                                 const CrossEntropyArgs& args) {
  visit_stored(
      logits.dtype, "cross_entropy_with_gradient", [&]<class S, class T>(std::type_identity<S>, std::type_identity<T>) {
        const RowShape shape(logits);
        const auto losses = values_of<T>(loss);
        const auto rows = rows_of<S>(logits);
        const auto dlosses = values_of<const T>(dloss);
        const auto ids = values_of<const int32_t>(targets);
        const auto target = target_of<S, T>(args, shape.size);
        visit_thread_group(shape, [&]<class Group>(Group) {
          if constexpr (Group::kRows == 1) {
            const auto kernel = with_gradient_shared_kernel<Group, T, stored_t<S>>;
            if (begin_aligned(shape, rows) && is_aligned(target.weight) &&
                launch_with_shared_row<stored_t<S>>(kernel, shape, losses, rows, dlosses, ids, target))
              return;
          }
          launch(with_gradient_kernel<Group, T, stored_t<S>>, blocks_in_cache<Group>(shape, sizeof(stored_t<S>)),
                 kThreads, 0, stream(), shape, losses, rows, dlosses, ids, target);
        });
      });
}

void rescale_rows(const View& x, const View& now, const View& before) {
  visit_stored(x.dtype, "rescale_rows", [&]<class S, class T>(std::type_identity<S>, std::type_identity<T>) {
    const RowShape shape(x);
    visit_thread_group(shape, [&]<class Group>(Group) {
      launch(rescale_rows_kernel<Group, T, stored_t<S>>, Group::blocks(shape.count), kThreads, 0, stream(), shape,
             rows_of<S>(x), values_of<const T>(now), values_of<const T>(before));
    });
  });
}

void token_log_prob(const View& log_prob, const View& entropy, const View& stats, const View& logits, const View& ids) {
  visit_stored(logits.dtype, "token_log_prob", [&]<class S, class T>(std::type_identity<S>, std::type_identity<T>) {
    const RowShape shape(logits);
    visit_thread_group(shape, [&]<class Group>(Group) {
      launch_early(token_log_prob_kernel<Group, T, stored_t<S>>, Group::blocks(shape.count), kThreads, 0, stream(),
                   shape, values_of<T>(log_prob), values_of<T>(entropy), KeptStats<T>{stats.as<T>()},
                   rows_of<S>(logits), values_of<const int32_t>(ids));
    });
  });
}

void token_log_prob_backward(const View& dlogits, const View& dlog_prob, const View& dentropy, const View& logits,
                             const View& stats, const View& entropy, const View& ids, double beta) {
  visit_result(dlogits, logits, "token_log_prob_backward",
               [&]<class R, class S, class T>(std::type_identity<R>, std::type_identity<S>, std::type_identity<T>) {
                 const RowShape shape(logits);
                 visit_thread_group(shape, [&]<class Group>(Group) {
                   launch(token_log_prob_backward_kernel<Group, T, stored_t<R>, stored_t<S>>,
                          Group::blocks(shape.count), kThreads, 0, stream(), shape, rows_of<R>(dlogits),
                          values_of<const T>(dlog_prob), values_of<const T>(dentropy), rows_of<S>(logits),
                          KeptStats<const T>{stats.as<const T>()}, values_of<const T>(entropy),
                          values_of<const int32_t>(ids), beta);
                 });
               });
}

}  // namespace pg::cuda
