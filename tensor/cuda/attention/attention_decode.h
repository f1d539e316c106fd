#pragma once
// Attention with few queries, as in generation with a KV cache: a tile of queries would be nearly empty.
#include "tensor/kernels.h"

namespace pg::cuda {

inline constexpr int64_t kDecodeQueries = 8;  // attention() uses attention_decode up to this number of queries

// attention of tensor/kernels.h, for at least one query.
void attention_decode(const View& out, const View& lse, const View& q, const View& k, const View& v,
                      const AttentionArgs& args);

}  // namespace pg::cuda
