// The demonstration of lesson 10: two estimates of pass@k, and two rewards for a part of the way.
#include <cmath>

#include "lessons/10_rlvr/lesson.h"
#include "lessons/kit/plot.h"

namespace pg::lesson10 {

void show_estimators(kit::Demo& demo, const Impl& impl) {
  demo.heading("Two estimates of pass@k");
  constexpr int64_t kSamples = 8;
  const double p = 0.2;
  demo.say(
      "A model solves a problem with probability {} at each try. {} responses are drawn, c of them are right. All {} "
      "outcomes are counted with their probabilities: what does each estimate give on average?",
      p, kSamples, 1 << kSamples);
  demo.line("{:>3}{:>16}{:>22}{:>22}", "k", "1 - (1-p)^k", "1-C(n-c,k)/C(n,k)", "1 - (1 - c/n)^k");
  double worst = 0, bias = 0;
  for (const int64_t k : {1, 2, 4, 8}) {
    double unbiased = 0, naive = 0;
    for (unsigned outcome = 0; outcome < 1U << kSamples; ++outcome) {
      int64_t c = 0;
      double probability = 1;
      for (int64_t i = 0; i < kSamples; ++i) {
        const bool right = (outcome >> i & 1) != 0;
        c += right;
        probability *= right ? p : 1 - p;
      }
      unbiased += probability * impl.pass_at_k(kSamples, c, k);
      naive += probability * (1 - std::pow(1 - static_cast<double>(c) / kSamples, k));
    }
    const double truth = 1 - std::pow(1 - p, k);
    demo.line("{:>3}{:>16.4f}{:>22.4f}{:>22.4f}", k, truth, unbiased, naive);
    worst = std::max(worst, std::abs(unbiased - truth));
    bias = std::max(bias, truth - naive);
  }
  demo.gap();
  demo.say(
      "The naive one draws with replacement, so it sees one response twice and misses another. It is too small "
      "wherever k is above 1.");
  demo.claim("largest error of the unbiased one", worst, "", kit::at_most(1e-12));
  demo.claim("largest error of the naive one", bias, "", kit::at_least(0.05));
}

void show_progress(kit::Demo& demo, const Impl& impl) {
  demo.heading("Paying for a part of the way");
  demo.say(
      "The Tower of Hanoi, three disks on peg 1, the goal is peg 3: seven moves. One reward is a tenth for "
      "each move that the rules allow, the other is the share of the way that is done:");
  std::string circles;
  for (int i = 0; i < 5; ++i) circles += "13 31 ";
  const std::pair<std::string, std::string> rows[] = {{"half of the solution", "13 12 32 13"},
                                                      {"the solution", "13 12 32 13 21 23 13"},
                                                      {"ten moves to and fro", circles},
                                                      {"a larger disk onto a smaller", "13 12 12"}};
  demo.line("{:<30}{:<30}{:>8}{:>10}", "", "moves", "a tenth", "the way");
  double dithering = 0;
  for (const auto& [name, text] : rows) {
    const auto moves = hanoi_moves(text);
    HanoiPosition position{{1, 1, 1}, 3};
    double allowed = 0;
    for (const HanoiMove& m : *moves) allowed += position.move(m.from, m.to) ? 0.1 : 0;
    const double way = impl.hanoi_progress({{1, 1, 1}, 3}, *moves);
    if (text == circles) dithering = way;
    demo.line("{:<30}{:<30}{:>8.1f}{:>10.3f}", name, text.substr(0, 29), allowed, way);
  }
  demo.gap();
  demo.claim("paid for moving to and fro", dithering, "", kit::equals(0));
}

}  // namespace pg::lesson10
