// Writes the known mistakes of a lesson as a page: mistake, what the check that finds it says, its numbers, and what a
// training shows.
#include <filesystem>
#include <sstream>

#include "lessons/kit/commands.h"
#include "lessons/kit/hunt.h"
#include "lessons/kit/isolate.h"
#include "tensor/base/atomic_file.h"

namespace pg::kit {
namespace {

// A text in a cell of a table in Markdown.
std::string cell(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '|' || c == '\\' || c == '`' || c == '*' || c == '_' || c == '<' || c == '[' || c == ']') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out.empty() ? "-" : out;
}

// Where another project made a mistake of the lesson: lessons/peers.csv has rows "lesson,mistake,owner/name#thread".
std::map<std::string, std::string> peers_of(const LessonEntry& lesson, const MistakenLessons& mistaken) {
  std::map<std::string, std::string> threads;
  std::istringstream rows(read_file(repository_root() + "/lessons/peers.csv"));
  for (std::string row; std::getline(rows, row);) {
    const size_t first = row.find(','), second = row.find(',', first + 1);
    if (second == std::string::npos || row.substr(0, first) != lesson.number) continue;
    const std::string name = row.substr(first + 1, second - first - 1), thread = row.substr(second + 1);
    const size_t hash = thread.find('#');
    check(hash != std::string::npos &&
              std::any_of(mistaken.begin(), mistaken.end(), [&](const auto& each) { return each.first.name == name; }),
          "lessons/peers.csv: expected a mistake of lesson {} and owner/name#number, got \"{}\"", lesson.number, row);
    threads[name] =
        fmt::format("[{}](https://github.com/{}/issues/{})", thread, thread.substr(0, hash), thread.substr(hash + 1));
  }
  return threads;
}

}  // namespace

int print_mistakes(const LessonEntry& lesson, const MistakenLessons& mistaken) {
  const bool hunted = std::filesystem::exists(hunt_file(lesson));
  const Pictures pictures = hunted ? read_pictures(hunt_file(lesson)) : Pictures{};
  const Bands engine = in_parts(read_bands(band_file(lesson)));
  const std::map<std::string, std::string> peers = peers_of(lesson, mistaken);
  size_t count = 0;
  for (const auto& [row, wrong] : mistaken) count += !row.right();
  fmt::print(
      "# Lesson {}, {}: {} mistakes\n\nEach is an answer that the lesson's checks are tested with. The texts are "
      "in `{}/README.md`. A link leads to where a peer made the same mistake.\n",
      lesson.number, lesson.title, count, lesson.folder);
  for (const CheckEntry& check : lesson.checks) {
    fmt::print("\n## {} {}\n\n`{}`, section \"{}\"\n\n", check.id, check.title, check.piece, check.section);
    fmt::print("| mistake | what the check says | input | right | with the mistake |{}\n|---|---|---|---|---|{}\n",
               hunted ? " in a training |" : "", hunted ? "---|" : "");
    for (const auto& [row, wrong] : mistaken) {
      if (row.check != check.id || row.right()) continue;
      const Outcome outcome = run_isolated(*select(wrong, {row.check}).front(), true);  // names may come twice
      const Case& numbers = outcome.failure;
      fmt::print("| `{}` | {} | {} | {} | {} |", row.name,
                 cell(outcome.diagnosis.empty() ? row.says : outcome.diagnosis) +
                     (peers.contains(row.name) ? " " + peers.at(row.name) : ""),
                 cell(numbers.input), cell(numbers.want), cell(numbers.got));
      const auto picture = pictures.find(row.name);
      if (hunted) {
        fmt::print(" {} |", cell(picture == pictures.end() ? "" : picture_text(picture->second, engine)));
      }
      fmt::print("\n");
    }
  }
  return 0;
}

}  // namespace pg::kit
