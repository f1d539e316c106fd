#pragma once
// Wrong answers of best_pair and merge_pair: right ones with one mistake, `mistake`.
#include <algorithm>
#include <map>
#include <string>

#include "lessons/05_tokens/lesson.h"

namespace pg::lesson05 {

inline PairCount wrong_best_pair(std::string_view mistake, const std::vector<Word>& words) {
  // What a counter of another type holds.
  const auto held = [mistake](int64_t count) {
    if (mistake == "in_float") return static_cast<int64_t>(static_cast<float>(count));
    return mistake == "in_int" ? static_cast<int32_t>(count) : count;
  };
  using Pair = std::pair<int32_t, int32_t>;
  struct Found {
    int64_t count = 0;
    size_t order = 0, words = 0;
  };
  static std::map<Pair, Found> kept;
  std::map<Pair, Found> fresh;
  std::map<Pair, Found>& found = mistake == "keeps" ? kept : fresh;
  int64_t all = 0;
  int32_t before = -1;
  for (const Word& word : words) {
    const std::vector<int32_t>& ids = word.ids;
    const size_t n = ids.size();
    if (mistake == "two_ids_not" && n < 3) continue;
    std::map<Pair, int64_t> here;
    if (mistake == "across_words" && before >= 0 && n > 0) ++here[{before, ids[0]}];
    if (n > 0) before = ids[n - 1];
    const size_t end = mistake == "past_end" ? n - 1 : n == 0 ? 0 : mistake == "last_not" ? n - 2 : n - 1;
    for (size_t i = mistake == "first_not" ? 1 : 0; i < end && !(mistake == "last_not" && n < 2); ++i) {
      int32_t left = ids[i], right = ids[i + 1];
      if (mistake == "equal_ids_not" && left == right) continue;
      if (mistake == "zero_not" && (left == 0 || right == 0)) continue;
      if (mistake == "bytes_only" && (left > 255 || right > 255)) continue;
      if (mistake == "both_orders" && right < left) std::swap(left, right);
      if (mistake == "keys_of_16_bits" || mistake == "keys_or") {
        const uint32_t high = static_cast<uint32_t>(left) << 16, low = static_cast<uint32_t>(right);
        const uint32_t key = mistake == "keys_or" ? high | low : high + low;
        left = static_cast<int32_t>(key >> 16), right = static_cast<int32_t>(key & 0xffff);
      }
      ++here[{left, right}];
      if (found.emplace(Pair{left, right}, Found{}).second) found[{left, right}].order = found.size();
      if (mistake == "aaa_apart" && i + 2 < n && ids[i] == ids[i + 1] && ids[i] == ids[i + 2]) ++i;
    }
    for (const auto& [pair, times] : here) {
      int64_t more = word.count * times;
      if (mistake == "once") more = times;
      if (mistake == "once_in_a_word") more = word.count;
      if (mistake == "times_length") more *= static_cast<int64_t>(n);
      Found& sum = found[pair];
      ++sum.words;
      const int64_t by = held(more);
      sum.count = mistake == "best_word" ? std::max(sum.count, by) : held(sum.count + by);
      all += more;
    }
  }
  PairCount best;
  if (mistake == "no_pair_is_zero") best = {0, 0, 0};
  Found record;
  for (const auto& [pair, sum] : found) {
    const Pair taken{best.left, best.right};
    const bool tie = sum.count == record.count && sum.count > 0;
    bool better = sum.count > record.count;
    if (tie && mistake == "tie_last") better = true;
    if (tie && mistake == "tie_first_seen") better = sum.order < record.order;
    if (tie && mistake == "tie_left_only") better = pair.first == taken.first && sum.order < record.order;
    if (tie && mistake == "tie_by_right") better = pair.second < taken.second;
    if (tie && mistake == "tie_by_sum") better = pair.first + pair.second < taken.first + taken.second;
    if (tie && mistake == "tie_by_words") better = sum.words > record.words;
    if (tie && mistake == "tie_as_text") better = std::to_string(pair.first) < std::to_string(taken.first);
    if (tie && mistake == "tie_low_byte") better = (pair.first & 255) < (taken.first & 255);
    if (mistake == "least_two" && sum.count < 2) better = false;
    if (!better) continue;
    record = sum;
    best = {pair.first, pair.second, sum.count};
  }
  if (mistake == "number_of_words" && best.count) best.count = static_cast<int64_t>(record.words);
  if (mistake == "all") best.count = all;
  return best;
}

inline std::vector<int32_t> wrong_merge_pair(std::string_view mistake, const std::vector<int32_t>& given, int32_t left,
                                             int32_t right, int32_t id) {
  static std::vector<int32_t> kept;
  std::vector<int32_t> fresh, ids = given;
  std::vector<int32_t>& merged = mistake == "keeps" ? kept : fresh;
  if (mistake == "equal_not" && left == right) return ids;
  const size_t n = ids.size();
  if (mistake == "past_end") {
    size_t i = 0;
    for (; i < n - 1; ++i) {
      const bool here = given[i] == left && given[i + 1] == right;
      merged.push_back(here ? id : given[i]);
      if (here) ++i;
    }
    if (i < n) merged.push_back(given[i]);
    return merged;
  }
  if (mistake == "largest_id" && n) id = std::max(id, *std::max_element(ids.begin(), ids.end()) + 1);
  if (mistake == "from_right") {
    std::reverse(ids.begin(), ids.end());
    std::swap(left, right);
  }
  for (size_t i = 0; i < n && !(mistake == "loses_end" && i + 1 == n); ++i) {
    const bool has_next = i + (mistake == "misses_end" ? 2 : 1) < n;
    const int32_t next = mistake == "reads_beyond" ? given.data()[i + 1] : has_next ? ids[i + 1] : -1;
    bool here = ids[i] == left && next == right;
    if (mistake == "either_order") here |= ids[i] == right && next == left;
    if (mistake == "left_alone") here = ids[i] == left;
    if (mistake == "bytes") here = has_next && (ids[i] & 255) == left && (next & 255) == right;
    if (mistake == "zero_not") here &= ids[i] != 0 && next != 0;
    if (mistake == "first_of_run") here &= merged.empty() || merged.back() != id;
    if (mistake == "first_only") here &= std::find(merged.begin(), merged.end(), id) == merged.end();
    merged.push_back(here ? id : mistake == "in_16_bits" ? static_cast<int16_t>(ids[i]) : ids[i]);
    if (!here || mistake == "keeps_right" || mistake == "left_alone") continue;
    // The right one may begin the next pair; if it does not, it is used up.
    if (mistake == "overlaps" && i + 2 < n && ids[i + 1] == left && ids[i + 2] == right) continue;
    ++i;
    if (mistake == "skips_next") ++i;
    if (mistake == "copies_next" && ++i < n) merged.push_back(ids[i]);
  }
  if (mistake == "from_right") std::reverse(merged.begin(), merged.end());
  if (mistake == "same_size") merged.resize(n);
  if (mistake == "writes_input") const_cast<std::vector<int32_t>&>(given) = merged;
  return merged;
}

}  // namespace pg::lesson05
