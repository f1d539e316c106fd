// Tokenizers whose vocabulary is a list of characters or of texts, and texts from tokens as they come.
#include "tasks/data/tokenizer.h"

#include <algorithm>
#include <set>

#include "tasks/data/utf8.h"
#include "tensor/base/error.h"
#include "tensor/base/json.h"
#include "tensor/base/text.h"

namespace pg {

std::string Tokenizer::continuation(int32_t before, int32_t id) const {
  if (before < 0) return decode({&id, 1});
  const int32_t both[] = {before, id};
  return decode(both).substr(decode({&before, 1}).size());
}

std::string StreamDecoder::push(int32_t id) {
  pending_ += tokenizer_.continuation(before_, id);
  before_ = id;
  size_t whole = 0;  // without a character that the next token may complete
  while (whole < pending_.size()) {
    const std::string_view rest = std::string_view(pending_).substr(whole);
    const size_t good = valid_prefix(rest);
    whole += good;
    if (good == rest.size()) break;
    const Utf8Unit unit = first_unit(rest.substr(good));
    if (unit.kind == Utf8Unit::cut) break;
    whole += unit.bytes;
  }
  std::string text = replace_invalid_utf8(std::string_view(pending_).substr(0, whole));
  pending_.erase(0, whole);
  return text;
}

std::string StreamDecoder::flush() { return replace_invalid_utf8(std::exchange(pending_, "")); }

CharTokenizer::CharTokenizer(std::string_view text) : characters_(decode_utf8(text, "CharTokenizer")) {
  check(!characters_.empty(), "CharTokenizer: expected a text with at least one character, got an empty one");
  std::sort(characters_.begin(), characters_.end());
  characters_.erase(std::unique(characters_.begin(), characters_.end()), characters_.end());
  for (size_t id = 0; id < characters_.size(); ++id) index_[characters_[id]] = static_cast<int32_t>(id);
}

std::vector<int32_t> CharTokenizer::encode(std::string_view text) const {
  const std::u32string characters = decode_utf8(text, "CharTokenizer::encode");
  std::vector<int32_t> ids;
  ids.reserve(characters.size());
  std::string before;  // only to find the byte offset of an unknown character
  for (size_t i = 0; i < characters.size(); ++i) {
    const auto found = index_.find(characters[i]);
    if (found == index_.end()) {
      for (size_t k = 0; k < i; ++k) append_utf8(before, characters[k]);
      fail("CharTokenizer::encode: character {} at byte {} is not among the {} characters of the vocabulary",
           describe_character(characters[i]), before.size(), vocab_size());
    }
    ids.push_back(found->second);
  }
  return ids;
}

std::string CharTokenizer::decode(std::span<const int32_t> ids) const {
  std::string text;
  for (int32_t id : ids) {
    check(id >= 0 && id < vocab_size(), "CharTokenizer::decode: expected ids in [0, {}), got {}", vocab_size(), id);
    append_utf8(text, characters_[static_cast<size_t>(id)]);
  }
  return text;
}

std::string CharTokenizer::vocabulary() const {
  std::string text;
  for (char32_t c : characters_) append_utf8(text, c);
  return text;
}

std::string CharTokenizer::to_json() const { return Json{{"characters", vocabulary()}, {"type", "char"}}.dump(); }

CharTokenizer CharTokenizer::from_json(std::string_view json) {
  const Json parsed = Json::try_parse(shallow_json(json, "tokenizer"));
  check(parsed["type"] == "char" && parsed["characters"].is_string(),
        "CharTokenizer::from_json: expected {{\"type\": \"char\", \"characters\": \"...\"}}, got {}", excerpt(json));
  return CharTokenizer(parsed["characters"].get<std::string>());
}

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
  return Json{{"end", end_}, {"tokens", tokens_}, {"type", "list"}, {"words", words_}}.dump();
}

TokenList TokenList::from_json(std::string_view text) {
  const Json json = Json::try_parse(text);
  const bool ok = json["type"] == "list" && json["tokens"].is_array() && json["words"].is_boolean() &&
                  json["end"].is_integer_in(-1, INT32_MAX);
  check(ok,
        "TokenList::from_json: expected {{\"type\": \"list\", \"tokens\": […], \"words\": …, \"end\": …}}, got {:.80}",
        text);
  std::vector<std::string> tokens;
  for (const Json& token : json["tokens"]) {
    check(token.is_string(), "TokenList::from_json: a token must be a string");
    tokens.push_back(token.get<std::string>());
  }
  return {std::move(tokens), json["words"].get<bool>(), json["end"].get<int32_t>()};
}

}  // namespace pg
