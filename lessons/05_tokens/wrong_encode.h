#pragma once
// Wrong answers of encode_piece: a right one with one mistake, `mistake`.
#include <algorithm>
#include <map>
#include <queue>

#include "lessons/05_tokens/lesson.h"

namespace pg::lesson05 {

// The ids of the bytes.
inline std::vector<int32_t> wrong_symbols(std::string_view mistake, std::string_view piece, const ByteIds& byte_ids) {
  std::vector<int32_t> ids;
  for (size_t i = 0; i < piece.size(); ++i) {
    const int byte = static_cast<uint8_t>(piece[i]);
    const auto push = [&](int value) { ids.push_back(byte_ids[static_cast<size_t>(value)]); };
    if (mistake == "nul_ends" && byte == 0) break;
    if (mistake == "invalid_skipped" && byte >= 0xf8) continue;
    if (mistake == "byte_values") {
      ids.push_back(byte);
    } else if (mistake == "char") {
      push(byte & 127);  // whatever is in front of the table, where a char is negative
    } else if (mistake == "code_points" && byte >= 0xc2 && byte < 0xe0 && i + 1 < piece.size()) {
      push(((byte & 3) << 6) | (static_cast<uint8_t>(piece[++i]) & 63));
    } else if (mistake == "invalid_replaced" && byte >= 0xf8) {
      for (const int part : {0xef, 0xbf, 0xbd}) push(part);
    } else {
      push(byte);
    }
  }
  return ids;
}

// At each place the longest run of symbols that becomes one token.
inline std::vector<int32_t> wrong_longest(const std::vector<int32_t>& ids, const MergeTable& merges) {
  std::vector<int32_t> tokens;
  for (auto begin = ids.begin(); begin != ids.end();) {
    auto end = ids.end();
    for (std::vector<int32_t> token;; --end) {
      token.assign(begin, end);
      MergeTable::Scratch scratch;
      merges.apply(token, scratch);
      if (token.size() > 1) continue;
      tokens.push_back(token[0]);
      break;
    }
    begin = end;
  }
  return tokens;
}

inline std::vector<int32_t> wrong_encode(std::string_view mistake, std::string_view piece, const ByteIds& byte_ids,
                                         const MergeTable& merges) {
  static std::map<std::string, std::vector<int32_t>> by_text;
  static std::map<std::pair<const char*, size_t>, std::vector<int32_t>> by_address;
  const std::pair address{piece.data(), piece.size()};
  const std::string text(piece);
  if (mistake == "keeps_text" && by_text.contains(text)) return by_text[text];
  if (mistake == "keeps_address" && by_address.contains(address)) return by_address[address];
  static const ByteIds kept_ids = byte_ids;
  std::vector<int32_t> ids = wrong_symbols(mistake, piece, mistake == "keeps_ids" ? kept_ids : byte_ids);
  if (mistake == "never") return ids;
  if (mistake == "longest") return wrong_longest(ids, merges);
  const auto find = [&](size_t i) {
    return mistake == "exchanged" ? merges.find(ids[i + 1], ids[i]) : merges.find(ids[i], ids[i + 1]);
  };
  // The lowest goes first; none: there is no merge.
  constexpr int64_t none = INT64_MAX;
  const auto order_of = [&](size_t i) -> int64_t {
    const MergeTable::Merge merge = find(i);
    if (mistake == "rank_in_int") return static_cast<int32_t>(merge.rank);
    if (merge.rank == MergeTable::kNone || (mistake == "rank_0_not" && merge.rank == 0)) return none;
    if (mistake == "leftmost") return 0;
    if (mistake == "highest") return -static_cast<int64_t>(merge.rank);
    if (mistake == "lowest_id") return merge.id;
    if (mistake == "rank_in_16_bits") return static_cast<uint16_t>(merge.rank);
    int64_t places = 0;
    for (size_t j = 0; j + 1 < ids.size(); ++j) places += ids[j] == ids[i] && ids[j + 1] == ids[i + 1];
    return mistake == "most_frequent" ? -places : merge.rank;
  };
  const size_t bytes = ids.size();
  std::vector<int64_t> fixed(bytes, none);  // of "no_new_pairs"
  for (size_t i = 0; i + 1 < bytes; ++i) fixed[i] = order_of(i);
  if (mistake == "past_end" && bytes == 0) {
    for (size_t i = 0; i < bytes - 1; ++i) fixed[i] = order_of(i);
  }
  for (size_t from = mistake == "first_not" ? 1 : 0; ids.size() > 1;) {
    size_t at = 0, end = ids.size() - (mistake == "last_not" ? 2 : 1);
    if (mistake == "to_255") end = std::min<size_t>(end, 255);
    int64_t best = none;
    for (size_t i = from; i < end; ++i) {
      const int64_t order = mistake == "no_new_pairs" ? fixed[i] : order_of(i);
      if (order < best || (mistake == "rightmost" && order == best)) best = order, at = i;
      if (mistake == "one_pass" && best != none) break;
    }
    if (best == none || find(at).rank == MergeTable::kNone) break;
    ids[at] = mistake == "rank_for_id" ? 256 + static_cast<int32_t>(find(at).rank) : find(at).id;
    const auto gone = static_cast<std::ptrdiff_t>(at) + 1;
    ids.erase(ids.begin() + gone);
    fixed.erase(fixed.begin() + gone);
    fixed[at] = fixed[at > 0 ? at - 1 : 0] = none;
    if (mistake == "never_back") from = at;
    if (mistake == "one_pass") from = at + 1;
    if (mistake == "once") break;
  }
  by_text[text] = by_address[address] = ids;
  return ids;
}

// A list of symbols and a heap of pairs, in which a pair stays after one of its symbols has changed.
inline std::vector<int32_t> wrong_heap(std::string_view mistake, std::string_view piece, const ByteIds& byte_ids,
                                       const MergeTable& merges) {
  struct Entry {
    uint32_t rank;
    int at, right;
    int32_t id, left_id, right_id;
  };
  const int n = static_cast<int>(piece.size());
  std::vector<int32_t> ids(piece.size());
  std::vector<int> next(piece.size()), previous(piece.size());
  for (int i = 0; i < n; ++i) {
    ids[i] = byte_ids[static_cast<uint8_t>(piece[i])];
    next[i] = i + 1 < n ? i + 1 : -1, previous[i] = i - 1;
  }
  const auto later = [mistake](const Entry& a, const Entry& b) {
    if (mistake == "no_order" && a.rank == b.rank) return a.at < b.at;
    return std::pair(a.rank, a.at) > std::pair(b.rank, b.at);
  };
  std::priority_queue<Entry, std::vector<Entry>, decltype(later)> heap(later);
  const auto push = [&](int at) {
    if (at < 0 || next[at] < 0) return;
    const auto merge = merges.find(ids[at], ids[next[at]]);
    if (merge.rank != MergeTable::kNone) heap.push({merge.rank, at, next[at], merge.id, ids[at], ids[next[at]]});
  };
  for (int i = 0; i < n; ++i) push(i);
  while (!heap.empty()) {
    const Entry top = heap.top();
    heap.pop();
    if (ids[top.at] < 0 || next[top.at] < 0) continue;
    const bool same_left = ids[top.at] == top.left_id, same_right = ids[top.right] == top.right_id;
    if (mistake == "both_stale") {
      if (ids[top.right] < 0) continue;
    } else if (mistake == "right_stale") {
      if (!same_left || ids[top.right] < 0) continue;
    } else if (!same_left || !same_right || next[top.at] != top.right) {
      continue;
    }
    const int gone = next[top.at];
    ids[top.at] = top.id;
    ids[gone] = -1;
    next[top.at] = next[gone];
    if (next[gone] >= 0) previous[next[gone]] = top.at;
    if (mistake != "left_forgotten") push(previous[top.at]);
    if (mistake != "right_forgotten") push(top.at);
  }
  std::erase(ids, -1);
  return ids;
}

}  // namespace pg::lesson05
