// vocab.json with merges.txt, .tiktoken, and the vocabulary of a GGUF.
#include "tasks/bpe/tokenizer_files.h"

#include <array>
#include <charconv>

#include "tasks/bpe/byte_level.h"
#include "tasks/bpe/pretokenizer.h"
#include "tasks/bpe/vocabulary.h"
#include "tensor/base/error.h"
#include "tensor/base/json.h"
#include "tensor/base/table.h"
#include "tensor/base/text.h"

namespace pg {
namespace {

void set_pattern(BpeData& data, const SplitPattern& pattern) {
  data.pre_tokenizer = pattern.pre_tokenizer;
  data.normalizer = pattern.normalizer;
}

// RFC 4648, with or without '=' at the end; false if the text is no base64.
bool decode_base64(std::string_view text, std::string& bytes) {
  while (text.ends_with('=')) text.remove_suffix(1);
  if (text.size() % 4 == 1) return false;
  uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const size_t digit = digits.find(c);
    if (digit == std::string_view::npos) return false;
    bits = bits << 6 | static_cast<uint32_t>(digit);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes.push_back(static_cast<char>(bits >> count & 0xff));
  }
  return true;
}

}  // namespace

BpeTokenizer bpe_from_vocab(std::string_view vocab, std::string_view merges, std::string_view pattern) {
  const Json json = Json::try_parse(shallow_json(vocab, "vocab.json"));
  check(json.is_object(), "vocab.json: expected a JSON object of tokens and ids, got {}", excerpt(vocab));
  BpeData data;
  set_pattern(data, find_row(split_patterns(), "--pattern", pattern));
  Vocabulary vocabulary("vocab.json", json.size());
  for (const auto& [token, id] : json.items()) {
    if (!id.is_integer_in(INT64_MIN, INT64_MAX)) {
      fail("vocab.json: the token '{}' has the id {}; expected a whole number", excerpt(token, 40),
           excerpt(id.dump(), 40));
    }
    vocabulary.add(token, id.get<int64_t>());
  }
  const std::vector<std::string_view> lines = lines_of(merges);
  for (size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].empty() || (i == 0 && lines[i].starts_with("#version"))) continue;
    const auto [left, right] = split_merge(lines[i], "merges.txt");
    data.merges.push_back(vocabulary.merge(left, right));
  }
  constexpr const char* end = "<|endoftext|>";
  if (const int32_t id = vocabulary.find(end); id >= 0)
    data.added.push_back({.id = id, .content = end, .special = true});
  data.tokens = vocabulary.take();
  return BpeTokenizer(std::move(data));
}

BpeTokenizer bpe_from_tiktoken(std::string_view text, std::string_view pattern,
                               const std::vector<std::pair<std::string, int32_t>>& special) {
  BpeData data;
  set_pattern(data, find_row(split_patterns(), "--pattern", pattern));
  const std::vector<std::string_view> lines = lines_of(text);
  Vocabulary vocabulary(".tiktoken", lines.size());
  std::vector<std::pair<std::string, int32_t>> tokens;
  std::unordered_map<std::string_view, int32_t> ids;  // by bytes
  tokens.reserve(lines.size());
  for (size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].empty()) continue;
    const size_t space = std::min(lines[i].find(' '), lines[i].size());
    const std::string_view number = lines[i].substr(std::min(space + 1, lines[i].size()));
    int32_t rank = -1;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), rank);
    std::string bytes;
    const bool ok = decode_base64(lines[i].substr(0, space), bytes) && !bytes.empty() && error == std::errc() &&
                    end == number.data() + number.size();
    if (!ok) {
      fail(".tiktoken: line {}: expected base64, a space and a rank, got '{}'", i + 1, excerpt(lines[i], 40));
    }
    constexpr size_t longest = 1024;  // every split of a token is looked up
    check(bytes.size() <= longest, ".tiktoken: line {}: a token of {} bytes; expected at most {}", i + 1, bytes.size(),
          longest);
    vocabulary.add(symbols_of(bytes), rank);
    tokens.emplace_back(std::move(bytes), rank);
  }
  for (const auto& [bytes, rank] : tokens) ids.emplace(bytes, rank);
  // tiktoken joins two neighbours if the result is a token, by the rank of the result.
  for (const auto& [bytes, rank] : tokens) {
    for (size_t n = 1; n < bytes.size(); ++n) {
      const auto left = ids.find(std::string_view(bytes).substr(0, n));
      if (left == ids.end()) continue;
      const auto right = ids.find(std::string_view(bytes).substr(n));
      if (right != ids.end()) data.merges.push_back({left->second, right->second, rank});
    }
  }
  data.rank_is_id = true;
  data.whole_pieces = true;
  for (const auto& [content, id] : special) data.added.push_back({.id = id, .content = content, .special = true});
  data.tokens = vocabulary.take();
  return BpeTokenizer(std::move(data));
}

BpeTokenizer bpe_from_gguf(const GgufVocabulary& g) {
  const auto pattern = std::find_if(split_patterns().begin(), split_patterns().end(),
                                    [&](const SplitPattern& row) { return !row.gguf.empty() && row.gguf == g.pre; });
  if (pattern == split_patterns().end()) {
    std::vector<std::string> known;
    for (const SplitPattern& row : split_patterns()) {
      if (!row.gguf.empty()) known.push_back(row.gguf);
    }
    fail_unknown("GGUF: tokenizer.ggml.pre", g.pre, known);
  }
  BpeData data;
  set_pattern(data, *pattern);
  check(g.types.empty() || g.types.size() == g.tokens.size(),
        "GGUF: the vocabulary has {} tokens and {} token types; they must be as many", g.tokens.size(), g.types.size());
  Vocabulary vocabulary("GGUF", g.tokens.size());
  for (size_t i = 0; i < g.tokens.size(); ++i) {
    const auto id = static_cast<int32_t>(i);
    constexpr int32_t control = 3, user_defined = 4, unused = 5;
    const int32_t type = g.types.empty() ? 1 : g.types[i];
    if (g.tokens[i].empty() || type == unused) continue;
    vocabulary.add(g.tokens[i], id);
    const bool special = type == control || id == g.bos || id == g.eos;
    if (special || type == user_defined) data.added.push_back({.id = id, .content = g.tokens[i], .special = special});
  }
  for (const std::string& merge : g.merges) {
    const auto [left, right] = split_merge(merge, "GGUF");
    data.merges.push_back(vocabulary.merge(left, right));
  }
  data.tokens = vocabulary.take();
  const auto token = [&](int32_t id, const char* name) -> std::pair<int32_t, std::string> {
    check(id >= 0 && static_cast<size_t>(id) < g.tokens.size(), "GGUF: the id {} of the {} token is not in [0, {})", id,
          name, g.tokens.size());
    return {id, g.tokens[static_cast<size_t>(id)]};
  };
  std::vector<std::pair<int32_t, std::string>> before, after;
  if (g.add_bos) before.push_back(token(g.bos, "first"));
  if (g.add_eos) after.push_back(token(g.eos, "last"));
  if (!before.empty() || !after.empty()) data.post_processor = surrounding(before, after);
  if (g.eos >= 0) data.end = token(g.eos, "last").first;
  return BpeTokenizer(std::move(data));
}

}  // namespace pg
