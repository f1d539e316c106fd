// A tokenizer over a fixed list of tokens.
#include "tasks/token_list.h"

#include <nlohmann/json.hpp>
#include <set>

#include "tasks/utf8.h"
#include "tensor/base/error.h"

namespace pg {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool is_word_part(char c) { return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); }

// The word at the beginning of `text`, or its first character.
std::string_view first_piece(std::string_view text) {
  size_t n = 0;
  while (n < text.size() && is_word_part(text[n])) ++n;
  if (n > 0) return text.substr(0, n);
  n = 1;
  while (n < text.size() && (static_cast<unsigned char>(text[n]) & 0xC0) == 0x80) ++n;
  return text.substr(0, n);
}

}  // namespace

TokenList::TokenList(std::vector<std::string> tokens, bool words, int32_t end)
    : tokens_(std::move(tokens)), words_(words), end_(end) {
  check(!tokens_.empty(), "TokenList: expected at least one token");
  check(end >= -1 && end < vocab_size(), "TokenList: the end must be one of {} tokens or -1, got {}", vocab_size(),
        end);
  std::set<std::string_view> seen;
  for (const std::string& token : tokens_) {
    check(!token.empty(), "TokenList: a token must not be empty");
    check(seen.insert(token).second, "TokenList: the token '{:.40}' is there twice", token);
    decode_utf8(token, "TokenList");
  }
}

std::vector<int32_t> TokenList::encode(std::string_view text) const {
  decode_utf8(text, "TokenList::encode");
  std::vector<int32_t> ids;
  for (size_t at = 0; at < text.size();) {
    if (words_ && is_space(text[at])) {
      ++at;
      continue;
    }
    const std::string_view rest = text.substr(at), piece = first_piece(rest);
    size_t best = tokens_.size(), length = 0;
    for (size_t i = 0; i < tokens_.size(); ++i) {
      const bool whole = !words_ || !is_word_part(rest[0]) || tokens_[i] == piece;
      if (whole && tokens_[i].size() > length && rest.starts_with(tokens_[i])) {
        best = i;
        length = tokens_[i].size();
      }
    }
    check(length > 0, "TokenList::encode: '{:.40}' at byte {} is not among the {} tokens of the vocabulary",
          words_ ? piece : first_piece(rest.substr(0, is_word_part(rest[0]) ? 1 : rest.size())), at, tokens_.size());
    ids.push_back(static_cast<int32_t>(best));
    at += length;
  }
  return ids;
}

std::string TokenList::decode(std::span<const int32_t> ids) const {
  std::string text;
  for (const int32_t id : ids) {
    check(id >= 0 && id < vocab_size(), "TokenList::decode: expected ids in [0, {}), got {}", vocab_size(), id);
    const std::string& token = tokens_[static_cast<size_t>(id)];
    if (words_ && !text.empty() && is_word_part(token[0])) text += ' ';
    text += token;
  }
  return text;
}

std::string TokenList::to_json() const {
  return nlohmann::json{{"type", "list"}, {"tokens", tokens_}, {"words", words_}, {"end", end_}}.dump();
}

TokenList TokenList::from_json(std::string_view text) {
  const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  const bool ok = json.is_object() && json.value("type", nlohmann::json()) == "list" && json.contains("tokens") &&
                  json["tokens"].is_array() && json.contains("words") && json["words"].is_boolean() &&
                  json.contains("end") && json["end"].is_number_integer() && json["end"] >= -1 &&
                  json["end"] <= INT32_MAX;
  check(ok,
        "TokenList::from_json: expected {{\"type\": \"list\", \"tokens\": […], \"words\": …, \"end\": …}}, got {:.80}",
        text);
  std::vector<std::string> tokens;
  for (const auto& token : json["tokens"]) {
    check(token.is_string(), "TokenList::from_json: a token must be a string");
    tokens.push_back(token.get<std::string>());
  }
  return {std::move(tokens), json["words"].get<bool>(), json["end"].get<int32_t>()};
}

}  // namespace pg
