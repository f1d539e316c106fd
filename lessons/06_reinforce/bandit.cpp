// The demonstration of lesson 6, first part: on a bandit the policy gradient can be computed exactly and also
// estimated.
#include <algorithm>
#include <cmath>

#include "lessons/06_reinforce/lesson.h"
#include "lessons/kit/drawing.h"
#include "lessons/kit/plot.h"
#include "lessons/kit/sketch.h"

namespace pg::lesson06 {
namespace {

constexpr int64_t kArms = 5, kBatch = 64;
constexpr int kDrawn = 24;                                     // batches whose gradient is drawn as an arrow,
constexpr size_t kRightArm = 0, kUpArm = 2;                    // by its components for these arms
const std::vector<double> kMeans = {5.0, 4.0, 6.5, 5.5, 3.0};  // mean rewards of the arms; the noise has std 1
const std::vector<double> kStart = {0.5, 0.2, -0.8, 0.0, 0.1};

std::vector<double> probabilities(const std::vector<double>& logits) {
  return softmax(Tensor::from(logits, {kArms})).to_vector();
}

// d E[reward] / d logits = π_a (μ_a - Σ π μ), a sum over five arms.
std::vector<double> exact_gradient(const std::vector<double>& logits) {
  const auto p = probabilities(logits);
  double mean = 0;
  for (size_t a = 0; a < p.size(); ++a) mean += p[a] * kMeans[a];
  std::vector<double> gradient;
  for (size_t a = 0; a < p.size(); ++a) gradient.push_back(p[a] * (kMeans[a] - mean));
  return gradient;
}

struct Pulls {
  Tensor arms, rewards;  // i32 [B], f64 [B, 1]
};
Pulls pull(const std::vector<double>& p, Generator& g) {
  std::vector<int32_t> arms;
  std::vector<double> rewards;
  for (int64_t i = 0; i < kBatch; ++i) {
    int32_t arm = 0;
    for (double u = g.uniform() - p[0]; u >= 0 && arm + 1 < kArms; u -= p[static_cast<size_t>(arm)]) ++arm;
    arms.push_back(arm);
    rewards.push_back(kMeans[static_cast<size_t>(arm)] + g.normal());
  }
  return {Tensor::from(arms, {kBatch}), Tensor::from(rewards, {kBatch, 1})};
}

// The estimated gradient of E[reward] from one batch.
std::vector<double> estimate(const Impl& impl, const std::vector<double>& logits, Baseline* baseline, Generator& g) {
  const Pulls pulls = pull(probabilities(logits), g);
  Tensor theta = Tensor::from(logits, {1, kArms}).set_requires_grad();
  const Tensor log_prob = unsqueeze(impl.token_log_prob(expand(theta, {kBatch, kArms}), pulls.arms), 1);
  const Tensor returns = impl.return_to_go(pulls.rewards, 1);
  const Tensor advantage = baseline ? impl.advantage(*baseline, returns) : returns;
  backward(impl.reinforce_loss(log_prob, advantage, Tensor::ones({kBatch, 1}, u8)));
  return (theta.grad() * -1.0).to_vector();
}

// Mean and standard deviation of each component over many batches, and the estimates of the first ones.
struct Spread {
  std::vector<double> mean, deviation;
  std::vector<std::vector<double>> first{};
  double total() const {  // sum of the variances
    double sum = 0;
    for (double d : deviation) sum += d * d;
    return sum;
  }
};
Spread spread(const Impl& impl, bool with_baseline, double decay, int batches) {
  Generator g(61);
  Baseline baseline{.decay = decay};
  Spread s{std::vector<double>(kArms, 0), std::vector<double>(kArms, 0)};
  if (with_baseline) estimate(impl, kStart, &baseline, g);  // the baseline is 0 for the first batch
  std::vector<double> squares(kArms, 0);
  for (int i = 0; i < batches; ++i) {
    const auto e = estimate(impl, kStart, with_baseline ? &baseline : nullptr, g);
    if (i < kDrawn) s.first.push_back(e);
    for (size_t a = 0; a < e.size(); ++a) {
      s.mean[a] += e[a] / batches;
      squares[a] += e[a] * e[a] / batches;
    }
  }
  for (size_t a = 0; a < s.mean.size(); ++a) {
    s.deviation[a] = std::sqrt(std::max(0.0, squares[a] - s.mean[a] * s.mean[a]) * batches / (batches - 1));
  }
  return s;
}

// The gradients of batches as arrows from one point, without and with a baseline, and the exact one among them.
kit::Drawing arrows(const std::array<Spread, 2>& spreads, const std::vector<double>& exact) {
  constexpr double kSide = 174, kTop = 40, kMargin = 8;
  const std::array names = {"no baseline", "moving baseline"};
  double left = 0, right = 0, bottom = 0, top = 0;  // what both halves show
  for (const Spread& s : spreads) {
    for (const auto& e : s.first) {
      left = std::min(left, e[kRightArm]), right = std::max(right, e[kRightArm]);
      bottom = std::min(bottom, e[kUpArm]), top = std::max(top, e[kUpArm]);
    }
  }
  const double scale = (kSide - 2 * kMargin) / std::max(right - left, top - bottom);
  const double height = 2 * kMargin + scale * (top - bottom);
  kit::Drawing drawing{fmt::format("Gradients of {} batches", kDrawn),
                       kit::kDrawingWidth,
                       kTop + height + 2,
                       {{fmt::format("To the right: what a batch says of arm {}. Upwards: what it says of arm {}. "
                                     "Thick: the exact gradient.",
                                     kRightArm + 1, kUpArm + 1)}},
                       ""};
  std::vector<kit::Sketch> sketches;
  for (size_t i = 0; i < spreads.size(); ++i) {
    const double x = i == 0 ? 2 : kit::kDrawingWidth - kSide - 2;
    const auto arrow = [&](const std::vector<double>& e, bool strong) {
      const double zero_x = x + kMargin - scale * left, zero_y = kTop + kMargin + scale * top;
      return kit::DrawnArrow{zero_x, zero_y, zero_x + scale * e[kRightArm], zero_y - scale * e[kUpArm], "", strong};
    };
    const std::string variance = fmt::format("variance {:.4f}", spreads[i].total());
    drawing.frames[0].boxes.push_back({x + kSide / 2, 2, 0, 32, {names[i], variance}});
    drawing.frames[0].boxes.push_back({x, kTop, kSide, height});
    kit::Sketch sketch{names[i], {}, {{exact[kRightArm], exact[kUpArm]}}};
    for (const auto& e : spreads[i].first) {
      drawing.frames[0].arrows.push_back(arrow(e, false));
      sketch.lines.push_back({0, 0, e[kRightArm], e[kUpArm]});
    }
    drawing.frames[0].arrows.push_back(arrow(exact, true));
    sketches.push_back(sketch);
  }
  constexpr int kColumns = 32;
  const double rows = kColumns / 2.0 * (top - bottom) / (right - left);
  drawing.text = kit::sketches(
      sketches, {left, right, bottom, top, kColumns, std::clamp(static_cast<int>(std::lround(rows)), 6, 16)});
  return drawing;
}

// The sum of squared distances of the thin arrows' ends from the thick one's, in each half of the drawing.
std::array<double, 2> scatter(const kit::DrawnFrame& frame) {
  std::array<double, 2> sums{};
  const size_t half = frame.arrows.size() / 2;
  for (size_t i = 0; i < frame.arrows.size(); ++i) {
    const kit::DrawnArrow &exact = frame.arrows[i < half ? half - 1 : 2 * half - 1], &arrow = frame.arrows[i];
    sums[i / half] += std::pow(arrow.to_x - exact.to_x, 2) + std::pow(arrow.to_y - exact.to_y, 2);
  }
  return sums;
}

// Probability of the best arm along 150 steps of gradient ascent.
std::vector<double> learn(const Impl& impl, bool with_baseline, double decay, double lr, uint64_t seed) {
  Generator g(seed);
  Baseline baseline{.decay = decay};
  std::vector<double> logits = kStart, curve;
  for (int step = 0; step < 150; ++step) {
    curve.push_back(probabilities(logits)[2]);
    const auto gradient = estimate(impl, logits, with_baseline ? &baseline : nullptr, g);
    for (size_t a = 0; a < logits.size(); ++a) logits[a] += lr * gradient[a];
  }
  return curve;
}

// The probability of the best arm at each step, one curve for each seed.
std::vector<std::vector<double>> learn_all(kit::Demo& demo, const Impl& impl, bool with_baseline) {
  std::vector<std::vector<double>> curves;
  const double decay = demo.setting("decay"), lr = demo.setting("bandit_lr");
  for (const uint64_t seed : demo.seeds(10)) curves.push_back(learn(impl, with_baseline, decay, lr, 599 + seed));
  return curves;
}

}  // namespace

void show_bandit(kit::Demo& demo, const Impl& impl) {
  demo.heading("Five levers, and a gradient from luck alone");
  demo.say(
      "Five arms pay 3 to 6.5 on average, with noise. The policy is a softmax of five numbers. Nobody can "
      "differentiate an arm; but the mean of reward × gradient of log π(arm) over pulls is the gradient of the "
      "expected reward. Here it can be checked, because the exact one is a sum over five arms:");
  const int batches = 400;
  const double decay = demo.setting("decay");
  const Spread plain = spread(impl, false, decay, batches), based = spread(impl, true, decay, batches);
  const auto exact = exact_gradient(kStart);
  demo.line("{:>4}{:>12}{:>24}{:>22}", "arm", "exact", "estimate (± 1 sigma)", "away from exact");
  double worst = 0;
  for (size_t a = 0; a < exact.size(); ++a) {
    const double sigma = based.deviation[a] / std::sqrt(batches), z = (based.mean[a] - exact[a]) / sigma;
    worst = std::max(worst, std::abs(z));
    demo.line("{:>4}{:>12.4f}{:>15.4f} ± {:.4f}{:>16.1f} sigma", a + 1, exact[a], based.mean[a], sigma, z);
  }
  for (size_t a = 0; a < exact.size(); ++a) {
    worst = std::max(worst, std::abs(plain.mean[a] - exact[a]) / (plain.deviation[a] / std::sqrt(batches)));
  }
  demo.gap();
  demo.claim("estimate from exact, worst of 5 arms, with and without baseline", worst, "sigma", kit::at_most(3));
  demo.gap();
  demo.say(
      "Rewards near 5 make every pull look good. Subtract a baseline, the reward that is usual, and only the "
      "difference counts. The mean gradient stays the same, its noise becomes smaller:");
  demo.show(kit::bars({{"no baseline", plain.total(), fmt::format("variance {:.4f}", plain.total())},
                       {"moving baseline", based.total(), fmt::format("variance {:.4f}", based.total())}}));
  demo.gap();
  demo.claim("variance without baseline / with", plain.total() / based.total(), "x", kit::at_least(5));
  demo.gap();
  demo.say(
      "The gradients of the first {} batches as lines from the middle: to the right what they say of arm {}, upwards "
      "what they say of arm {}. The end of the exact gradient is +:",
      kDrawn, kRightArm + 1, kUpArm + 1);
  const kit::Drawing drawing = arrows({plain, based}, exact);
  demo.show(kit::drawn(drawing));
  demo.gap();
  const auto [wide, narrow] = scatter(drawing.frames[0]);
  demo.claim("squared distance from + without baseline / with", wide / narrow, "x", kit::at_least(3));

  const auto without = learn_all(demo, impl, false), with = learn_all(demo, impl, true);
  double worst_of_seeds = 1;
  for (const auto& curve : with) worst_of_seeds = std::min(worst_of_seeds, curve.back());
  demo.gap();
  demo.say("150 steps in batches of {}; the probability of the best arm, the first seed, and the bands of ten seeds:",
           kBatch);
  demo.show(kit::line_plot(
      {demo.on_band({.name = "moving baseline", .y = with[0]}), demo.on_band({.name = "no baseline", .y = without[0]})},
      {.x_label = "step", .y_label = "probability", .height = 10}));
  demo.gap();
  demo.claim("probability of the best arm with baseline, worst of ten seeds", worst_of_seeds, "", kit::at_least(0.9));
}

}  // namespace pg::lesson06
