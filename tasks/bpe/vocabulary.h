#pragma once
// What the readers of tokenizer files share: tokens by id while a file is read, and lines.
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tasks/bpe/bpe_tokenizer.h"

namespace pg {

// The tokens of a file. `what` begins the messages.
class Vocabulary {
 public:
  // `count`: how many tokens the file has. Ids may leave a part of their range unused, but not most of it, so that
  // memory is proportional to the file.
  Vocabulary(std::string what, size_t count) : what_(std::move(what)), limit_(2 * count + 65536) {}

  // Error for an id out of range or one that another token has.
  void add(std::string_view token, int64_t id);
  // -1: none.
  int32_t find(std::string_view token) const;
  // The merge of two tokens. Error if one of the three tokens is not in the vocabulary.
  BpeData::Merge merge(std::string_view left, std::string_view right) const;
  // The tokens by id; the vocabulary is empty afterwards.
  std::vector<std::string> take();

 private:
  std::string what_;
  size_t limit_;
  std::vector<std::string> tokens_;
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  std::unordered_map<std::string, int32_t, Hash, std::equal_to<>> ids_;
};

// "a b" as two symbols. Error for anything else.
std::pair<std::string, std::string> split_merge(std::string_view line, std::string_view what);

// The lines of a text, without LF or CRLF.
std::vector<std::string_view> lines_of(std::string_view text);

}  // namespace pg
