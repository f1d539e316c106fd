// The tables of a workshop as text and as CSV.
#include <algorithm>
#include <ctime>

#include "lessons/kit/collect/collect.h"
#include "lessons/kit/terminal.h"

namespace pg::kit {
namespace {

std::string csv_cell(const std::string& text) {
  std::string cell = text;
  if (!cell.empty() && std::string("=+-@").find(cell[0]) != std::string::npos) cell = "'" + cell;
  if (cell.find_first_of(",\"") == std::string::npos) return cell;
  std::string quoted = "\"";
  for (const char c : cell) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

const LessonState* lesson_of(const Laptop& laptop, const std::string& id) {
  const LessonState* found = nullptr;  // the last one: an old record has the checks of a part in the lesson itself
  for (const auto& [number, lesson] : laptop.progress.lessons) {
    if (lesson.checks.contains(id)) found = &lesson;
  }
  return found;
}

// "ok", "ok*" (with a remark), "W 12" (WRONG, 12 minutes), "t 12" (not graded since an edit, was WRONG 12 minutes ago),
// "." (TODO), "" (none).
std::string cell_of(const LessonState* lesson, const std::string& id, int64_t now) {
  if (!lesson) return "";
  const State state = lesson->checks.at(id);
  const auto history = lesson->history.find(id);
  if (state == State::ok) return history != lesson->history.end() && !history->second.remark.empty() ? "ok*" : "ok";
  const int64_t minutes = minutes_stuck(*lesson, id, now);
  const bool was_wrong = history != lesson->history.end() && history->second.wrong_since > 0;
  if (state == State::todo && !was_wrong) return ".";
  const char* letter = state == State::wrong ? "W" : "t";
  return was_wrong ? fmt::format("{} {}", letter, minutes) : letter;  // older records have no times
}

std::string utc(int64_t time) {
  if (time <= 0 || time > int64_t{253402300799}) return "";  // the year 9999
  const std::time_t seconds = time;
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", std::gmtime(&seconds));
  return text;
}

constexpr int kWidestName = 24;  // with eight checks a line has 80 columns

// At most kWidestName code points, the last of which is ~ where some are missing.
std::string shortened(const std::string& name) {
  if (text_width(name) <= kWidestName) return name;
  std::string result;
  int length = 0;
  for (const char c : name) {
    if ((c & 0xc0) != 0x80 && ++length == kWidestName) return result + "~";
    result += c;
  }
  return result;
}

constexpr const char* kLegend =
    "ok; ok*: with a remark, which the CSV file has; W 12: WRONG, the first time 12 minutes ago; t 12: to do after "
    "such a WRONG; .: to do; empty: lesson not begun";

}  // namespace

std::string room_text(const Room& room, int64_t now) {
  const std::vector<CheckSummary> checks = summaries(room, now);
  int width = 7;
  for (const Laptop& laptop : room.laptops) width = std::max(width, text_width(readable(laptop.name)));
  width = std::min(width, kWidestName);
  std::string text;
  for (size_t first = 0; first < checks.size();) {  // the checks of one lesson with its parts
    size_t last = first;
    while (last < checks.size() && checks[last].id.substr(0, 2) == checks[first].id.substr(0, 2)) ++last;
    text += padded("laptop", width);
    for (size_t i = first; i < last; ++i) text += fmt::format("  {:<5}", checks[i].id);
    text += "\n";
    for (const Laptop& laptop : room.laptops) {
      const auto has = [&](const CheckSummary& check) { return lesson_of(laptop, check.id) != nullptr; };
      if (std::none_of(checks.begin() + static_cast<ptrdiff_t>(first), checks.begin() + static_cast<ptrdiff_t>(last),
                       has))
        continue;
      std::string row = padded(shortened(readable(laptop.name)), width);
      for (size_t i = first; i < last; ++i) {
        row += fmt::format("  {:<5}", cell_of(lesson_of(laptop, checks[i].id), checks[i].id, now));
      }
      text += row + "\n";
    }
    text += "\n";
    first = last;
  }
  for (const CheckSummary& sum : checks) {
    text += fmt::format("{}  {} ok  {} WRONG  {} TODO", sum.id, sum.ok, sum.wrong, sum.todo);
    if (sum.longest_stuck > 0) text += fmt::format("  stuck for up to {} minutes", sum.longest_stuck);
    if (sum.minutes) text += fmt::format("  {:.0f} minutes (median)", *sum.minutes);
    text += "\n";
    if (!sum.diagnosis.empty()) text += wrapped(sum.diagnosis, 7, "often  ");
  }
  text += room.laptops.empty() ? "There is no record of a laptop yet.\n" : "\n" + wrapped(kLegend);
  for (const std::string& sentence : room.skipped) text += sentence + "\n";
  return text;
}

std::string room_csv(const Room& room, int64_t now) {
  std::string csv = "laptop,check,state,minutes_stuck,checked,hints,diagnosis,remark,attempts,minutes\n";
  for (const Laptop& laptop : room.laptops) {
    for (const auto& [number, lesson] : laptop.progress.lessons) {
      for (const auto& [id, state] : lesson.checks) {
        const auto found = lesson.history.find(id);
        const CheckHistory history = found == lesson.history.end() ? CheckHistory{} : found->second;
        const auto hint = lesson.hints.find(id);
        const std::optional<double> minutes = minutes_taken(lesson, id);
        csv += fmt::format("{},{},{},{},{},{},{},{},{},{}\n", csv_cell(laptop.name), id, name_of(state),
                           minutes_stuck(lesson, id, now), utc(history.checked),
                           hint == lesson.hints.end() ? 0 : hint->second, csv_cell(history.diagnosis),
                           csv_cell(history.remark), history.attempts, minutes ? fmt::format("{:.1f}", *minutes) : "");
      }
    }
  }
  return csv;
}

}  // namespace pg::kit
