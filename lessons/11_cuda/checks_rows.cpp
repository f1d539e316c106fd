// The checks of lesson 11 on rows: the reduction, and the maximum with the sum of e^(x - max).
#include <algorithm>
#include <cmath>
#include <limits>

#include "lessons/11_cuda/checks.h"

namespace pg::lesson11 {

using kit::Grader;
using kit::Mistake;
using kit::Value;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// x with all numbers below -3: a thread that takes part with 0 changes every maximum.
Matrix negative(Matrix x) {
  for (float& v : x.v) v = -3 - std::abs(v);
  return x;
}

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
// As if the last exchange, of neighbours, were missing: lanes of even and of odd numbers have results of their own.
std::vector<double> without_last_exchange(const std::vector<double>& x, int team, Fold f) {
  std::vector<double> result(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    const size_t warp = i / 32 * 32;
    result[i] = x[warp + i % 2];
    for (size_t j = 2 + i % 2; j < 32; j += 2) result[i] = f(result[i], x[warp + j]);
  }
  if (team == 32) return result;
  for (size_t block = 0; block < x.size(); block += 256) {  // the parts are those of the lanes 0
    double all = result[block];
    for (size_t warp = 32; warp < 256; warp += 32) all = f(all, result[block + warp]);
    std::fill(result.begin() + static_cast<int64_t>(block), result.begin() + static_cast<int64_t>(block) + 256, all);
  }
  return result;
}
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

bool check_reductions(Grader& g, const Impl& impl, const std::string& name, const Matrix& x, int team) {
  const std::string input = fmt::format("{}, teams of {} threads, one number each: ", name, team);
  const auto got = launched(g, input + "three calls in a row", [&] { return impl.reduce(x.v, team); });
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
    how.mistakes = {{"only 16 lanes take part: the first step is 16, half of a warp", folded(from, 16, r.fold)},
                    {"only 8 lanes take part: a warp has 32", folded(from, 8, r.fold)},
                    {"the last exchange is missing: neighbours exchange too, at step 1",
                     without_last_exchange(from, team, r.fold)}};
    if (team > 32) {
      how.mistakes.push_back(
          {"each warp has its own result: the eight of a block must meet", folded(from, 32, r.fold)});
      how.mistakes.push_back(
          {"a warp's own part is counted twice: begin with parts[0], not with x", own_twice(from, r.fold)});
    }
    if (r.fold == largest) {
      std::vector<double> with_zero = want;
      for (double& v : with_zero) v = std::max(v, 0.0);
      how.mistakes.push_back(
          {"threads without a number take part with 0, which is more than any here: begin with one of the numbers",
           with_zero});
    }
    bool leaders = numbers.size() == want.size();  // right in thread 0 of each group, maybe not elsewhere
    for (size_t i = 0; leaders && i < want.size(); i += size) {
      leaders = std::abs(static_cast<double>(numbers[i]) - want[i]) <= 1e-4 * std::max(1.0, std::abs(want[i]));
    }
    if (leaders) {
      how.mistakes.push_back({"only the team's first thread has the result: every thread needs it", value_of(numbers)});
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

namespace {

// What a warp computes with one mistake.
enum class Slip { none, lane_not_rescaled, warp_not_rescaled, neither, inverted, new_twice, largest_sum, lane_0 };

Stats stats_of(const Matrix& x, Slip slip) {
  const bool rescales_lane = slip != Slip::lane_not_rescaled && slip != Slip::neither;
  const bool rescales_warp = slip != Slip::warp_not_rescaled && slip != Slip::neither;
  Stats result;
  for (int64_t r = 0; r < x.rows; ++r) {
    double top[32], sum[32] = {}, max = -INFINITY, total = 0;
    std::fill(top, top + 32, -INFINITY);
    for (int64_t i = 0; i < x.columns; ++i) {
      const double v = as_is(x, r, i);
      const auto lane = static_cast<size_t>(i % 32);
      if (v == -INFINITY) continue;
      if (v > top[lane]) {
        const double step = slip == Slip::inverted && sum[lane] != 0 ? v - top[lane] : top[lane] - v;
        if (rescales_lane) sum[lane] *= std::exp(step);
        top[lane] = v;
        if (slip == Slip::new_twice) sum[lane] += 1;
      }
      sum[lane] += std::exp(v - top[lane]);
      max = std::max(max, v);
    }
    if (slip == Slip::lane_0) max = top[0];
    for (size_t lane = 0; lane < (slip == Slip::lane_0 ? 1 : 32); ++lane) {
      const double part = sum[lane] == 0 || !rescales_warp ? sum[lane] : sum[lane] * std::exp(top[lane] - max);
      total = slip == Slip::largest_sum ? std::max(total, part) : total + part;
    }
    result.max.push_back(static_cast<float>(max));
    result.sum.push_back(static_cast<float>(total));
  }
  return result;
}

// By the definition. The sum of a row of -inf only is NaN.
Stats right_stats(const Matrix& x) {
  Stats want;
  for (int64_t r = 0; r < x.rows; ++r) {
    double max = -INFINITY, sum = 0;
    for (int64_t i = 0; i < x.columns; ++i) max = std::max(max, as_is(x, r, i));
    for (int64_t i = 0; i < x.columns; ++i) sum += std::exp(as_is(x, r, i) - max);
    want.max.push_back(static_cast<float>(max));
    want.sum.push_back(static_cast<float>(max == -INFINITY ? NAN : sum));
  }
  return want;
}

Numbers plain_sums(const Matrix& x) {
  Numbers sums(static_cast<size_t>(x.rows));
  for (int64_t r = 0; r < x.rows; ++r) {
    for (int64_t i = 0; i < x.columns; ++i)
      sums[static_cast<size_t>(r)] += static_cast<float>(std::exp(as_is(x, r, i)));
  }
  return sums;
}
Numbers not_below_zero(Numbers x) {
  for (float& v : x) v = std::max(v, 0.0f);
  return x;
}

bool check_stats(Grader& g, const Impl& impl, const std::string& input, const Matrix& x) {
  const auto got = launched(g, input, [&] { return impl.row_stats(x); });
  if (!got) return false;
  const Stats want = right_stats(x);
  if (!g.equal(input + ": max of each row", value_of(got->max), value_of(want.max),
               {.rtol = 0,
                .mistakes = {{"the maximum begins with 0, which is more than any number here: begin with kLowest",
                              value_of(not_below_zero(want.max))},
                             {"the maximum of one lane: reduce it over the warp with Max",
                              value_of(stats_of(x, Slip::lane_0).max)}}}))
    return false;
  const std::string sums = input + ": Σ e^(x - max) of each row";
  for (size_t r = 0; r < want.sum.size(); ++r) {
    const std::string mine = fmt::format("{}", got->sum[r]), right = fmt::format("{}", want.sum[r]);
    if (std::isnan(got->sum[r]) && !std::isnan(want.sum[r])) {
      return g.expect(false, sums, mine, right,
                      "-inf - -inf is NaN: a lane that has seen nothing must not compute e^(x - top)");
    }
    if (!std::isnan(got->sum[r]) && std::isnan(want.sum[r])) {
      return g.expect(false, sums, mine, right,
                      "a row of -inf only has no probabilities: its sum is NaN, so that the mistake is seen");
    }
  }
  std::vector<Mistake> mistakes = {{"Σ e^x overflows at 89: subtract the maximum before e^", value_of(plain_sums(x))}};
  const auto by = [&](const char* says, Slip slip) { mistakes.push_back({says, value_of(stats_of(x, slip).sum)}); };
  by("the sum is not rescaled when the maximum grows: multiply it by e^(old - new)", Slip::lane_not_rescaled);
  by("each lane's sum is relative to its own maximum: rescale it to the warp's before adding", Slip::warp_not_rescaled);
  by("no sum is rescaled: neither when a lane's maximum grows nor to the warp's maximum", Slip::neither);
  by("rescaled by the inverse: the sum shrinks when the maximum grows, e^(old - new)", Slip::inverted);
  by("each new maximum is counted twice: e^0 once when it comes, and once more after it", Slip::new_twice);
  by("the largest of the lanes' sums: reduce them with Plus", Slip::largest_sum);
  by("the sum of one lane: reduce it over the warp with Plus", Slip::lane_0);
  return g.equal(sums, value_of(got->sum), value_of(want.sum), {.rtol = 1e-5, .mistakes = mistakes});
}

// Every lane of the warp uses the result: lane j divides the columns j, j + 32, …
bool check_softmax(Grader& g, const Impl& impl, const std::string& name, const Matrix& x) {
  const std::string input = name + ": the softmax, whose lanes all use row_stats";
  const auto got = launched(g, input, [&] { return impl.softmax(x); });
  if (!got) return false;
  const Stats stats = right_stats(x);
  Value want({x.rows, x.columns}, {});
  bool lane_0 = got->v.size() == x.v.size();
  for (int64_t r = 0; r < x.rows; ++r) {
    for (int64_t i = 0; i < x.columns; ++i) {
      const auto row = static_cast<size_t>(r);
      const double p =
          std::exp(as_is(x, r, i) - static_cast<double>(stats.max[row])) / static_cast<double>(stats.sum[row]);
      want.v.push_back(p);
      if (lane_0 && i % 32 == 0 && !std::isnan(p)) lane_0 = std::abs(as_is(*got, r, i) - p) < 1e-4;
    }
  }
  std::vector<Mistake> mistakes;
  if (lane_0) {
    mistakes.push_back(
        {"only lane 0 has the result: all 32 lanes use it, so reduce in a way that gives it to all", value_of(*got)});
  }
  return g.equal(input, value_of(*got), want, {.rtol = 1e-5, .mistakes = mistakes});
}

}  // namespace

void check_row_stats(Grader& g, const Impl& impl) {
  Generator random(13);
  const Matrix normal = random_matrix(5, 170, random);
  Matrix growing = normal, high = normal, masked = random_matrix(3, 70, random),
         all_masked = random_matrix(3, 40, random);
  for (size_t i = 0; i < normal.v.size(); ++i) {
    growing.v[i] = 0.05f * static_cast<float>(i % 170);
    high.v[i] = 1000 + 3 * normal.v[i];
  }
  for (size_t i = 0; i < masked.v.size(); ++i) {
    if (i % 70 % 32 > 20) masked.v[i] = -kInfinity;  // eleven lanes only see -inf
  }
  std::fill(all_masked.v.begin() + 40, all_masked.v.begin() + 80, -kInfinity);
  const std::vector<std::pair<std::string, Matrix>> inputs = {
      {"x [5, 170] that grows from 0 to 8.45", growing},
      {"x [5, 170], random", normal},
      {"x [5, 170] around 1000", high},
      {"x [3, 70] with -inf at columns 21 to 31 and 53 to 63", masked},
      {"x [4, 7], random", random_matrix(4, 7, random)},
      {"x [2, 45], all below -3", negative(random_matrix(2, 45, random))},
      {"x [3, 40], the second row all -inf", all_masked},
      {"x [1, 1]", random_matrix(1, 1, random)},
      {"x [0, 5], no rows", {0, 5, {}}}};
  for (const auto& [name, x] : inputs) {
    if (!check_stats(g, impl, name, x) || !check_softmax(g, impl, name, x)) return;
  }
  if (!counts_traffic()) return g.note(unless_counted("nine kinds of rows"));
  const Matrix x = random_matrix(8, 512, random);
  const Traffic t = traffic_of([&] { impl.row_stats(x); });
  const double once = 8 * 512 * 4 / 32;
  g.expect(
      double(t.sectors) < 1.2 * once, "x [8, 512]: sectors of 32 bytes moved", fmt::format("{}", t.sectors),
      fmt::format("{:.0f} and a few for the results", once),
      t.used() > 0.9
          ? "right, but every number is read more than once: the sum can be computed in the same pass as the maximum"
          : "right, but the lanes are far apart: lane i begins at element i and steps by 32");
  g.note("rows that grow, are large, masked or short; each number read once");
}

}  // namespace pg::lesson11
