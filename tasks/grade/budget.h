#pragma once
// The work that one stage of a verdict may do, counted in steps of about a machine word's arithmetic.
#include <cstdint>

#include "tasks/grade/grade.h"
#include "tensor/base/error.h"

namespace pg::grading {

// One verdict: its limits, and the steps of its stages so far.
struct Work {
  const GradeLimits& limits;
  int64_t steps = 0;
};

class Budget {
 public:
  explicit Budget(Work& work) : work_(work), left_(work.limits.steps), bits_(work.limits.bits) {}
  // Throws Error when no steps are left.
  void spend(int64_t steps = 1) {
    check(steps <= left_, "the limit of steps is reached");
    left_ -= steps;
    work_.steps += steps;
  }
  // Throws Error for a number that would have more than the limit of bits; else pays for it.
  void spend_bits(double bits) {
    check(bits <= static_cast<double>(bits_), "a number has more than {} bits", bits_);
    spend(1 + static_cast<int64_t>(bits) / 64);
  }

 private:
  Work& work_;
  int64_t left_, bits_;
};

}  // namespace pg::grading
