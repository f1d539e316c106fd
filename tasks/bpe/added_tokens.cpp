// Added tokens: a trie of their bytes, and the rules about words and white space beside them.
#include "tasks/bpe/added_tokens.h"

#include <algorithm>

#include "tasks/data/utf8.h"
#include "tensor/base/error.h"

namespace pg {
namespace {

const Regex& word_character() {
  static const Regex regex("[\\w\\p{Join_Control}]");
  return regex;
}
const Regex& space() {
  static const Regex regex("\\s");
  return regex;
}

// The last character of a text that is not empty.
std::string_view trailing_character(std::string_view text) {
  for (size_t n = 2; n <= std::min<size_t>(4, text.size()); ++n) {
    const std::string_view end = text.substr(text.size() - n);
    const Utf8Unit unit = first_unit(end);
    if (unit.kind == Utf8Unit::character && unit.bytes == n) return end;
  }
  return text.substr(text.size() - 1);
}

bool is(const Regex& kind, std::string_view character, RegexScratch& scratch) {
  if (valid_prefix(character) != character.size()) return false;
  const Regex::Match match = kind.find(character, 0, scratch);
  return match.end > match.begin;
}

std::string_view leading_character(std::string_view text) { return text.substr(0, first_unit(text).bytes); }

size_t spaces_at_begin(std::string_view text, RegexScratch& scratch) {
  size_t n = 0;
  while (n < text.size() && is(space(), leading_character(text.substr(n)), scratch)) {
    n += leading_character(text.substr(n)).size();
  }
  return n;
}

size_t spaces_at_end(std::string_view text, RegexScratch& scratch) {
  const size_t all = text.size();
  while (!text.empty() && is(space(), trailing_character(text), scratch))
    text.remove_suffix(trailing_character(text).size());
  return all - text.size();
}

}  // namespace

AddedTokens::AddedTokens(const std::vector<AddedToken>& tokens, bool normalized, const Normalizer& normalizer) {
  for (AddedToken token : tokens) {
    if (token.normalized != normalized) continue;
    if (normalized) token.content = normalizer(token.content);
    uint32_t node = 0;
    for (const char c : token.content) {
      auto& next = trie_[node].next;
      const auto byte = static_cast<uint8_t>(c);
      const auto found = std::lower_bound(next.begin(), next.end(), std::pair<uint8_t, uint32_t>{byte, 0});
      if (found != next.end() && found->first == byte) {
        node = found->second;
        continue;
      }
      const auto child = static_cast<uint32_t>(trie_.size());
      next.insert(found, {byte, child});
      trie_.emplace_back();
      node = child;
    }
    trie_[node].token = static_cast<int32_t>(tokens_.size());
    begins_[static_cast<uint8_t>(token.content[0])] = true;
    tokens_.push_back(std::move(token));
  }
}

int32_t AddedTokens::longest(std::string_view text, size_t& length) const {
  int32_t best = -1;
  uint32_t node = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto& next = trie_[node].next;
    const auto byte = static_cast<uint8_t>(text[i]);
    const auto found = std::lower_bound(next.begin(), next.end(), std::pair<uint8_t, uint32_t>{byte, 0});
    if (found == next.end() || found->first != byte) break;
    node = found->second;
    if (trie_[node].token >= 0) {
      best = trie_[node].token;
      length = i + 1;
    }
  }
  return best;
}

std::vector<AddedTokens::Part> AddedTokens::split(std::string_view text, bool skip_special,
                                                  RegexScratch& scratch) const {
  std::vector<Part> parts;
  size_t done = 0;  // where the parts so far end
  for (size_t i = 0; i < text.size() && !tokens_.empty();) {
    size_t length = 0;
    const int32_t index = begins_[static_cast<uint8_t>(text[i])] ? longest(text.substr(i), length) : -1;
    if (index < 0) {
      ++i;
      continue;
    }
    const AddedToken& token = tokens_[static_cast<size_t>(index)];
    size_t begin = i, end = i + length;
    i = end;
    if (skip_special && token.special) continue;
    if (token.single_word) {
      const bool left = begin > 0 && is(word_character(), trailing_character(text.substr(0, begin)), scratch);
      const bool right = end < text.size() && is(word_character(), leading_character(text.substr(end)), scratch);
      if (left || right) continue;
    }
    if (token.lstrip) begin = std::max(done, begin - spaces_at_end(text.substr(0, begin), scratch));
    if (token.rstrip) end += spaces_at_begin(text.substr(end), scratch);
    if (done < begin) parts.push_back({text.substr(done, begin - done), -1});
    parts.push_back({text.substr(begin, end - begin), token.id});
    done = end;
  }
  if (done < text.size()) parts.push_back({text.substr(done), -1});
  return parts;
}

}  // namespace pg
