#pragma once
// A small thread pool. Chunk boundaries depend on n and grain only, never on the number of threads, so a result that is
// a function of its chunk has the same bits for any thread count.
#include <cstdint>
#include <type_traits>

namespace pg {

// Threads that parallel_for may use, the caller included. Default: the environment variable POLICYGRAD_THREADS, else
// usable_cores(). The threads are started by the first parallel_for that needs them, which throws Error if the
// system refuses to start one.
int num_threads();
void set_num_threads(int n);
// Threads that a parallel_for called at this point would use: 1 inside a chunk of another parallel_for.
int parallelism();

namespace detail {
using ChunkFn = void (*)(void* context, int64_t begin, int64_t end);
void parallel_chunks(int64_t n, int64_t grain, ChunkFn fn, void* context);
}  // namespace detail

// Calls f(begin, end) for the chunks [0, grain), [grain, 2·grain), … of [0, n), concurrently and in no order. f runs
// inline if there is one chunk, one thread, or the call comes from inside a worker. The first exception of f is
// rethrown here.
template <class F>
void parallel_for(int64_t n, int64_t grain, F&& f) {
  if (n <= 0) return;
  if (n <= grain) return f(int64_t{0}, n);
  using Fn = std::remove_reference_t<F>;
  detail::parallel_chunks(
      n, grain, [](void* context, int64_t begin, int64_t end) { (*static_cast<Fn*>(context))(begin, end); },
      const_cast<void*>(static_cast<const void*>(&f)));
}

}  // namespace pg
