#pragma once
// The special cases of attention on CUDA devices: few queries, and bf16 on tensor cores.
#include <initializer_list>

#include "tensor/kernels.h"

namespace pg::cuda {

// ---- bf16 on tensor cores: FlashAttention-2 (Dao, arXiv:2307.08691)

// Whether attention_mma and attention_backward_mma support these operands; otherwise the kernels of attention.cu and
// attention_backward.cu are used. Required are bf16, head dimension 64 or 128, no key mask, a positive scale (the
// maximum is taken before scaling), rows that begin at multiples of 16 bytes in all `operands` (q is the first), and a
// device with bf16 tensor cores.
bool takes_mma(std::initializer_list<View> operands, const AttentionArgs& args);

// attention and attention_backward of tensor/kernels.h, for operands that takes_mma() accepts.
void attention_mma(const View& out, const View& lse, const View& q, const View& k, const View& v,
                   const AttentionArgs& args);
void attention_backward_mma(const View& dq, const View& dk, const View& dv, const View& dout, const View& out,
                            const View& lse, const View& q, const View& k, const View& v, const AttentionArgs& args,
                            double beta);

// ---- few queries, as in generation with a KV cache: a tile of queries would be nearly empty

inline constexpr int64_t kDecodeQueries = 8;  // attention() uses attention_decode up to this number of queries

// attention of tensor/kernels.h, for at least one query. With `starts`, attention_append: the kernel stores new_k and
// new_v in the cache while it reads them; there must be no key mask.
void attention_decode(const View& out, const View& lse, const View& q, const View& k, const View& v, const View& new_k,
                      const View& new_v, const View& starts, const AttentionArgs& args);

}  // namespace pg::cuda
