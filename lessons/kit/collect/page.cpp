// The tables of a workshop as HTML: one per lesson.
#include <algorithm>
#include <ctime>
#include <set>

#include "lessons/kit/collect/collect.h"

namespace pg::kit {
namespace {

// Every text has a contrast of at least 7 to its ground, in both schemes, and no state is told by a colour alone.
constexpr const char* kStyle =
    ":root { color-scheme: light dark; --back: #fff; --text: #111; --line: #666; --ok: #cfe8cf; --wrong: #f4c7c3; }\n"
    "@media (prefers-color-scheme: dark) {\n"
    "  :root { --back: #15171a; --text: #f0f0f0; --line: #8a8f98; --ok: #14482a; --wrong: #7c1d1d; } }\n"
    "body { font: 20px/1.3 sans-serif; margin: 1em; background: var(--back); color: var(--text); }\n"
    "h1 { font-size: 1.3em; } h2 { font-size: 1.2em; margin: 1.2em 0 .4em; }\n"
    "table { border-collapse: collapse; max-width: 100%; }\n"
    "th, td { border: 1px solid var(--line); padding: .2em .35em; text-align: left; }\n"
    "td { white-space: nowrap; } .text { white-space: normal; } table + table { margin-top: .8em; } tbody th { "
    "min-width: 8em; max-width: 14em; overflow-wrap: anywhere; }\n"
    "tbody th { font-weight: normal; font-size: .85em; }\n"
    ".number { text-align: right; } .ok { background: var(--ok); }\n"
    ".wrong { background: var(--wrong); font-weight: bold; }\n";

constexpr const char* kLegend =
    "ok*: with a remark, for example that the answer only calls the engine. crash: WRONG, by a crash. attempts: "
    "gradings "
    "that were not TODO, up to the first ok, of all checks of the lesson. An empty cell: not begun. Minutes: from the "
    "ok before, or from the first check or hint of the lesson, to the first ok, "
    "pauses included.";

const CheckHistory* history_of(const LessonState& lesson, const std::string& id) {
  const auto found = lesson.history.find(id);
  return found == lesson.history.end() ? nullptr : &found->second;
}

std::string head_of(const std::string& title, int reload_seconds) {
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width\">{}<link rel=\"icon\" href=\"data:,\">\n"
      "<title>{}</title>\n<style>\n{}</style></head><body>\n<h1>{}</h1>\n",
      reload_seconds > 0 ? fmt::format("<meta http-equiv=\"refresh\" content=\"{}\">", reload_seconds) : "",
      html_text(title), kStyle, html_text(title));
}

// <td>, with a class for what is ok and for what is WRONG.
std::string state_cell(const LessonState& lesson, const std::string& id) {
  const auto state = lesson.checks.find(id);
  if (state == lesson.checks.end()) return "<td></td>";
  const CheckHistory* history = history_of(lesson, id);
  if (state->second == State::todo) return "<td>TODO</td>";
  if (state->second == State::wrong) {
    return fmt::format("<td class=\"wrong\">{}</td>", history && history->crashed ? "crash" : "WRONG");
  }
  return fmt::format("<td class=\"ok\">{}</td>", history && !history->remark.empty() ? "ok*" : "ok");
}

int64_t last_check(const LessonState& lesson) {
  int64_t last = 0;
  for (const auto& [id, history] : lesson.history) last = std::max(last, history.checked);
  return last;
}

std::set<std::string> ids_of(const Room& room, const std::string& number) {
  std::set<std::string> ids;
  for (const Laptop& laptop : room.laptops) {
    const auto lesson = laptop.progress.lessons.find(number);
    if (lesson == laptop.progress.lessons.end()) continue;
    for (const auto& [id, state] : lesson->second.checks) ids.insert(id);
  }
  return ids;
}

std::string age_text(int64_t seconds) {
  const int64_t minutes = std::max<int64_t>(0, seconds) / 60, hours = minutes / 60;
  if (minutes < 600) return fmt::format("{} min", minutes);
  return hours < 72 ? fmt::format("{} h", hours) : fmt::format("{} days", hours / 24);
}

std::string row_of(const Laptop& laptop, const LessonState& lesson, const std::set<std::string>& ids, int64_t now) {
  std::string row = fmt::format("<tr><th scope=\"row\">{}</th>", html_text(laptop.name));
  int attempts = 0;
  for (const std::string& id : ids) {
    row += state_cell(lesson, id);
    if (const CheckHistory* history = history_of(lesson, id)) attempts += history->attempts;
  }
  const int64_t last = last_check(lesson);
  return row + fmt::format("<td class=\"number\">{}</td><td class=\"number\">{}</td></tr>\n", attempts,
                           last > 0 ? age_text(now + laptop.clock_ahead - last) : "");
}

// The heading of a lesson and its table laptop × check.
std::string lesson_table(const Room& room, const Course& course, const std::string& number, int64_t now) {
  const std::set<std::string> ids = ids_of(room, number);
  const auto known = course.find(number);
  std::string table =
      fmt::format("<h2>{}</h2>\n<table><thead><tr><th scope=\"col\">laptop</th>",
                  known == course.end() ? fmt::format("Lesson {}", number) : html_text(known->second.heading));
  for (const std::string& id : ids) table += fmt::format("<th scope=\"col\">{}</th>", html_text(id));
  table += "<th scope=\"col\">attempts</th><th scope=\"col\">last check</th></tr></thead><tbody>\n";
  for (const Laptop& laptop : room.laptops) {
    const auto lesson = laptop.progress.lessons.find(number);
    if (lesson != laptop.progress.lessons.end() && !lesson->second.checks.empty()) {
      table += row_of(laptop, lesson->second, ids, now);
    }
  }
  return table + "</tbody></table>\n";
}

using Weights = std::map<std::string, int64_t, InCourseOrder>;
// The numbers of the lessons that have a check: those with the largest `weight` first, and of equals by number.
std::vector<std::string> lessons_by(const Room& room, const Weights& weight) {
  std::vector<std::string> numbers;
  for (const auto& [number, w] : weight) {
    if (!ids_of(room, number).empty()) numbers.push_back(number);
  }
  std::stable_sort(numbers.begin(), numbers.end(),
                   [&](const auto& a, const auto& b) { return weight.at(a) > weight.at(b); });
  return numbers;
}

// "12 laptops, 14:05:33".
std::string title_of(const Room& room, int64_t now, const char* format) {
  const std::time_t seconds = now;
  char text[32];
  std::strftime(text, sizeof text, format, std::localtime(&seconds));
  const size_t n = room.laptops.size();
  return fmt::format("{} laptop{}, {}", n, n == 1 ? "" : "s", text);
}

// What the class made of each check of a lesson, whose ids are `ids`.
std::string checks_table(const std::vector<CheckSummary>& checks, const Course& course, const std::string& number,
                         const std::set<std::string>& ids) {
  std::string table =
      "<table><thead><tr><th scope=\"col\">check</th><th scope=\"col\">ok</th><th scope=\"col\">WRONG</th>"
      "<th scope=\"col\">TODO</th><th scope=\"col\">attempts, mean</th><th scope=\"col\">with a hint</th>"
      "<th scope=\"col\">minutes, median</th><th scope=\"col\">minutes, README</th>"
      "<th scope=\"col\">WRONG for up to</th><th scope=\"col\">commonest diagnosis</th></tr></thead><tbody>\n";
  const auto known = course.find(number);
  for (const CheckSummary& sum : checks) {
    if (!ids.contains(sum.id)) continue;
    const bool estimated = known != course.end() && known->second.minutes.contains(sum.id);
    table += fmt::format("<tr><th scope=\"row\">{}</th>", html_text(sum.id));
    for (const std::string& cell :
         {fmt::format("{}", sum.ok), fmt::format("{}", sum.wrong), fmt::format("{}", sum.todo),
          sum.attempts > 0 ? fmt::format("{:.1f}", sum.attempts) : "", fmt::format("{}", sum.hinted),
          sum.minutes ? fmt::format("{:.0f}", *sum.minutes) : "",
          estimated ? fmt::format("{}", known->second.minutes.at(sum.id)) : "",
          sum.longest_stuck > 0 ? age_text(60 * sum.longest_stuck) : ""}) {
      table += fmt::format("<td class=\"number\">{}</td>", cell);
    }
    table += fmt::format("<td class=\"text\">{}</td></tr>\n", html_text(sum.diagnosis));
  }
  return table + "</tbody></table>\n";
}

// Who has which remark in a lesson.
std::string remarks(const Room& room, const std::string& number) {
  std::string items;
  for (const Laptop& laptop : room.laptops) {
    const auto lesson = laptop.progress.lessons.find(number);
    if (lesson == laptop.progress.lessons.end()) continue;
    for (const auto& [id, history] : lesson->second.history) {
      if (history.remark.empty()) continue;
      items += fmt::format("<li>{}, {}: {}</li>\n", html_text(laptop.name), html_text(id), html_text(history.remark));
    }
  }
  return items.empty() ? "" : "<ul>\n" + items + "</ul>\n";
}

}  // namespace

std::string html_text(const std::string& text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      case '\'':
        result += "&#39;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

std::string room_html(const Room& room, const Course& course, int64_t now) {
  Weights results;  // that are not TODO
  for (const Laptop& laptop : room.laptops) {
    for (const auto& [number, lesson] : laptop.progress.lessons) {
      results[number] += std::count_if(lesson.checks.begin(), lesson.checks.end(),
                                       [](const auto& check) { return check.second != State::todo; });
    }
  }
  const std::vector<CheckSummary> checks = summaries(room, now);
  std::string page = head_of(title_of(room, now, "%Y-%m-%d %H:%M"), 0);
  for (const std::string& number : lessons_by(room, results)) {
    page += lesson_table(room, course, number, now) + checks_table(checks, course, number, ids_of(room, number)) +
            remarks(room, number);
  }
  page += room.laptops.empty() ? "<p>There is no record of a laptop yet.</p>\n" : fmt::format("<p>{}</p>\n", kLegend);
  for (const std::string& sentence : room.skipped) page += fmt::format("<p>{}</p>\n", html_text(sentence));
  return page + "</body></html>\n";
}

std::string live_html(const Room& room, const Course& course, int64_t now) {
  Weights laptops_in;  // whose last check was in this lesson
  for (const Laptop& laptop : room.laptops) {
    std::string current;
    int64_t latest = -1;
    for (const auto& [number, lesson] : laptop.progress.lessons) {
      laptops_in.try_emplace(number, 0);
      if (last_check(lesson) > latest) current = number, latest = last_check(lesson);
    }
    if (!current.empty()) ++laptops_in[current];
  }
  constexpr int kReloadSeconds = 5;
  std::string page = head_of(title_of(room, now, "%H:%M:%S"), kReloadSeconds);
  for (const std::string& number : lessons_by(room, laptops_in)) page += lesson_table(room, course, number, now);
  page += room.laptops.empty() ? "<p>No laptop has sent a record yet.</p>\n" : fmt::format("<p>{}</p>\n", kLegend);
  return page + "</body></html>\n";
}

}  // namespace pg::kit
