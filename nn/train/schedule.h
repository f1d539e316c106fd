#pragma once
// The learning rate schedule.
#include <cmath>
#include <cstdint>
#include <numbers>
#include <string_view>
#include <vector>

namespace pg {

struct Field;  // tensor/base/fields.h

// The learning rate of each step.
struct Schedule {
  enum class Kind : uint8_t { constant, linear, cosine };
  Kind kind = Kind::cosine;
  double lr = 1e-3;            // the maximum
  double min_lr = 1e-4;        // the final learning rate, from decay_steps on; unused by `constant`
  int64_t warmup_steps = 0;    // linear warmup; the learning rate of step 0 is not 0
  int64_t decay_steps = 2000;  // the step that reaches min_lr

  // step counts from 0. This is nanoGPT's get_lr (train.py), except that the decay can also be linear.
  double at(int64_t step) const {
    if (step < warmup_steps) return lr * static_cast<double>(step + 1) / static_cast<double>(warmup_steps + 1);
    if (kind == Kind::constant) return lr;
    if (step >= decay_steps) return min_lr;
    const double done = static_cast<double>(step - warmup_steps) / static_cast<double>(decay_steps - warmup_steps);
    const double left = kind == Kind::linear ? 1 - done : 0.5 * (1 + std::cos(std::numbers::pi * done));
    return min_lr + left * (lr - min_lr);
  }
};
// All fields but decay_steps, which follows from the length of the run.
std::vector<Field> fields(Schedule& schedule);
// Throws Error "OWNER: …" if the learning rate would rise after the warmup, or if the warmup does not end before the
// last of `steps` steps. A constant schedule does not use min_lr.
void check_schedule(std::string_view owner, const Schedule& schedule, int64_t steps);

}  // namespace pg
