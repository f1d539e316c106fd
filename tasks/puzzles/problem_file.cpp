#include "tasks/puzzles/problem_file.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <sstream>

#include "tasks/data/text_data.h"
#include "tasks/grade/extract.h"
#include "tensor/base/error.h"
#include "tensor/base/json.h"
#include "tensor/base/text.h"

namespace pg {
namespace {

constexpr const char* kQuestionKeys[] = {"problem", "question", "prompt", "instruction", "query", "input"};
constexpr const char* kAnswerKeys[] = {"answer", "ground_truth", "final_answer", "gold", "target", "label", "solution"};

// The value of a key, or of a path of keys with points between them; null if it is not there.
Json value_at(const Json& object, const std::string& key) {
  if (object.contains(key)) return object[key];
  const size_t point = key.find('.');
  if (point == std::string::npos || !object[key.substr(0, point)].is_object()) return nullptr;
  return value_at(object[key.substr(0, point)], key.substr(point + 1));
}

struct Found {
  std::string key;
  Json value;
};

// The value that a column names, or that of the first of the usual keys.
template <size_t N>
Found find_column(const Json& object, const std::string& column, const char* const (&usual)[N], const char* what,
                  const std::string& where) {
  if (!column.empty()) {
    if (Json value = value_at(object, column); !value.is_null()) return {column, std::move(value)};
  } else {
    for (const char* const key : usual) {
      if (!object[key].is_null()) return {key, object[key]};
    }
  }
  std::vector<std::string> keys;
  for (const Json::Member& member : object.items()) keys.push_back(excerpt(member.first, 30));
  fail("{}: expected the {} at {}; the line has the keys: {}", where, what,
       column.empty() ? fmt::format("one of the keys {}, or --{}-column KEY", fmt::join(usual, ", "), what)
                      : fmt::format("the key \"{}\"", column),
       fmt::join(keys, ", "));
}

std::string question_of(const Found& found, const std::string& where) {
  if (found.value.is_string()) return found.value.get<std::string>();
  check(found.value.is_array() && found.value.size() == 1 && found.value[0].is_object() &&
            found.value[0]["role"].is_string() && found.value[0]["role"].get<std::string>() == "user" &&
            found.value[0]["content"].is_string(),
        "{}: \"{}\" must be a text or a list with one message of the user, got {}; --system gives a system message",
        where, found.key, excerpt(found.value.dump(-1, Json::Utf8::replace)));
  return found.value[0]["content"].get<std::string>();
}

std::string working_of(const Found& found, const std::string& where) {
  const bool listed = found.value.is_array() && found.value.size() == 1;
  const Json& value = listed ? found.value[0] : found.value;
  if (value.is_string()) return value.get<std::string>();
  const std::string text = value.dump(-1, Json::Utf8::replace);
  check(value.is_number() || value.is_boolean(), "{}: \"{}\" must be a text or a number, got {}", where, found.key,
        excerpt(text));
  return text;
}

std::string read_problems(const std::string& path) {
  std::string text = read_file(path);
  check(!text.starts_with("PAR1"), "{}: this is a Parquet file; expected JSON, one object in each line", path);
  std::string note;
  return unix_text(std::move(text), path, note);
}

}  // namespace

void each_problem(const std::string& path, const std::function<void(const Json&, const std::string&)>& f) {
  const std::string text = read_problems(path);
  bool any = false;
  const auto call = [&](const Json& json, const std::string& where, std::string_view line) {
    if (!json.is_object()) {
      fail("{}: expected a JSON object, got '{}'", where,
           excerpt(line.empty() ? json.dump(-1, Json::Utf8::replace) : std::string(line)));
    }
    f(json, where);
    any = true;
  };
  if (const Json whole = trimmed(text).starts_with('[') ? Json::try_parse(shallow_json(text, path)) : Json();
      whole.is_array() && whole.size() > 0 && whole[0].is_object()) {
    for (size_t i = 0; i < whole.size(); ++i) call(whole[i], fmt::format("{}[{}]", path, i), "");
    return;
  }
  std::istringstream lines(text);
  std::string line;
  for (int64_t number = 1; std::getline(lines, line); ++number) {
    if (trimmed(line).empty()) continue;
    const std::string where = fmt::format("{}:{}", path, number);
    call(Json::try_parse(shallow_json(line, where)), where, line);
  }
  check(any, "{}: the file has no problems", path);
}

std::string both_notes(const std::string& a, const std::string& b) {
  return a + (a.empty() || b.empty() ? "" : " ") + b;
}

std::string text_at(const Json& object, const char* key, const std::string& where) {
  check(object[key].is_string(), "{}: \"{}\" must be a string", where, key);
  return object[key].get<std::string>();
}

std::vector<Field> fields(ProblemColumns& c) {
  const auto column = [](std::string name, std::string& value, const std::string& usual) {
    return Field{std::move(name), &value, "its key in --file; empty: the first of " + usual, {}, true, false, ""};
  };
  return {column("question-column", c.question, fmt::format("{}", fmt::join(kQuestionKeys, ", "))),
          column("answer-column", c.answer, fmt::format("{}", fmt::join(kAnswerKeys, ", ")))};
}

ProblemText problem_text(const Json& object, const ProblemColumns& columns, const std::string& where) {
  const Found question = find_column(object, columns.question, kQuestionKeys, "question", where);
  const Found answer = find_column(object, columns.answer, kAnswerKeys, "answer", where);
  ProblemText problem;
  problem.question = trimmed(question_of(question, where));
  check(!problem.question.empty(), "{}: the question is empty", where);
  problem.working = trimmed(working_of(answer, where));
  const auto boxed = last_boxed(problem.working);
  check(boxed || answer.key != "solution" || !columns.answer.empty(), "{}: the solution has no \\boxed{{…}}", where);
  const size_t mark = problem.working.rfind("####");
  problem.answer = boxed                       ? trimmed(*boxed)
                   : mark == std::string::npos ? problem.working
                                               : trimmed(std::string_view(problem.working).substr(mark + 4));
  check(!problem.answer.empty(), "{}: the answer is empty", where);
  return problem;
}

std::string ascii_of(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const Utf8Character c = first_character(text);
    text.remove_prefix(std::max<size_t>(1, c.length));
    if (c.value == U'‘' || c.value == U'’')
      result += '\'';
    else if (c.value == U'“' || c.value == U'”')
      result += '"';
    else if (c.value == U'–' || c.value == U'—' || c.value == U'−')
      result += '-';
    else if (c.value == '\n' || c.value == '\r' || c.value == '\t' || c.value == U'\u00a0')
      result += ' ';
    else
      result += c.length == 1 && c.value >= ' ' && c.value <= '~' && c.value != '=' ? static_cast<char>(c.value) : '~';
  }
  return result;
}

}  // namespace pg
