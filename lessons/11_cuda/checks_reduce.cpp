// The check of lesson 11 on the reduction over a warp and over a block.
#include <algorithm>
#include <cmath>
#include <limits>

#include "lessons/11_cuda/checks.h"

namespace pg::lesson11 {

using kit::Grader;
using kit::Value;

namespace {

using Fold = double (*)(double, double);
double plus(double a, double b) { return a + b; }
double largest(double a, double b) { return std::max(a, b); }

// What every thread gets: f over each group of `size` neighbours.
std::vector<double> folded(const std::vector<double>& x, size_t size, Fold f) {
  std::vector<double> result(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    const size_t first = i / size * size;
    result[i] = x[first];
    for (size_t j = 1; j < size; ++j) result[i] = f(result[i], x[first + j]);
  }
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
    // Whether the first `count` threads of each group have the right result.
    const auto first_have_it = [&](size_t count) {
      for (size_t i = 0; i < want.size(); ++i) {
        const double error = std::abs(static_cast<double>(numbers[i]) - want[i]);
        if (i % size < count && !(error <= 1e-4 * std::max(1.0, std::abs(want[i])))) return false;
      }
      return true;
    };
    const auto mistakes = [&] {
      auto all = kit::values_of(reduce_mistakes(), [&](auto wrong) { return value_of(wrong(x.v, team).*r.numbers); });
      if (numbers.size() != want.size()) return all;
      if (team > 32 && first_have_it(32)) {
        all.push_back({"only the block's first warp has the result: every thread needs it", value_of(numbers)});
      } else if (first_have_it(1)) {
        all.push_back({"only the team's first thread has the result: every thread needs it", value_of(numbers)});
      }
      return all;
    };
    if (!g.equal(input + r.what, value_of(numbers), want, {.rtol = 1e-5, .more_mistakes = mistakes})) return false;
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
  Generator random = kit::draws(11);
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
