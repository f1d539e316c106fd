// Softmax and log-softmax of rows.
#include "tensor/cuda/base/kernels_cuda.h"
#include "tensor/cuda/base/shared_row.h"

namespace pg::cuda {
namespace {

// Calls used(i, integral_constant<int, K>) after the results of elements [i, i + K).
template <class Group, class T, class R, class S, class F>
__device__ __forceinline__ void write_softmax(R* to, const S* x, int64_t n, bool log, F used) {
  const RowStats<T> stats = row_stats<Group, false, T>(x, n);
  const T inverse = 1 / stats.sum;
  for_loaded<Group, T>(x, n, unaligned_head<kChunk<S>>(n, x, to), [&]<int K>(int64_t i, T(&v)[K]) {
    for (int j = 0; j < K; ++j) v[j] = log ? stats.log_prob(v[j]) : exp_of<S>(v[j] - stats.max) * inverse;
    device_store(to + i, v);
    used(i, std::integral_constant<int, K>{});
  });
}

template <class Group, class T, class R, class S>
__global__ void softmax_kernel(RowShape shape, Rows<R> y, Rows<S> x, bool log) {
  for (int64_t r = Group::first_row(); r < shape.count; r += Group::row_step()) {
    write_softmax<Group, T>(y[r], x[r], shape.size, log, [](int64_t, auto) {});
  }
}

// softmax_kernel with rows that begin at multiples of 16 bytes, and at most one block per row.
template <class Group, class T, class R, class S>
__global__ void softmax_shared_kernel(RowShape shape, Rows<R> y, Rows<S> x, bool log) {
  if constexpr (kTensorCores) {
    SharedRow<Group, S> row(shape.size);
    row.begin(x[Group::first_row()]);
    for (int64_t r = Group::first_row(), next; r < shape.count; r = next) {
      next = r + Group::row_step();
      const S* from = row.wait(next < shape.count ? x[next] : nullptr);
      write_softmax<Group, T>(y[r], from, shape.size, log, [&](int64_t i, auto lanes) { row.replace(i, lanes); });
    }
  }
}

// dx = beta·dx + y·(dy - Σ dy·y); for log-softmax dx = beta·dx + dy - e^y·Σ dy.
template <class Group, class T, class R, class S>
__global__ void softmax_backward_kernel(RowShape shape, Rows<R> dx, Rows<S> dy, Rows<S> y, bool log, T beta) {
  constexpr int N = kChunk<S>;
  for (int64_t r = Group::first_row(); r < shape.count; r += Group::row_step()) {
    const S *grad = dy[r], *result = y[r];
    R* to = dx[r];
    T sum = 0;
    for_chunks<Group, N>(shape.size, [&](int64_t i) {
      T g[N], p[N];
      load_chunk(g, grad, i, shape.size, T(0));
      if (!log) load_chunk(p, result, i, shape.size, T(0));
      for (int j = 0; j < N; ++j) sum += log ? g[j] : g[j] * p[j];
    });
    sum = Group::sum(sum);
    const int64_t head = unaligned_head<N>(shape.size, result, grad, to);
    for_vectors<Group, N>(shape.size, head, [&](int64_t i, auto lanes) {
      constexpr int K = decltype(lanes)::value;
      T g[K], p[K];
      vector_load(g, grad + i);
      vector_load(p, result + i);
      for (int j = 0; j < K; ++j) g[j] = log ? g[j] - ::exp(p[j]) * sum : p[j] * (g[j] - sum);
      write_gradient(to + i, g, beta);
    });
  }
}

}  // namespace

// A row whose logits are all -inf gives NaN; single -inf logits give probability 0.
void softmax(const View& y, const View& x, bool log) {
  visit_result(
      y, x, "softmax",
      [&]<class R, class S, class T>(std::type_identity<R>, std::type_identity<S>, std::type_identity<T>) {
        const RowShape shape(x);
        const auto to = rows_of<R>(y);
        const auto from = rows_of<S>(x);
        visit_thread_group(shape, [&]<class Group>(Group) {
          if constexpr (Group::kRows == 1) {
            const auto kernel = softmax_shared_kernel<Group, T, stored_t<R>, stored_t<S>>;
            if (begin_aligned(shape, to, from) && launch_with_shared_row<stored_t<S>>(kernel, shape, to, from, log))
              return;
          }
          launch(softmax_kernel<Group, T, stored_t<R>, stored_t<S>>, Group::blocks(shape.count), kThreads, 0, stream(),
                 shape, to, from, log);
        });
      });
}

void softmax_backward(const View& dx, const View& dy, const View& y, bool log, double beta) {
  visit_result(dx, y, "softmax_backward",
               [&]<class R, class S, class T>(std::type_identity<R>, std::type_identity<S>, std::type_identity<T>) {
                 if (dy.dtype != y.dtype) fail_pair("softmax_backward", dy.dtype, y.dtype);
                 const RowShape shape(y);
                 visit_thread_group(shape, [&]<class Group>(Group) {
                   launch(softmax_backward_kernel<Group, T, stored_t<R>, stored_t<S>>, Group::blocks(shape.count),
                          kThreads, 0, stream(), shape, rows_of<R>(dx), rows_of<S>(dy), rows_of<S>(y), log, beta);
                 });
               });
}

}  // namespace pg::cuda
