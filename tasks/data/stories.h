#pragma once
// A corpus that needs no download: small stories from a seeded grammar. The text determines every choice the generator
// made, so the entropy of the process is known exactly, and so is the lowest loss that any model of this text can
// reach.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace pg {

// Whole stories, each ending in an empty line, until the text has at least `bytes` bytes. ASCII. The text is a pure
// function of the two arguments.
std::string generate_stories(int64_t bytes = 1'000'000, uint64_t seed = 1);

// The entropy rate of the process in nats per character: E[nats of the choices in a story] / E[characters in a story].
// Stories are independent and no story is a prefix of another, so no predictor has a lower expected loss on fresh
// stories, however long its context; a predictor that has the grammar reaches it.
double stories_entropy_per_char();

// The grammar as data.
//   A template is text with slots. {rule} expands one of the rule's templates, sampled uniformly at each occurrence.
//   {variable.column} prints a column of the variable's row, which is sampled once for the whole story.
//   Variables of one table get different rows. Every plot begins a story; its variables are those its templates reach.
// The entropy is exact because rows and templates are sampled uniformly and independently, rules do not recurse, and
// different choices give different texts (tests/tasks/test_stories.cpp parses stories back and finds one derivation
// each).
struct StoryTable {
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;  // [row][column]
};

struct StoryGrammar {
  std::map<std::string, StoryTable> tables;
  std::map<std::string, std::string> variables;  // variable -> table
  std::map<std::string, std::vector<std::string>> rules;
  std::vector<std::string> plots;  // rules; each expands to a whole story
};

const StoryGrammar& story_grammar();

// The parts of a template in order.
struct StoryPiece {
  enum Kind { text, rule, variable } kind;
  std::string name;    // the text, the rule or the variable
  std::string column;  // for a variable
};
std::vector<StoryPiece> parse_story_template(const std::string& text);

}  // namespace pg
