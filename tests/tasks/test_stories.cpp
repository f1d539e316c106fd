// The grammar of the stories task and its entropy.
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tasks/data/stories.h"
#include "tests/catch.h"

using namespace pg;

namespace {

using Row = const std::vector<std::string>*;

std::vector<std::string> split_stories(const std::string& text) {
  std::vector<std::string> stories;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find("\n\n", at) + 2;
    stories.push_back(text.substr(at, end - at));
    at = end;
  }
  return stories;
}

// Parses a story by trying every choice: an independent implementation of the grammar.
class Parser {
 public:
  explicit Parser(const std::string& story) : story_(story) {
    for (const auto& plot : story_grammar().plots) {
      bound_.clear();
      nats_ = std::log(static_cast<double>(story_grammar().plots.size()));
      match_rule(plot, 0, [&](size_t end) {
        if (end != story_.size()) return;
        ++derivations;
        // A variable is drawn from the rows of its table that earlier variables have not taken.
        std::map<std::string, int> taken;
        nats = nats_;
        for (const auto& [variable, row] : bound_) {
          const std::string& table = story_grammar().variables.at(variable);
          nats += std::log(double(story_grammar().tables.at(table).rows.size()) - taken[table]++);
        }
      });
    }
  }
  int derivations = 0;
  double nats = 0;  // of the last derivation found

 private:
  using Next = std::function<void(size_t)>;

  void match_rule(const std::string& rule, size_t at, const Next& next) {
    const auto& templates = story_grammar().rules.at(rule);
    for (const auto& text : templates) {
      nats_ += std::log(double(templates.size()));
      match(pieces(text), 0, at, next);
      nats_ -= std::log(double(templates.size()));
    }
  }

  void match(const std::vector<StoryPiece>& all, size_t i, size_t at, const Next& next) {
    if (i == all.size()) return next(at);
    const StoryPiece& piece = all[i];
    const auto literal = [&](const std::string& text) {
      if (story_.compare(at, text.size(), text) == 0) match(all, i + 1, at + text.size(), next);
    };
    if (piece.kind == StoryPiece::text) return literal(piece.name);
    if (piece.kind == StoryPiece::rule)
      return match_rule(piece.name, at, [&, i](size_t end) { match(all, i + 1, end, next); });
    const std::string& table_name = story_grammar().variables.at(piece.name);
    const StoryTable& table = story_grammar().tables.at(table_name);
    size_t column = 0;
    while (table.columns.at(column) != piece.column) ++column;
    if (const auto found = bound_.find(piece.name); found != bound_.end()) return literal(found->second->at(column));
    for (const auto& row : table.rows) {
      bool taken = false;
      for (const auto& [other, used] : bound_) taken |= used == &row;
      if (taken) continue;
      bound_[piece.name] = &row;
      literal(row.at(column));
      bound_.erase(piece.name);
    }
  }

  const std::vector<StoryPiece>& pieces(const std::string& text) {
    static std::map<std::string, std::vector<StoryPiece>> cache;
    auto& entry = cache[text];
    if (entry.empty()) entry = parse_story_template(text);
    return entry;
  }

  const std::string& story_;
  std::map<std::string, Row> bound_;
  double nats_ = 0;
};

}  // namespace

TEST_CASE("the corpus is deterministic ASCII in whole stories", "[stories]") {
  const std::string text = generate_stories(20000, 3);
  CHECK(text == generate_stories(20000, 3));
  CHECK(text != generate_stories(20000, 4));
  CHECK(generate_stories(40000, 3).substr(0, text.size()) == text);
  CHECK(text.size() >= 20000);
  CHECK(text.substr(text.size() - 2) == "\n\n");
  for (char c : text) REQUIRE(((c >= ' ' && c <= '~') || c == '\n'));
  CHECK(text.find('{') == std::string::npos);
  CHECK(generate_stories(0).empty());
  CHECK(generate_stories().size() >= 1'000'000);
  CHECK(generate_stories().size() < 1'010'000);
}

TEST_CASE("a story has exactly one derivation and the entropy is the mean of their nats", "[stories]") {
  const std::string text = generate_stories(1'000'000, 5);
  const auto stories = split_stories(text);
  REQUIRE(stories.size() > 1000);
  double nats = 0, characters = 0;
  std::vector<std::pair<double, double>> samples;
  std::set<std::string> different;
  for (const auto& story : stories) {
    const Parser parsed(story);
    INFO(story);
    REQUIRE(parsed.derivations == 1);
    nats += parsed.nats;
    characters += double(story.size());
    samples.emplace_back(parsed.nats, double(story.size()));
    different.insert(story);
  }
  CHECK(different.size() == stories.size());
  // Five standard errors of the ratio estimator.
  const double floor = stories_entropy_per_char();
  double square = 0;
  for (const auto& [n, c] : samples) square += (n - floor * c) * (n - floor * c);
  const double standard_error = std::sqrt(square) / characters;
  CHECK(std::abs(nats / characters - floor) < 5 * standard_error);
  CHECK(standard_error < 0.001);
}

TEST_CASE("rows and templates of the grammar are distinct", "[stories]") {
  const StoryGrammar& g = story_grammar();
  for (const auto& [name, templates] : g.rules) {
    INFO(name);
    CHECK(std::set<std::string>(templates.begin(), templates.end()).size() == templates.size());
  }
  for (const auto& [name, table] : g.tables) {
    INFO(name);
    CHECK(std::set<std::vector<std::string>>(table.rows.begin(), table.rows.end()).size() == table.rows.size());
  }
}
