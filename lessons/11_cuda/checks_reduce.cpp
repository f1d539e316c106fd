// The check of lesson 11 on the reduction over a warp and over a block.
#include <algorithm>
#include <cmath>
#include <limits>

#include "lessons/11_cuda/checks.h"

namespace pg::lesson11 {

using kit::Grader;
using kit::Mistake;
using kit::Value;

namespace {

using Fold = double (*)(double, double);
double plus(double a, double b) { return a + b; }
double largest(double a, double b) { return std::max(a, b); }

// What every thread gets: f over each group of `size` neighbours in which every step-th takes part, from `first` on.
std::vector<double> folded(const std::vector<double>& x, size_t size, Fold f, size_t taking_part = 0) {
  std::vector<double> result(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    const size_t first = i / size * size, count = taking_part ? taking_part : size;
    result[i] = x[first];
    for (size_t j = 1; j < count; ++j) result[i] = f(result[i], x[first + j]);
  }
  return result;
}
// What every thread gets by exchanges with these steps, from the x of lane (mine ^ step), or of lane `step` itself;
// then f over the lanes 0 of the block's warps. A step of 32 or more brings back one's own x.
std::vector<double> exchanged(std::vector<double> x, int team, Fold f, const std::vector<size_t>& steps,
                              bool by_lane = false) {
  for (const size_t step : steps) {
    const std::vector<double> before = x;
    for (size_t i = 0; i < x.size(); ++i) {
      const size_t warp = i / 32 * 32, lane = by_lane ? step % 32 : (i ^ step) % 32;
      x[i] = f(before[i], before[warp + lane]);
    }
  }
  if (team == 32) return x;
  for (size_t block = 0; block < x.size(); block += 256) {
    double all = x[block];
    for (size_t warp = 32; warp < 256; warp += 32) all = f(all, x[block + warp]);
    std::fill(x.begin() + static_cast<int64_t>(block), x.begin() + static_cast<int64_t>(block) + 256, all);
  }
  return x;
}
double second(double, double b) { return b; }
// As if each warp began with its own part and then added all eight.
std::vector<double> own_twice(const std::vector<double>& x, Fold f) {
  const std::vector<double> warps = folded(x, 32, f);
  std::vector<double> result = folded(x, 256, f);
  for (size_t i = 0; i < x.size(); ++i) result[i] = f(result[i], warps[i]);
  return result;
}

struct Reduction {
  const char* what;
  Numbers Reduced::*numbers;
  Fold fold;
};
constexpr Reduction kReductions[] = {{"the sum", &Reduced::sums, plus},
                                     {"the sum of squares", &Reduced::sums_of_squares, plus},
                                     {"the maximum", &Reduced::maxima, largest}};

std::vector<Mistake> mistakes_of_warp(const std::vector<double>& x, int team, Fold f) {
  std::vector<size_t> every_step;
  for (size_t step = 31; step > 0; --step) every_step.push_back(step);
  return {{"only 16 lanes take part: the first step is 16, half of a warp", exchanged(x, team, f, {8, 4, 2, 1})},
          {"only 8 lanes take part: a warp has 32", exchanged(x, team, f, {4, 2, 1})},
          {"the last exchange is missing: neighbours exchange too, at step 1", exchanged(x, team, f, {16, 8, 4, 2})},
          {"only one exchange: five of them bring every lane the result, at steps 16, 8, 4, 2, 1",
           exchanged(x, team, f, {16})},
          {"nothing is exchanged between the lanes of a warp", exchanged(x, team, f, {})},
          {"what another lane has takes the place of mine: combine the two with f",
           exchanged(x, team, second, {16, 8, 4, 2, 1})},
          {"the third argument of __shfl_xor_sync is the step: it computes mine ^ step itself",
           exchanged(x, team, f, {16, 8, 4, 2, 1}, true)},
          {"numbers are counted many times: each step is half of the one before, 16, 8, 4, 2, 1",
           exchanged(x, team, f, every_step)},
          {"a shuffle stays within its warp: the first step is 16, and a step of 32 brings back one's own number",
           exchanged(x, team, f, {32, 16, 8, 4, 2, 1})}};
}

std::vector<Mistake> mistakes_of_block(const std::vector<double>& x, Fold f) {
  std::vector<double> no_last = x, no_first = x;
  const double nothing = f == plus ? 0 : -INFINITY;
  for (size_t block = 0; block < x.size(); block += 256) {
    for (size_t i = 0; i < 32; ++i) no_first[block + i] = no_last[block + 224 + i] = nothing;
  }
  std::vector<double> doubled = folded(x, 32, f), four_times = folded(x, 256, f);
  for (int step = 32; step < 256; step *= 2) {
    for (double& v : doubled) v = f(v, v);
  }
  for (double& v : four_times) v = f(f(v, v), f(v, v));
  return {
      {"each warp has its own result: the eight of a block must meet", folded(x, 32, f)},
      {"a warp's own part is counted twice: begin with parts[0], not with x", own_twice(x, f)},
      {"the last warp's part is missing: a block has kSize / kWarp = 8 of them", folded(no_last, 256, f)},
      {"the first warp's part is missing: the parts begin with parts[0]", folded(no_first, 256, f)},
      {"each part is counted four times: 32 lanes fold 8 parts", four_times},
      {"a shuffle stays within its warp: the first step is 16, and the eight warps meet in shared memory", doubled}};
}

bool check_reductions(Grader& g, const Impl& impl, const std::string& name, const Matrix& x, int team) {
  const std::string input = fmt::format("{}, teams of {} threads, one number each: ", name, team);
  const auto got = launched(
      g, input + "three calls in a row", [&] { return impl.reduce(x.v, team); },
      {.both_write = "two threads write to the same shared memory: one lane of each warp writes, to its own part",
       .bounds = team == 32 ? "an index outside of shared memory: what only a block needs belongs in if constexpr "
                              "(kSize > kWarp), and kSize is 32 here"
                            : "an index outside of shared memory: parts has kSize / kWarp = 8 numbers, one for each "
                              "warp of the block, threadIdx.x / kWarp"});
  if (!got) return false;
  for (const Reduction& r : kReductions) {
    const Numbers& numbers = *got.*r.numbers;
    std::vector<double> from(x.v.begin(), x.v.end());
    if (r.numbers == &Reduced::sums_of_squares) {
      for (double& v : from) v *= v;
    }
    const auto size = static_cast<size_t>(team);
    const std::vector<double> want = folded(from, size, r.fold);
    kit::Compare how{.rtol = 1e-5};
    how.mistakes = mistakes_of_warp(from, team, r.fold);
    if (team > 32) {
      const std::vector<Mistake> of_block = mistakes_of_block(from, r.fold);
      how.mistakes.insert(how.mistakes.end(), of_block.begin(), of_block.end());
    }
    how.mistakes.push_back({"f is not used: this is the sum", folded(from, size, plus)});
    how.mistakes.push_back({"f is not used: this is the maximum", folded(from, size, largest)});
    if (r.fold == largest) {
      std::vector<double> with_zero = want;
      for (double& v : with_zero) v = std::max(v, 0.0);
      how.mistakes.push_back(
          {"threads without a number take part with 0, which is more than any here: begin with one of the numbers",
           with_zero});
    }
    // Whether the first `count` threads of each group have the right result.
    const auto first_have_it = [&](size_t count) {
      for (size_t i = 0; i < want.size(); ++i) {
        const double error = std::abs(static_cast<double>(numbers[i]) - want[i]);
        if (i % size < count && !(error <= 1e-4 * std::max(1.0, std::abs(want[i])))) return false;
      }
      return true;
    };
    if (numbers.size() == want.size()) {
      if (team > 32 && first_have_it(32)) {
        how.mistakes.push_back(
            {"only the block's first warp has the result: every thread needs it", value_of(numbers)});
      } else if (first_have_it(1)) {
        how.mistakes.push_back(
            {"only the team's first thread has the result: every thread needs it", value_of(numbers)});
      }
    }
    if (!g.equal(input + r.what, value_of(numbers), want, how)) return false;
  }
  return true;
}

// (x - mean) / √(variance + 1e-5)·w + b of each row.
std::vector<double> normed(const Matrix& x, const Numbers& w, const Numbers& b) {
  std::vector<double> y;
  const auto n = static_cast<size_t>(x.columns);
  for (size_t first = 0; first < x.v.size(); first += n) {
    double mean = 0, variance = 0;
    for (size_t i = 0; i < n; ++i) mean += static_cast<double>(x.v[first + i]) / static_cast<double>(n);
    for (size_t i = 0; i < n; ++i) {
      const double from_mean = static_cast<double>(x.v[first + i]) - mean;
      variance += from_mean * from_mean / static_cast<double>(n);
    }
    for (size_t i = 0; i < n; ++i) {
      const double from_mean = static_cast<double>(x.v[first + i]) - mean;
      y.push_back(from_mean / std::sqrt(variance + 1e-5) * static_cast<double>(w[i]) + static_cast<double>(b[i]));
    }
  }
  return y;
}

bool check_layer_norm(Grader& g, const Impl& impl, const std::string& name, const Matrix& x, Generator& random) {
  const Numbers w = random_matrix(1, x.columns, random).v, b = random_matrix(1, x.columns, random).v;
  const std::string input = name + ": a layer norm, whose kernel calls reduce twice";
  const auto got = launched(g, input, [&] { return impl.layer_norm(x, w, b); });
  return got && g.equal(input, value_of(*got), Value({x.rows, x.columns}, normed(x, w, b)), {.rtol = 1e-5});
}

}  // namespace

void check_reduce(Grader& g, const Impl& impl) {
  Generator random(11);
  const Matrix x = random_matrix(3, 256, random), one = random_matrix(1, 256, random);
  Matrix special = random_matrix(2, 256, random);
  special.v[5] = 1000;
  special.v[300] = -kInfinity;
  for (const int team : {32, 256}) {
    if (!check_reductions(g, impl, "3 blocks", x, team) ||
        !check_reductions(g, impl, "1 block, all numbers below -3", negative(one), team) ||
        !check_reductions(g, impl, "2 blocks, with 1000 and -inf", special, team))
      return;
  }
  Matrix large = random_matrix(2, 70, random);
  for (float& v : large.v) v *= 1000;
  Matrix infinite = random_matrix(2, 33, random);
  infinite.v[40] = kInfinity;
  if (!check_layer_norm(g, impl, "x [3, 300]", random_matrix(3, 300, random), random) ||
      !check_layer_norm(g, impl, "x [5, 1]", random_matrix(5, 1, random), random) ||
      !check_layer_norm(g, impl, "x [2, 70], in thousands", large, random) ||
      !check_layer_norm(g, impl, "x [2, 33], with inf in the second row", infinite, random))
    return;
  g.note(unless_counted("sum, sum of squares and maximum of a warp and of a block, in every thread"));
}

}  // namespace pg::lesson11
