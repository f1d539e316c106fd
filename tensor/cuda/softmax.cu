// Softmax and log-softmax of rows.
#include "tensor/cuda/kernels_cuda.h"
#include "tensor/cuda/row.h"

namespace pg::cuda {
namespace {

template <class Group, class T, class R, class S>
__global__ void softmax_kernel(RowShape shape, Rows<R> y, Rows<S> x, bool log) {
  constexpr int N = kChunk<S>;
  for (int64_t r = Group::first_row(); r < shape.count; r += Group::row_step()) {
    const S* from = x[r];
    R* to = y[r];
    const RowStats<T> stats = row_stats<Group, false, T>(from, shape.size);
    const T inverse = 1 / stats.sum;
    const int64_t head = unaligned_head<N>(shape.size, from, to);
    for_loaded<Group, T>(from, shape.size, head, [&]<int K>(int64_t i, T(&v)[K]) {
      for (int j = 0; j < K; ++j) v[j] = log ? stats.log_prob(v[j]) : exp_of<S>(v[j] - stats.max) * inverse;
      vector_store(to + i, v);
    });
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
  visit_result(y, x, "softmax",
               [&]<class R, class S, class T>(std::type_identity<R>, std::type_identity<S>, std::type_identity<T>) {
                 const RowShape shape(x);
                 visit_thread_group(shape, [&]<class Group>(Group) {
                   launch(softmax_kernel<Group, T, stored_t<R>, stored_t<S>>, Group::blocks(shape.count), kThreads, 0,
                          stream(), shape, rows_of<R>(y), rows_of<S>(x), log);
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
