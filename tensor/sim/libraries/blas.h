#pragma once
// The simulated cuBLASLt for programs: what it was asked, and how tests change its answers.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

namespace pg::sim {

// A product in cuBLASLt's terms: D [m, n] = op(A) [m, k]·op(B) [k, n], column-major. Types and the epilogue are numbers
// of cublasLt.h.
struct BlasProduct {
  int64_t m = 0, n = 0, k = 0, batch = 1;
  int type = 0, result_type = 0;
  uint32_t epilogue = 1;
};

// The algorithms, by number: 0 and 1 need multiples of 16 bytes, 0 and 2 split K. The heuristic suggests them in this
// order, as far as a product allows; by the times below, 1 is faster than 0 and 3 faster than 2.
constexpr int kBlasAlgorithms = 4;

// Calls that succeeded, of all threads since the program began. Replays of a graph are not counted.
struct BlasCounts {
  uint64_t heuristics = 0, checks = 0, products = 0;
  std::map<uint32_t, uint64_t> by_epilogue;  // products
  std::map<int, uint64_t> by_algorithm;      // products
};
BlasCounts blas_counts();

// While an object of this class exists, heuristics, checks and products that `refuses` selects are refused:
// with CUBLAS_STATUS_INVALID_VALUE or else CUBLAS_STATUS_NOT_SUPPORTED. The innermost object counts.
class BlasRefusal {
 public:
  enum class Call { heuristic, check, product };
  using Refuses = std::function<bool(const BlasProduct& product, Call call)>;
  explicit BlasRefusal(Refuses refuses, bool invalid_value = false);
  ~BlasRefusal();
  BlasRefusal(const BlasRefusal&) = delete;
  BlasRefusal& operator=(const BlasRefusal&) = delete;

 private:
  Refuses before_;
  bool before_invalid_;
};

// While an object of this class exists, CUDA events count these seconds for each product, by algorithm: which one is
// measured to be the fastest does not depend on the load of the machine. Without one they are 0.2, 0.1, 0.4 and 0.3.
class BlasTimes {
 public:
  explicit BlasTimes(const std::vector<double>& seconds);
  ~BlasTimes();
  BlasTimes(const BlasTimes&) = delete;
  BlasTimes& operator=(const BlasTimes&) = delete;

 private:
  std::vector<double> before_;
};

}  // namespace pg::sim
