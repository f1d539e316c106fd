#pragma once
// The work that one stage of a verdict may do, counted in steps of about a machine word's arithmetic.
#include <cstdint>

#include "tensor/base/error.h"

namespace pg::grading {

class Budget {
 public:
  Budget(int64_t steps, int64_t bits) : left_(steps), bits_(bits) {}
  // Throws Error when no steps are left.
  void spend(int64_t steps = 1) {
    check(steps <= left_, "the limit of steps is reached");
    left_ -= steps;
  }
  // Throws Error for a number that would have more than the limit of bits; else pays for it.
  void spend_bits(double bits) {
    check(bits <= static_cast<double>(bits_), "a number has more than {} bits", bits_);
    spend(1 + static_cast<int64_t>(bits) / 64);
  }

 private:
  int64_t left_, bits_;
};

}  // namespace pg::grading
