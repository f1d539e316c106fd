#pragma once
// The grammar behind tasks/stories.h as data.
//   A template is text with slots: {rule} expands one of the rule's templates, chosen uniformly and anew each time;
//   {variable.column} prints a column of the row that the variable was given once for the whole story.
//   Variables of one table get different rows. Every plot begins a story; its variables are those its templates reach.
// What makes the entropy exact: rows and templates are chosen uniformly and independently, rules do not recurse, and
// different choices give different texts (tests/tasks/test_stories.cpp parses stories back and finds one derivation
// each).
#include <map>
#include <string>
#include <vector>

namespace pg {

struct StoryTable {
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;  // [row][column]
};

struct StoryGrammar {
  std::map<std::string, StoryTable> tables;
  std::map<std::string, std::string> variables;  // variable -> table
  std::map<std::string, std::vector<std::string>> rules;
  std::vector<std::string> plots;  // rules, one of which makes a story
};

const StoryGrammar& story_grammar();

// A template's pieces in order.
struct StoryPiece {
  enum Kind { text, rule, variable } kind;
  std::string name;    // the text, the rule or the variable
  std::string column;  // of a variable
};
std::vector<StoryPiece> parse_story_template(const std::string& text);

}  // namespace pg
