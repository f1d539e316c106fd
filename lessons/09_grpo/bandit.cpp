// The demonstration of lesson 9, first part: three arms, pulled in pairs, with all pairs enumerated. Which advantage
// gives the gradient of the expected reward?
#include <algorithm>
#include <cmath>

#include "lessons/09_grpo/lesson.h"

namespace pg::lesson09 {
namespace {

constexpr size_t kArms = 3;
const std::vector<double> kPays = {1, 0, 0.3};

std::vector<double> softmax_of(const std::vector<double>& logits) {
  return softmax(Tensor::from(logits, {static_cast<int64_t>(logits.size())})).to_vector();
}

// d E[reward] / d logits = π_a (r_a - Σ π r).
std::vector<double> true_gradient(const std::vector<double>& p) {
  double usual = 0;
  std::vector<double> gradient;
  for (size_t a = 0; a < kArms; ++a) usual += p[a] * kPays[a];
  for (size_t a = 0; a < kArms; ++a) gradient.push_back(p[a] * (kPays[a] - usual));
  return gradient;
}

// E over all pairs (i, j) of ½ Σ A·∇log π, where ∇log π(i) = onehot(i) - π: nine groups of two, each weighted by its
// probability.
std::vector<double> expected_gradient(const std::vector<double>& p, Tensor (*advantage)(const Impl&, const Tensor&),
                                      const Impl& impl) {
  std::vector<double> rewards;
  for (size_t i = 0; i < kArms; ++i) {
    for (size_t j = 0; j < kArms; ++j) rewards.insert(rewards.end(), {kPays[i], kPays[j]});
  }
  const std::vector<double> worth = advantage(impl, Tensor::from(rewards, {kArms * kArms, 2})).to_vector();
  std::vector<double> gradient(kArms, 0);
  for (size_t i = 0; i < kArms; ++i) {
    for (size_t j = 0; j < kArms; ++j) {
      const double *pair = &worth[2 * (i * kArms + j)], often = p[i] * p[j] / 2;
      for (size_t a = 0; a < kArms; ++a)
        gradient[a] += often * (pair[0] * ((a == i) - p[a]) + pair[1] * ((a == j) - p[a]));
    }
  }
  return gradient;
}

void row(kit::Demo& demo, const std::string& name, const std::vector<double>& g) {
  demo.line("{:<34}{:>11.7f}{:>12.7f}{:>12.7f}", name, g[0], g[1], g[2]);
}

}  // namespace

void show_bandit(kit::Demo& demo, const Impl& impl) {
  demo.heading("Three levers, pulled in pairs");
  const std::vector<double> p = softmax_of({0.5, 1, 0});
  demo.say(
      "Three arms pay 1, 0 and 0.3; the policy is a softmax of (0.5, 1, 0), so it takes them with probability "
      "{:.2f}, {:.2f}, {:.2f} and earns {:.3f}. A group is two pulls. There are nine pairs, so the mean gradient of "
      "each method is a sum of nine terms. No sampling, no noise:",
      p[0], p[1], p[2], p[0] + 0.3 * p[2]);
  const auto exact = true_gradient(p);
  const auto loo = expected_gradient(
      p, [](const Impl& i, const Tensor& r) { return i.leave_one_out_advantage(r); }, impl);
  const auto centred = expected_gradient(
      p, [](const Impl& i, const Tensor& r) { return i.group_mean_advantage(r); }, impl);
  const auto scaled = expected_gradient(
      p, [](const Impl& i, const Tensor& r) { return i.group_std_advantage(r, 1e-6, 1); }, impl);
  demo.line("{:<34}{:>11}{:>12}{:>12}", "gradient at the logit of", "pays 1", "pays 0", "pays 0.3");
  row(demo, "the expected reward (true)", exact);
  row(demo, "RLOO: r - mean of the others", loo);
  row(demo, "Dr. GRPO: r - mean", centred);
  row(demo, "GRPO: (r - mean) / std", scaled);
  demo.gap();
  demo.say(
      "The third arm pays less than is usual, so it should become rarer. RLOO says so, to the last digit. Dr. GRPO "
      "says half of it, (G-1)/G: another learning rate. GRPO says the opposite: divided by its deviation, every pair "
      "of unequal pulls counts the same, a win by 0.3 as much as a loss by 0.7, and the third arm wins more often "
      "than it loses. It climbs something, but not the expected reward.");
  double worst = 0, half = 0;
  for (size_t a = 0; a < kArms; ++a) {
    worst = std::max(worst, std::abs(loo[a] - exact[a]));
    half = std::max(half, std::abs(2 * centred[a] - exact[a]));
  }
  demo.claim("RLOO from the true gradient", worst, "", kit::at_most(1e-12));
  demo.claim("twice Dr. GRPO from the true gradient", half, "", kit::at_most(1e-12));
  demo.claim("true gradient of the third arm", exact[2], "", kit::at_most(-0.0117));
  demo.claim("GRPO's gradient of the third arm", scaled[2], "", kit::at_least(0.0262));
}

}  // namespace pg::lesson09
