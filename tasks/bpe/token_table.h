#pragma once
// The bytes of every token by id, and back.
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tasks/bpe/added_tokens.h"

namespace pg {

class TokenTable {
 public:
  // `tokens` in GPT-2's byte alphabet, by id. A token with a character outside the alphabet, and an added token, has
  // the bytes of its text. Error for a token that is there twice, for an added token whose id another one has, and for
  // ids that leave most of their range unused.
  TokenTable(const std::vector<std::string>& tokens, const std::vector<AddedToken>& added);

  // One more than the largest id.
  int32_t size() const { return static_cast<int32_t>(ends_.size()) - 1; }
  bool has(int32_t id) const { return id >= 0 && id < size() && known_[static_cast<size_t>(id)]; }
  std::string_view bytes(int32_t id) const {
    const auto i = static_cast<size_t>(id);
    return std::string_view(text_).substr(ends_[i], ends_[i + 1] - ends_[i]);
  }
  // A token of the byte alphabet; -1: none.
  int32_t find(std::string_view bytes) const {
    const auto found = ids_.find(bytes);
    return found == ids_.end() ? -1 : found->second;
  }

  TokenTable(const TokenTable&) = delete;  // ids_ has views of text_
  TokenTable& operator=(const TokenTable&) = delete;

 private:
  std::string text_;  // all tokens, one after the other
  std::vector<size_t> ends_;
  std::vector<bool> known_;
  std::unordered_map<std::string_view, int32_t> ids_;
};

}  // namespace pg
