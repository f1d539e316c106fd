#pragma once
// Lesson 11 as plain C++ sees it: every function takes values from the CPU, runs a kernel on them and returns the
// results. Your device functions (pieces.h) run inside those kernels (harness.h).
#include <cstdint>
#include <vector>

namespace pg::lesson11 {

using Numbers = std::vector<float>;

// Row-major.
struct Matrix {
  int64_t rows = 0, columns = 0;
  Numbers v;
};

// The result of reduce() in every thread of a block: [threads] each.
struct Reduced {
  Numbers sums, sums_of_squares, maxima;
};

// Per row.
struct Stats {
  Numbers max, sum;
};

struct Impl {
  // 11.1
  unsigned (*blocks_for)(int64_t n);
  Numbers (*visits)(unsigned blocks, int64_t n);  // how often a grid of `blocks` blocks visits each of n elements
  // 11.2: thread groups of `team` threads, 32 or 256; x fills whole blocks of 256 threads
  Reduced (*reduce)(const Numbers& x, int team);
  Matrix (*layer_norm)(const Matrix& x, const Numbers& w, const Numbers& b);  // one block per row
  // 11.3: op(a)·op(b), where op transposes if `turn_a` or `turn_b` is set
  Matrix (*matmul)(const Matrix& a, const Matrix& b, bool turn_a, bool turn_b);
  Matrix (*add_matmul)(const Matrix& c, const Matrix& a, const Matrix& b);  // c + a·b
  // 11.4
  Stats (*row_stats)(const Matrix& x);
  Matrix (*softmax)(const Matrix& x);
  // 11.5
  Matrix (*transpose)(const Matrix& x);
};
Impl reference();
Impl learner();

}  // namespace pg::lesson11
