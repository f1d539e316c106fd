// The checks of lesson 9 on groups. Expected values are computed here element by element, not by the engine.
#include <algorithm>
#include <cmath>

#include "lessons/09_grpo/checks.h"

namespace pg::lesson09 {
namespace {

using kit::Grader, kit::Value;

struct Group {
  double mean = 0, variance = 0;  // variance: the sum of squares, not divided
};
Group moments(const std::vector<double>& r) {
  Group m;
  for (const double x : r) m.mean += x / static_cast<double>(r.size());
  for (const double x : r) m.variance += (x - m.mean) * (x - m.mean);
  return m;
}

// Applies f(row, position) to each row of `rewards`; the result is [N, G].
template <class F>
Value by_row(const Tensor& rewards, F f) {
  Value v(rewards);
  const auto columns = static_cast<size_t>(v.columns());
  for (size_t begin = 0; begin < v.v.size(); begin += columns) {
    const std::vector<double> row(v.v.begin() + static_cast<int64_t>(begin),
                                  v.v.begin() + static_cast<int64_t>(begin + columns));
    for (size_t g = 0; g < columns; ++g) v.v[begin + g] = f(row, g);
  }
  return v;
}
double off_mean(const std::vector<double>& r, size_t g) { return r[g] - moments(r).mean; }
double off_others(const std::vector<double>& r, size_t g) {
  const auto n = static_cast<double>(r.size());
  return r[g] - (moments(r).mean * n - r[g]) / (n - 1);
}

Tensor unequal() {
  Generator random = kit::draws(91);
  return Tensor::normal({5, 3}, 2, 1.5, random, f64);
}
Tensor wide() {
  Generator random = kit::draws(97);
  return Tensor::normal({2, 7}, -1, 1.5, random, f64);
}
// In hundreds, f32, and not contiguous.
Tensor large() {
  Generator random = kit::draws(98);
  return kit::strided(Tensor::normal({2, 7}, 0, 500, random, f32));
}
const char* const kLarge = "rewards [2, 7] in hundreds, f32, every second element of a tensor";
// The first of two prompts is solved by nobody.
Tensor unsolved() { return Tensor::from<double>(std::vector<double>{0, 0, 0, 0, 1, 1}, {2, 3}); }
const char* const kUnsolved = "rewards {{0, 0, 0}, {0, 1, 1}}";
// Powers of 2, so that nothing is rounded.
constexpr double kTiny = 1.0 / (1 << 30);
Tensor nearly_equal() { return Tensor::from<double>(std::vector<double>{0, kTiny, 0, kTiny}, {1, 4}); }
// Seven times each of 0.1, 0.2 … 0.9 in f32, for which the mean of equal values is rounded.
Tensor equal_groups() {
  std::vector<float> r;
  for (int k = 1; k <= 9; ++k) r.insert(r.end(), 7, static_cast<float>(k) * 0.1f);
  return Tensor::from(r, {9, 7});
}
void check_equal_groups(Grader& g, const Tensor& got, const std::string& diagnosis) {
  if (g.failed()) return;
  const Value v(got);
  if (!g.expect(v.shape == Shape({9, 7}), "nine groups of seven", fmt::format("shape {}", v.shape), "shape [9, 7]"))
    return;
  size_t worst = 0;
  for (size_t i = 0; i < v.v.size(); ++i) {
    if (!(std::abs(v.v[i]) <= std::abs(v.v[worst]))) worst = i;
  }
  g.expect(v.v[worst] == 0, fmt::format("a group of seven equal rewards, f32 {:.1f}", 0.1 * double(worst / 7 + 1)),
           fmt::format("{:.3g}", v.v[worst]), "exactly 0", diagnosis);
}

}  // namespace

void check_group_mean(Grader& g, const Impl& impl) {
  const auto compare = [&](const std::string& input, const Tensor& r, const Value& want) {
    const auto known = kit::results_of(mean_mistakes(), r);
    g.equal(input, impl.group_mean_advantage(r), want, {.mistakes = known});
  };
  const Tensor r = unequal(), before = r.clone(), w = wide();
  compare("rewards [5, 3], random", r, by_row(r, off_mean));
  g.equal("the rewards afterwards", r, before);
  compare("rewards [2, 7], random", w, by_row(w, off_mean));
  compare("rewards {{0, 2^-30, 0, 2^-30}}", nearly_equal(),
          Value({1, 4}, {-kTiny / 2, kTiny / 2, -kTiny / 2, kTiny / 2}));
  compare(kUnsolved, unsolved(), by_row(unsolved(), off_mean));
  g.equal("two groups of one", impl.group_mean_advantage(Tensor::full({2, 1}, 3, f64)), Tensor::zeros({2, 1}, f64));
  check_equal_groups(g, impl.group_mean_advantage(equal_groups()),
                     "the mean of seven times 0.9 is not 0.9 in floating point: subtract the group's first reward from "
                     "all of it before the mean, then equal rewards are exact zeros");
  g.equal(kLarge, impl.group_mean_advantage(large()), by_row(large(), off_mean), {.rtol = 1e-5});
  g.note("three shapes, groups of one, and 9 groups of equal rewards: exactly 0");
}

void check_group_std(Grader& g, const Impl& impl) {
  const auto compare = [&](const std::string& input, const Tensor& r, double eps, int ddof, const Value& want) {
    const auto known = kit::results_of(std_mistakes(), r, eps, ddof);
    g.equal(input, impl.group_std_advantage(r, eps, ddof), want, {.mistakes = known});
  };
  const Tensor r = unequal(), w = wide();
  const double eps = 0.05;  // large, so that its effect shows
  const auto scaled = [=](int ddof) {
    return [=](const std::vector<double>& x, size_t i) {
      return off_mean(x, i) /
             (std::sqrt(moments(x).variance / static_cast<double>(static_cast<int>(x.size()) - ddof)) + eps);
    };
  };
  compare("rewards [5, 3], random, eps 0.05, ddof 1", r, eps, 1, by_row(r, scaled(1)));
  compare("the same, ddof 0", r, eps, 0, by_row(r, scaled(0)));
  for (const int ddof : {1, 0}) {
    compare(fmt::format("rewards [2, 7], random, eps 0.05, ddof {}", ddof), w, eps, ddof, by_row(w, scaled(ddof)));
  }
  compare(std::string(kUnsolved) + ", eps 0.05, ddof 1", unsolved(), eps, 1, by_row(unsolved(), scaled(1)));
  compare("rewards {{0, 2^-30, 0, 2^-30}}, eps 2^-31, ddof 0", nearly_equal(), kTiny / 2, 0,
          Value({1, 4}, {-0.5, 0.5, -0.5, 0.5}));
  compare("two groups of one, ddof 1", Tensor::full({2, 1}, 3, f64), 1e-6, 1, Tensor::zeros({2, 1}, f64));
  check_equal_groups(g, impl.group_std_advantage(equal_groups(), 1e-9, 1),
                     "rounding noise divided by rounding noise is of size 1, and a solved group gets pushed: subtract "
                     "the group's first reward first, then equal rewards are exact zeros");
  // Their deviation is 0.5, or √(1/2) by the sample.
  g.equal("rewards {{1, 0}}, eps 0.5, ddof 0",
          impl.group_std_advantage(Tensor::from<double>(std::vector<double>{1, 0}, {1, 2}), 0.5, 0),
          Value({1, 2}, {0.5, -0.5}));
  g.equal(std::string(kLarge) + ", eps 0.05, ddof 1", impl.group_std_advantage(large(), eps, 1),
          by_row(large(), scaled(1)), {.rtol = 1e-5});
  g.note("both deviations, groups of one, and 9 groups of equal rewards: exactly 0");
}

void check_leave_one_out(Grader& g, const Impl& impl) {
  const auto compare = [&](const std::string& input, const Tensor& r, const Value& want) {
    const auto known = kit::results_of(others_mistakes(), r);
    g.equal(input, impl.leave_one_out_advantage(r), want, {.mistakes = known});
  };
  compare("rewards [5, 3], random", unequal(), by_row(unequal(), off_others));
  compare("rewards [2, 7], random", wide(), by_row(wide(), off_others));
  g.equal("rewards {{1, 0}, {0.3, 1}}: the paired difference",
          impl.leave_one_out_advantage(Tensor::from<double>(std::vector<double>{1, 0, 0.3, 1}, {2, 2})),
          Value({2, 2}, {1, -1, -0.7, 0.7}));
  compare(kUnsolved, unsolved(), by_row(unsolved(), off_others));
  compare("two groups of one", Tensor::full({2, 1}, 3, f64), Tensor::zeros({2, 1}, f64));
  check_equal_groups(g, impl.leave_one_out_advantage(equal_groups()),
                     "the mean of six times 0.9 is not 0.9 in floating point: subtract the group's first reward from "
                     "all of it before the mean, then equal rewards are exact zeros");
  g.equal(kLarge, impl.leave_one_out_advantage(large()), by_row(large(), off_others), {.rtol = 1e-5});
  g.note("three shapes, a pair, groups of one, and 9 groups of equal rewards: exactly 0");
}

void check_signal(Grader& g, const Impl& impl) {
  const Tensor r = Tensor::from<double>(std::vector<double>{0, 0, 0, 0, 1, 1, 1,  1,  0.5, 0.5, 0.5, 0.75, 0, 1,
                                                            0, 1, 2, 2, 2, 2, -1, -1, 0,   0,   0,   1,    1, 0},
                                        {7, 4});
  const auto known = kit::results_of(signal_mistakes(), r);
  const Tensor got = impl.groups_with_signal(r);
  if (!g.expect(got.dtype() == u8, "the result", fmt::format("{}", got.dtype()), "u8",
                "comparisons such as ne(a, b) give u8")) {
    return;
  }
  g.equal("groups {0 0 0 0} {1 1 1 1} {.5 .5 .5 .75} {0 1 0 1} {2 2 2 2} {-1 -1 0 0} {0 1 1 0}", got,
          Value({7}, {0, 0, 1, 1, 0, 1, 1}), {.mistakes = known});
  if (g.failed()) return;
  const Tensor close = Tensor::from(std::vector<double>{1, 1, 1 + 1e-12, 0.1, 0.1, 0.1}, {2, 3});
  g.equal("groups {1, 1, 1 + 1e-12} {.1 .1 .1}", impl.groups_with_signal(close), Value({2}, {1, 0}),
          {.mistakes = kit::results_of(signal_mistakes(), close)});
  const Value equal(impl.groups_with_signal(equal_groups()));
  g.expect(equal.shape == Shape({9}) && std::count(equal.v.begin(), equal.v.end(), 0.0) == 9,
           "nine groups of seven equal rewards, f32 0.1 to 0.9", fmt::format("{}", fmt::join(equal.v, " ")),
           "0 0 0 0 0 0 0 0 0",
           "the variance of equal rewards is not exactly 0, because their mean is rounded: compare the rewards with "
           "each other, not with their mean");
  if (g.failed()) return;
  g.equal("two groups of one", impl.groups_with_signal(Tensor::full({2, 1}, 3, f64)), Tensor::zeros({2}, u8));
  g.equal(kLarge, impl.groups_with_signal(large()), Value({2}, {1, 1}));
  g.note("7 groups by hand, the smallest difference, rounding, groups of one");
}

}  // namespace pg::lesson09
