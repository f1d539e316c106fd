#pragma once
// What is fastest on one kind of processor and not on another: the sizes of the matrix product's blocks, where it
// prefetches to, and which form of it suits which size. None of it changes a bit of a product.
#include <unistd.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pg::cpu {

// Bytes of the first and the second level of cache for data; 0 if unknown.
#ifdef _SC_LEVEL1_DCACHE_SIZE
inline int64_t l1_bytes() {
  static const int64_t bytes = sysconf(_SC_LEVEL1_DCACHE_SIZE);
  return bytes;
}
inline int64_t l2_bytes() {
  static const int64_t bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
  return bytes;
}
#else
inline int64_t l1_bytes() { return 0; }
inline int64_t l2_bytes() { return 0; }
#endif

// Settings of the matrix product, for one kind of processor.
struct GemmTuning {
  int64_t tile_rows;         // rows of the tile of c that the micro-kernel keeps in registers, at most kMaxRows
  int64_t block_depth;       // bytes of a row of a in a block of K, in f32
  int64_t shared_rows;       // 1: with few columns the threads share panels of rows (shared_ranges.h)
  int64_t prefetch_l1;       // most bytes that are prefetched into L1; more go into L2
  int64_t prefetch_between;  // 1: few rows prefetch into L2 between their multiply-adds, not before their loads
  int64_t transposed_rows;   // most rows of a product that is computed transposed (transposed_output.h)
  bool operator==(const GemmTuning&) const = default;
};

// A member of GemmTuning: its name in files, and the values that a file may have and that `pg tune` measures.
struct GemmChoice {
  const char* name;
  int64_t GemmTuning::*value;
  std::vector<int64_t> values;
  const char* about;
};
const std::vector<GemmChoice>& gemm_choices();

// The settings for these sizes of caches, in bytes: those that were fastest on the measured processor whose caches are
// most like them (docs/benchmarks/LOG.md).
GemmTuning gemm_tuning_of_caches(int64_t l1, int64_t l2);

// The settings in use: those of the file gemm_tuning_path(), else those of this processor's caches.
const GemmTuning& gemm_tuning();
// For `pg tune` and tests. No product may be computed meanwhile.
void set_gemm_tuning(const GemmTuning& tuning);

// The processor, its caches and the width of this build's vectors, on one line.
const std::string& processor_name();
// The file of this processor (tensor/base/atomic_file.h); "" if there is no folder for it.
std::string gemm_tuning_path();
// The content of such a file: a title, and a line `name value` for each choice.
std::string gemm_tuning_text(const GemmTuning& tuning, std::string_view processor);
// Reads a file into `tuning` and returns true. Returns false and leaves `tuning` as it is if there is no file, or, with
// a warning on standard error, if the file is damaged or of another processor. A choice may also keep the value that
// `tuning` has.
bool read_gemm_tuning(const std::string& path, std::string_view processor, GemmTuning& tuning);

}  // namespace pg::cpu
