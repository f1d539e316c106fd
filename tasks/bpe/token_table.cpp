// The tokens of a vocabulary.
#include "tasks/bpe/token_table.h"

#include <algorithm>

#include "tasks/bpe/byte_level.h"
#include "tasks/data/utf8.h"
#include "tensor/base/error.h"
#include "tensor/base/text.h"

namespace pg {

namespace {

// One more than the largest id.
size_t size_of(const std::vector<std::string>& tokens, const std::vector<AddedToken>& added) {
  constexpr size_t most = size_t{1} << 30;
  check(tokens.size() < most, "tokenizer: expected less than {} tokens, got {}", most, tokens.size());
  size_t size = tokens.size();
  const size_t limit = 2 * (tokens.size() + added.size()) + 65536;  // memory is proportional to the tokens that exist
  for (const AddedToken& token : added) {
    check(token.id >= 0 && static_cast<size_t>(token.id) < limit,
          "tokenizer: the added token '{}' has the id {}; expected one from 0 to {} with {} tokens",
          excerpt(token.content, 40), token.id, limit - 1, tokens.size() + added.size());
    check(!token.content.empty(), "tokenizer: the added token {} is empty", token.id);
    size = std::max(size, static_cast<size_t>(token.id) + 1);
  }
  check(size > 0, "tokenizer: the vocabulary is empty");
  return size;
}

// The added token of each id, or null.
std::vector<const AddedToken*> by_id(const std::vector<std::string>& tokens, const std::vector<AddedToken>& added,
                                     size_t size) {
  std::vector<const AddedToken*> all(size, nullptr);
  for (const AddedToken& token : added) {
    const auto id = static_cast<size_t>(token.id);
    check(!all[id], "tokenizer: the added tokens '{}' and '{}' have the same id {}",
          all[id] ? excerpt(all[id]->content, 40) : "", excerpt(token.content, 40), token.id);
    check(id >= tokens.size() || tokens[id].empty() || tokens[id] == token.content,
          "tokenizer: the added token '{}' has the id {} of the token '{}'", excerpt(token.content, 40), token.id,
          id < tokens.size() ? excerpt(tokens[id], 40) : "");
    all[id] = &token;
  }
  for (size_t id = 0; id < size; ++id) {
    const std::string_view text = all[id]              ? std::string_view(all[id]->content)
                                  : id < tokens.size() ? std::string_view(tokens[id])
                                                       : "";
    if (valid_prefix(text) != text.size()) fail("tokenizer: the token {}, '{}', is not UTF-8", id, excerpt(text, 40));
  }
  return all;
}

void check_distinct(const std::vector<AddedToken>& added) {
  std::unordered_map<std::string_view, int32_t> contents;
  for (const AddedToken& token : added) {
    const auto [first, is_new] = contents.emplace(token.content, token.id);
    check(is_new, "tokenizer: the added token '{}' is there twice, with the ids {} and {}", excerpt(token.content, 40),
          first->second, token.id);
  }
}

}  // namespace

TokenTable::TokenTable(const std::vector<std::string>& tokens, const std::vector<AddedToken>& added) {
  const size_t size = size_of(tokens, added);
  const std::vector<const AddedToken*> added_by_id = by_id(tokens, added, size);
  known_.assign(size, false);
  ends_.reserve(size + 1);
  ends_.push_back(0);
  std::vector<bool> in_alphabet(size, false);
  for (size_t id = 0; id < size; ++id) {
    const bool in_vocabulary = id < tokens.size() && !tokens[id].empty();
    known_[id] = in_vocabulary || added_by_id[id];
    const auto bytes = in_vocabulary ? bytes_of_symbols(tokens[id]) : std::nullopt;
    in_alphabet[id] = bytes.has_value();
    if (added_by_id[id]) {
      text_ += added_by_id[id]->content;
    } else if (in_vocabulary) {
      text_ += bytes.value_or(tokens[id]);
    }
    ends_.push_back(text_.size());
  }

  ids_.reserve(tokens.size());
  for (size_t id = 0; id < size; ++id) {
    const auto i = static_cast<int32_t>(id);
    if (!in_alphabet[id] || (added_by_id[id] && bytes(i) != bytes_of_symbols(tokens[id]))) continue;
    const auto [first, is_new] = ids_.emplace(bytes(i), i);
    if (is_new) continue;
    fail("tokenizer: the token '{}' is there twice, with the ids {} and {}", excerpt(tokens[id], 40), first->second,
         id);
  }
  check_distinct(added);
}

}  // namespace pg
