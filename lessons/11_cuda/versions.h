#pragma once
// Four kernels, step by step. The step that is missing from a series is your function, called in harness.h.
#include "lessons/11_cuda/impl.h"

namespace pg::lesson11 {

inline constexpr int kMostInRegisters = 512;  // columns that the vectorised rows can hold; a multiple of 128

// The mistakes that the functions of 11.1 and 11.5 avoid.
Numbers visits_far_apart(unsigned blocks, int64_t n);
Matrix transpose_one_bank(const Matrix& x);

Matrix softmax_naive(const Matrix& x);       // one thread per row
Matrix softmax_coalesced(const Matrix& x);   // one warp per row; three passes. Next: Impl::softmax, two passes
Matrix softmax_vectorised(const Matrix& x);  // the row is read once, 16 bytes at a time, and stays in registers

Matrix layer_norm_naive(const Matrix& x, const Numbers& w, const Numbers& b);
Matrix layer_norm_coalesced(const Matrix& x, const Numbers& w, const Numbers& b);  // next: Impl::layer_norm
Matrix layer_norm_vectorised(const Matrix& x, const Numbers& w, const Numbers& b);

Matrix matmul_naive(const Matrix& a, const Matrix& b);      // neighbouring threads compute neighbouring rows
Matrix matmul_coalesced(const Matrix& a, const Matrix& b);  // … neighbouring columns
Matrix matmul_shared(const Matrix& a, const Matrix& b);     // 16 x 16 tiles, an element per thread. Next: Impl::matmul
Matrix matmul_vectorised(const Matrix& a,
                         const Matrix& b);               // Impl::matmul with 16-byte accesses; size multiples of 64
Matrix matmul_racing(const Matrix& a, const Matrix& b);  // matmul_shared without its second barrier

inline constexpr int kHead = 32;  // the head dimension D

struct Heads {
  int64_t heads = 0, length = 0;
  Numbers q, k, v;  // [heads, length, kHead]
};
// softmax(q kᵀ / √kHead) v: every query sees every key.
Numbers attention_naive(const Heads& x);       // scores in memory; neighbouring threads have neighbouring queries
Numbers attention_coalesced(const Heads& x);   // one warp per query
Numbers attention_shared(const Heads& x);      // tiles of keys and values, online softmax: scores are not stored
Numbers attention_vectorised(const Heads& x);  // 16 bytes at a time, four queries per warp

}  // namespace pg::lesson11
