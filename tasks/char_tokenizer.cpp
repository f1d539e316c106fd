// A tokenizer with one token per character.
#include "tasks/char_tokenizer.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tasks/utf8.h"
#include "tensor/base/error.h"
#include "tensor/base/text.h"

namespace pg {

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

std::string CharTokenizer::to_json() const {
  return nlohmann::json{{"type", "char"}, {"characters", vocabulary()}}.dump();
}

CharTokenizer CharTokenizer::from_json(std::string_view json) {
  const auto parsed = nlohmann::json::parse(shallow_json(json, "tokenizer"), nullptr, /*allow_exceptions=*/false);
  check(parsed.is_object() && parsed.contains("type") && parsed["type"] == "char" && parsed.contains("characters") &&
            parsed["characters"].is_string(),
        "CharTokenizer::from_json: expected {{\"type\": \"char\", \"characters\": \"...\"}}, got {}", excerpt(json));
  return CharTokenizer(parsed["characters"].get<std::string>());
}

}  // namespace pg
