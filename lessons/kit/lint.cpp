// The command `lint`, for authors: what a lesson lacks.
#include <filesystem>
#include <sstream>

#include "lessons/kit/commands.h"
#include "lessons/kit/hunt.h"
#include "lessons/kit/quiz.h"
#include "lessons/kit/source.h"

namespace pg::kit {
namespace fs = std::filesystem;

namespace {

// With single spaces in place of line breaks and what surrounds them.
std::string one_line(const std::string& text) {
  std::istringstream words(text);
  std::string line;
  for (std::string word; words >> word;) line += (line.empty() ? "" : " ") + word;
  return line;
}

}  // namespace

int lint_command(const LessonEntry& lesson) {
  const std::string folder = repository_root() + "/" + lesson.folder;
  const std::string readme = read_file(folder + "/README.md");
  const std::vector<std::string> sections = headings(readme);
  const std::map<std::string, int> minutes = minutes_in(readme);
  const std::string instructor = one_line(read_file(repository_root() + "/lessons/INSTRUCTOR.md"));
  int problems = 0;
  const auto need = [&](bool ok, const std::string& text) {
    if (!ok) fmt::print("{}\n", text);
    problems += !ok;
  };
  for (const CheckEntry& check : lesson.checks) {
    const auto missing = [&](const char* what) { return fmt::format("{}: {}", check.id, what); };
    for (const std::string& hint : check.hints) need(hint.size() >= 20, missing("a hint is missing or too short"));
    need(check.why.size() >= 20, missing("`why` is missing"));
    need(std::find(sections.begin(), sections.end(), check.section) != sections.end(),
         missing(fmt::format("README.md has no heading \"{}\"", check.section).c_str()));
    need(readme.find(fmt::format("{} check {}", lesson.program(), check.id)) != std::string::npos,
         missing(fmt::format("README.md never says: {} check {}", lesson.program(), check.id).c_str()));
    need(minutes.contains(check.id), missing("README.md gives it no minutes in the item **Time:**"));
    if (minutes.contains(check.id)) {
      const std::string entry = fmt::format("{}: {}", check.id, minutes.at(check.id));
      need(instructor.find(entry + ",") != std::string::npos || instructor.find(entry + ".") != std::string::npos,
           missing(fmt::format("INSTRUCTOR.md does not say \"{}\" as the README does", entry).c_str()));
    }
    const std::string file = repository_root() + "/" + check.solution.file;
    need(!find_answer(lesson, check).empty(), missing("answers.h has no part marked with its answer"));
    need(fs::exists(file) && find_function(read_file(file), check.solution.signature).first > 0,
         missing(fmt::format("{} has no function \"{}\"", check.solution.file, check.solution.signature).c_str()));
    need(read_file(repository_root() + "/" + lesson.exercise()).find(check.piece) != std::string::npos,
         missing(fmt::format("{} does not name {}", lesson.exercise_file, check.piece).c_str()));
  }
  const std::string quiz = lesson.folder + "/quiz.txt", path = repository_root() + "/" + quiz;
  need(fs::exists(path), quiz + " is missing");
  if (fs::exists(path)) {
    for (const std::string& problem : quiz_problems(parse_quiz(read_file(path), quiz)))
      need(false, quiz + ": " + problem);
  }
  const size_t end = readme.find_last_not_of('\n'), begin = readme.rfind('\n', end) + 1;
  need(readme.substr(begin).find(lesson.program() + " quiz`") != std::string::npos,
       fmt::format("README.md does not end with a line that says `{} quiz`", lesson.program()));
  need(!fs::exists(hunt_file(lesson)) || readme.find(lesson.program() + " hunt`") != std::string::npos,
       fmt::format("README.md does not say `{} hunt`", lesson.program()));
  int total = minutes_to_read(readme);
  for (const auto& [id, each] : minutes) total += each;
  const std::string front = read_file(repository_root() + "/README.md");
  const size_t section = front.find("\n## The course\n");
  const std::string course = section == std::string::npos ? "" : front.substr(section);
  const size_t row = course.find(fmt::format("\n| {} ", lesson.number));
  need(row != std::string::npos &&
           course.substr(row + 1, course.find('\n', row + 1) - row - 1).ends_with(fmt::format(" | {} |", total)),
       fmt::format("the table of lessons in /README.md does not end lesson {}'s row with its {} minutes", lesson.number,
                   total));
  if (!problems) fmt::print("{} checks, nothing missing\n", lesson.checks.size());
  return problems ? 1 : 0;
}

}  // namespace pg::kit
