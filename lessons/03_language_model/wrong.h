#pragma once
// Wrong answers to lesson 3 for which kit/diagnose.h, kit/contract.h or code of a check finds the words. mutants.cpp
// has the table.
#include "lessons/03_language_model/answers.h"

namespace pg::lesson03 {

inline Tensor softmax_in_float(const Tensor& x) { return cast(pg::softmax(cast(x, f32)), f64); }
inline Tensor softmax_off_the_tape(const Tensor& x) { return pg::softmax(x.detach()); }
inline Tensor softmax_in_f64(const Tensor& x) { return cast(pg::softmax(x), f64); }

inline Tensor backward_in_f64(const Tensor& logits, const Tensor& targets) {
  return cross_entropy_backward(logits, targets).to(f64);
}
inline Tensor backward_half(const Tensor& logits, const Tensor& targets) {
  return cross_entropy_backward(logits, targets) / 2;
}
inline Tensor backward_changes_logits(const Tensor& logits, const Tensor& targets) {
  const Tensor d = cross_entropy_backward(logits, targets);
  logits.copy_from(pg::softmax(logits));
  return d;
}

inline void adamw_in_float(std::span<double> p, std::span<const double> g, std::span<double> m, std::span<double> v,
                           const AdamWArgs& a) {
  std::vector<double> narrow;
  for (double x : g) narrow.push_back(static_cast<float>(a.grad_scale * x) / a.grad_scale);
  adamw(p, narrow, m, v, a);
}
inline void adamw_keeps_m(std::span<double> p, std::span<const double> g, std::span<double> m, std::span<double> v,
                          const AdamWArgs& a) {
  static std::vector<double> kept;
  if (kept.size() != p.size()) kept.assign(m.begin(), m.end());
  std::copy(kept.begin(), kept.end(), m.begin());
  adamw(p, g, m, v, a);
  kept.assign(m.begin(), m.end());
}

inline std::vector<double> filter_in_float(std::span<const double> logits, const SampleOptions& o) {
  std::vector<double> p = pg::filtered_probs(logits, o);
  for (double& x : p) x = static_cast<float>(x);
  return p;
}
inline std::vector<double> filter_one_token_nan(std::span<const double> logits, const SampleOptions& o) {
  return logits.size() == 1 ? std::vector<double>{NAN} : pg::filtered_probs(logits, o);
}

enum class Draw {
  at_most,
  returns_0,
  zeros_count,
  last_id,
  one_past,
  in_float,
  most_probable,
  one_later,
  reversed,
  rounds
};
template <Draw mistake>
int32_t wrong_draw(std::span<const double> probs, double u) {
  using enum Draw;
  const size_t n = probs.size();
  if (mistake == most_probable)
    return static_cast<int32_t>(std::max_element(probs.begin(), probs.end()) - probs.begin());
  double sum = 0;
  float narrow = 0;
  size_t last = 0;
  for (size_t r = 0; r < n; ++r) {
    const size_t i = mistake == reversed ? n - 1 - r : r;
    if (probs[i] == 0 && mistake != zeros_count) continue;
    sum += probs[i], narrow += static_cast<float>(probs[i]);
    last = i;
    const bool here = mistake == at_most || mistake == zeros_count ? u <= sum
                      : mistake == in_float                        ? u < narrow
                                                                   : u < sum;
    if (here) return static_cast<int32_t>(mistake == one_later ? std::min(n - 1, i + 1) : i);
  }
  if (mistake == rounds) return -1;
  return static_cast<int32_t>(mistake == returns_0 ? 0 : mistake == last_id ? n - 1 : mistake == one_past ? n : last);
}

}  // namespace pg::lesson03
