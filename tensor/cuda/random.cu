// Random tensors from the stream of tensor/base/random.h: a thread computes the four words of one Philox block and the
// elements made from them.
#include <cmath>
#include <numbers>

#include "tensor/base/random.h"
#include "tensor/cuda/base/array.h"
#include "tensor/cuda/base/kernels_cuda.h"

namespace pg::cuda {
namespace {

// Words at … at + 3 of the stream; they are in two blocks unless `at` is a multiple of 4.
__device__ void words_at(uint64_t seed, uint64_t at, uint32_t (&word)[4]) {
  const int skip = static_cast<int>(at % 4);
  philox_block(seed, at / 4, 0, word);
  if (skip == 0) return;
  uint32_t next[4];
  philox_block(seed, at / 4 + 1, 0, next);
  for (int shift = 0; shift < skip; ++shift) {  // step by step: constant indices keep the arrays in registers
    for (int k = 0; k < 3; ++k) word[k] = word[k + 1];
    word[3] = next[0];
    for (int k = 0; k < 3; ++k) next[k] = next[k + 1];
  }
}

// Products and sums are rounded separately, as on the CPU: a fused multiply-add would give different values.
template <class T>
__global__ void uniform_kernel(T* y, int64_t n, double low, double width, T last, uint64_t seed, uint64_t offset,
                               bool aligned) {
  for (int64_t i = kPack * first_index(); i < n; i += kPack * index_step()) {
    uint32_t word[kPack];
    words_at(seed, offset + static_cast<uint64_t>(i), word);
    T x[kPack];
    for (int k = 0; k < kPack; ++k) {
      const double unit = sizeof(T) == 4 ? (word[k] >> 8) * 0x1p-24 : word[k] * 0x1p-32;
      const T value = static_cast<T>(__dadd_rn(low, __dmul_rn(width, unit)));
      x[k] = value < last ? value : last;
    }
    store_pack(y, x, i, n, aligned);
  }
}

// Box and Muller (1958): one value from two words, two values per thread.
template <class T>
__global__ void normal_kernel(T* y, int64_t n, double mean, double std, uint64_t seed, uint64_t offset) {
  for (int64_t i = 2 * first_index(); i < n; i += 2 * index_step()) {
    uint32_t word[4];
    words_at(seed, offset + 2 * static_cast<uint64_t>(i), word);
    for (int k = 0; k < 2 && i + k < n; ++k) {
      const double u = (1.0 + word[2 * k]) * 0x1p-32;  // (0, 1], so that the logarithm is finite
      const double v = word[2 * k + 1] * 0x1p-32;
      const double z = ::sqrt(-2 * ::log(u)) * ::cos(2 * std::numbers::pi * v);
      y[i + k] = static_cast<T>(z * std + mean);
    }
  }
}

template <class R, class S, class T>
__global__ void dropout_kernel(stored_t<R>* y, const stored_t<S>* x, int64_t n, uint64_t threshold, T scale, T beta,
                               uint64_t seed, uint64_t offset, bool aligned) {
  for (int64_t i = kPack * first_index(); i < n; i += kPack * index_step()) {
    uint32_t word[kPack];
    words_at(seed, offset + static_cast<uint64_t>(i), word);
    T from[kPack], held[kPack] = {};
    load_pack(from, x, i, n, aligned);
    if (beta != 0) load_pack(held, y, i, n, aligned);
    for (int k = 0; k < kPack; ++k) {
      const T kept = word[k] < threshold ? T(0) : from[k] * scale;
      held[k] = beta == 0 ? kept : beta * held[k] + kept;
    }
    store_pack(y, held, i, n, aligned);
  }
}

}  // namespace

// Uniform in [low, high): f32 uses 24 bits of a word, f64 all 32.
void random_uniform(const View& y, double low, double high, uint64_t seed, uint64_t offset) {
  visit_floating(y.dtype, "random_uniform", [&]<class T>(std::type_identity<T>) {
    // Without this limit, rounding could give `high`.
    const T last = low < high ? std::nextafter(static_cast<T>(high), static_cast<T>(low)) : static_cast<T>(high);
    const int64_t n = y.numel();
    launch(uniform_kernel<T>, blocks_for(packs_of(n)), kThreads, 0, stream(), y.as<T>(), n, low, high - low, last, seed,
           offset, aligned_for_packs(y.as<T>()));
  });
}

void random_normal(const View& y, double mean, double std, uint64_t seed, uint64_t offset) {
  visit_floating(y.dtype, "random_normal", [&]<class T>(std::type_identity<T>) {
    const int64_t n = y.numel();
    launch(normal_kernel<T>, blocks_for((n + 1) / 2), kThreads, 0, stream(), y.as<T>(), n, mean, std, seed, offset);
  });
}

void dropout(const View& y, const View& x, double p, uint64_t seed, uint64_t offset, double beta) {
  visit_result(
      y, x, "dropout",
      [&]<class R, class S, class T>(std::type_identity<R>, std::type_identity<S>, std::type_identity<T>) {
        const auto threshold = static_cast<uint64_t>(std::ceil(p * 0x1p32));  // a word below this drops its element
        const int64_t n = y.numel();
        launch(dropout_kernel<R, S, T>, blocks_for(packs_of(n)), kThreads, 0, stream(), data_of<R>(y), data_of<S>(x), n,
               threshold, 1 / (1 - p), beta, seed, offset, aligned_for_packs(data_of<R>(y), data_of<S>(x)));
      });
}

}  // namespace pg::cuda
