#pragma once
// Word lists and puzzles of the task connections.
#include <string>
#include <string_view>
#include <vector>

namespace pg {

struct WordCategory {
  std::string_view name, words;  // with spaces between the words
};
const std::vector<WordCategory>& word_categories();

struct WordPuzzle {
  std::vector<std::vector<std::string>> groups;  // four of four words, in lower case
  std::string key;  // equal for puzzles that share a group, or are joined by others that do
};

// Puzzles from a JSONL file: a line is {"groups": [["red", "blue", "green", "black"], …]}, four groups of four
// different words; a group may be an object with "words" too. Words are printable ASCII without , ; = < > { } and \.
// Error with the file and the line for anything else.
std::vector<WordPuzzle> read_word_puzzles(const std::string& path);

}  // namespace pg
