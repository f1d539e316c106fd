// Reads puzzles of the task connections from a file.
#include <algorithm>
#include <map>
#include <set>

#include "tasks/grade/extract.h"
#include "tasks/puzzles/connections.h"
#include "tasks/puzzles/problem_file.h"
#include "tensor/base/error.h"
#include "tensor/base/json.h"
#include "tensor/base/text.h"

namespace pg {
namespace {

constexpr size_t kGroups = 4, kWords = 4, kLongest = 40;

std::string word_of(const Json& json, const std::string& where) {
  check(json.is_string(), "{}: a word must be a string, got {}", where, json.type_name());
  const std::string text = json.get<std::string>();
  std::string word(trimmed(text));
  const bool allowed = std::ranges::all_of(
      word, [](char c) { return c >= ' ' && c <= '~' && std::string_view(",;=<>{}\\").find(c) == std::string::npos; });
  check(!word.empty() && word.size() <= kLongest && allowed,
        "{}: a word must have 1 to {} ASCII characters other than , ; = < > {{ }} \\, got '{}'", where, kLongest,
        excerpt(word));
  for (char& c : word) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return word;
}

WordPuzzle puzzle_of(const Json& json, const std::string& where) {
  check(json.contains("groups"), "{}: expected \"groups\"", where);
  const Json& groups = json["groups"];
  check(groups.is_array() && groups.size() == kGroups, "{}: \"groups\" must be a list of {} groups", where, kGroups);
  WordPuzzle puzzle;
  std::set<std::string> seen;
  for (const Json& group : groups) {
    const Json& words = group.is_object() && group.contains("words") ? group["words"] : group;
    check(words.is_array() && words.size() == kWords, "{}: a group must be a list of {} words", where, kWords);
    puzzle.groups.emplace_back();
    for (const Json& json_word : words) {
      const std::string word = word_of(json_word, where);
      check(seen.insert(word).second, "{}: the word '{}' is there twice", where, word);
      puzzle.groups.back().push_back(word);
    }
  }
  return puzzle;
}

// The same for a group in another order.
std::string text_of(std::vector<std::string> group) {
  std::ranges::sort(group);
  std::string text;
  for (const std::string& word : group) text += word + ",";
  return text;
}

// Gives puzzles that share a group the same key: the first text of the groups of all that are joined.
void set_keys(std::vector<WordPuzzle>& puzzles) {
  std::map<std::string, std::string> joined;  // a group's text to a smaller one of the same puzzles, or to itself
  const auto first = [&](std::string text) {
    while (joined.at(text) != text) text = joined.at(text) = joined.at(joined.at(text));
    return text;
  };
  for (const WordPuzzle& puzzle : puzzles) {
    for (const auto& group : puzzle.groups) joined.emplace(text_of(group), text_of(group));
    for (const auto& group : puzzle.groups) {
      const std::string a = first(text_of(puzzle.groups[0])), b = first(text_of(group));
      joined[std::max(a, b)] = std::min(a, b);
    }
  }
  for (WordPuzzle& puzzle : puzzles) puzzle.key = first(text_of(puzzle.groups[0]));
}

}  // namespace

std::vector<WordPuzzle> read_word_puzzles(const std::string& path) {
  std::vector<WordPuzzle> puzzles;
  each_problem(path, [&](const Json& json, const std::string& where) { puzzles.push_back(puzzle_of(json, where)); });
  set_keys(puzzles);
  return puzzles;
}

}  // namespace pg
