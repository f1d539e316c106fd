// The checks of lesson 9 on groups. Expected values are computed here element by element, not by the engine.
#include <algorithm>
#include <cmath>

#include "lessons/09_grpo/lesson.h"

namespace pg::lesson09 {
namespace {

using kit::Grader;
using kit::Value;

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
Value transposed(const Value& x) {
  Value y{{x.columns(), x.rows()}, std::vector<double>(x.v.size())};
  const auto rows = static_cast<size_t>(x.rows()), columns = static_cast<size_t>(x.columns());
  for (size_t i = 0; i < x.v.size(); ++i) y.v[i % columns * rows + i / columns] = x.v[i];
  return y;
}
// Like by_row, but across prompts: the columns are the groups.
template <class F>
Value by_column(const Tensor& rewards, F f) {
  const Value t = transposed(Value(rewards));
  return transposed(by_row(Tensor::from(t.v, t.shape), f));
}
// Like by_row, with the whole batch as one group.
template <class F>
Value by_batch(const Tensor& rewards, F f) {
  Value v = by_row(rewards.view_reshape({1, -1}), f);
  v.shape = rewards.shape();
  return v;
}

double off_mean(const std::vector<double>& r, size_t g) { return r[g] - moments(r).mean; }
double off_others(const std::vector<double>& r, size_t g) {
  const auto n = static_cast<double>(r.size());
  return r[g] - (moments(r).mean * n - r[g]) / (n - 1);
}

const char* kAcross = "compared across prompts: a row is the group. An easy prompt must not make a hard one look bad";
const char* kRounded =
    "the variance of equal rewards is not exactly 0, because their mean is rounded: compare the rewards with each "
    "other, "
    "not with their mean";
const char* kThreshold = "a threshold swallows small differences: rewards that differ at all teach";
const char* kWhole = "compared with the whole batch: each row has its own mean";

Tensor unequal() {
  Generator random(91);
  return Tensor::normal({5, 3}, 2, 1.5, random, f64);
}
Tensor wide() {
  Generator random(97);
  return Tensor::normal({2, 7}, -1, 1.5, random, f64);
}
// In hundreds, f32, and not contiguous.
Tensor large() {
  Generator random(98);
  return kit::strided(Tensor::normal({2, 7}, 0, 500, random, f32));
}
const char* const kLarge = "rewards [2, 7] in hundreds, f32, every second element of a tensor";
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
  const Tensor r = unequal(), before = r.clone();
  const Value want = by_row(r, off_mean);
  g.equal("rewards [5, 3], random", impl.group_mean_advantage(r), want,
          {.mistakes = {{kAcross, by_column(r, off_mean)},
                        {kWhole, by_batch(r, off_mean)},
                        {"the mean of the others, itself left out: that is leave-one-out", by_row(r, off_others)},
                        {"the sum of the group is subtracted: its mean, not the sum",
                         by_row(r, [](auto& x, size_t i) { return x[i] - 3 * moments(x).mean; })},
                        {"mean minus reward; it is reward minus mean",
                         by_row(r, [](auto& x, size_t i) { return -off_mean(x, i); })}}});
  g.equal("the rewards afterwards", r, before);
  const Tensor w = wide();
  const auto by_three = [](auto& x, size_t i) { return x[i] - x[0] - (moments(x).mean - x[0]) * 7 / 3; };
  const char* three = "divided by 3: that was the last group's size; divide by rewards.size(1)";
  g.equal("rewards [2, 7], random", impl.group_mean_advantage(w), by_row(w, off_mean),
          {.mistakes = {{three, by_row(w, by_three)},
                        {three, by_row(w, [](auto& x, size_t i) { return x[i] - moments(x).mean * 7 / 3; })}}});
  g.equal("rewards {{0, 2^-30, 0, 2^-30}}", impl.group_mean_advantage(nearly_equal()),
          Value({1, 4}, {-kTiny / 2, kTiny / 2, -kTiny / 2, kTiny / 2}),
          {.mistakes = {{kThreshold, Value({1, 4}, {0, 0, 0, 0})}}});
  g.equal("two groups of one", impl.group_mean_advantage(Tensor::full({2, 1}, 3, f64)), Tensor::zeros({2, 1}, f64));
  check_equal_groups(g, impl.group_mean_advantage(equal_groups()),
                     "the mean of seven times 0.9 is not 0.9 in floating point: subtract the group's first reward from "
                     "all of it before the mean, then equal rewards are exact zeros");
  g.equal(kLarge, impl.group_mean_advantage(large()), by_row(large(), off_mean), {.rtol = 1e-5});
  g.note("three shapes, groups of one, and 9 groups of equal rewards: exactly 0");
}

void check_group_std(Grader& g, const Impl& impl) {
  const Tensor r = unequal();
  const double eps = 0.05;  // large, so that its effect shows
  const auto scaled = [](double eps_inside, double eps_outside, int ddof) {
    return [=](const std::vector<double>& x, size_t i) {
      const double var = moments(x).variance / static_cast<double>(static_cast<int>(x.size()) - ddof);
      return off_mean(x, i) / (std::sqrt(var + eps_inside) + eps_outside);
    };
  };
  const Value sample = by_row(r, scaled(0, eps, 1)), population = by_row(r, scaled(0, eps, 0));
  const auto mistakes = [&](int ddof) {
    return std::vector<kit::Mistake>{
        {"the variance is divided by G, not by G - ddof: population for sample", ddof == 1 ? population : Value()},
        {"the variance is divided by G - 1, not by G - ddof: sample for population", ddof == 0 ? sample : Value()},
        {"divided by the deviation, but the mean is still in it",
         by_row(r, [=](auto& x, size_t i) { return scaled(0, eps, ddof)(x, i) / off_mean(x, i) * x[i]; })},
        {"the deviation is not centred: subtract the mean before you square",
         by_row(r,
                [=](auto& x, size_t i) {
                  double squares = 0;
                  for (const double v : x) squares += v * v;
                  return off_mean(x, i) / (std::sqrt(squares / (static_cast<double>(x.size()) - ddof)) + eps);
                })},
        {"divided by the variance: take its root", by_row(r,
                                                          [=](auto& x, size_t i) {
                                                            const double n = static_cast<double>(x.size()) - ddof;
                                                            return off_mean(x, i) / (moments(x).variance / n + eps);
                                                          })},
        {"eps is inside the root; it stands beside the deviation", by_row(r, scaled(eps, 0, ddof))},
        {"eps is missing, or only the larger of std and eps is taken: add it to the std",
         by_row(r, scaled(0, 0, ddof))},
        {"divided by the mean of the absolute distances: std is the root of the mean square",
         by_row(r,
                [=](auto& x, size_t i) {
                  double distances = 0;
                  for (size_t k = 0; k < x.size(); ++k) distances += std::abs(off_mean(x, k));
                  return off_mean(x, i) / (distances / static_cast<double>(x.size()) + eps);
                })},
        {kAcross, by_column(r, scaled(0, eps, ddof))},
        {kWhole, by_batch(r, scaled(0, eps, ddof))}};
  };
  g.equal("rewards [5, 3], random, eps 0.05, ddof 1", impl.group_std_advantage(r, eps, 1), sample,
          {.mistakes = mistakes(1)});
  g.equal("the same, ddof 0", impl.group_std_advantage(r, eps, 0), population, {.mistakes = mistakes(0)});
  const Tensor w = wide();
  for (const int ddof : {1, 0}) {
    g.equal(fmt::format("rewards [2, 7], random, eps 0.05, ddof {}", ddof), impl.group_std_advantage(w, eps, ddof),
            by_row(w, scaled(0, eps, ddof)),
            {.mistakes = {{"the variance is divided by 3 - ddof, as for the last group: G is rewards.size(1)",
                           by_row(w, [=](auto& x, size_t i) {
                             return off_mean(x, i) / (std::sqrt(moments(x).variance / (3.0 - ddof)) + eps);
                           })}}});
  }
  g.equal("rewards {{0, 2^-30, 0, 2^-30}}, eps 2^-31, ddof 0", impl.group_std_advantage(nearly_equal(), kTiny / 2, 0),
          Value({1, 4}, {-0.5, 0.5, -0.5, 0.5}), {.mistakes = {{kThreshold, Value({1, 4}, {0, 0, 0, 0})}}});
  g.equal("two groups of one, ddof 1", impl.group_std_advantage(Tensor::full({2, 1}, 3, f64), 1e-6, 1),
          Tensor::zeros({2, 1}, f64),
          {.mistakes = {{"a group of one gives 0/0: divide by at least 1", Value({2, 1}, {NAN, NAN})}}});
  check_equal_groups(g, impl.group_std_advantage(equal_groups(), 1e-9, 1),
                     "rounding noise divided by rounding noise is of size 1, and a solved group gets pushed: subtract "
                     "the group's first reward first, then equal rewards are exact zeros");
  // Their deviation is 0.5, or √(1/2) by the sample.
  g.equal("rewards {{1, 0}}, eps 0.5, ddof 0",
          impl.group_std_advantage(Tensor::from<double>(std::vector<double>{1, 0}, {1, 2}), 0.5, 0),
          Value({1, 2}, {0.5, -0.5}));
  g.equal(std::string(kLarge) + ", eps 0.05, ddof 1", impl.group_std_advantage(large(), eps, 1),
          by_row(large(), scaled(0, eps, 1)), {.rtol = 1e-5});
  g.note("both deviations, groups of one, and 9 groups of equal rewards: exactly 0");
}

void check_leave_one_out(Grader& g, const Impl& impl) {
  const Tensor r = unequal();
  const double n = 3;
  g.equal("rewards [5, 3], random", impl.leave_one_out_advantage(r), by_row(r, off_others),
          {.mistakes = {{"the mean includes the reward itself: that is (G-1)/G of leave-one-out, and biased",
                         by_row(r, off_mean)},
                        {"the others are summed, but divided by G: there are G - 1 of them",
                         by_row(r, [=](auto& x, size_t i) { return x[i] - (moments(x).mean * n - x[i]) / n; })},
                        {"multiplied by (G-1)/G: leave-one-out is G/(G-1)·(r - mean)",
                         by_row(r, [=](auto& x, size_t i) { return off_mean(x, i) * (n - 1) / n; })},
                        {"their sum, not their mean",
                         by_row(r, [=](auto& x, size_t i) { return x[i] - (moments(x).mean * n - x[i]); })},
                        {kAcross, by_column(r, off_others)},
                        {kWhole, by_batch(r, off_others)}}});
  const Tensor w = wide();
  g.equal(
      "rewards [2, 7], random", impl.leave_one_out_advantage(w), by_row(w, off_others),
      {.mistakes = {{"divided by 2, as for the last group: there are G - 1 others", by_row(w, [](auto& x, size_t i) {
                       return x[i] - x[0] - (7 * (moments(x).mean - x[0]) - (x[i] - x[0])) / 2;
                     })}}});
  g.equal("rewards {{1, 0}, {0.3, 1}}: the paired difference",
          impl.leave_one_out_advantage(Tensor::from<double>(std::vector<double>{1, 0, 0.3, 1}, {2, 2})),
          Value({2, 2}, {1, -1, -0.7, 0.7}));
  g.equal("two groups of one", impl.leave_one_out_advantage(Tensor::full({2, 1}, 3, f64)), Tensor::zeros({2, 1}, f64),
          {.mistakes = {{"a group of one has no others: 0/0. Give it 0", Value({2, 1}, {NAN, NAN})},
                        {"a group of one is compared with nothing, so it is worth 0", Value({2, 1}, {3, 3})}}});
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
  const Tensor got = impl.groups_with_signal(r);
  if (!g.expect(got.dtype() == u8, "the result", fmt::format("{}", got.dtype()), "u8",
                "comparisons such as ne(a, b) give u8")) {
    return;
  }
  g.equal(
      "groups {0 0 0 0} {1 1 1 1} {.5 .5 .5 .75} {0 1 0 1} {2 2 2 2} {-1 -1 0 0} {0 1 1 0}", got,
      Value({7}, {0, 0, 1, 1, 0, 1, 1}),
      {.mistakes = {{"the other way round: 1 is for groups that teach", Value({7}, {1, 1, 0, 0, 1, 0, 0})},
                    {"a group that is solved by all has no signal either", Value({7}, {0, 1, 1, 1, 1, 1, 1})},
                    {"a group without signal need not be all 0 or all 1: any equal rewards will do",
                     Value({7}, {0, 0, 1, 1, 1, 1, 1})},
                    {"only the first two are compared, and the others may differ", Value({7}, {0, 0, 0, 1, 0, 0, 1})},
                    {"only the first and the last are compared, and those between may differ",
                     Value({7}, {0, 0, 1, 1, 0, 1, 0})},
                    {kAcross, Value({4}, {1, 1, 1, 1})},
                    {"only the mean is looked at; rewards may cancel or add up to anything",
                     Value({7}, {0, 1, 1, 1, 1, 1, 1})}}});
  if (g.failed()) return;
  const std::vector<double> close = {1, 1, 1 + 1e-12, 0.1, 0.1, 0.1};
  g.equal("groups {1, 1, 1 + 1e-12} {.1 .1 .1}", impl.groups_with_signal(Tensor::from(close, {2, 3})),
          Value({2}, {1, 0}), {.mistakes = {{kThreshold, Value({2}, {0, 0})}, {kRounded, Value({2}, {1, 1})}}});
  const Value equal(impl.groups_with_signal(equal_groups()));
  g.expect(equal.shape == Shape({9}) && std::count(equal.v.begin(), equal.v.end(), 0.0) == 9,
           "nine groups of seven equal rewards, f32 0.1 to 0.9", fmt::format("{}", fmt::join(equal.v, " ")),
           "0 0 0 0 0 0 0 0 0", kRounded);
  if (g.failed()) return;
  g.equal("two groups of one", impl.groups_with_signal(Tensor::full({2, 1}, 3, f64)), Tensor::zeros({2}, u8));
  g.equal(kLarge, impl.groups_with_signal(large()), Value({2}, {1, 1}));
  g.note("7 groups by hand, the smallest difference, rounding, groups of one");
}

}  // namespace pg::lesson09
