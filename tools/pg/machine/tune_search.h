#pragma once
// The search of `pg tune`: which setting of the matrix product is fastest on this processor.
#include <functional>
#include <string>
#include <vector>

#include "tensor/cpu/gemm/tuning.h"
#include "tensor/dtype.h"
#include "tools/pg/bench/ceilings.h"

namespace pg::tools {

// Products of one number of rows with all of these matrices, one after the other, `copies` times: with many matrices
// each comes from memory, as in decoding.
struct TunedProducts {
  struct Matrix {
    int64_t n, k;
  };
  DType dtype;
  GemmForm form;
  int64_t m;
  std::vector<Matrix> matrices;
  int copies = 1;
};

// The choices that are searched together, and the products whose time decides.
struct TuningStep {
  std::string name;
  std::vector<std::string> choices;
  std::vector<TunedProducts> products;
};
const std::vector<TuningStep>& tuning_steps();

// All combinations of values of a step's choices, except the present one.
std::vector<cpu::GemmTuning> candidates_of(const TuningStep& step, const cpu::GemmTuning& present);

// The time with each candidate as a share of the time with the present setting: below 1 is faster.
using Compare = std::function<std::vector<double>(const TuningStep& step, const cpu::GemmTuning& present,
                                                  const std::vector<cpu::GemmTuning>& candidates)>;
// Measures in turns; each share is the geometric mean over the products of the medians over `repeat` rounds.
Compare compare_by_time(int repeat);

// A candidate is taken if it needs at most this share of the time, in two measurements.
inline constexpr double kWorthTaking = 0.98;

// What a step measured: shares[i] belongs to candidates[i].
struct StepResult {
  const TuningStep& step;
  cpu::GemmTuning before, after;
  std::vector<cpu::GemmTuning> candidates;
  std::vector<double> shares;
  double again = 0;  // the share of the best candidate in the second measurement; 0: it was not measured again
};
// Goes through the steps. The next one begins with the result of the one before.
cpu::GemmTuning search_tuning(const std::vector<TuningStep>& steps, cpu::GemmTuning from, const Compare& compare,
                              const std::function<void(const StepResult&)>& report);

}  // namespace pg::tools
