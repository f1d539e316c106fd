#pragma once
// The checks that lesson 8 runs, by source file, and their inputs. checks.cpp defines their explanations and hints.
#include "lessons/08_rlhf/lesson.h"

namespace pg::lesson08 {

// check_rewards.cpp
void check_sft_batch(kit::Grader& g, const Impl& impl);
void check_set_rewards(kit::Grader& g, const Impl& impl);
void check_subtract_kl(kit::Grader& g, const Impl& impl);
// check_preferences.cpp
void check_bradley_terry_loss(kit::Grader& g, const Impl& impl);
void check_dpo_loss(kit::Grader& g, const Impl& impl);
// check_responses.cpp
void check_sequence_log_probs(kit::Grader& g, const Impl& impl);

constexpr double kDouble = 1e-9, kSingle = 1e-5;  // tolerances for inputs in f64 and in f32
inline kit::Compare as_gradient(double rtol, std::vector<kit::Mistake> mistakes = {}) {
  return {.rtol = rtol, .mistakes = std::move(mistakes), .gradient = true};
}

// x as a leaf that shares its memory.
inline Tensor leaf(const Tensor& x) {
  Tensor result = x.detach();
  return result.set_requires_grad();
}
inline kit::Value gradient_of(const Tensor& x) {
  return has_grad(x) ? kit::Value(x.grad()) : kit::Value(zeros_like(x));
}
inline bool on_the_tape(kit::Grader& g, const Tensor& x, const std::string& advice) {
  return g.expect(x.requires_grad(), "the result", "no tape", "a tensor on the tape",
                  "without a gradient nothing is learned: " + advice);
}
inline double mean_of(const kit::Value& x) {
  double total = 0;
  for (double v : x.v) total += v / static_cast<double>(x.v.size());
  return total;
}

}  // namespace pg::lesson08
