// Reads a lesson's questions, and asks them.
#include "lessons/kit/quiz.h"

#include <cctype>
#include <iostream>
#include <set>
#include <sstream>

#include "lessons/kit/commands.h"
#include "lessons/kit/print.h"
#include "lessons/kit/terminal.h"
#include "tensor/base/json.h"
#include "tensor/base/text.h"

namespace pg::kit {
namespace {

char letter(size_t choice) { return static_cast<char>('a' + choice); }

// Asks one question. Returns 1 for the right answer, 0 for a wrong one, -1 at the end of the input.
int ask(const Question& question, size_t number, size_t count) {
  fmt::print("\n{}", wrapped(question.text, 0, fmt::format("{} of {}  ", number, count)));
  for (size_t i = 0; i < question.choices.size(); ++i) {
    fmt::print("{}", wrapped(question.choices[i].text, 2, fmt::format("{}  ", letter(i))));
  }
  const size_t given = read_choice(std::cin, question.choices.size());
  if (given == std::string::npos) return -1;
  const Choice& choice = question.choices[given];
  const std::string verdict = choice.right ? paint(Color::green, "Right.") : paint(Color::red, "No.");
  fmt::print("  {}\n{}", verdict, wrapped(choice.reason, 2));
  for (size_t i = 0; !choice.right && i < question.choices.size(); ++i) {
    const Choice& other = question.choices[i];
    if (other.right) fmt::print("{}", wrapped(other.reason, 2, fmt::format("Right is {}. ", letter(i))));
  }
  return choice.right;
}

Json json_of(const LessonEntry& lesson, const std::vector<Question>& questions) {
  Json all = Json::array();
  for (const Question& question : questions) {
    Json choices = Json::array();
    for (const Choice& choice : question.choices) {
      choices.push_back({{"text", choice.text}, {"reason", choice.reason}, {"right", choice.right}});
    }
    all.push_back({{"question", question.text}, {"choices", choices}});
  }
  return {{"lesson", lesson.number}, {"title", lesson.title}, {"questions", all}};
}

}  // namespace

size_t read_choice(std::istream& input, size_t choices) {
  const char last = letter(choices - 1);
  for (;;) {
    fmt::print("  Your answer, a to {}: ", last);
    std::fflush(stdout);
    std::string line, word;
    if (!std::getline(input, line)) return std::string::npos;
    std::istringstream(line) >> word;
    const int c = word.size() == 1 ? std::tolower(static_cast<unsigned char>(word[0])) : 0;
    if (c >= 'a' && c <= last) return static_cast<size_t>(c - 'a');
    fmt::print("  \"{}\" is no letter from a to {}.\n", excerpt(line, 40), last);
  }
}

std::vector<Question> parse_quiz(const std::string& text, const std::string& name) {
  std::vector<Question> questions;
  std::string* open = nullptr;  // what a line that begins with spaces continues
  std::istringstream lines(text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    const auto need = [&](bool ok, const char* expected) {
      check(ok, "{}:{}: expected {}, got \"{}\"", name, number, expected, excerpt(line));
    };
    const size_t begin = line.find_first_not_of(' ');
    if (begin == std::string::npos || line[0] == '#') continue;
    if (begin > 0) {
      need(open, "a question before the line that continues one");
      *open += " " + line.substr(begin);
      continue;
    }
    need(line.size() > 2 && line[1] == ' ' && std::string("?+-:").find(line[0]) != std::string::npos,
         "\"? question\", \"+ right choice\", \"- wrong choice\", \": reason\", \"# comment\" or an indented line");
    if (line[0] == '?') {
      questions.emplace_back();
      open = &questions.back().text;
    } else if (line[0] == ':') {
      need(!questions.empty() && !questions.back().choices.empty() && questions.back().choices.back().reason.empty(),
           "a choice before its one reason");
      open = &questions.back().choices.back().reason;
    } else {
      need(!questions.empty(), "a question before its choices");
      questions.back().choices.push_back({"", "", line[0] == '+'});
      open = &questions.back().choices.back().text;
    }
    *open = line.substr(2);
  }
  return questions;
}

std::vector<std::string> quiz_problems(const std::vector<Question>& questions) {
  std::vector<std::string> problems;
  std::set<size_t> letters;
  if (questions.size() != 3) problems.push_back(fmt::format("expected 3 questions, got {}", questions.size()));
  for (size_t q = 0; q < questions.size(); ++q) {
    const std::vector<Choice>& choices = questions[q].choices;
    const auto problem = [&](const std::string& what) {
      problems.push_back(fmt::format("question {}: {}", q + 1, what));
    };
    int right = 0;
    for (size_t i = 0; i < choices.size(); ++i) {
      right += choices[i].right;
      if (choices[i].right) letters.insert(i);
      if (choices[i].reason.empty()) problem(fmt::format("choice {} has no reason", letter(i)));
    }
    if (right != 1) problem(fmt::format("expected 1 right choice, got {}", right));
    if (choices.size() < 3 || choices.size() > 4)
      problem(fmt::format("expected 3 or 4 choices, got {}", choices.size()));
  }
  if (questions.size() == 3 && letters.size() != 3) {
    problems.push_back("expected another right letter in each question, so that no letter is a good guess");
  }
  return problems;
}

int quiz_command(const LessonEntry& lesson, bool json) {
  const std::string path = lesson.folder + "/quiz.txt";
  const std::vector<Question> questions = parse_quiz(read_file(repository_root() + "/" + path), path);
  check(!questions.empty(), "quiz: {} has no questions", path);
  if (json) {
    fmt::print("{}\n", json_of(lesson, questions).dump());
    return 0;
  }
  fmt::print("{}\n", paint(Color::bold, fmt::format("lesson {}  {}", lesson.number, lesson.title)));
  int right = 0;
  for (size_t i = 0; i < questions.size(); ++i) {
    const int score = ask(questions[i], i + 1, questions.size());
    if (score < 0) {
      fmt::print("\nThe input ended after {} of {} answers, of which {} were right.\n", i, questions.size(), right);
      return 0;
    }
    right += score;
  }
  fmt::print("\n{} of {} right.\n", right, questions.size());
  return 0;
}

}  // namespace pg::kit
