// The report of an evaluation: one table, written as text, as Markdown and as JSON.
#include "tools/pg/eval/eval_report.h"

#include <algorithm>
#include <set>

namespace pg::tools {
namespace {

std::string percent(const rl::Estimate& e) {
  return fmt::format("{:.1f} % [{:.1f}, {:.1f}]", 100 * e.value, 100 * e.interval.low, 100 * e.interval.high);
}
std::string number(const rl::Estimate& e) {
  return fmt::format("{:.3f} [{:.3f}, {:.3f}]", e.value, e.interval.low, e.interval.high);
}

std::string letter(size_t model) {
  return model < 26 ? std::string(1, static_cast<char>('A' + model)) : fmt::format("M{}", model + 1);
}

// For a cell of a Markdown table.
std::string without_bars(std::string text) {
  for (size_t i = text.find('|'); i != std::string::npos; i = text.find('|', i + 2)) text.insert(i, 1, '\\');
  return text;
}

using Row = std::vector<std::string>;

// The rows of a table after its head: a name, and a cell for each model.
std::vector<Row> rows_of(const std::vector<EvaluatedModel>& models) {
  std::vector<Row> rows;
  const auto add = [&](const std::string& name, auto cell) {
    Row row = {name};
    for (const EvaluatedModel& m : models) row.push_back(cell(m.summary));
    rows.push_back(row);
  };
  const rl::EvalSummary& first = models.front().summary;  // all have the same problems
  add("solved (pass@1)", [](const auto& s) { return percent(s.solved); });
  for (size_t i = 0; i < first.at_k.size(); ++i) {
    if (first.at_k[i].k == 1) continue;
    add(fmt::format("pass@{}", first.at_k[i].k), [&](const auto& s) { return percent(s.at_k[i].pass); });
    add(fmt::format("maj@{}", first.at_k[i].k), [&](const auto& s) { return percent(s.at_k[i].majority); });
  }
  add("reward", [](const auto& s) { return number(s.reward); });
  std::set<std::string> parts;
  for (const EvaluatedModel& m : models) {
    for (const auto& [name, value] : m.summary.parts) parts.insert(name);
  }
  for (const std::string& part : parts) {
    add("reward: " + part, [&](const auto& s) {
      for (const auto& [name, value] : s.parts) {
        if (name == part) return fmt::format("{:.3f}", value);
      }
      return std::string("0.000");
    });
  }
  add("length", [](const auto& s) { return fmt::format("{:.1f} tokens", s.length); });
  add("truncated", [](const auto& s) { return fmt::format("{:.1f} %", 100 * s.truncated); });
  add("answered", [](const auto& s) { return fmt::format("{:.1f} %", 100 * s.answered); });
  for (size_t i = 0; i < first.subjects.size(); ++i) {
    add(fmt::format("subject {} ({})", first.subjects[i].name, first.subjects[i].problems),
        [&](const auto& s) { return percent(s.subjects[i].solved); });
  }
  for (size_t i = 0; i < first.levels.size(); ++i) {
    add(fmt::format("level {} ({})", first.levels[i].name, first.levels[i].problems),
        [&](const auto& s) { return percent(s.levels[i].solved); });
  }
  return rows;
}

std::string sentence_of(const rl::EvalComparison& c, size_t model) {
  std::string text =
      fmt::format("{} - A: {:+.1f} points solved [{:+.1f}, {:+.1f}]", letter(model), 100 * c.difference.value,
                  100 * c.difference.interval.low, 100 * c.difference.interval.high);
  text += fmt::format("; problems {} by A {}, by {} {}", c.mcnemar ? "solved only" : "solved more often", c.only_first,
                      letter(model), c.only_second);
  if (c.mcnemar) text += fmt::format("; McNemar p = {:.3g}", *c.mcnemar);
  return text;
}

std::string name_of(size_t i, const EvaluatedModel& model) {
  return fmt::format("{}: {}, step {}", letter(i), model.run, model.step);
}

Json json_of(const rl::Estimate& e) {
  return {{"value", e.value},
          {"low", e.interval.low},
          {"high", e.interval.high},
          {"interval", e.wilson ? "wilson" : "bootstrap"}};
}

Json json_of(const std::vector<rl::EvalGroup>& groups) {
  Json all = Json::array();
  for (const rl::EvalGroup& g : groups) {
    all.push_back({{"name", g.name}, {"problems", g.problems}, {"solved", json_of(g.solved)}});
  }
  return all;
}

}  // namespace

std::vector<rl::EvalComparison> EvalReport::comparisons() const {
  std::vector<rl::EvalComparison> all;
  for (size_t i = 1; i < models.size(); ++i) all.push_back(rl::compare(models[0].summary, models[i].summary));
  return all;
}

std::string EvalReport::text() const {
  std::vector<Row> rows = rows_of(models);
  Row head = {""};
  for (size_t i = 0; i < models.size(); ++i) head.push_back(letter(i));
  rows.insert(rows.begin(), head);
  std::vector<size_t> widths(head.size());
  for (const Row& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text = task + "\n" + how + "\n";
  for (size_t i = 0; i < models.size(); ++i) text += name_of(i, models[i]) + "\n";
  for (const Row& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) line += fmt::format("{:<{}}  ", row[i], widths[i]);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  const std::vector<rl::EvalComparison> compared = comparisons();
  for (size_t i = 0; i < compared.size(); ++i) text += sentence_of(compared[i], i + 1) + "\n";
  return text;
}

std::string EvalReport::markdown() const {
  std::string text = "# Evaluation\n\n" + task + "\n\n" + how + "\n\n";
  for (size_t i = 0; i < models.size(); ++i) text += "- " + name_of(i, models[i]) + "\n";
  text += "\n|  |";
  for (size_t i = 0; i < models.size(); ++i) text += fmt::format(" {} |", letter(i));
  text += "\n|---|";
  for (size_t i = 0; i < models.size(); ++i) text += "---|";
  text += "\n";
  for (const Row& row : rows_of(models)) {
    text += "|";
    for (const std::string& cell : row) text += fmt::format(" {} |", without_bars(cell));
    text += "\n";
  }
  for (size_t i = 0; const rl::EvalComparison& c : comparisons()) text += "\n" + sentence_of(c, ++i) + "\n";
  return text +
         "\nIntervals are those of 95 %: Wilson's where each problem counts 0 or 1, otherwise the bootstrap's.\n";
}

Json EvalReport::json(const Json& settings) const {
  Json json = settings;
  json["results"] = Json::array();
  for (const EvaluatedModel& m : models) {
    const rl::EvalSummary& s = m.summary;
    Json at_k = Json::array(), parts = Json::object();
    for (const rl::EvalAtK& x : s.at_k) {
      at_k.push_back({{"k", x.k}, {"pass", json_of(x.pass)}, {"majority", json_of(x.majority)}});
    }
    for (const auto& [name, value] : s.parts) parts[name] = value;
    json["results"].push_back({{"run", m.run},
                               {"step", m.step},
                               {"problems", s.problems},
                               {"samples", s.samples},
                               {"solved", json_of(s.solved)},
                               {"reward", json_of(s.reward)},
                               {"parts", parts},
                               {"length", s.length},
                               {"truncated", s.truncated},
                               {"answered", s.answered},
                               {"at_k", at_k},
                               {"subjects", json_of(s.subjects)},
                               {"levels", json_of(s.levels)}});
  }
  json["comparisons"] = Json::array();
  for (size_t i = 0; const rl::EvalComparison& c : comparisons()) {
    json["comparisons"].push_back({{"first", models[0].run},
                                   {"second", models[++i].run},
                                   {"difference", json_of(c.difference)},
                                   {"only_first", c.only_first},
                                   {"only_second", c.only_second},
                                   {"mcnemar_p", c.mcnemar ? Json(*c.mcnemar) : Json(nullptr)}});
  }
  return json;
}

}  // namespace pg::tools
