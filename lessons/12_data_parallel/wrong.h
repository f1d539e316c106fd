#pragma once
// Wrong forms of the functions of lesson 12 that need no ring: what the checks name, and the mutants' answers.
#include <algorithm>
#include <numeric>

#include "autograd/ops.h"
#include "lessons/12_data_parallel/lesson.h"

namespace pg::lesson12 {

enum class Mean {
  right,
  of_means,
  of_some,
  no_division,
  twice,
  by_ranks,
  sum_of_means,
  inverse,
  first_only,
  empty_rank,
  in_int,
  truncated,
  unchecked,
  in_place,
  in_float,
  whole,
  empty_counts,
  by_largest
};
inline Tensor wrong_mean(Mean mistake, const std::vector<Tensor>& means, const std::vector<int64_t>& tokens) {
  Tensor sum;
  double total = 0, ranks = 0;
  int32_t small_total = 0;
  for (size_t r = 0; r < means.size(); ++r) {
    double weight = static_cast<double>(tokens[r]);
    if (tokens[r] == 0 && mistake == Mean::empty_counts) total += 1;
    if (tokens[r] == 0 && mistake != Mean::empty_rank && mistake != Mean::of_means) continue;
    if (mistake == Mean::in_int) weight = static_cast<double>(static_cast<int32_t>(tokens[r]));
    if (mistake == Mean::inverse) weight = 1 / weight;
    if (mistake == Mean::whole) {
      const int64_t all = std::accumulate(tokens.begin(), tokens.end(), int64_t{0});
      weight = static_cast<double>(tokens[r] / all);
    }
    if (mistake == Mean::of_means || mistake == Mean::of_some || mistake == Mean::sum_of_means) weight = 1;
    const Tensor x = mistake == Mean::in_float ? means[r].to(f32) : means[r];
    const Tensor term = x * weight;
    sum = sum.defined() ? sum + term : term;
    total += weight;
    small_total = static_cast<int32_t>(static_cast<uint32_t>(small_total) + static_cast<uint32_t>(tokens[r]));
    ranks += 1;
    if (mistake == Mean::first_only) break;
  }
  if (mistake != Mean::unchecked)
    check(sum.defined() && (total != 0 || mistake == Mean::whole), "token_weighted_mean: no tokens");
  if (!sum.defined()) return zeros_like(means[0]);
  if (mistake == Mean::of_means) total = static_cast<double>(means.size());
  if (mistake == Mean::no_division || mistake == Mean::sum_of_means || mistake == Mean::whole) total = 1;
  if (mistake == Mean::twice) total *= ranks;
  if (mistake == Mean::by_ranks) total = ranks;
  if (mistake == Mean::by_largest) total = static_cast<double>(*std::max_element(tokens.begin(), tokens.end()));
  if (mistake == Mean::truncated) total = static_cast<double>(small_total);
  const Tensor result = sum / total;
  if (mistake == Mean::in_place) means[0].copy_from(result);
  return result;
}

enum class Cut {
  right,
  lost,
  last_long,
  last_short,
  last_longer,
  spread,
  inclusive,
  size_for_end,
  no_unit,
  whole_units,
  too_far,
  shift,
  in_int,
  one_more,
  overlap,
  empty_zero,
  longer_by_elements
};
inline Shard wrong_shard(Cut mistake, int64_t n, int rank, int ranks, int64_t unit) {
  if (mistake == Cut::in_int) n = static_cast<int32_t>(n);
  if (mistake == Cut::no_unit) unit = 1;
  const int64_t units = mistake == Cut::whole_units ? n / unit : n / unit + (n % unit != 0);
  const int64_t each = units / ranks, more = (mistake == Cut::longer_by_elements ? n : units) % ranks;
  const auto begin = [&](int64_t r) {
    int64_t at = r * each + std::min(r, more);
    if (mistake == Cut::lost || mistake == Cut::last_long) at = r * each;
    if (mistake == Cut::last_long && r == ranks) at = units;
    if (mistake == Cut::last_short) at = std::min(units, r * (each + (more > 0)));
    if (mistake == Cut::last_longer) at = r * each + std::max<int64_t>(0, r - (ranks - more));
    if (mistake == Cut::spread) at = r * each + r * more / ranks;
    if (mistake == Cut::shift) at = r * each + (r < more ? r : 0);
    const bool cut_off = at >= units && mistake != Cut::too_far && mistake != Cut::whole_units && mistake != Cut::lost;
    return cut_off ? n : at * unit;
  };
  Shard shard{begin(rank), begin(rank + 1)};
  if (mistake == Cut::shift) shard.end = shard.begin + (each + (rank < more)) * unit;
  if (mistake == Cut::one_more) shard.end = std::min(n, shard.begin + (each + (rank <= more)) * unit);
  if (mistake == Cut::overlap) {
    shard.begin = std::min(n, rank * each * unit);
    shard.end = std::min(n, shard.begin + (each + (rank < more)) * unit);
  }
  if (mistake == Cut::empty_zero && shard.size() == 0) shard = {0, 0};
  if (mistake == Cut::inclusive) --shard.end;
  if (mistake == Cut::size_for_end) shard.end -= shard.begin;
  return shard;
}

enum class Order {
  right,
  forward,
  reversed,
  rest_lost,
  rest_merged,
  cap,
  elements,
  gaps,
  embedding_twice,
  embedding_first,
  single,
  whole,
  above,
  empty_last,
  split,
  four_bytes,
  in_int,
  segments_alone,
  end_stays
};
inline std::vector<Shard> wrong_buckets(Order mistake, const std::vector<Segment>& segments, int64_t least,
                                        int64_t element) {
  std::vector<Shard> ranges;
  if (segments.empty()) return ranges;
  if (mistake == Order::elements) element = 1;
  if (mistake == Order::four_bytes) element = 4;
  if (mistake == Order::single) least = 0;
  const int64_t slab_end = segments.back().end;
  if (mistake == Order::whole) return {{0, slab_end}};
  if (mistake == Order::split) {
    const int64_t step = std::max<int64_t>(1, (least + element - 1) / element);
    for (int64_t end = slab_end; end > 0; end -= step) ranges.push_back({std::max<int64_t>(0, end - step), end});
    return ranges;
  }
  if (mistake == Order::forward) {
    int64_t begin = 0;
    for (size_t i = 0; i < segments.size(); ++i) {
      const int64_t end = i + 1 < segments.size() ? segments[i + 1].begin : slab_end;
      if ((end - begin) * element < least && i + 1 < segments.size()) continue;
      ranges.push_back({begin, end});
      begin = end;
    }
    return ranges;
  }
  const size_t stop = mistake == Order::embedding_first ? 1 : 0;
  const int64_t first_end = segments.size() > 1 ? segments[1].begin : slab_end;
  if (mistake == Order::embedding_twice || stop == 1) ranges.push_back({0, first_end});
  int64_t end = slab_end;
  for (size_t i = segments.size(); i-- > stop;) {
    const int64_t begin = segments[i].begin;
    int64_t bytes = (end - begin) * element;
    if (mistake == Order::in_int) bytes = static_cast<int32_t>(static_cast<uint32_t>(bytes));
    if (mistake == Order::segments_alone) {
      bytes = 0;
      for (const Segment& s : segments) bytes += s.begin >= begin && s.end <= end ? (s.end - s.begin) * element : 0;
    }
    if (mistake == Order::cap && bytes > least && i + 1 < segments.size() && segments[i + 1].begin < end) {
      ranges.push_back({segments[i + 1].begin, end});
      end = segments[i + 1].begin;
    }
    const bool last = i == stop && mistake != Order::rest_lost;
    const bool full = mistake == Order::above ? bytes > least : bytes >= least;
    if (mistake == Order::cap ? !last : !last && !full) continue;
    if (last && !full && mistake == Order::rest_merged && !ranges.empty()) {
      ranges.back().begin = begin;
    } else {
      ranges.push_back({begin, mistake == Order::end_stays ? slab_end : end});
    }
    end = begin;
  }
  if (mistake == Order::gaps) {
    // The range ends with its last segment, not where the next one begins.
    for (Shard& range : ranges) {
      int64_t last_end = range.begin;
      for (const Segment& segment : segments) {
        if (segment.begin >= range.begin && segment.end <= range.end) last_end = segment.end;
      }
      range.end = last_end;
    }
  }
  if (mistake == Order::empty_last) ranges.push_back({0, 0});
  if (mistake == Order::reversed) std::reverse(ranges.begin(), ranges.end());
  return ranges;
}

}  // namespace pg::lesson12
