#pragma once
// Policies that are so small that every expectation is a short sum. There are two independent implementations: tensors,
// which the engine differentiates, and plain doubles, differentiated by finite differences.
#include <cmath>
#include <functional>
#include <vector>

#include "autograd/ops.h"
#include "tests/catch.h"
#include "tests/tensors.h"

namespace pg::testing {

using Doubles = std::vector<double>;

inline void check_close(const Doubles& got, const Doubles& want, double tolerance) {
  REQUIRE(got.size() == want.size());
  for (size_t i = 0; i < got.size(); ++i) {
    INFO("element " << i << ": got " << got[i] << ", want " << want[i]);
    CHECK(std::abs(got[i] - want[i]) <= tolerance);
  }
}
inline void check_close(const Tensor& got, const Doubles& want, double tolerance) {
  check_close(got.to_vector(), want, tolerance);
}

inline Doubles times(double factor, Doubles x) {
  for (double& v : x) v *= factor;
  return x;
}
// The distance from a to the nearest multiple of b, relative to the norm of a: 0 if they point in the same or in the
// opposite direction.
inline double off_direction(const Doubles& a, const Doubles& b) {
  double aa = 0, ab = 0, bb = 0, off = 0;
  for (size_t i = 0; i < a.size(); ++i) aa += a[i] * a[i], ab += a[i] * b[i], bb += b[i] * b[i];
  for (size_t i = 0; i < a.size(); ++i) off += (a[i] - ab / bb * b[i]) * (a[i] - ab / bb * b[i]);
  return std::sqrt(off / aa);
}

inline Doubles softmax_of(const Doubles& logits) {
  double total = 0;
  for (double z : logits) total += std::exp(z);
  Doubles p;
  for (double z : logits) p.push_back(std::exp(z) / total);
  return p;
}
inline double kl_of(const Doubles& p, const Doubles& q) {
  double total = 0;
  for (size_t i = 0; i < p.size(); ++i) total += p[i] * std::log(p[i] / q[i]);
  return total;
}

// The gradient of f at x by fourth-order central differences: the error is about 1e-11 for the functions here.
inline Doubles gradient_of(const std::function<double(const Doubles&)>& f, const Doubles& x) {
  constexpr double h = 1e-3;
  Doubles gradient;
  for (size_t i = 0; i < x.size(); ++i) {
    const auto at = [&](double step) {
      Doubles moved = x;
      moved[i] += step;
      return f(moved);
    };
    gradient.push_back((8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h));
  }
  return gradient;
}

// The gradient with respect to `x` of a scalar computed from it as a tensor.
inline Doubles tape_gradient(const std::function<Tensor(const Tensor&)>& f, const Doubles& x) {
  const Tensor at = leaf(x);
  backward(f(at));
  return at.grad().to_vector();
}

// A leaf with the values of x, and the gradient of sum(f) there.
inline Tensor leaf_of(const Tensor& x) { return x.clone().set_requires_grad(); }
inline Doubles gradient_at(const Tensor& x, const std::function<Tensor(const Tensor&)>& f) {
  const Tensor at = leaf_of(x);
  backward(sum(f(at)));
  return at.grad().to_vector();
}

inline Tensor row(const Doubles& x) { return Tensor::from(x, {1, static_cast<int64_t>(x.size())}); }
inline Tensor column(const Doubles& x) { return Tensor::from(x, {static_cast<int64_t>(x.size()), 1}); }

// ---- a bandit: one choice among arms, softmax of free logits

// Every way to draw `group` arms, one per row, with its probability.
struct Draws {
  Draws(const Doubles& logits, size_t group) : group(group) {
    const Doubles p = softmax_of(logits);
    size_t rows = 1;
    for (size_t g = 0; g < group; ++g) rows *= p.size();
    for (size_t row = 0; row < rows; ++row) {
      probability.push_back(1);
      size_t code = row;
      for (size_t g = 0; g < group; ++g, code /= p.size()) {
        arm.push_back(static_cast<int32_t>(code % p.size()));
        probability.back() *= p[code % p.size()];
      }
    }
  }
  int64_t rows() const { return static_cast<int64_t>(probability.size()); }
  // value[arm] of every draw: [rows, group].
  Tensor of(const Doubles& value) const {
    Doubles result;
    for (int32_t a : arm) result.push_back(value[static_cast<size_t>(a)]);
    return Tensor::from(result, {rows(), static_cast<int64_t>(group)});
  }
  // log softmax(logits)[arm] of every draw: [rows, group].
  Tensor log_prob(const Tensor& logits) const {
    const auto n = static_cast<int64_t>(arm.size());
    const Tensor all = expand(unsqueeze(logits, 0), {n, logits.numel()});
    return reshape(token_log_prob(all, Tensor::from(arm, {n})).first, {rows(), static_cast<int64_t>(group)});
  }
  // E[mean over the group] of values [rows, group].
  Tensor expectation(const Tensor& x) const { return sum(mean(x, {1}, true) * column(probability)); }

  size_t group;
  Doubles probability;
  std::vector<int32_t> arm;
};

// ---- a language of two tokens: 3 logits for the first token, then for each first token a row of 3 logits for the
// second

struct Language {
  static constexpr int64_t kSequences = 9;
  static int32_t first(int64_t sequence) { return static_cast<int32_t>(sequence / 3); }
  static int32_t second(int64_t sequence) { return static_cast<int32_t>(sequence % 3); }
  static std::vector<int32_t> tokens(int32_t (*which)(int64_t)) {
    std::vector<int32_t> ids;
    for (int64_t s = 0; s < kSequences; ++s) ids.push_back(which(s));
    return ids;
  }

  // From 12 logits: the distribution of the first token (row 0), or of the second token after the first token `row` -
  // 1.
  static Doubles row(const Doubles& logits, size_t row) {
    return softmax_of({logits[row * 3], logits[row * 3 + 1], logits[row * 3 + 2]});
  }
  static Doubles probabilities(const Doubles& logits) {
    Doubles p;
    for (size_t s = 0; s < kSequences; ++s) p.push_back(row(logits, 0)[s / 3] * row(logits, 1 + s / 3)[s % 3]);
    return p;
  }
  // Log-probabilities of both tokens of every sequence: [9, 2].
  static Tensor log_prob(const Tensor& logits) {
    const Tensor rows = reshape(logits, {4, 3});
    const Tensor firsts = expand(slice(rows, 0, 0, 1), {kSequences, 3});
    const Tensor seconds = index_select(slice(rows, 0, 1, 4), 0, Tensor::from(tokens(first), {kSequences}));
    return stack({token_log_prob(firsts, Tensor::from(tokens(first), {kSequences})).first,
                  token_log_prob(seconds, Tensor::from(tokens(second), {kSequences})).first},
                 1);
  }
};

}  // namespace pg::testing
