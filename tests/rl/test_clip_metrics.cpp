// The shares of tokens that a clip stops: they must be those whose gradient the loss really removes.
#include <cmath>

#include "rl/text/metrics.h"
#include "tests/catch.h"
#include "tests/rl/policies.h"

using namespace pg;
using namespace pg::rl;
using testing::Doubles;

namespace {

Algorithm with(const Surrogate& surrogate) {
  Algorithm a;
  a.surrogate = surrogate;
  if (surrogate.needs_ratio) a.ratio = "token";
  return a;
}

// Responses of one token with these ratios, all with this advantage.
Metrics stats_of(const Algorithm& a, const Doubles& ratios, double advantage) {
  std::vector<Sequence> sequences;
  const std::vector<int32_t> id = {1};
  const std::vector<uint8_t> chosen = {1};
  Doubles now;
  for (const double ratio : ratios) {
    sequences.push_back({id, id, chosen});
    now.push_back(std::log(ratio));
  }
  const TokenRows rows = token_rows(sequences);
  const Tensor zero = Tensor::zeros(rows.mask.shape(), f64);
  PolicyStats stats;
  stats.add(a, Tensor::from(now, rows.mask.shape()), zero, zero, Tensor::full(rows.mask.shape(), advantage, f64), rows);
  Metrics metrics;
  stats.report(a, metrics);
  return metrics;
}

}  // namespace

TEST_CASE("defect: the clip fraction counts other tokens than those that lose their gradient", "[rl][defects]") {
  Doubles log_ratios;
  for (int i = -22; i <= 22; ++i) log_ratios.push_back(0.137 * i + 0.003);  // ratios from .05 to 20, none at a bound
  const auto n = std::ssize(log_ratios);
  const Tensor old = Tensor::zeros({n, 1}, f64), mask = Tensor::ones({n, 1}, u8);
  for (const Surrogate& surrogate : Surrogate::table()) {
    const Algorithm a = with(surrogate);
    double stopped = 0;
    for (const double advantage : {1.5, -1.5}) {
      Tensor log_prob = Tensor::from(log_ratios, {n, 1});
      log_prob.set_requires_grad();
      const Tensor ratio = a.ratio.compute ? a.ratio.compute(log_prob, old, mask) : Tensor{};
      backward(sum(surrogate.loss({log_prob, old, ratio, Tensor::full({n, 1}, advantage, f64), mask}, a)));
      const Doubles gradient = log_prob.grad().to_vector();
      for (size_t i = 0; i < gradient.size(); ++i) {
        INFO(surrogate.name << ", advantage " << advantage << ", ratio " << std::exp(log_ratios[i]));
        const int side = surrogate.stopped ? surrogate.stopped(log_ratios[i], advantage, a) : 0;
        CHECK((side != 0) == (gradient[i] == 0));
        if (side != 0) CHECK((side > 0) == (log_ratios[i] > 0));
        stopped += side != 0;
      }
    }
    CHECK((stopped > 0) == bool(surrogate.stopped));
  }
}

TEST_CASE("defect: a surrogate without a clip reports a clip fraction and lights its lamp", "[rl][defects]") {
  for (const char* name : {"log_prob", "ratio", "sapo", "cispo", "clip", "dual_clip", "two_sided_clip", "gmpo"}) {
    INFO(name);
    const Algorithm a = with(Choice<Surrogate>(name));
    const bool clips = std::string(name).find("clip") != std::string::npos || std::string(name) == "gmpo";
    const Metrics metrics = stats_of(a, {0.1, 0.1, 0.1, 1}, -1);
    CHECK(metrics.has("clip/low") == clips);
    CHECK(metrics.has("clip/high") == clips);
    if (clips) CHECK(metrics.at("clip/low") == 0.75);
    bool lit = false;
    for (const HealthCheck& check : health_checks(a, metrics, 2, 10)) {
      if (check.name.find("clip") == 0) {
        CHECK(clips);
        lit = lit || !check.ok;
      }
    }
    CHECK(lit == clips);
  }
}

TEST_CASE("defect: the clip fraction of GMPO takes its bounds of log(ratio) for bounds of the ratio", "[rl][defects]") {
  const Algorithm a = algorithm("gmpo");  // e^-.4 = .670, e^.4 = 1.492
  CHECK(stats_of(a, {0.5, 0.65, 0.68, 1}, -1).at("clip/low") == 0.5);
  CHECK(stats_of(a, {2, 1.5, 1.45, 1}, 1).at("clip/high") == 0.5);
  CHECK(stats_of(a, {2, 1.5, 1.45, 1}, 1).at("clip/low") == 0);
}

TEST_CASE("defect: tokens beyond the second bound of a two-sided or dual clip are not counted", "[rl][defects]") {
  Algorithm a = algorithm("grpo_two_sided");  // delta 4
  CHECK(stats_of(a, {5, 3.9, 1, 1}, -1).at("clip/high") == 0.25);
  CHECK(stats_of(a, {5, 3.9, 1, 1}, 1).at("clip/high") == 0.5);
  a.surrogate = "dual_clip";  // 3
  CHECK(stats_of(a, {5, 3.9, 1, 0.1}, -1).at("clip/high") == 0.5);
  CHECK(stats_of(a, {5, 3.9, 1, 0.1}, -1).at("clip/low") == 0.25);
}
