#pragma once
// Elementwise kernels: a function of one element of the result and one of each input, for any shape and strides.
// Contiguous operands are loaded and stored in packs of 16 bytes.
#include <array>
#include <bit>
#include <cstring>
#include <tuple>
#include <utility>

#include "tensor/cuda/base/array.h"
#include "tensor/cuda/loop32.h"

namespace pg::cuda {

// The functions are objects f: f(R* y, const S*... x) computes one element. f.reads_result() says whether it reads *y.
struct OverwritingFunction {
  static constexpr bool reads_result() { return false; }
};

// An operand with its element type as stored.
template <class S>
struct Operand {
  const View& view;
};

// Operands whose elements are adjacent (stride 1), or one element for all positions (stride 0).
template <int N>
struct ContiguousLoop {
  uint32_t n;       // packs, from the first position at which every operand of stride 1 is aligned
  int head, extra;  // elements before that position; these, and those past the last pack
  bool adjacent[N];

  __device__ __forceinline__ void offsets(uint32_t i, uint32_t (&offset)[N]) const {
    for (int k = 0; k < N; ++k) offset[k] = i;
  }
};

// The bits of a pack, which one access moves.
template <class S, int kWidth>
using pack_bits = std::tuple_element_t<std::countr_zero(sizeof(Pack<S, kWidth>)),
                                       std::tuple<uint8_t, uint16_t, unsigned, uint2, uint4>>;

// std::bit_cast, also for the simulator's uint4, which has a copy constructor.
template <class To, class From>
__device__ __forceinline__ To bits_as(const From& from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  memcpy(static_cast<void*>(&to), static_cast<const void*>(&from), sizeof(To));
  return to;
}

template <int kWidth, class S>
__device__ __forceinline__ pack_bits<S, kWidth> repeated(S x) {
  Pack<S, kWidth> pack;
  for (int e = 0; e < kWidth; ++e) pack.v[e] = x;
  return bits_as<pack_bits<S, kWidth>>(pack);
}

// How many packs of every operand a thread loads before it stores the first result.
constexpr int packs_at_once(int width) { return width == 1 ? 4 : 2; }

// The loop of elementwise_kernel; K counts the inputs. (Not a lambda in the kernel: nvcc 13 gives elements of a
// captured parameter pack wrong types.)
template <int kWidth, size_t... K, class Loop, class F, class R, class... S>
__device__ __forceinline__ void run_elementwise(std::index_sequence<K...>, const Loop& w, const F& f, R* y,
                                                const S*... x) {
  constexpr bool kContiguous = kWidth > 1;
  constexpr int N = 1 + sizeof...(S), kAtOnce = packs_at_once(kWidth);
  bool adjacent[N];
  for (int k = 0; k < N; ++k) {
    adjacent[k] = true;
    if constexpr (kContiguous) adjacent[k] = w.adjacent[k];
  }
  std::tuple<pack_bits<S, kWidth>...> same{};  // the packs of the operands of stride 0
  ((adjacent[K + 1] ? void() : void(std::get<K>(same) = repeated<kWidth>(*x))), ...);
  const uint32_t step = gridDim.x * (kAtOnce * kThreads);
#pragma unroll 1
  for (uint32_t first = blockIdx.x * (kAtOnce * kThreads) + threadIdx.x; first < w.n; first += step) {
    pack_bits<R, kWidth> result[kAtOnce] = {};
    std::tuple<pack_bits<S, kWidth>...> input[kAtOnce];
    uint32_t at[kAtOnce][N];
#pragma unroll
    for (int u = 0; u < kAtOnce; ++u) {
      const uint32_t i = first + u * kThreads;
      w.offsets(i, at[u]);
      const auto load = [&]<class B>(B& bits, const void* from, size_t k) {
        if (i < w.n && adjacent[k]) bits = static_cast<const B*>(from)[at[u][k]];
      };
      if (f.reads_result()) load(result[u], y, 0);
      input[u] = same;
      (load(std::get<K>(input[u]), x, K + 1), ...);
    }
#pragma unroll
    for (int u = 0; u < kAtOnce; ++u) {
      if (first + u * kThreads >= w.n) continue;
      auto out = bits_as<Pack<R, kWidth>>(result[u]);
      const std::tuple<Pack<S, kWidth>...> in{bits_as<Pack<S, kWidth>>(std::get<K>(input[u]))...};
      for (int e = 0; e < kWidth; ++e) f(&out.v[e], &std::get<K>(in).v[e]...);
      reinterpret_cast<pack_bits<R, kWidth>*>(y)[at[u][0]] = bits_as<pack_bits<R, kWidth>>(out);
    }
  }
  if constexpr (kContiguous) {
    const int single = static_cast<int>(blockIdx.x * kThreads + threadIdx.x);
    if (single >= w.extra) return;
    const int64_t i = single - w.head + (single < w.head ? 0 : int64_t{w.n} * kWidth);
    f(y + i, x + (adjacent[K + 1] ? i : 0)...);
  }
}

// Loop is ContiguousLoop, with y and x at the first pack, or Loop32, with packs of one element.
template <int kWidth, class Loop, class F, class R, class... S>
__global__ void __launch_bounds__(kThreads)
    elementwise_kernel(__grid_constant__ const Loop w, F f, R* y, const S*... x) {
  run_elementwise<kWidth>(std::index_sequence_for<S...>{}, w, f, y, x...);
}

// The kernels of one function on operands of given types.
struct ElementwiseKernels {
  AnyKernel contiguous, strided;  // elementwise_kernel with ContiguousLoop and Loop32
  int width;                      // elements in a pack of `contiguous`
};
struct AnyOperand {
  const View* view;
  size_t bytes;  // of an element
};
// Starts the kernels for `operands`, y first. `f` points to the function. It is compiled once for all functions, in
// elementwise_loop.cu, for N up to 4.
template <int N>
void start_elementwise(const ElementwiseKernels& kernels, const void* f, const std::array<AnyOperand, N>& operands);

// y = f of the elements of the inputs x; all views have one shape. y may be one of the inputs.
template <class F, class R, class... S>
void elementwise(const F& f, Operand<R> y, Operand<S>... x) {
  constexpr int N = 1 + sizeof...(S), kWidth = static_cast<int>(16 / std::max({sizeof(R), sizeof(S)...}));
  start_elementwise<N>({any_kernel(elementwise_kernel<kWidth, ContiguousLoop<N>, F, R, S...>),
                        any_kernel(elementwise_kernel<1, Loop32<N>, F, R, S...>), kWidth},
                       &f, {{{&y.view, sizeof(R)}, {&x.view, sizeof(S)}...}});
}

}  // namespace pg::cuda
