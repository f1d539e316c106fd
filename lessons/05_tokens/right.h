#pragma once
// Right but unusual answers to lesson 5: the checks must accept them. mutants.cpp has the table.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <regex>
#include <tuple>
#include <unordered_map>

#include "lessons/05_tokens/lesson.h"
#include "nn/files/pretrained.h"

namespace pg::lesson05 {

// A list of all positions, sorted by their pairs, and no map.
inline PairCount right_sorted(const std::vector<Word>& words) {
  std::vector<PairCount> all;
  for (const Word& word : words) {
    for (size_t i = 1; i < word.ids.size(); ++i) all.push_back({word.ids[i - 1], word.ids[i], word.count});
  }
  std::sort(all.begin(), all.end(), [](const PairCount& a, const PairCount& b) {
    return std::pair(a.left, a.right) < std::pair(b.left, b.right);
  });
  PairCount best;
  for (size_t i = 0; i < all.size();) {
    PairCount sum = all[i];
    for (++i; i < all.size() && all[i].left == sum.left && all[i].right == sum.right; ++i) sum.count += all[i].count;
    if (sum.count > best.count) best = sum;
  }
  return best;
}

// A hash table of 64-bit keys; the whole order is in the comparison.
inline PairCount right_hashed(const std::vector<Word>& words) {
  std::unordered_map<uint64_t, int64_t> counts;
  for (const auto& [ids, count] : words) {
    for (size_t i = 0; i + 1 < ids.size(); ++i) {
      counts[static_cast<uint64_t>(ids[i]) << 32 | static_cast<uint32_t>(ids[i + 1])] += count;
    }
  }
  uint64_t best = 0;
  int64_t most = 0;
  for (auto [key, count] : counts) {
    if (count > most || (count == most && key < best)) best = key, most = count;
  }
  if (most == 0) return {};
  return {static_cast<int32_t>(best >> 32), static_cast<int32_t>(best), most};
}

// A map of maps, and the largest by a comparison that orders counts and ids at once.
inline PairCount right_nested(const std::vector<Word>& words) {
  std::map<int32_t, std::map<int32_t, int64_t>> counts;
  for (const Word& word : words) {
    for (auto right = word.ids.begin(); right != word.ids.end(); ++right) {
      if (right != word.ids.begin()) counts[*(right - 1)][*right] += word.count;
    }
  }
  std::vector<std::tuple<int64_t, int32_t, int32_t>> all;
  for (const auto& [left, rights] : counts) {
    for (const auto& [right, count] : rights) all.emplace_back(count, -left, -right);
  }
  if (all.empty()) return {};
  const auto [count, left, right] = *std::max_element(all.begin(), all.end());
  return {-left, -right, count};
}

// In a copy, with erase: n^2 steps.
inline std::vector<int32_t> right_erase(const std::vector<int32_t>& ids, int32_t left, int32_t right, int32_t id) {
  std::vector<int32_t> result = ids;
  for (auto at = result.begin(); at != result.end(); ++at) {
    if (*at != left || at + 1 == result.end() || *(at + 1) != right) continue;
    *at = id;
    result.erase(at + 1);
  }
  return result;
}

// Searches for the next pair and copies what is before it.
inline std::vector<int32_t> right_search(const std::vector<int32_t>& ids, int32_t left, int32_t right, int32_t id) {
  const int32_t pair[] = {left, right};
  std::vector<int32_t> result;
  auto from = ids.begin();
  while (true) {
    const auto at = std::search(from, ids.end(), std::begin(pair), std::end(pair));
    result.insert(result.end(), from, at);
    if (at == ids.end()) return result;
    result.push_back(id);
    from = at + 2;
  }
}

// On a stack: right because the new id is none of `ids`.
inline std::vector<int32_t> right_stack(const std::vector<int32_t>& ids, int32_t left, int32_t right, int32_t id) {
  std::vector<int32_t> stack;
  for (const int32_t next : ids) {
    if (!stack.empty() && stack.back() == left && next == right) {
      stack.back() = id;
    } else {
      stack.push_back(next);
    }
  }
  return stack;
}

// GPT-2's regular expression, with bytes for characters. Special tokens and contractions are views of other memory,
// which lives as long.
inline std::vector<std::string_view> right_regex(std::string_view text, std::string_view special) {
  static const std::regex gpt2(
      "'(?:[stmd]|re|ve|ll)| ?[a-zA-Z\\x80-\\xff]+| ?[0-9]+| ?[^a-zA-Z0-9\\s\\x80-\\xff]+|\\s+(?!\\S)|\\s+");
  std::vector<std::string_view> pieces;
  while (!text.empty()) {
    const size_t at = special.empty() ? text.npos : text.find(special);
    const std::string_view part = text.substr(0, at);
    for (std::cregex_iterator match(part.data(), part.data() + part.size(), gpt2), end; match != end; ++match) {
      pieces.push_back(part.substr(static_cast<size_t>(match->position()), static_cast<size_t>(match->length())));
      if (pieces.back() == "'s") pieces.back() = "'s";  // the literal
    }
    if (at == text.npos) break;
    pieces.push_back(special);
    text.remove_prefix(at + special.size());
  }
  return pieces;
}

// Decides for each pair of neighbours whether a border is between them, then cuts at the borders.
inline std::vector<std::string_view> right_borders(std::string_view text, std::string_view special) {
  const auto kind = [](char c) {
    if (std::string_view(" \t\n\v\f\r").find(c) != std::string_view::npos) return 's';
    const int byte = static_cast<uint8_t>(c);
    if (byte >= '0' && byte <= '9') return 'd';
    return byte >= 128 || (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ? 'l' : 'o';
  };
  if (!special.empty()) {
    if (const size_t at = text.find(special); at != text.npos) {
      auto pieces = right_borders(text.substr(0, at), "");
      pieces.push_back(text.substr(at, special.size()));
      for (std::string_view piece : right_borders(text.substr(at + special.size()), special)) pieces.push_back(piece);
      return pieces;
    }
  }
  std::vector<std::string_view> pieces;
  size_t begin = 0;
  while (begin < text.size()) {
    const std::string_view rest = text.substr(begin);
    size_t size = 0;
    for (std::string_view word : {"'ll", "'ve", "'re", "'d", "'m", "'t", "'s"}) {
      if (rest.starts_with(word)) size = word.size();
    }
    if (size == 0) {
      const size_t first = rest[0] == ' ' && rest.size() > 1 && kind(rest[1]) != 's' ? 1 : 0;
      size = first + 1;
      while (size < rest.size() && kind(rest[size]) == kind(rest[first])) ++size;
      if (kind(rest[first]) == 's' && size < rest.size() && size > 1) --size;
    }
    pieces.push_back(rest.substr(0, size));
    begin += size;
  }
  return pieces;
}

// With the merges of the engine.
inline std::vector<int32_t> right_engine(std::string_view piece, const ByteIds& byte_ids, const MergeTable& merges) {
  std::vector<int32_t> ids(piece.size());
  std::transform(piece.begin(), piece.end(), ids.begin(), [&](unsigned char c) { return byte_ids[c]; });
  MergeTable::Scratch scratch;
  merges.apply(ids, scratch);
  return ids;
}

// By recursion: what is left after one merge is encoded in the same way.
inline std::vector<int32_t> merged_on(std::vector<int32_t> ids, const MergeTable& merges) {
  size_t at = 0;
  for (size_t i = 0; i + 1 < ids.size(); ++i) {
    if (merges.find(ids[i], ids[i + 1]).rank < merges.find(ids[at], ids[at + 1]).rank) at = i;
  }
  if (ids.size() < 2 || merges.find(ids[at], ids[at + 1]).rank == MergeTable::kNone) return ids;
  ids[at] = merges.find(ids[at], ids[at + 1]).id;
  ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  return merged_on(std::move(ids), merges);
}
inline std::vector<int32_t> right_recursive(std::string_view piece, const ByteIds& byte_ids, const MergeTable& merges) {
  std::vector<int32_t> ids;
  for (unsigned char c : piece) ids.push_back(byte_ids[c]);
  return merged_on(std::move(ids), merges);
}

// All positions of the lowest rank's pair in one pass, as GPT-2's own encoder does it. In a table that was learned, a
// pair with the new token has a higher rank.
inline std::vector<int32_t> right_sweeps(std::string_view piece, const ByteIds& byte_ids, const MergeTable& merges) {
  std::vector<int32_t> ids;
  for (unsigned char c : piece) ids.push_back(byte_ids[c]);
  while (true) {
    MergeTable::Merge best;
    int32_t left = -1, right = -1;
    for (size_t i = 0; i + 1 < ids.size(); ++i) {
      const auto merge = merges.find(ids[i], ids[i + 1]);
      if (merge.rank < best.rank) best = merge, left = ids[i], right = ids[i + 1];
    }
    if (best.rank == MergeTable::kNone) return ids;
    ids = right_search(ids, left, right, best.id);
  }
}

// Writes into the transposed parameter, in its own dtype, and decides the name of each tensor by itself.
inline void right_into_transposed(Transformer& model, const TensorSource& source) {
  for (const auto& [name, parameter] : named_parameters(model)) {
    const std::string stored = source.find(name) ? name : "transformer." + name;
    const bool layer = name.starts_with("h.") && parameter.rank() == 2;
    source.read_into(stored, layer ? parameter.detach().view_transpose(0, 1) : parameter.detach());
  }
}

// Goes through the file, which may hold other tensors too.
inline void right_from_file(Transformer& model, const TensorSource& source) {
  const auto parameters = named_parameters(model);
  size_t filled = 0;
  for (const SourceTensor& stored : source.tensors()) {
    std::string_view name = stored.name;
    if (name.starts_with("transformer.")) name.remove_prefix(12);
    for (const auto& [ours, parameter] : parameters) {
      if (ours != name) continue;
      const bool matrix = name.find(".c_") != name.npos && name.ends_with(".weight");
      const Tensor values = source.read(stored.name, f32);
      parameter.copy_from(matrix ? transpose(values).contiguous_copy() : values);
      ++filled;
    }
  }
  if (filled != parameters.size()) fail("{}: a tensor is missing", source.path());
}

inline void right_engine_load(Transformer& model, const TensorSource& source) { pg::load_weights(model, source); }

// As a state dict, and element by element.
inline void right_state_dict(Transformer& model, const TensorSource& source) {
  const auto prefixed = [](const auto& tensor) { return tensor.name.starts_with("transformer."); };
  const bool any = std::any_of(source.tensors().begin(), source.tensors().end(), prefixed);
  const std::string prefix = any ? "transformer." : "";
  NamedTensors state;
  for (const auto& [name, parameter] : named_parameters(model)) {
    const Tensor values = source.read(prefix + name, f64);
    const Tensor own = Tensor::empty(parameter.shape(), f64);
    const bool matrix = name.find(".c_") != name.npos && values.rank() == 2;
    const int64_t rows = matrix ? own.size(0) : 1, columns = own.numel() / rows;
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) {
        own.data<double>()[i * columns + j] = values.data<double>()[matrix ? j * rows + i : j];
      }
    }
    state.emplace_back(name, own);
  }
  load_state_dict(model, state);
}

inline double right_joined(const std::vector<double>& nats, const std::vector<int32_t>& ids,
                           const std::vector<std::string>& tokens) {
  std::string text;
  for (int32_t id : ids) text += tokens[static_cast<size_t>(id)];
  return std::accumulate(nats.begin(), nats.end(), 0.0) / static_cast<double>(text.size()) * 1.4426950408889634;
}

inline double right_long_double(const std::vector<double>& nats, const std::vector<int32_t>& ids,
                                const std::vector<std::string>& tokens) {
  long double bits = 0, bytes = 0;
  for (size_t i = ids.size(); i-- > 0;) {
    bits -= std::log2(std::exp(static_cast<long double>(-nats[i])));
    bytes += static_cast<long double>(tokens[static_cast<size_t>(ids[i])].size());
  }
  return static_cast<double>(bits / bytes);
}

// The quotient of two means.
inline double right_means(const std::vector<double>& nats, const std::vector<int32_t>& ids,
                          const std::vector<std::string>& tokens) {
  double loss = 0, length = 0;
  const double share = 1 / static_cast<double>(ids.size());
  for (size_t i = 0; i < ids.size(); ++i) {
    loss += nats[i] * share;
    length += static_cast<double>(tokens[static_cast<size_t>(ids[i])].size()) * share;
  }
  return loss / std::log(2.0) / length;
}

}  // namespace pg::lesson05
