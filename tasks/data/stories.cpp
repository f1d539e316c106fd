// Writes stories from the grammar, and computes their entropy.
#include "tasks/data/stories.h"

#include <cmath>
#include <set>

#include "tensor/base/error.h"
#include "tensor/base/random.h"

namespace pg {

std::vector<StoryPiece> parse_story_template(const std::string& text) {
  std::vector<StoryPiece> pieces;
  for (size_t at = 0; at < text.size();) {
    const size_t open = std::min(text.find('{', at), text.size());
    if (open > at) pieces.push_back({StoryPiece::text, text.substr(at, open - at), ""});
    if (open == text.size()) break;
    const size_t close = text.find('}', open);
    check(close != std::string::npos, "story grammar: no }} after the {{ in \"{}\"", text);
    const std::string slot = text.substr(open + 1, close - open - 1);
    const size_t dot = slot.find('.');
    if (dot == std::string::npos)
      pieces.push_back({StoryPiece::rule, slot, ""});
    else
      pieces.push_back({StoryPiece::variable, slot.substr(0, dot), slot.substr(dot + 1)});
    at = close + 1;
  }
  return pieces;
}

namespace {

using Row = const std::vector<std::string>*;

size_t column_index(const StoryTable& table, const std::string& column) {
  for (size_t i = 0; i < table.columns.size(); ++i) {
    if (table.columns[i] == column) return i;
  }
  fail("story grammar: no column '{}'", column);
}

// The grammar with parsed templates, and functions that expand a plot.
struct Machine {
  const StoryGrammar& grammar;
  std::map<std::string, std::vector<std::vector<StoryPiece>>> rules;

  explicit Machine(const StoryGrammar& g) : grammar(g) {
    for (const auto& [name, templates] : g.rules) {
      for (const auto& t : templates) rules[name].push_back(parse_story_template(t));
    }
  }

  const StoryTable& table_of(const std::string& variable) const {
    return grammar.tables.at(grammar.variables.at(variable));
  }

  void collect_variables(const std::string& rule, std::set<std::string>& found) const {
    for (const auto& pieces : rules.at(rule)) {
      for (const auto& piece : pieces) {
        if (piece.kind == StoryPiece::rule) collect_variables(piece.name, found);
        if (piece.kind == StoryPiece::variable) found.insert(piece.name);
      }
    }
  }

  std::map<std::string, Row> draw_variables(const std::string& plot, Generator& g) const {
    std::set<std::string> names;
    collect_variables(plot, names);
    std::map<std::string, Row> bound;
    for (const auto& name : names) {
      std::vector<Row> free;  // rows of the table that no other variable uses
      for (const auto& row : table_of(name).rows) {
        bool taken = false;
        for (const auto& [other, used] : bound) taken |= used == &row;
        if (!taken) free.push_back(&row);
      }
      bound[name] = free.at(static_cast<size_t>(g.integer(static_cast<int64_t>(free.size()))));
    }
    return bound;
  }

  void expand(const std::string& rule, const std::map<std::string, Row>& bound, Generator& g, std::string& out) const {
    const auto& templates = rules.at(rule);
    for (const auto& piece : templates[static_cast<size_t>(g.integer(static_cast<int64_t>(templates.size())))]) {
      switch (piece.kind) {
        case StoryPiece::text:
          out += piece.name;
          break;
        case StoryPiece::rule:
          expand(piece.name, bound, g, out);
          break;
        case StoryPiece::variable:
          out += bound.at(piece.name)->at(column_index(table_of(piece.name), piece.column));
          break;
      }
    }
  }

  struct Expected {
    double nats = 0, characters = 0;
  };

  // Each variable's row is uniform over its table (sampling without replacement preserves that) and independent of the
  // templates, so expectations add up.
  Expected expected(const std::string& rule) const {
    const auto& templates = rules.at(rule);
    const auto n = static_cast<double>(templates.size());
    Expected total{std::log(n), 0};
    for (const auto& pieces : templates) {
      for (const auto& piece : pieces) {
        if (piece.kind == StoryPiece::text) total.characters += static_cast<double>(piece.name.size()) / n;
        if (piece.kind == StoryPiece::rule) {
          const Expected inner = expected(piece.name);
          total.nats += inner.nats / n;
          total.characters += inner.characters / n;
        }
        if (piece.kind == StoryPiece::variable) {
          const StoryTable& table = table_of(piece.name);
          const size_t column = column_index(table, piece.column);
          for (const auto& row : table.rows)
            total.characters += static_cast<double>(row.at(column).size()) / static_cast<double>(table.rows.size()) / n;
        }
      }
    }
    return total;
  }

  double variable_nats(const std::string& plot) const {
    std::set<std::string> names;
    collect_variables(plot, names);
    std::map<std::string, size_t> drawn;  // table -> rows already taken
    double nats = 0;
    for (const auto& name : names) {
      size_t& taken = drawn[grammar.variables.at(name)];
      nats += std::log(static_cast<double>(table_of(name).rows.size() - taken++));
    }
    return nats;
  }
};

}  // namespace

std::string generate_stories(int64_t bytes, uint64_t seed) {
  check(bytes >= 0, "generate_stories: expected a size of at least 0 bytes, got {}", bytes);
  const Machine machine(story_grammar());
  const auto& plots = story_grammar().plots;
  Generator g(seed);
  std::string text;
  while (static_cast<int64_t>(text.size()) < bytes) {
    const std::string& plot = plots[static_cast<size_t>(g.integer(static_cast<int64_t>(plots.size())))];
    machine.expand(plot, machine.draw_variables(plot, g), g, text);
  }
  return text;
}

double stories_entropy_per_char() {
  const Machine machine(story_grammar());
  const auto& plots = story_grammar().plots;
  const auto n = static_cast<double>(plots.size());
  double nats = std::log(n), characters = 0;
  for (const auto& plot : plots) {
    const auto [plot_nats, plot_characters] = machine.expected(plot);
    nats += (plot_nats + machine.variable_nats(plot)) / n;
    characters += plot_characters / n;
  }
  return nats / characters;
}

}  // namespace pg
