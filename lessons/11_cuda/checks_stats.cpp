// The check of lesson 11 on the maximum of a row with the sum of e^(x - max).
#include <algorithm>
#include <cmath>

#include "lessons/11_cuda/checks.h"

namespace pg::lesson11 {

using kit::Grader;
using kit::Mistake;
using kit::Value;

namespace {

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

Numbers not_below(float least, Numbers x) {
  for (float& v : x) v = std::max(v, least);
  return x;
}

// The first `count` columns of x.
Matrix first_columns(const Matrix& x, int64_t count) {
  Matrix part{x.rows, std::min(count, x.columns), {}};
  for (int64_t r = 0; r < x.rows; ++r) {
    const auto row = x.v.begin() + r * x.columns;
    part.v.insert(part.v.end(), row, row + part.columns);
  }
  return part;
}

// Says what is wrong with -inf and NaN. Returns false if something is.
bool check_masked(Grader& g, const std::string& input, const Stats& got, const Stats& want) {
  for (size_t r = 0; r < want.max.size(); ++r) {
    const auto differ = [&](const char* of, float mine, float right, const char* says) {
      return g.expect(false, input + of, fmt::format("{} in row {}", mine, r), fmt::format("{}", right), says);
    };
    const char* max = ": max of each row";
    if (want.max[r] == -kInfinity && got.max[r] != -kInfinity) {
      return differ(max, got.max[r], want.max[r],
                    "a row of -inf only has the maximum -inf: begin with kLowest, which is -inf, and return it");
    }
    if (want.max[r] != -kInfinity && got.max[r] == -kInfinity) {
      return differ(max, got.max[r], want.max[r], "only -inf is a mask: a finite number counts, however low it is");
    }
    const char* sum = ": Σ e^(x - max) of each row";
    if (std::isnan(got.sum[r]) && !std::isnan(want.sum[r])) {
      return differ(sum, got.sum[r], want.sum[r],
                    "-inf - -inf is NaN: a lane that has seen nothing must not compute e^(x - top)");
    }
    if (!std::isnan(got.sum[r]) && std::isnan(want.sum[r])) {
      return differ(sum, got.sum[r], want.sum[r],
                    "a row of -inf only has no probabilities: its sum is NaN, so that the mistake is seen");
    }
  }
  return true;
}

bool check_stats(Grader& g, const Impl& impl, const std::string& input, const Matrix& x) {
  const auto got = launched(
      g, input, [&] { return impl.row_stats(x); },
      {.race =
           "several warps use the same shared memory: each has a row of its own, so keep what you need in registers",
       .both_write =
           "several warps write to the same shared memory: each has a row of its own, so keep what you need in "
           "registers",
       .shuffle = "all 32 lanes must come to Team::reduce: not inside an if or a loop that some leave earlier, and no "
                  "return before it"});
  if (!got) return false;
  const Stats want = right_stats(x);
  const float least = got->max.empty() ? 0 : *std::min_element(got->max.begin(), got->max.end());
  const auto mistakes_of = [&](Numbers Stats::*numbers) {
    return [&x, numbers] {
      auto all = kit::values_of(stats_mistakes(), [&](auto wrong) { return value_of(wrong(x).*numbers); });
      for (int64_t count = 32; count < x.columns; count *= 2) {
        all.push_back({fmt::format("only the first {} numbers count: a row may have any length", count),
                       value_of(right_stats(first_columns(x, count)).*numbers)});
      }
      return all;
    };
  };
  const bool same_size = got->max.size() == want.max.size() && got->sum.size() == want.sum.size();
  if (same_size && !check_masked(g, input, *got, want)) return false;
  return g.equal(input + ": max of each row", value_of(got->max), value_of(want.max),
                 {.rtol = 0,
                  .mistakes = {{fmt::format("the maximum begins with {:g}, which is more than any number of a row "
                                            "here: begin with kLowest",
                                            least),
                                value_of(not_below(least, want.max))}},
                  .more_mistakes = mistakes_of(&Stats::max)}) &&
         g.equal(input + ": Σ e^(x - max) of each row", value_of(got->sum), value_of(want.sum),
                 {.rtol = 1e-5, .more_mistakes = mistakes_of(&Stats::sum)});
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
  Generator random = kit::draws(13);
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
  // Numbers and masks in every lane, in any order.
  Matrix mixed = random_matrix(3, 130, random);
  for (size_t i = 0; i < mixed.v.size(); ++i) {
    if (i % 3 == i / 32 % 3) mixed.v[i] = -kInfinity;
  }
  // Numbers that are no masks although they are low, and each several times in a lane.
  Matrix low = random_matrix(3, 200, random);
  for (float& v : low.v) v = v > 1 ? -kInfinity : v > 0 ? -1e30f : -2e30f;
  Matrix lowest = random_matrix(2, 40, random);
  for (float& v : lowest.v) v = v > 0.5f ? -kInfinity : -3e38f;
  std::fill(all_masked.v.begin() + 40, all_masked.v.begin() + 80, -kInfinity);
  const std::vector<std::pair<std::string, Matrix>> inputs = {
      {"x [5, 170] that grows from 0 to 8.45", growing},
      {"x [5, 170], random", normal},
      {"x [5, 170] around 1000", high},
      {"x [3, 70] with -inf at columns 21 to 31 and 53 to 63", masked},
      {"x [3, 130], a third of it -inf", mixed},
      {"x [3, 200], each -1e30, -2e30 or -inf", low},
      {"x [2, 40], each -3e38 or -inf", lowest},
      {"x [9, 1500], random", random_matrix(9, 1500, random)},
      {"x [4, 7], random", random_matrix(4, 7, random)},
      {"x [2, 45], all below -3", negative(random_matrix(2, 45, random))},
      {"x [3, 40], the second row all -inf", all_masked},
      {"x [1, 1]", random_matrix(1, 1, random)},
      {"x [0, 5], no rows", {0, 5, {}}}};
  for (const auto& [name, x] : inputs) {
    if (!check_stats(g, impl, name, x) || !check_softmax(g, impl, name, x)) return;
  }
  if (!counts_traffic()) return g.note(unless_counted("twelve kinds of rows"));
  const Matrix x = random_matrix(8, 512, random);
  const Traffic t = traffic_of([&] { impl.row_stats(x); });
  const double once = 8 * 512 * 4 / 32;
  g.expect(
      double(t.sectors) < 1.2 * once, "x [8, 512]: sectors of 32 bytes moved", fmt::format("{}", t.sectors),
      fmt::format("{:.0f} and a few for the results", once),
      t.accesses > 10 * 8 * 512 / 32
          ? "right, but an access of a warp reads one number only: lane rank takes the elements rank, rank + 32, …"
      : t.used() > 0.9
          ? "right, but every number is read more than once: the sum can be computed in the same pass as the maximum"
          : "right, but the lanes are far apart: lane i begins at element i and steps by 32");
  g.note("rows that grow, are large, masked or short; each number read once");
}

}  // namespace pg::lesson11
