#pragma once
// Wrong answers of bits_per_byte: a right one with one mistake, `mistake`.
#include <cmath>
#include <cstring>
#include <set>

#include "lessons/05_tokens/lesson.h"

namespace pg::lesson05 {

inline double wrong_bits(std::string_view mistake, const std::vector<double>& nats, const std::vector<int32_t>& ids,
                         const std::vector<std::string>& tokens) {
  static double kept_nats = 0, kept_bytes = 0;
  double total = 0, bytes = 0, ratios = 0;
  std::set<int32_t> seen;
  for (size_t i = 0; i < ids.size(); ++i) {
    if (mistake == "first_left_out" && i == 0) continue;
    if (mistake == "last_left_out" && i + 1 == ids.size()) continue;
    const bool again = !seen.insert(ids[i]).second;
    if (mistake == "distinct" && again) continue;
    const std::string& token = mistake == "position" ? tokens[i % tokens.size()] : tokens[ids[i]];
    auto size = static_cast<double>(token.size());
    if (mistake == "per_character" || mistake == "ascii") {
      size = 0;
      for (char c : token) {
        const auto byte = static_cast<uint8_t>(c);
        size += mistake == "per_character" ? (byte & 0xc0) != 0x80 : byte < 128;
      }
    }
    if (mistake == "nul_ends") size = static_cast<double>(std::strlen(token.c_str()));
    if (mistake == "empty_is_one" && token.empty()) size = 1;
    if (mistake == "distinct_bytes" && again) size = 0;
    if (mistake == "log2_of_nats")
      total += std::log2(nats[i]);
    else if (mistake == "e_to_the")
      total += std::exp(nats[i]);
    else
      total += nats[i];
    bytes += size;
    ratios += nats[i] / size;
  }
  if (mistake == "of_vocabulary") {
    bytes = 0;
    for (const std::string& token : tokens) bytes += static_cast<double>(token.size());
  }
  if (mistake == "keeps") total += kept_nats, bytes += kept_bytes, kept_nats = total, kept_bytes = bytes;
  if (mistake == "per_token" || mistake == "loss_per_token") bytes = static_cast<double>(ids.size());
  if (mistake == "mean_of_ratios") total = ratios, bytes = static_cast<double>(ids.size());
  if (mistake == "total") bytes = 1;
  if (mistake == "exchanged") std::swap(total, bytes);
  if (mistake == "upside_down") return bytes * std::log(2.0) / total;
  if (mistake == "integer") return static_cast<double>(std::lround(total / std::log(2.0)) / std::lround(bytes));
  if (mistake == "in_nats" || mistake == "log2_of_nats" || mistake == "loss_per_token") return total / bytes;
  if (mistake == "perplexity") return std::exp(total / static_cast<double>(ids.size()));
  if (mistake == "log10") return total / std::log10(2.0) / bytes;
  if (mistake == "inverse") return total * std::log(2.0) / bytes;
  if (mistake == "eighth") return total / std::log(2.0) / bytes / 8;
  return total / std::log(2.0) / bytes;
}

}  // namespace pg::lesson05
