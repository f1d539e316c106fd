#pragma once
// Attention of bf16 on tensor cores: FlashAttention-2 (Dao, arXiv:2307.08691).
#include <initializer_list>

#include "tensor/kernels.h"

namespace pg::cuda {

// Whether the kernels here compute attention of these operands; else those of attention.cu and attention_backward.cu
// do. They want bf16 heads of 64 or 128 numbers, no key mask, a positive scale (the largest score is looked for before
// scaling), rows that begin at multiples of 16 bytes in all of `operands`, q first, and a device with bf16 tensor
// cores.
bool takes_mma(std::initializer_list<View> operands, const AttentionArgs& args);

// attention and attention_backward of tensor/kernels.h, for operands that takes_mma() accepts.
void attention_mma(const View& out, const View& lse, const View& q, const View& k, const View& v,
                   const AttentionArgs& args);
void attention_backward_mma(const View& dq, const View& dk, const View& dv, const View& dout, const View& out,
                            const View& lse, const View& q, const View& k, const View& v, const AttentionArgs& args,
                            double beta);

}  // namespace pg::cuda
