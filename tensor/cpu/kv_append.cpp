// Copies new keys and values to their positions in a KV cache; attention that does so first.
#include <cstring>

#include "tensor/base/parallel.h"
#include "tensor/cpu/kernels_cpu.h"

namespace pg::cpu {

void kv_append(const View& k, const View& v, const View& new_k, const View& new_v, const View& starts) {
  const int64_t heads = new_k.shape[1], count = new_k.shape[2];
  const auto bytes = static_cast<int64_t>(size_of(k.dtype));
  const auto size = static_cast<size_t>(new_k.shape[3] * bytes);
  const auto* start = starts.as<const int32_t>();
  parallel_for(new_k.shape[0] * heads, std::max<int64_t>(1, 65536 / std::max<int64_t>(1, count * new_k.shape[3])),
               [&](int64_t i, int64_t end) {
                 for (; i < end; ++i) {
                   const int64_t b = i / heads, h = i % heads;
                   for (const auto& [to, from] : {std::pair(&k, &new_k), std::pair(&v, &new_v)}) {
                     const auto at = [&](const View& x, int64_t t) {
                       return x.as<char>() + (b * x.strides[0] + h * x.strides[1] + t * x.strides[2]) * bytes;
                     };
                     for (int64_t t = 0; t < count; ++t) std::memcpy(at(*to, start[b] + t), at(*from, t), size);
                   }
                 }
               });
}

void attention_append(const View& out, const View& lse, const View& q, const View& k, const View& v, const View& new_k,
                      const View& new_v, const View& starts, const AttentionArgs& args) {
  kv_append(k, v, new_k, new_v, starts);
  attention(out, lse, q, k, v, args);
}

}  // namespace pg::cpu
