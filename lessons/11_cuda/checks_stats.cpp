// The check of lesson 11 on the maximum of a row with the sum of e^(x - max).
#include <algorithm>
#include <cmath>

#include "lessons/11_cuda/checks.h"

namespace pg::lesson11 {

using kit::Grader;
using kit::Mistake;
using kit::Value;

namespace {

// What the lanes of a warp do with one mistake, and what to say of it.
enum class Slip {
  lane_not_rescaled,
  warp_not_rescaled,
  neither,
  inverted,
  inverted_to_warp,
  always_rescaled,
  minus_reversed,
  forgets,
  left_out,
  new_twice,
  equal_forgets,
  masked_counts,
  largest_sum,
  sum_first,
  lane_0,
  own_sum,
  by_thread,
  step_of_block,
  whole_rounds,
};
constexpr std::pair<Slip, const char*> kSlips[] = {
    {Slip::lane_not_rescaled, "the sum is not rescaled when the maximum grows: multiply it by e^(old - new)"},
    {Slip::warp_not_rescaled, "each lane's sum is relative to its own maximum: rescale it to the warp's before adding"},
    {Slip::neither, "no sum is rescaled: neither when a lane's maximum grows nor to the warp's maximum"},
    {Slip::inverted, "rescaled by the inverse: the sum shrinks when the maximum grows, e^(old - new)"},
    {Slip::inverted_to_warp, "rescaled by the inverse to the warp's maximum: the factor is e^(top - max)"},
    {Slip::always_rescaled, "the sum is rescaled to each x: only where x is a new maximum"},
    {Slip::minus_reversed, "e^(max - x) is added: the exponent is x - max, never above 0"},
    {Slip::forgets, "a new maximum throws the sum of the numbers before it away: rescale that sum and add 1"},
    {Slip::left_out, "a new maximum is not counted itself: it adds e^0 = 1"},
    {Slip::new_twice, "each new maximum is counted twice: e^0 once when it comes, and once more after it"},
    {Slip::equal_forgets, "a number equal to the maximum throws the sum away: it is no new maximum, and adds 1"},
    {Slip::masked_counts, "a masked number counts as 1: -inf adds nothing to the sum"},
    {Slip::largest_sum, "the largest of the lanes' sums: reduce them with Plus"},
    {Slip::sum_first, "the lanes' sums are added before each is rescaled to the warp's maximum"},
    {Slip::lane_0, "the result of one lane: reduce the maximum over the warp with Max, the sum with Plus"},
    {Slip::own_sum, "the sum of one lane: reduce it over the warp with Plus"},
    {Slip::by_thread, "threadIdx.x counts the 256 threads of the block: Team::rank() counts the 32 lanes of the row"},
    {Slip::step_of_block, "only 32 numbers of each 256: the lanes of one warp share the row, so they step by 32"},
    {Slip::whole_rounds, "the last n % 32 numbers are missing: go on while i < n"},
};

// Whether element i of row r is taken.
bool taken(int64_t r, int64_t i, int64_t n, Slip slip) {
  if (slip == Slip::by_thread) return i >= r % 8 * 32;  // row r has warp r % 8 of a block
  if (slip == Slip::step_of_block) return i % 256 < 32;
  return slip != Slip::whole_rounds || i < n / 32 * 32;
}

struct Lane {
  double top = -INFINITY, sum = 0;

  void add(double v, Slip slip) {
    if (v == -INFINITY) {
      if (slip == Slip::masked_counts) sum += 1;
      return;
    }
    const bool grows = v > top || (v == top && slip == Slip::equal_forgets);
    const double shift = slip == Slip::inverted && sum != 0 ? v - top : top - v;
    if (grows && slip == Slip::forgets) {
      sum = 0;
    } else if (grows && v == top) {
      sum = 0;
    } else if ((grows && slip != Slip::lane_not_rescaled && slip != Slip::neither) || slip == Slip::always_rescaled) {
      sum *= std::exp(shift);
    }
    if (grows) {
      top = v;
      if (slip == Slip::new_twice) sum += 1;
      if (slip == Slip::left_out) return;
    }
    sum += slip == Slip::always_rescaled ? 1 : std::exp(slip == Slip::minus_reversed ? top - v : v - top);
  }
};

Stats stats_of(const Matrix& x, Slip slip) {
  Stats result;
  for (int64_t r = 0; r < x.rows; ++r) {
    std::vector<Lane> lanes(32);
    for (int64_t i = 0; i < x.columns; ++i) {
      if (taken(r, i, x.columns, slip)) lanes[static_cast<size_t>(i % 32)].add(as_is(x, r, i), slip);
    }
    double max = -INFINITY, total = 0;
    for (const Lane& lane : lanes) max = std::max(max, lane.top);
    if (slip == Slip::lane_0) max = lanes[0].top;
    for (const Lane& lane : lanes) {
      if (&lane != &lanes[0] && (slip == Slip::lane_0 || slip == Slip::own_sum)) break;
      double part = lane.sum;
      if (slip == Slip::inverted_to_warp) part *= part == 0 ? 0 : std::exp(max - lane.top);
      const bool rescaled = slip != Slip::warp_not_rescaled && slip != Slip::neither && slip != Slip::sum_first &&
                            slip != Slip::inverted_to_warp;
      if (rescaled && part != 0) part *= std::exp(lane.top - max);
      total = slip == Slip::largest_sum ? std::max(total, part) : total + part;
    }
    if (slip == Slip::sum_first) total *= std::exp(lanes[0].top - max);
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
  std::vector<Mistake> of_max = {
      {fmt::format("the maximum begins with {:g}, which is more than any number of a row here: begin with kLowest",
                   least),
       value_of(not_below(least, want.max))}};
  std::vector<Mistake> of_sum = {{"Σ e^x overflows at 89: subtract the maximum before e^", value_of(plain_sums(x))}};
  for (const auto& [slip, says] : kSlips) {
    const Stats stats = stats_of(x, slip);
    of_max.push_back({says, value_of(stats.max)});
    of_sum.push_back({says, value_of(stats.sum)});
  }
  for (int64_t count = 32; count < x.columns; count *= 2) {
    const Stats stats = right_stats(first_columns(x, count));
    const std::string says = fmt::format("only the first {} numbers count: a row may have any length", count);
    of_max.push_back({says, value_of(stats.max)});
    of_sum.push_back({says, value_of(stats.sum)});
  }
  const auto of_each = [&](double (*f)(double)) {
    Value v = value_of(want.sum);
    for (double& sum : v.v) sum = f(sum);
    return v;
  };
  of_sum.push_back({"each lane takes the whole row: lane rank takes the elements rank, rank + 32, …",
                    of_each([](double sum) { return 32 * sum; })});
  of_sum.push_back({"this is the logarithm of the sum", of_each([](double sum) { return std::log(sum); })});
  const bool same_size = got->max.size() == want.max.size() && got->sum.size() == want.sum.size();
  if (same_size && !check_masked(g, input, *got, want)) return false;
  return g.equal(input + ": max of each row", value_of(got->max), value_of(want.max),
                 {.rtol = 0, .mistakes = of_max}) &&
         g.equal(input + ": Σ e^(x - max) of each row", value_of(got->sum), value_of(want.sum),
                 {.rtol = 1e-5, .mistakes = of_sum});
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
  // Numbers and masks in every lane, in any order.
  Matrix mixed = random_matrix(3, 130, random);
  for (size_t i = 0; i < mixed.v.size(); ++i) {
    if (i % 3 == i / 32 % 3) mixed.v[i] = -kInfinity;
  }
  // Numbers that are no masks although they are low, and each several times in a lane.
  Matrix low = random_matrix(3, 200, random);
  for (float& v : low.v) v = v > 1 ? -kInfinity : v > 0 ? -1e30f : -2e30f;
  std::fill(all_masked.v.begin() + 40, all_masked.v.begin() + 80, -kInfinity);
  const std::vector<std::pair<std::string, Matrix>> inputs = {
      {"x [5, 170] that grows from 0 to 8.45", growing},
      {"x [5, 170], random", normal},
      {"x [5, 170] around 1000", high},
      {"x [3, 70] with -inf at columns 21 to 31 and 53 to 63", masked},
      {"x [3, 130], a third of it -inf", mixed},
      {"x [3, 200], each -1e30, -2e30 or -inf", low},
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
