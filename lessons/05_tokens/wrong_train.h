#pragma once
// Wrong answers of best_pair and merge_pair: right ones with one mistake, the mutant of that name.
#include <algorithm>
#include <map>
#include <string>

#include "lessons/05_tokens/lesson.h"

namespace pg::lesson05 {

enum CountMistake {
  count_aaa_apart,
  count_across_words,
  count_all,
  count_best_word,
  count_both_orders,
  count_bytes_only,
  count_equal_ids_not,
  count_first_not,
  count_in_float,
  count_in_int,
  count_keeps,
  count_keys_of_16_bits,
  count_keys_or,
  count_last_not,
  count_least_two,
  count_no_pair_is_zero,
  count_number_of_words,
  count_once,
  count_once_in_a_word,
  count_past_end,
  count_tie_as_text,
  count_tie_by_right,
  count_tie_by_sum,
  count_tie_by_words,
  count_tie_first_seen,
  count_tie_last,
  count_tie_left_only,
  count_tie_low_byte,
  count_times_length,
  count_two_ids_not,
  count_zero_not,
};

inline PairCount wrong_best_pair(CountMistake mistake, const std::vector<Word>& words) {
  // What a counter of another type holds.
  const auto held = [mistake](int64_t count) {
    if (mistake == count_in_float) return static_cast<int64_t>(static_cast<float>(count));
    return mistake == count_in_int ? static_cast<int32_t>(count) : count;
  };
  using Pair = std::pair<int32_t, int32_t>;
  struct Found {
    int64_t count = 0;
    size_t order = 0, words = 0;
  };
  static std::map<Pair, Found> kept;
  std::map<Pair, Found> fresh;
  std::map<Pair, Found>& found = mistake == count_keeps ? kept : fresh;
  int64_t all = 0;
  int32_t before = -1;
  for (const Word& word : words) {
    const std::vector<int32_t>& ids = word.ids;
    const size_t n = ids.size();
    if (mistake == count_two_ids_not && n < 3) continue;
    std::map<Pair, int64_t> here;
    if (mistake == count_across_words && before >= 0 && n > 0) ++here[{before, ids[0]}];
    if (n > 0) before = ids[n - 1];
    const size_t end = mistake == count_past_end ? n - 1 : n == 0 ? 0 : mistake == count_last_not ? n - 2 : n - 1;
    for (size_t i = mistake == count_first_not ? 1 : 0; i < end && !(mistake == count_last_not && n < 2); ++i) {
      int32_t left = ids[i], right = ids[i + 1];
      if (mistake == count_equal_ids_not && left == right) continue;
      if (mistake == count_zero_not && (left == 0 || right == 0)) continue;
      if (mistake == count_bytes_only && (left > 255 || right > 255)) continue;
      if (mistake == count_both_orders && right < left) std::swap(left, right);
      if (mistake == count_keys_of_16_bits || mistake == count_keys_or) {
        const uint32_t high = static_cast<uint32_t>(left) << 16, low = static_cast<uint32_t>(right);
        const uint32_t key = mistake == count_keys_or ? high | low : high + low;
        left = static_cast<int32_t>(key >> 16), right = static_cast<int32_t>(key & 0xffff);
      }
      ++here[{left, right}];
      if (found.emplace(Pair{left, right}, Found{}).second) found[{left, right}].order = found.size();
      if (mistake == count_aaa_apart && i + 2 < n && ids[i] == ids[i + 1] && ids[i] == ids[i + 2]) ++i;
    }
    for (const auto& [pair, times] : here) {
      int64_t more = word.count * times;
      if (mistake == count_once) more = times;
      if (mistake == count_once_in_a_word) more = word.count;
      if (mistake == count_times_length) more *= static_cast<int64_t>(n);
      Found& sum = found[pair];
      ++sum.words;
      const int64_t by = held(more);
      sum.count = mistake == count_best_word ? std::max(sum.count, by) : held(sum.count + by);
      all += more;
    }
  }
  PairCount best;
  if (mistake == count_no_pair_is_zero) best = {0, 0, 0};
  Found record;
  for (const auto& [pair, sum] : found) {
    const Pair taken{best.left, best.right};
    const bool tie = sum.count == record.count && sum.count > 0;
    bool better = sum.count > record.count;
    if (tie && mistake == count_tie_last) better = true;
    if (tie && mistake == count_tie_first_seen) better = sum.order < record.order;
    if (tie && mistake == count_tie_left_only) better = pair.first == taken.first && sum.order < record.order;
    if (tie && mistake == count_tie_by_right) better = pair.second < taken.second;
    if (tie && mistake == count_tie_by_sum) better = pair.first + pair.second < taken.first + taken.second;
    if (tie && mistake == count_tie_by_words) better = sum.words > record.words;
    if (tie && mistake == count_tie_as_text) better = std::to_string(pair.first) < std::to_string(taken.first);
    if (tie && mistake == count_tie_low_byte) better = (pair.first & 255) < (taken.first & 255);
    if (mistake == count_least_two && sum.count < 2) better = false;
    if (!better) continue;
    record = sum;
    best = {pair.first, pair.second, sum.count};
  }
  if (mistake == count_number_of_words && best.count) best.count = static_cast<int64_t>(record.words);
  if (mistake == count_all) best.count = all;
  return best;
}
template <CountMistake mistake>
void wrong_best_pair(Impl& m) {
  m.best_pair = [](const std::vector<Word>& words) { return wrong_best_pair(mistake, words); };
}

enum MergeMistake {
  merge_bytes,
  merge_copies_next,
  merge_either_order,
  merge_equal_not,
  merge_first_of_run,
  merge_first_only,
  merge_from_right,
  merge_in_16_bits,
  merge_keeps,
  merge_keeps_right,
  merge_largest_id,
  merge_left_alone,
  merge_loses_end,
  merge_misses_end,
  merge_overlaps,
  merge_past_end,
  merge_reads_beyond,
  merge_same_size,
  merge_skips_next,
  merge_writes_input,
  merge_zero_not,
};

inline std::vector<int32_t> wrong_merge_pair(MergeMistake mistake, const std::vector<int32_t>& given, int32_t left,
                                             int32_t right, int32_t id) {
  static std::vector<int32_t> kept;
  std::vector<int32_t> fresh, ids = given;
  std::vector<int32_t>& merged = mistake == merge_keeps ? kept : fresh;
  if (mistake == merge_equal_not && left == right) return ids;
  const size_t n = ids.size();
  if (mistake == merge_past_end) {
    size_t i = 0;
    for (; i < n - 1; ++i) {
      const bool here = given[i] == left && given[i + 1] == right;
      merged.push_back(here ? id : given[i]);
      if (here) ++i;
    }
    if (i < n) merged.push_back(given[i]);
    return merged;
  }
  if (mistake == merge_largest_id && n) id = std::max(id, *std::max_element(ids.begin(), ids.end()) + 1);
  if (mistake == merge_from_right) {
    std::reverse(ids.begin(), ids.end());
    std::swap(left, right);
  }
  for (size_t i = 0; i < n && !(mistake == merge_loses_end && i + 1 == n); ++i) {
    const bool has_next = i + (mistake == merge_misses_end ? 2 : 1) < n;
    const int32_t next = mistake == merge_reads_beyond ? given.data()[i + 1] : has_next ? ids[i + 1] : -1;
    bool here = ids[i] == left && next == right;
    if (mistake == merge_either_order) here |= ids[i] == right && next == left;
    if (mistake == merge_left_alone) here = ids[i] == left;
    if (mistake == merge_bytes) here = has_next && (ids[i] & 255) == left && (next & 255) == right;
    if (mistake == merge_zero_not) here &= ids[i] != 0 && next != 0;
    if (mistake == merge_first_of_run) here &= merged.empty() || merged.back() != id;
    if (mistake == merge_first_only) here &= std::find(merged.begin(), merged.end(), id) == merged.end();
    merged.push_back(here ? id : mistake == merge_in_16_bits ? static_cast<int16_t>(ids[i]) : ids[i]);
    if (!here || mistake == merge_keeps_right || mistake == merge_left_alone) continue;
    // The right one may begin the next pair; if it does not, it is used up.
    if (mistake == merge_overlaps && i + 2 < n && ids[i + 1] == left && ids[i + 2] == right) continue;
    ++i;
    if (mistake == merge_skips_next) ++i;
    if (mistake == merge_copies_next && ++i < n) merged.push_back(ids[i]);
  }
  if (mistake == merge_from_right) std::reverse(merged.begin(), merged.end());
  if (mistake == merge_same_size) merged.resize(n);
  if (mistake == merge_writes_input) const_cast<std::vector<int32_t>&>(given) = merged;
  return merged;
}
template <MergeMistake mistake>
void wrong_merge_pair(Impl& m) {
  m.merge_pair = [](const std::vector<int32_t>& given, int32_t left, int32_t right, int32_t id) {
    return wrong_merge_pair(mistake, given, left, right, id);
  };
}

}  // namespace pg::lesson05
