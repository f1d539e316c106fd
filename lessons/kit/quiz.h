#pragma once
// The questions of a lesson, lessons/NN_name/quiz.txt. lessons/kit/README.md describes the format.
#include <iosfwd>
#include <string>
#include <vector>

namespace pg::kit {

struct Choice {
  std::string text, reason;  // why it is wrong, or right
  bool right = false;
};
struct Question {
  std::string text;
  std::vector<Choice> choices;
};

// Throws Error with `name` and the line where the format is broken.
std::vector<Question> parse_quiz(const std::string& text, const std::string& name);

// What a quiz lacks, for lint: three questions of three or four choices each, one right choice and a reason for each
// choice, and three different letters that are right.
std::vector<std::string> quiz_problems(const std::vector<Question>& questions);

// Asks on standard output for a letter from a, and reads lines until one is that of a choice. Returns the choice, or
// npos at the end of the input.
size_t read_choice(std::istream& input, size_t choices);

}  // namespace pg::kit
