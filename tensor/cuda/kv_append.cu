// Appends new keys and values to a cache.
#include "tensor/cuda/base/array.h"
#include "tensor/cuda/base/kernels_cuda.h"

namespace pg::cuda {
namespace {

// Rows of `size` words of type W; strides in words.
struct Shape4 {
  int64_t heads, count, size;
  int64_t to[3], from_k[3], from_v[3];
};

template <class W>
__global__ void append_kernel(Shape4 s, int64_t n, W* k, W* v, const W* new_k, const W* new_v, const int32_t* starts) {
  for (int64_t i = first_index(); i < n; i += index_step()) {
    const int64_t d = i % s.size, row = i / s.size, t = row % s.count;
    const int64_t h = row / s.count % s.heads, b = row / s.count / s.heads;
    const int64_t to = b * s.to[0] + h * s.to[1] + (starts[b] + t) * s.to[2] + d;
    k[to] = new_k[b * s.from_k[0] + h * s.from_k[1] + t * s.from_k[2] + d];
    v[to] = new_v[b * s.from_v[0] + h * s.from_v[1] + t * s.from_v[2] + d];
  }
}

template <class W>
void append_words(const View& k, const View& v, const View& new_k, const View& new_v, const View& starts) {
  const int64_t per_word = static_cast<int64_t>(sizeof(W) / size_of(k.dtype)), size = new_k.shape[3] / per_word;
  Shape4 s{new_k.shape[1], new_k.shape[2], size, {}, {}, {}};
  for (int d = 0; d < 3; ++d) {
    s.to[d] = k.strides[d] / per_word;
    s.from_k[d] = new_k.strides[d] / per_word;
    s.from_v[d] = new_v.strides[d] / per_word;
  }
  const int64_t n = new_k.numel() / per_word;
  launch(append_kernel<W>, blocks_for(n), kThreads, 0, stream(), s, n, k.as<W>(), v.as<W>(), new_k.as<const W>(),
         new_v.as<const W>(), starts.as<const int32_t>());
}

// Whether all rows begin and end at multiples of 16 bytes.
bool in_chunks(const View& x) {
  const auto bytes = static_cast<int64_t>(size_of(x.dtype));
  bool whole = reinterpret_cast<uintptr_t>(x.data) % 16 == 0 && x.shape[3] * bytes % 16 == 0;
  for (int d = 0; d < 3; ++d) whole = whole && x.strides[d] * bytes % 16 == 0;
  return whole;
}

}  // namespace

void kv_append(const View& k, const View& v, const View& new_k, const View& new_v, const View& starts) {
  if (new_k.numel() == 0) return;
  const auto with = [&]<class W>(std::type_identity<W>) { append_words<W>(k, v, new_k, new_v, starts); };
  if (in_chunks(k) && in_chunks(v) && in_chunks(new_k) && in_chunks(new_v)) return with(std::type_identity<uint4>{});
  switch (size_of(k.dtype)) {
    case 2:
      return with(std::type_identity<uint16_t>{});
    case 4:
      return with(std::type_identity<uint32_t>{});
    default:
      return with(std::type_identity<uint64_t>{});
  }
}

}  // namespace pg::cuda
