// Tokens by id while a file is read.
#include "tasks/bpe/vocabulary.h"

#include "tensor/base/error.h"
#include "tensor/base/text.h"

namespace pg {

void Vocabulary::add(std::string_view token, int64_t id) {
  if (id < 0 || static_cast<uint64_t>(id) >= limit_) {
    fail("{}: the token '{}' has the id {}; expected one from 0 to {} for this number of tokens", what_,
         excerpt(token, 40), id, limit_ - 1);
  }
  const auto i = static_cast<size_t>(id);
  if (i >= tokens_.size()) tokens_.resize(i + 1);
  if (!tokens_[i].empty()) {
    fail("{}: the tokens '{}' and '{}' have the same id {}", what_, excerpt(tokens_[i], 40), excerpt(token, 40), id);
  }
  tokens_[i] = token;
  const bool is_new = ids_.emplace(token, static_cast<int32_t>(id)).second;
  if (!is_new) fail("{}: the token '{}' is there twice", what_, excerpt(token, 40));
}

int32_t Vocabulary::find(std::string_view token) const {
  const auto found = ids_.find(token);
  return found == ids_.end() ? -1 : found->second;
}

BpeData::Merge Vocabulary::merge(std::string_view left, std::string_view right) const {
  const std::string joined = fmt::format("{}{}", left, right);
  const auto id_of = [&](std::string_view token) {
    const int32_t id = find(token);
    if (id >= 0) return id;
    fail("{}: the merge '{} {}' needs the token '{}', which is not in the vocabulary", what_, excerpt(left, 40),
         excerpt(right, 40), excerpt(token, 40));
  };
  return {id_of(left), id_of(right), id_of(joined)};
}

std::vector<std::string> Vocabulary::take() {
  ids_.clear();
  return std::move(tokens_);
}

std::pair<std::string, std::string> split_merge(std::string_view line, std::string_view what) {
  const size_t space = line.find(' ');
  const bool ok = space != std::string_view::npos && space > 0 && space + 1 < line.size() &&
                  line.find(' ', space + 1) == std::string_view::npos;
  if (!ok) fail("{}: expected a merge of two symbols with a space between them, got '{}'", what, excerpt(line, 40));
  return {std::string(line.substr(0, space)), std::string(line.substr(space + 1))};
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.push_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

}  // namespace pg
